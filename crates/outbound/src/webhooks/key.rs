//! Keys that sign messages.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Prefix of a key's text.
const PREFIX: &str = "whsec_";

/// Length of a key in bytes.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Version of signatures made with a shared key.
const VERSION: &str = "v1";

/// Signing key shared with a receiver: `whsec_` and 24 to 64 bytes in base64. It prints as `***`.
#[derive(Clone, Eq, PartialEq)]
pub struct SigningKey(Vec<u8>);

/// Reason why a text is not a key. It repeats nothing of the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotAKey {
    /// The text does not begin with the prefix of keys.
    #[error("does not begin with `whsec_`")]
    Prefix,
    /// The rest is not base64.
    #[error("is not base64 behind `whsec_`")]
    Base64,
    /// The key is too short to be safe, or too long.
    #[error("is not a key of 24 to 64 bytes")]
    Length,
}

impl SigningKey {
    /// Returns the signature of a message, as in its header. `seconds` is the time of the attempt.
    pub(crate) fn sign(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        // HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("{VERSION},{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl FromStr for SigningKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let encoded = text.strip_prefix(PREFIX).ok_or(NotAKey::Prefix)?;
        let key = STANDARD.decode(encoded).map_err(|_| NotAKey::Base64)?;
        match KEY_BYTES.contains(&key.len()) {
            true => Ok(Self(key)),
            false => Err(NotAKey::Length),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_specification() {
        // The example of the specification's reference libraries.
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse::<SigningKey>();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        let signature = key.expect("a key").sign(id, 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn keys_have_a_prefix_and_a_length_and_are_not_shown() {
        let text = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for (bytes, fits) in [(0, false), (23, false), (24, true), (64, true), (65, false)] {
            let parsed = text(bytes).parse::<SigningKey>();
            assert_eq!(parsed.is_ok(), fits, "{bytes}");
        }
        let parse = |text: &str| text.parse::<SigningKey>();
        assert_eq!(parse(&text(24)[6..]), Err(NotAKey::Prefix));
        assert_eq!(parse("whsec_%%%"), Err(NotAKey::Base64));
        assert_eq!(format!("{:?}", parse(&text(24))), "Ok(***)");
    }
}
