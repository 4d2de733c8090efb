//! Patterns over stream names.

use std::fmt;

use crate::name::StreamName;

/// A pattern: `?` stands for one character, `*` for any number of them within a segment, `**` for any number of them
/// and of `/`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Glob(String);

/// Longest pattern: a stream's name has at most 255 bytes.
const PATTERN_BYTES_MAX: usize = 255;

impl Glob {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns the fault as a phrase that follows the pattern's text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".~_-/*?".contains(&byte);
        if text.is_empty() {
            return Err("is empty; `**` matches every stream");
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err("is longer than any stream's name");
        }
        if text.starts_with('/') || text.ends_with('/') || text.contains("//") {
            return Err("has an empty segment; stream names are like `live/show`");
        }
        if !text.bytes().all(allowed) {
            return Err("holds a character that no stream's name has");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the common prefix of all matching names: the part before the first `*` or `?`.
    pub fn front(&self) -> &str {
        let end = self.0.find(['*', '?']).unwrap_or(self.0.len());
        &self.0[..end]
    }

    /// Whether it is a plain name, which is the only name that matches.
    pub fn is_name(&self) -> bool {
        self.front() == self.0
    }

    /// Whether the part after the prefix consists of whole segments.
    pub fn is_cut_between_segments(&self) -> bool {
        self.front().is_empty() || self.front().ends_with('/')
    }

    /// Whether it matches a stream or one that it is a rendition of, so that renditions are no way around the stream's
    /// own key.
    pub fn fits(&self, name: &StreamName) -> bool {
        name.with_parents().any(|name| self.matches(name.as_str()))
    }

    /// Whether it matches a name. The work is at most the product of the two lengths.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.as_bytes();
        // `reached[i]`: the pattern so far matches the first `i` bytes of the name.
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        let mut pattern = self.0.as_bytes();
        while let Some((&first, rest)) = pattern.split_first() {
            let many = first == b'*';
            let any = many && rest.first() == Some(&b'*');
            pattern = if any { &rest[1..] } else { rest };
            let mut next = vec![false; reached.len()];
            next[0] = many && reached[0];
            for (at, &byte) in name.iter().enumerate() {
                next[at + 1] = match first {
                    b'*' => reached[at + 1] || (next[at] && (any || byte != b'/')),
                    b'?' => reached[at] && byte != b'/',
                    _ => reached[at] && byte == first,
                };
            }
            reached = next;
        }
        reached[name.len()]
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_segment_and_double_stars_do_not() {
        for (pattern, name, expected) in [
            ("live/*", "live/show", true),
            ("live/*", "live/", true),
            ("live/*", "live/a/b", false),
            ("live/**", "live/a/b", true),
            ("**", "anything/at.all", true),
            ("*", "radio.mp3", true),
            ("*", "live/show", false),
            ("*.mp3", "radio.mp3", true),
            ("*.mp3", "radio.ogg", false),
            ("cam?", "cam1", true),
            ("cam?", "cam", false),
            ("cam?", "cam/", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("radio", "radio", true),
            ("radio", "radio2", false),
            ("**/hd", "a/b/hd", true),
        ] {
            let found = Glob::parse(pattern).map(|glob| glob.matches(name));
            assert_eq!(found, Ok(expected), "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let glob = Glob::parse(&"*a".repeat(127)).expect("a pattern");
        assert!(!glob.matches(&"a".repeat(126)));
        assert!(glob.matches(&"a".repeat(127)));
    }
}
