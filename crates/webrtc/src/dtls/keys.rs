//! What the library makes of a peer's datagrams: progress, and what a complete handshake yields.

use rtc_dtls::endpoint::EndpointEvent;
use rtc_dtls::state::State;
use rtc_shared::error::Error::{self as LibraryError, ErrAlertFatalOrClose};
use rtc_srtp::config::LABEL_EXTRACTOR_DTLS_SRTP;

use super::identity::theirs;
use super::{Error, Progress};
use crate::sdp::Fingerprint;
use crate::srtp::{Keys, Profile};

/// Which side of a handshake is ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What a read of a peer's datagram has come to. `is_complete` is of the association, and turns true with the end of its
/// handshake, when `keys` gives what that yields.
pub(super) fn progress(
    read: Result<Vec<EndpointEvent>, LibraryError>,
    is_complete: &mut bool,
    keys: impl Fn() -> Result<Keys, Error>,
) -> Result<Progress, Error> {
    let events = match read {
        Ok(events) => events,
        // An authenticated association ends only by an alert; all other errors could be caused by a forged datagram.
        Err(error) if *is_complete && !matches!(error, ErrAlertFatalOrClose) => {
            return Err(Error::Flood);
        }
        Err(error) => {
            tracing::debug!(%error, "DTLS");
            return Err(Error::Handshake);
        }
    };
    let mut progress = Progress::Pending;
    for event in events {
        match event {
            EndpointEvent::HandshakeComplete => {
                progress = Progress::Connected(keys()?);
                *is_complete = true;
            }
            EndpointEvent::PeerClosed => progress = Progress::Closed,
            _ => {}
        }
    }
    Ok(progress)
}

/// Verifies the peer's certificate and exports the keys of a complete handshake, ours as `local`.
pub(super) fn keys(
    state: Option<&State>,
    ours: Side,
    expected: &Fingerprint,
) -> Result<Keys, Error> {
    let state = state.ok_or(Error::Handshake)?;
    let certificate = state
        .peer_certificates
        .first()
        .ok_or(Error::WrongFingerprint)?;
    if !expected.matches(certificate) {
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
    Ok(match ours {
        Side::Server => servers,
        Side::Client => Keys {
            profile,
            local: servers.remote,
            remote: servers.local,
        },
    })
}
