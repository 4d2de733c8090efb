//! What a complete handshake yields.

use rtc_dtls::state::State;
use rtc_srtp::config::LABEL_EXTRACTOR_DTLS_SRTP;

use super::Error;
use super::identity::theirs;
use crate::sdp::Fingerprint;
use crate::srtp::{Keys, Profile};

/// Which side of a handshake is ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Client,
    Server,
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
