//! The client's side of a DTLS handshake.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use bytes::BytesMut;
use rtc_dtls::endpoint::{Endpoint, EndpointEvent};
use rtc_shared::TransportProtocol;
use rtc_srtp::config::LABEL_EXTRACTOR_DTLS_SRTP;

use super::ClientIdentity;
use crate::dtls::{Error, Progress, SERVER_HELLO, has, theirs};
use crate::sdp::Fingerprint;
use crate::srtp::{Keys, Profile};

/// The library tells associations apart by address; an endpoint of ours has one.
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// One association with a server.
pub(super) struct Handshake {
    endpoint: Endpoint,
    /// The certificate that the answer named.
    expected: Fingerprint,
    /// Whether the server's long flight has come.
    is_answered: bool,
    is_complete: bool,
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("is_complete", &self.is_complete)
            .finish_non_exhaustive()
    }
}

impl Handshake {
    /// Starts the handshake; [`Handshake::poll_transmit`] yields the hello.
    pub(super) fn begin(
        identity: &ClientIdentity,
        expected: Fingerprint,
        now: Instant,
    ) -> Result<Self, Error> {
        let mut endpoint = Endpoint::new(SERVER, TransportProtocol::UDP, None);
        endpoint
            .connect(now, SERVER, identity.config.clone(), None)
            .map_err(|_| Error::Crypto)?;
        Ok(Self {
            endpoint,
            expected,
            is_answered: false,
            is_complete: false,
        })
    }

    /// Takes a datagram of the server's.
    pub(super) fn receive(&mut self, datagram: &[u8], now: Instant) -> Result<Progress, Error> {
        let is_hello = has(datagram, SERVER_HELLO) && !self.is_complete;
        if is_hello && std::mem::replace(&mut self.is_answered, true) {
            // The server repeats itself, so our own flight was lost. The repetition would stop the
            // library's clock, so it is woken instead.
            if let Some(due) = self.timeout() {
                self.handle_timeout(due)?;
            }
            return Ok(Progress::Pending);
        }
        let read = self
            .endpoint
            .read(now, SERVER, None, BytesMut::from(datagram));
        let mut progress = Progress::Pending;
        for event in read.map_err(|_| Error::Handshake)? {
            match event {
                EndpointEvent::HandshakeComplete => {
                    progress = Progress::Connected(self.keys()?);
                    self.is_complete = true;
                }
                EndpointEvent::PeerClosed => progress = Progress::Closed,
                _ => {}
            }
        }
        Ok(progress)
    }

    pub(super) fn poll_transmit(&mut self) -> Option<BytesMut> {
        self.endpoint
            .poll_transmit()
            .map(|transmit| transmit.message)
    }

    /// When [`Handshake::handle_timeout`] is due.
    pub(super) fn timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout(&SERVER)
    }

    /// Sends again what was lost.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        let woken = self.endpoint.handle_timeout(SERVER, now);
        woken.map_err(|_| Error::TimedOut)
    }

    /// Closes the association.
    pub(super) fn close(&mut self, now: Instant) {
        drop(self.endpoint.stop(now, SERVER));
    }

    /// The keys, ours as `local`, if the server's certificate is the one of its answer.
    fn keys(&self) -> Result<Keys, Error> {
        let state = self
            .endpoint
            .get_connection_state(SERVER)
            .ok_or(Error::Handshake)?;
        let certificate = state
            .peer_certificates
            .first()
            .ok_or(Error::WrongFingerprint)?;
        if Fingerprint::of_certificate(certificate) != self.expected {
            return Err(Error::WrongFingerprint);
        }
        let agreed = state.srtp_protection_profile();
        let profile = [Profile::Aes128Gcm, Profile::Aes128CmSha1_80]
            .into_iter()
            .find(|profile| theirs(*profile) == agreed)
            .ok_or(Error::NoProfile)?;
        let material = state
            .export_keying_material(LABEL_EXTRACTOR_DTLS_SRTP, &[], Keys::exported_len(profile))
            .map_err(|_| Error::Crypto)?;
        let servers = Keys::from_exported(profile, material.as_ref()).map_err(|_| Error::Crypto)?;
        Ok(Keys {
            profile,
            local: servers.remote,
            remote: servers.local,
        })
    }
}
