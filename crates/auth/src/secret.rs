//! Secrets that cannot be printed.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Key or password. It prints as `***`, and is compared in constant time, whatever its length.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the offered text is the secret.
    pub fn matches(&self, offered: &str) -> bool {
        // Digests have one length, so a guess of the wrong length takes as long as any other.
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        digest(&self.0)
            .as_slice()
            .ct_eq(digest(offered).as_slice())
            .into()
    }

    /// Returns the secret itself, for the line that shows the operator the key generated at start.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_compared_and_not_shown() {
        let secret = Secret::new("opensesame");
        assert!(secret.matches("opensesame"));
        for guess in ["", "opensesam", "opensesamE", "opensesame "] {
            assert!(!secret.matches(guess), "{guess}");
        }
        let shown = format!("{secret} {secret:?} {:?}", Some(&secret));
        assert_eq!(shown, "*** *** Some(***)");
    }
}
