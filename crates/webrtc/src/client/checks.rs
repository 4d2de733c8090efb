//! Connectivity checks of the controlling side (RFC 8445 §7.2.2).

use std::collections::VecDeque;

use rtc_crypto::RTCCrypto;
use rtc_stun::attributes::{
    ATTR_ICE_CONTROLLING, ATTR_PRIORITY, ATTR_USE_CANDIDATE, ATTR_USERNAME, AttrType,
};
use rtc_stun::fingerprint::FINGERPRINT;
use rtc_stun::integrity::MessageIntegrity;
use rtc_stun::message::{
    BINDING_ERROR, BINDING_REQUEST, BINDING_SUCCESS, Message, Setter, TransactionId,
};
use rtc_stun::textattrs::TextAttribute;

use super::Error;
use crate::ice::Credentials;

/// Largest number of unanswered checks that are remembered: those of the last seconds before the path was proved.
const OUTSTANDING_MAX: usize = 16;

/// Priority of a host candidate over UDP that a check would discover (RFC 8445 §5.1.2.1).
const PRIORITY: u32 = 110 << 24 | 65_535 << 8 | 255;

/// Sends checks and recognises their responses.
#[derive(Debug)]
pub(super) struct Checks {
    name: String,
    password: String,
    /// Value that decides which side yields if both want control.
    tie_breaker: u64,
    /// Source of transaction numbers.
    random: u64,
    outstanding: VecDeque<[u8; 12]>,
}

impl Checks {
    /// Creates the checks of the peer named `local` towards the peer with the credentials `remote`.
    pub(super) fn new(local: &str, remote: &Credentials, random: u64) -> Self {
        Self {
            name: format!("{}:{local}", remote.ufrag()),
            password: remote.password().to_owned(),
            tie_breaker: random,
            random,
            outstanding: VecDeque::new(),
        }
    }

    /// Builds a check that nominates its path.
    pub(super) fn request(&mut self, crypto: &dyn RTCCrypto) -> Option<Vec<u8>> {
        let mut transaction = [0; 12];
        transaction[..8].copy_from_slice(&self.next().to_be_bytes());
        transaction[8..].copy_from_slice(&self.next().to_be_bytes()[..4]);
        let setters: Vec<Box<dyn Setter + '_>> = vec![
            Box::new(BINDING_REQUEST),
            Box::new(TransactionId(transaction)),
            Box::new(TextAttribute::new(ATTR_USERNAME, self.name.clone())),
            Box::new(Attribute(
                ATTR_ICE_CONTROLLING,
                self.tie_breaker.to_be_bytes().into(),
            )),
            Box::new(Attribute(ATTR_PRIORITY, PRIORITY.to_be_bytes().into())),
            Box::new(Attribute(ATTR_USE_CANDIDATE, Vec::new())),
            Box::new(MessageIntegrity::new_short_term_integrity_with_provider(
                self.password.clone(),
                crypto,
            )),
            Box::new(FINGERPRINT),
        ];
        let mut message = Message::new();
        message.build(&setters).ok()?;
        if self.outstanding.len() == OUTSTANDING_MAX {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(transaction);
        Some(message.raw)
    }

    /// Whether a datagram is the response to one of our checks. Responses to other senders' checks do not count.
    pub(super) fn is_answer(
        &mut self,
        datagram: &[u8],
        crypto: &dyn RTCCrypto,
    ) -> Result<bool, Error> {
        let mut message = Message {
            raw: datagram.to_vec(),
            ..Message::default()
        };
        if message.decode().is_err() {
            return Ok(false);
        }
        let known = &message.transaction_id.0;
        let Some(at) = self.outstanding.iter().position(|one| one == known) else {
            return Ok(false);
        };
        let password = self.password.as_bytes();
        if MessageIntegrity::check(&mut message, password, crypto).is_err() {
            return Ok(false);
        }
        // Responses to earlier checks no longer matter.
        self.outstanding.drain(..=at);
        match message.typ {
            BINDING_SUCCESS => Ok(true),
            BINDING_ERROR => Err(Error::Refused),
            _ => Ok(false),
        }
    }

    /// Returns a number that no two checks of a session share (splitmix64).
    pub(super) fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Attribute of arbitrary bytes.
struct Attribute(AttrType, Vec<u8>);

impl Setter for Attribute {
    fn add_to(&self, message: &mut Message) -> rtc_shared::error::Result<()> {
        message.add(self.0, &self.1);
        Ok(())
    }
}
