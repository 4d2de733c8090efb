//! Results of the library's processing of a peer's datagrams: progress, and the keys of a complete handshake.

use rtc_dtls::endpoint::EndpointEvent;
use rtc_dtls::state::State;
use rtc_shared::error::Error::{self as LibraryError, ErrAlertFatalOrClose};
use rtc_srtp::config::LABEL_EXTRACTOR_DTLS_SRTP;

use super::identity::theirs;
use super::{Error, Progress};
use crate::sdp::Fingerprint;
use crate::srtp::{Keys, Profile};

/// Our side of a handshake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Converts the result of processing a peer's datagram. `is_complete` belongs to the association; it becomes true at the end of
/// the handshake, when `keys` supplies the result.
pub(super) fn progress(
    read: Result<Vec<EndpointEvent>, LibraryError>,
    is_complete: &mut bool,
    keys: impl Fn() -> Result<Keys, Error>,
) -> Result<Progress, Error> {
    let events = match read {
        Ok(events) => events,
        // An authenticated association ends only by an alert; a forged datagram could cause any other error.
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
