//! Numbers that sessions do not share.

use webrtc::ice::{Credentials, RANDOM_LEN};

/// A name and a password for one session.
pub(super) fn credentials() -> Result<Credentials, getrandom::Error> {
    let mut bytes = [0; RANDOM_LEN];
    getrandom::fill(&mut bytes)?;
    Ok(Credentials::generate(&bytes))
}

/// A number for one session.
pub(super) fn number() -> Result<u64, getrandom::Error> {
    getrandom::u64()
}
