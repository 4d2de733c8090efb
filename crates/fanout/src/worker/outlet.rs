//! Output of a worker: the back-end, and the memory in which bytes for listeners behind TLS are sealed first.

use std::io::IoSlice;

use net::tls::{self, RecordLayer, SEALED_RECORD_BYTES_MAX, Sealed};
use net::{Backend, SendOp, SendOutcome, Slot};

use super::batch::Message;
use super::listener::{Listener, Plan};
use crate::cursor::Reason;

/// Upper bound on the sealed bytes of one send: four full records. A visit sends several times to a listener that lacks
/// more.
const SEALED_BYTES_MAX: usize = 4 * SEALED_RECORD_BYTES_MAX;

/// Memory in which a worker seals one batch. It is empty before the first listener behind TLS, and then grows to as
/// much of the two megabytes for a batch as batches have ever filled.
#[derive(Debug, Default)]
pub(super) struct Sealing {
    memory: Vec<u8>,
    used: usize,
    messages: Vec<SealedMessage>,
}

/// A message sealed as one listener's records.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedMessage {
    /// Index of the listener in the batch.
    member: usize,
    /// Index of its first byte in [`Sealing`]'s memory.
    at: usize,
    sealed: Sealed,
}

impl SealedMessage {
    /// Returns the outcome of its send in terms of the plain bytes, and the number of plain bytes offered.
    pub(super) fn outcome(
        &self,
        records: &mut RecordLayer,
        outcome: SendOutcome,
    ) -> (SendOutcome, usize) {
        let SendOutcome::Sent(count) = outcome else {
            return (outcome, 0);
        };
        match records.advance(&self.sealed, count) {
            Ok(plain_bytes) => {
                let is_full = count < self.sealed.wire_bytes;
                let offered = plain_bytes + usize::from(is_full);
                (SendOutcome::Sent(plain_bytes), offered)
            }
            Err(error) => {
                tracing::warn!(%error, "a listener's connection cannot continue");
                (SendOutcome::Closed, 0)
            }
        }
    }
}

impl Sealing {
    /// Clears the last batch.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.messages.clear();
    }

    /// Seals a message, or the beginning of a long one, for one member of the batch.
    fn seal(
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

    /// Seals the messages of the members of a batch that are behind TLS, in order.
    // Not inlined: a batch without such members should not carry its weight.
    #[inline(never)]
    pub(super) fn seal_batch(
        &mut self,
        members: &[Listener],
        plans: &mut [Plan],
        common: &Message<'_>,
        own: &[Option<Message<'_>>],
    ) {
        for (at, ((member, plan), own)) in members.iter().zip(plans).zip(own).enumerate() {
            let (Plan::Send { .. }, Some(records)) = (*plan, &member.records) else {
                continue;
            };
            let message = own.as_ref().unwrap_or(common);
            if message.len == 0 && !records.has_controls() {
                continue;
            }
            if let Err(error) = self.seal(at, records, message.slices()) {
                tracing::debug!(%error, "a listener's connection cannot continue");
                *plan = Plan::Leave(Reason::Left);
            }
        }
    }

    /// Returns the messages sealed since the last clear, in order.
    pub(super) fn messages(&self) -> &[SealedMessage] {
        &self.messages
    }

    /// Returns the sealed bytes, each with the index of its listener in the batch.
    pub(super) fn wires(&self) -> impl Iterator<Item = (usize, IoSlice<'_>)> {
        self.messages.iter().map(|message| {
            let bytes = &self.memory[message.at..][..message.sealed.wire_bytes];
            (message.member, IoSlice::new(bytes))
        })
    }
}

/// A worker's back-end and its sealing memory.
pub(super) struct Outlet {
    pub(super) backend: Box<dyn Backend>,
    pub(super) sealing: Sealing,
}

impl Outlet {
    pub(super) fn new(backend: Box<dyn Backend>) -> Self {
        Self {
            backend,
            sealing: Sealing::default(),
        }
    }

    /// Closes the TLS connection of a leaving listener, if the alert can be sent now: without it, an attacker may have
    /// cut the connection.
    pub(super) fn part(&mut self, gone: &mut Listener) {
        let Some(records) = &mut gone.records else {
            return;
        };
        if gone.blocked || records.is_within_record() {
            return;
        }
        records.close();
        while records.has_controls() {
            if !self.send_control(gone.slot, records) {
                return;
            }
        }
    }

    /// Sends the pending control records of a connection. Returns `false` if the socket does not take them now.
    fn send_control(&mut self, slot: Slot, records: &mut RecordLayer) -> bool {
        self.sealing.clear();
        if self.sealing.seal(0, records, &[]).is_err() {
            return false;
        }
        let slices: Vec<_> = self.sealing.wires().map(|(_, wire)| wire).collect();
        let op = SendOp {
            slot,
            slices: &slices,
        };
        let mut outcome = [SendOutcome::Blocked];
        self.backend.send_batch(&[op], &mut outcome);
        let [SealedMessage { sealed, .. }] = self.sealing.messages() else {
            return false;
        };
        let is_out = outcome == [SendOutcome::Sent(sealed.wire_bytes)];
        is_out && records.advance(sealed, sealed.wire_bytes).is_ok()
    }
}

base::debug!(Outlet as it { backend: it.backend.name() });
