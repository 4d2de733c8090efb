//! Both halves of a connection, and its handling of the peer's requests: other keys, and the end.

use std::io::IoSlice;

use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ConnectionTrafficSecrets, ExtractedSecrets, ProtocolVersion};

use super::alert::{self, Error};
use super::content;
use super::key::RecordKey;
use super::reader::Reader;
use super::writer::{Control, Sealed, Writer};
use base::holdings::Held;

/// Types of handshake messages that may follow the handshake.
pub(super) const KEY_UPDATE: u8 = 24;
const CLIENT_HELLO: u8 = 1;

/// Most changes of keys, and warnings, that a peer may send in the life of a connection. A client changes its
/// key after millions of records of its own, and a listener sends few records.
const REQUESTS_MAX: u32 = 1_024;

/// Requests for another handshake that are refused before the connection ends, as in rustls.
const RENEGOTIATIONS_MAX: u32 = 1;

/// Record layer of one connection: [`seal`](Self::seal) and [`advance`](Self::advance) to send,
/// [`receive`](Self::receive) and [`consume`](Self::consume) to receive.
pub struct RecordLayer {
    writer: Writer,
    reader: Reader,
    /// Source of the next keys.
    secrets: KernelConnection<ServerConnectionData>,
    /// Opened bytes that are not taken yet. Has no memory while it is empty.
    plain: Vec<u8>,
    requests: u32,
    renegotiations: u32,
    /// Set once the peer sends no more.
    is_ended: bool,
    /// Set once this side sends no more.
    is_closed: bool,
    /// Charge for the memory in use.
    held: Option<Held>,
}

impl RecordLayer {
    /// Creates the layer of a connection whose handshake is done. `early` arrived after the peer's last
    /// handshake message.
    pub(super) fn new(
        keys: &ExtractedSecrets,
        secrets: KernelConnection<ServerConnectionData>,
        early: &[u8],
    ) -> Result<Self, Error> {
        let version = secrets.protocol_version();
        let mut layer = Self {
            writer: Writer::new(RecordKey::new(&keys.tx.1, version)?, keys.tx.0),
            reader: Reader::new(RecordKey::new(&keys.rx.1, version)?, keys.rx.0, early),
            secrets,
            plain: Vec::new(),
            requests: 0,
            renegotiations: 0,
            is_ended: false,
            is_closed: false,
            held: None,
        };
        layer.receive(&[])?;
        Ok(layer)
    }

    /// Counts, from now on, the bytes that are received and not taken, and those that a
    /// [`Stream`](super::Stream) has not sent.
    pub fn charge(&mut self, held: Held) {
        self.held = Some(held);
        self.weigh(0);
    }

    /// Counts the current memory, plus `unsent` bytes on the sending side.
    pub(super) fn weigh(&mut self, unsent: usize) {
        let received = self.reader.memory() + self.plain.capacity();
        if let Some(held) = &mut self.held {
            held.set(received + unsent);
        }
    }

    fn is_tls13(&self) -> bool {
        self.secrets.protocol_version() == ProtocolVersion::TLSv1_3
    }

    fn key(&self, secrets: &ConnectionTrafficSecrets) -> Result<RecordKey, Error> {
        RecordKey::new(secrets, self.secrets.protocol_version())
    }

    // Sending.

    /// Seals as much of the front of `slices` as fits into `out`, which has room for [any one
    /// record](super::SEALED_RECORD_BYTES_MAX) if the last one may have been taken in part. A record of the
    /// connection's own is sealed first, alone.
    ///
    /// # Errors
    /// The version has no way to continue with another key, or the library fails. The connection must be
    /// closed.
    #[inline]
    pub fn seal(&self, slices: &[IoSlice<'_>], out: &mut [u8]) -> Result<Sealed, Error> {
        self.writer.seal(slices, out)
    }

    /// Notes that the socket took `taken` of the bytes that [`seal`](Self::seal) made. Returns the number of
    /// the caller's bytes that are sent; the bytes after them are those that the caller has to send next.
    ///
    /// # Errors
    /// No further key can be derived.
    #[inline]
    pub fn advance(&mut self, sealed: &Sealed, taken: usize) -> Result<usize, Error> {
        let progress = self.writer.advance(sealed, taken);
        if progress
            .control
            .is_some_and(|control| control.is_key_update)
        {
            let (sequence, secrets) = self
                .secrets
                .update_tx_secret()
                .map_err(|_| Error::Internal)?;
            let key = self.key(&secrets)?;
            self.writer.switch(key, sequence);
        } else if self.writer.is_worn() && self.is_tls13() {
            self.update_key();
        }
        Ok(progress.plain_bytes)
    }

    /// Changes the key of all records that follow.
    fn update_key(&mut self) {
        if !self.writer.has_key_update() && !self.is_closed {
            self.writer.push(Control::key_update());
        }
    }

    /// Returns the number of the caller's bytes in a record that is partly sent. They have to be sent, and no
    /// others before them.
    #[inline]
    pub fn begun_bytes(&self) -> usize {
        self.writer.begun.map_or(0, |begun| begun.plain_bytes)
    }

    /// Whether a record is partly sent: the connection cannot be ended in order before the rest is.
    pub fn is_within_record(&self) -> bool {
        self.writer.begun.is_some()
    }

    /// Whether the connection has records of its own to send: [`seal`](Self::seal) returns them even without
    /// any bytes of the caller's.
    #[inline]
    pub fn has_controls(&self) -> bool {
        !self.writer.controls.is_empty()
    }

    /// Notifies the peer that nothing follows, after the record that was begun. No bytes of the caller's may
    /// be sealed after it.
    pub fn close(&mut self) {
        self.end_with(alert::WARNING, alert::CLOSE_NOTIFY);
    }

    fn end_with(&mut self, level: u8, description: u8) {
        if !self.is_closed {
            self.is_closed = self.writer.push(Control::alert(level, description));
        }
    }

    // Receiving.

    /// Processes bytes from the peer; the plaintext is in [`received`](Self::received) afterwards.
    ///
    /// # Errors
    /// The peer breaks the protocol; an alert is then ready to be sent.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.reader.receive(bytes);
        let read = self.read();
        if let Err(error) = read
            && let Some(description) = error.alert()
        {
            self.end_with(alert::FATAL, description);
        }
        read
    }

