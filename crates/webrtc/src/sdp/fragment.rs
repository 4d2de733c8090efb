//! `application/trickle-ice-sdpfrag` (RFC 8840 §9), the body of a PATCH.

use std::fmt::Write;

use thiserror::Error;

use super::answer::{Candidate, candidates};
use crate::ice::Credentials;

/// Largest fragment, in bytes: credentials and a few dozen candidates.
const FRAGMENT_LEN_MAX: usize = 16 * 1024;

/// Content of a fragment. Candidates are only counted: a lite agent learns a peer's addresses from the peer's checks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fragment {
    /// Name and password of the peer, if present; different ones mean a restart.
    pub ice: Option<Credentials>,
    /// Number of listed candidates.
    pub candidates: usize,
    /// Whether the fragment says that no more will follow.
    pub is_last: bool,
    /// Name of the section that the fragment describes.
    pub mid: Option<Box<str>>,
}

/// Reason why a fragment is rejected. In every case the peer is at fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum FragmentError {
    /// The fragment is longer than any real one.
    #[error("the fragment is longer than {FRAGMENT_LEN_MAX} bytes")]
    TooLong,
    /// A line does not have the form `x=…`, or is of a kind that fragments do not have.
    #[error("the fragment is not an SDP fragment")]
    Syntax,
    /// Either name or password is missing or malformed.
    #[error("the fragment's ICE credentials are not well formed")]
    Ice,
}

impl Fragment {
    /// Parses a fragment.
    pub fn parse(text: &str) -> Result<Self, FragmentError> {
        if text.len() > FRAGMENT_LEN_MAX {
            return Err(FragmentError::TooLong);
        }
        let (mut ufrag, mut password, mut mid) = (None, None, None);
        let (mut candidates, mut is_last) = (0, false);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let Some(attribute) = line.strip_prefix("a=") else {
                // Attributes and the sections they belong to alternate.
                if line.starts_with("m=") {
                    continue;
                }
                return Err(FragmentError::Syntax);
            };
            match attribute.split_once(':') {
                Some(("ice-ufrag", value)) => {
                    ufrag.get_or_insert(value);
                }
                Some(("ice-pwd", value)) => {
                    password.get_or_insert(value);
                }
                Some(("mid", value)) => {
                    mid.get_or_insert(value);
                }
                Some(("candidate", _)) => candidates += 1,
                None if attribute == "end-of-candidates" => is_last = true,
                _ => {}
            }
        }
        let has_ice = ufrag.is_some() || password.is_some();
        let ice = ufrag.zip(password);
        let ice = ice.and_then(|(ufrag, password)| Credentials::parse(ufrag, password));
        if has_ice && ice.is_none() {
            return Err(FragmentError::Ice);
        }
        Ok(Self {
            ice,
            candidates,
            is_last,
            mid: mid.map(Box::from),
        })
    }
}

/// Writes the answer to an ICE restart: our new credentials and all our addresses. `mid` is the name of the first accepted
/// section and `media` its kind.
pub fn write_fragment(ice: &Credentials, media: &str, mid: &str, ours: &[Candidate]) -> String {
    let mut out = String::with_capacity(512);
    let written = write!(
        out,
        "a=ice-lite\r\na=ice-ufrag:{}\r\na=ice-pwd:{}\r\nm={media} 9 UDP/TLS/RTP/SAVPF 0\r\n\
         a=mid:{mid}\r\n",
        ice.ufrag(),
        ice.password(),
    )
    .and_then(|()| candidates(&mut out, ours));
    debug_assert!(written.is_ok(), "writing to a string does not fail");
    out
}
