//! Patterns that match how clients describe themselves.

use std::fmt;

/// A pattern in which `*` stands for any number of characters and `?` for one. Case does not matter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wildcard(Box<str>);

/// Longest pattern, in bytes; program names have about a hundred.
const PATTERN_BYTES_MAX: usize = 255;

/// Bytes of a text that are compared. The work is at most the product of the two lengths, and clients choose the text.
const TEXT_BYTES_MAX: usize = 1_024;

impl Wildcard {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns the reason, worded to follow the text itself.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match text.len() {
            ..=PATTERN_BYTES_MAX => Ok(Self(text.into())),
            _ => Err("is longer than 255 bytes"),
        }
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text matches; only the first kilobyte of a longer text is compared.
    pub fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let text = &text[..text.len().min(TEXT_BYTES_MAX)];
        let (mut at, mut reached) = (0, 0);
        // Position of the last star, and how much of the text it has consumed.
        let mut star: Option<(usize, usize)> = None;
        while reached < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, reached));
                    at += 1;
                }
                Some(b'?') => (at, reached) = (at + 1, reached + 1),
                Some(byte) if byte.eq_ignore_ascii_case(&text[reached]) => {
                    (at, reached) = (at + 1, reached + 1);
                }
                _ => {
                    let Some((stands, taken)) = star else {
                        return false;
                    };
                    star = Some((stands, taken + 1));
                    (at, reached) = (stands + 1, taken + 1);
                }
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

impl fmt::Display for Wildcard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_are_any_text_and_case_does_not_matter() {
        for (pattern, text, expected) in [
            ("*ripper*", "StreamRipper/1.64", true),
            ("*ripper*", "VLC/3.0.20", false),
            ("VLC/*", "vlc/3.0.20 LibVLC/3.0.20", true),
            ("VLC/*", "LibVLC/3.0.20", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.EXAMPLE.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "example.com.evil.test", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("v?c", "vlc", true),
            ("v?c", "vc", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("**a", "ba", true),
        ] {
            let pattern = Wildcard::parse(pattern).expect("a pattern");
            assert_eq!(pattern.matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = Wildcard::parse(&"*a".repeat(127)).expect("a pattern");
        assert!(pattern.matches(&"a".repeat(100_000)));
        assert!(!pattern.matches(&"ab".repeat(100_000)));
        assert!(Wildcard::parse(&"a".repeat(256)).is_err());
    }
}