    fn read(&mut self) -> Result<(), Error> {
        while let Some((kind, plain)) = self.reader.next()? {
            match kind {
                // Ignored (RFC 8446 §6.1).
                _ if self.is_ended => {}
                content::DATA => self.plain.extend_from_slice(plain),
                kind => {
                    let message = plain.to_vec();
                    self.take(kind, &message)?;
                }
            }
        }
        Ok(())
    }

    /// Handles a message that is not for the caller.
    fn take(&mut self, kind: u8, message: &[u8]) -> Result<(), Error> {
        match (kind, message) {
            (content::ALERT, &[level, description]) => self.heed(level, description),
            (content::ALERT, _) => Err(Error::Decode),
            (content::HANDSHAKE, _) if self.is_tls13() => {
                let wants_answer = match message {
                    [KEY_UPDATE, 0, 0, 1, 0] => false,
                    [KEY_UPDATE, 0, 0, 1, 1] => true,
                    [KEY_UPDATE, ..] => return Err(Error::Decode),
                    _ => return Err(Error::UnexpectedMessage),
                };
                self.count()?;
                self.follow_key()?;
                if wants_answer {
                    self.update_key();
                }
                Ok(())
            }
            (content::HANDSHAKE, [CLIENT_HELLO, ..]) => self.refuse_renegotiation(),
            _ => Err(Error::UnexpectedMessage),
        }
    }

    fn heed(&mut self, level: u8, description: u8) -> Result<(), Error> {
        match description {
            alert::CLOSE_NOTIFY => {
                self.is_ended = true;
                Ok(())
            }
            alert::USER_CANCELED => self.count(),
            _ if level == alert::WARNING && !self.is_tls13() => self.count(),
            _ => Err(Error::Alerted(description)),
        }
    }

    fn count(&mut self) -> Result<(), Error> {
        self.requests += 1;
        match self.requests > REQUESTS_MAX {
            true => Err(Error::TooManyRequests),
            false => Ok(()),
        }
    }

    /// Switches to the key with which the peer seals its next records.
    fn follow_key(&mut self) -> Result<(), Error> {
        let (sequence, secrets) = self
            .secrets
            .update_rx_secret()
            .map_err(|_| Error::Internal)?;
        let key = self.key(&secrets)?;
        self.reader.switch(key, sequence);
        Ok(())
    }

    /// Refuses another handshake (RFC 5246 §7.2.2: the peer may continue without it).
    fn refuse_renegotiation(&mut self) -> Result<(), Error> {
        self.renegotiations += 1;
        if self.renegotiations > RENEGOTIATIONS_MAX {
            return Err(Error::TooManyRequests);
        }
        let refusal = Control::alert(alert::WARNING, alert::NO_RENEGOTIATION);
        self.writer.push(refusal);
        Ok(())
    }

    /// Returns the received plaintext that nobody has taken.
    pub fn received(&self) -> &[u8] {
        &self.plain
    }

    /// Drops the first `count` bytes of the received plaintext.
    pub fn consume(&mut self, count: usize) {
        match count == self.plain.len() {
            true => self.plain = Vec::new(),
            false => drop(self.plain.drain(..count)),
        }
    }

    /// Whether the peer has announced that it sends no more.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }
}

#[cfg(test)]
impl RecordLayer {
    /// Makes the key act as if it had sealed all but `left` of its records.
    pub(super) fn wear_out(&mut self, left: u64) {
        self.writer.wear_out(left);
    }

    /// Handles a record as if the peer had sent it.
    pub(super) fn receive_as(&mut self, kind: u8, plain: &[u8]) -> Result<(), Error> {
        self.take(kind, plain)
    }
}

base::debug!(RecordLayer as it { version: it.secrets.protocol_version(), writer: it.writer });
