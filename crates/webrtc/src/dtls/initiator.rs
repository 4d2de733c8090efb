//! Client's side of a handshake, for a peer that waits for ours or for a client of this crate.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use rtc_dtls::config::HandshakeConfig;
use rtc_dtls::endpoint::Endpoint;
use rtc_shared::TransportProtocol;

use super::flight::FlightReader;
use super::guard::{HELLO_VERIFY_REQUEST, SERVER_HELLO, has, is_only};
use super::keys::{Side, keys, progress};
use super::{Error, Progress};
use crate::sdp::Fingerprint;

/// Placeholder address of the peer. The library distinguishes associations by address; an endpoint of ours has only one.
pub(super) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// One association with a server.
pub(crate) struct Initiator {
    pub(super) endpoint: Endpoint,
    /// Certificate that the server's description named.
    expected: Fingerprint,
    /// Long flight of the server; `None` once it is whole.
    flight: Option<FlightReader>,
    is_complete: bool,
}

base::debug!(Initiator { is_complete });

impl Initiator {
    /// Starts the handshake; [`Initiator::poll_transmit`] yields the hello.
    pub(crate) fn begin(
        config: &Arc<HandshakeConfig>,
        expected: Fingerprint,
        now: Instant,
    ) -> Result<Self, Error> {
        let mut endpoint = Endpoint::new(SERVER, TransportProtocol::UDP, None);
        endpoint
            .connect(now, SERVER, config.clone(), None)
            .map_err(|_| Error::Crypto)?;
        Ok(Self {
            endpoint,
            expected,
            flight: Some(FlightReader::default()),
            is_complete: false,
        })
    }

    /// Processes a datagram from the server.
    pub(crate) fn receive(&mut self, datagram: &[u8], now: Instant) -> Result<Progress, Error> {
        // The messages of a server's long flight are not encrypted.
        let is_flight = is_only(datagram, |record| record.is_readable());
        if self.is_complete || !is_flight || has(datagram, HELLO_VERIFY_REQUEST) {
            return self.feed(BytesMut::from(datagram), now);
        }
        let Some(flight) = &mut self.flight else {
            // The server repeats itself, so our own flight was lost. The library's timer would repeat our flight, but a
            // repetition from the server would stop that timer; the library is woken instead.
            if has(datagram, SERVER_HELLO)
                && let Some(due) = self.timeout()
            {
                self.handle_timeout(due)?;
            }
            return Ok(Progress::Pending);
        };
        let Some(records) = flight.push(datagram)? else {
            return Ok(Progress::Pending);
        };
        let records = BytesMut::from(records);
        self.flight = None;
        self.feed(records, now)
    }

    fn feed(&mut self, records: BytesMut, now: Instant) -> Result<Progress, Error> {
        let read = self.endpoint.read(now, SERVER, None, records);
        let is_complete = &mut self.is_complete;
        progress(read, is_complete, || {
            let state = self.endpoint.get_connection_state(SERVER);
            keys(state, Side::Client, &self.expected)
        })
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<BytesMut> {
        self.endpoint
            .poll_transmit()
            .map(|transmit| transmit.message)
    }

    /// Returns the time at which [`Initiator::handle_timeout`] is due.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout(&SERVER)
    }

    /// Retransmits what was lost.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        let woken = self.endpoint.handle_timeout(SERVER, now);
        woken.map_err(|_| Error::TimedOut)
    }

    /// Closes the association.
    pub(crate) fn close(&mut self, now: Instant) {
        drop(self.endpoint.stop(now, SERVER));
    }
}
