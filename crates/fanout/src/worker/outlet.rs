//! Where a visit's bytes go: the back-end, and for listeners behind TLS the memory in which they are sealed first.

use std::io::IoSlice;

use net::tls::{self, RecordLayer, SEALED_RECORD_BYTES_MAX, Sealed};
use net::{Backend, SendOp, SendOutcome, Slot};

/// Sealed bytes of one send: four full records. A visit has several sends for a listener that has more to get.
const SEALED_BYTES_MAX: usize = 4 * SEALED_RECORD_BYTES_MAX;

/// What a worker seals one batch in. It has no memory before the first listener behind TLS, and of the two megabytes
/// for a batch then as much as batches have ever filled.
#[derive(Debug, Default)]
pub(super) struct Sealing {
    memory: Vec<u8>,
    used: usize,
    messages: Vec<SealedMessage>,
}

/// A message as one listener's records.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedMessage {
    /// Whose it is, in the batch.
    member: usize,
    /// Where in [`Sealing`]'s memory it begins.
    at: usize,
    pub(super) sealed: Sealed,
}

impl Sealing {
    /// Forgets the last batch.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.messages.clear();
    }

    /// Seals a message, or the beginning of a long one, for one member of the batch.
    pub(super) fn seal(
        &mut self,
        member: usize,
        records: &RecordLayer,
        slices: &[IoSlice<'_>],
    ) -> Result<(), tls::Error> {
        let at = self.used;
        let end = at + SEALED_BYTES_MAX;
        if self.memory.len() < end {
            self.memory.resize(end, 0);
        }
        let sealed = records.seal(slices, &mut self.memory[at..end])?;
        self.used += sealed.wire_bytes;
        self.messages.push(SealedMessage { member, at, sealed });
        Ok(())
    }

    /// What was sealed since it was cleared, in order.
    pub(super) fn messages(&self) -> &[SealedMessage] {
        &self.messages
    }

    /// Whose these are, and their bytes.
    pub(super) fn wires(&self) -> impl Iterator<Item = (usize, IoSlice<'_>)> {
        self.messages.iter().map(|message| {
            let bytes = &self.memory[message.at..][..message.sealed.wire_bytes];
            (message.member, IoSlice::new(bytes))
        })
    }
}

/// See the module's description.
pub(super) struct Outlet<'a> {
    pub(super) backend: &'a mut dyn Backend,
    pub(super) sealing: &'a mut Sealing,
}

impl Outlet<'_> {
    /// Sends what a connection has to say of its own, as far as the socket takes it now: an alert, before it closes.
    pub(super) fn part(&mut self, slot: Slot, records: &mut RecordLayer) {
        while records.has_controls() {
            self.sealing.clear();
            if self.sealing.seal(0, records, &[]).is_err() {
                return;
            }
            let slices: Vec<_> = self.sealing.wires().map(|(_, wire)| wire).collect();
            let op = SendOp {
                slot,
                slices: &slices,
            };
            let mut outcome = [SendOutcome::Blocked];
            self.backend.send_batch(&[op], &mut outcome);
            let [SealedMessage { sealed, .. }] = self.sealing.messages() else {
                return;
            };
            let is_out = outcome == [SendOutcome::Sent(sealed.wire_bytes)];
            if !is_out || records.advance(sealed, sealed.wire_bytes).is_err() {
                return;
            }
        }
    }
}
