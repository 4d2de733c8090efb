//! Connectivity checks: STUN binding requests, read as untrusted input.

use std::net::SocketAddr;

use rtc_crypto::RTCCrypto;
use rtc_stun::attributes::{
    ATTR_FINGERPRINT, ATTR_ICE_CONTROLLED, ATTR_MESSAGE_INTEGRITY, ATTR_PRIORITY,
    ATTR_USE_CANDIDATE, ATTR_USERNAME, AttrType,
};
use rtc_stun::error_code::{
    CODE_ROLE_CONFLICT, CODE_UNKNOWN_ATTRIBUTE, ErrorCode, ErrorCodeAttribute,
};
use rtc_stun::fingerprint::FINGERPRINT;
use rtc_stun::integrity::MessageIntegrity;
use rtc_stun::message::{BINDING_ERROR, BINDING_REQUEST, BINDING_SUCCESS, Message, Setter};
use rtc_stun::uattrs::UnknownAttributes;
use rtc_stun::xoraddr::XorMappedAddress;
use thiserror::Error;

/// Bytes of the header.
const HEADER_LEN: usize = 20;

/// Largest check, in bytes. A check has about 100 to 200 bytes; one that fills more than a small packet is an attack.
pub(crate) const CHECK_LEN_MAX: usize = 1_280;

/// The magic cookie in the header's second word (RFC 8489 §5).
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];

/// Largest `USERNAME`, in bytes: both names with the colon.
const USERNAME_LEN_MAX: usize = 513;

/// Comprehension-required attributes that we support.
const UNDERSTOOD: [AttrType; 4] = [
    ATTR_USERNAME,
    ATTR_MESSAGE_INTEGRITY,
    ATTR_PRIORITY,
    ATTR_USE_CANDIDATE,
];

/// Whether a datagram has the form of a STUN binding request.
pub fn looks_like_check(datagram: &[u8]) -> bool {
    datagram.len() >= HEADER_LEN
        && datagram.len() <= CHECK_LEN_MAX
        && datagram[..2] == [0, 1]
        && datagram[4..8] == COOKIE
}

/// Returns the two names in a check's `USERNAME`: ours and the peer's. Nothing is verified.
pub fn username(datagram: &[u8]) -> Option<(&str, &str)> {
    if !looks_like_check(datagram) {
        return None;
    }
    let mut rest = &datagram[HEADER_LEN..];
    loop {
        let head = rest.get(..4)?;
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let value = rest.get(4..4 + len)?;
        if kind == ATTR_USERNAME.value() {
            if len > USERNAME_LEN_MAX {
                return None;
            }
            return std::str::from_utf8(value).ok()?.split_once(':');
        }
        rest = rest.get(4 + len.next_multiple_of(4)..)?;
    }
}

/// Well-formed binding request whose integrity has been verified.
#[derive(Debug)]
pub struct Check {
    message: Message,
    /// Whether the peer chooses the address it came from.
    pub nominated: bool,
    /// Whether the peer believes that we are controlling, which a lite agent never is.
    pub role_conflict: bool,
    unknown: Vec<AttrType>,
}

/// Reason why a datagram is not answered. The sender receives no error.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum CheckError {
    /// The datagram is not a STUN binding request.
    #[error("not a well-formed binding request")]
    Malformed,
    /// The request does not carry a valid proof that the sender knows the password.
    #[error("the request is not authentic")]
    Forged,
}

impl Check {
    /// Parses a request and verifies it with our password.
    pub fn verify(
        datagram: &[u8],
        password: &str,
        crypto: &dyn RTCCrypto,
    ) -> Result<Self, CheckError> {
        if !looks_like_check(datagram) {
            return Err(CheckError::Malformed);
        }
        let mut message = Message {
            raw: datagram.to_vec(),
            ..Message::default()
        };
        message.decode().map_err(|_| CheckError::Malformed)?;
        let exact = HEADER_LEN + message.length as usize == datagram.len();
        if message.typ != BINDING_REQUEST || !exact {
            return Err(CheckError::Malformed);
        }
        if message.contains(ATTR_FINGERPRINT) {
            FINGERPRINT
                .check(&message)
                .map_err(|_| CheckError::Malformed)?;
        }
        MessageIntegrity::check(&mut message, password.as_bytes(), crypto)
            .map_err(|_| CheckError::Forged)?;
        // Attributes after the integrity are not covered by it and are ignored.
        let covered = message
            .attributes
            .0
            .iter()
            .map(|attribute| attribute.typ)
            .take_while(|kind| *kind != ATTR_MESSAGE_INTEGRITY);
        let (mut nominated, mut role_conflict) = (false, false);
        let mut unknown = Vec::new();
        for kind in covered {
            nominated |= kind == ATTR_USE_CANDIDATE;
            role_conflict |= kind == ATTR_ICE_CONTROLLED;
            if kind.required() && !UNDERSTOOD.contains(&kind) {
                unknown.push(kind);
            }
        }
        Ok(Self {
            message,
            nominated,
            role_conflict,
            unknown,
        })
    }

    /// Returns the response to the request, signed with our password, and whether it is a success.
    pub fn answer(
        &self,
        from: SocketAddr,
        password: &str,
        crypto: &dyn RTCCrypto,
    ) -> Option<(Vec<u8>, bool)> {
        let transaction = Box::new(self.message.transaction_id);
        let error = |code: ErrorCode| {
            Box::new(ErrorCodeAttribute {
                code,
                reason: Vec::new(),
            })
        };
        let mut setters: Vec<Box<dyn Setter + '_>> = vec![transaction];
        let refused = !self.unknown.is_empty() || self.role_conflict;
        if !self.unknown.is_empty() {
            setters.push(Box::new(BINDING_ERROR));
            setters.push(error(CODE_UNKNOWN_ATTRIBUTE));
            setters.push(Box::new(UnknownAttributes(self.unknown.clone())));
        } else if self.role_conflict {
            setters.push(Box::new(BINDING_ERROR));
            setters.push(error(CODE_ROLE_CONFLICT));
        } else {
            setters.push(Box::new(BINDING_SUCCESS));
            // A socket of both families sees an IPv4 peer as a mapped address; the peer does not.
            let ip = from.ip().to_canonical();
            setters.push(Box::new(XorMappedAddress {
                ip,
                port: from.port(),
            }));
        }
        setters.push(Box::new(
            MessageIntegrity::new_short_term_integrity_with_provider(password.to_owned(), crypto),
        ));
        setters.push(Box::new(FINGERPRINT));
        let mut response = Message::new();
        response.build(&setters).ok()?;
        Some((response.raw, !refused))
    }
}
