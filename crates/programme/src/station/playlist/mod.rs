//! Parsers of playlist files: M3U, PLS and XSPF to locations and titles.
//!
//! Everything here is pure, and any input results in entries or none. Numbers, locations and titles are bounded, so the
//! entries of a file never take more memory than the file itself.
//!
//! `library` calls this module.

mod m3u;
mod pls;
mod text;
mod xspf;

use std::path::Path;

/// Most entries of a playlist, and most files of a folder: two months of songs. Each costs some 300 bytes.
pub const ENTRIES_MAX: usize = 20_000;

/// Largest playlist that is read, in bytes: twice what [`ENTRIES_MAX`] entries of ordinary length take.
pub const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Longest location in bytes: Linux accepts no longer path.
const LOCATION_BYTES_MAX: usize = 4_096;

/// Longest title in bytes: players show far less of one.
const TITLE_BYTES_MAX: usize = 1_024;

/// Syntax of a playlist.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Syntax {
    /// M3U and M3U8: one line for each entry.
    M3u,
    /// PLS: numbered keys.
    Pls,
    /// XSPF: XML.
    Xspf,
}

/// Entry of a playlist. Its text is untrusted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Entry {
    /// Path, absolute or relative to the playlist, or an address.
    pub location: String,
    /// Title as `artist - title`, if the playlist has it.
    pub title: Option<String>,
}

impl Syntax {
    /// Returns the syntax for the extension of a file's name.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match &extension[..] {
            "m3u" | "m3u8" => Some(Self::M3u),
            "pls" => Some(Self::Pls),
            "xspf" => Some(Self::Xspf),
            _ => None,
        }
    }

    /// Parses a whole playlist, in its order.
    pub fn parse(self, bytes: &[u8]) -> Vec<Entry> {
        let text = text::decode(bytes);
        let mut entries = match self {
            Self::M3u => m3u::parse(&text),
            Self::Pls => pls::parse(&text),
            Self::Xspf => xspf::parse(&text),
        };
        entries.truncate(ENTRIES_MAX);
        entries
    }
}

impl Entry {
    /// Makes an entry; `None` if `location` is not a location, for example because it is too long for a path. A title
    /// that is too long is cut.
    fn new(location: &str, title: Option<&str>) -> Option<Self> {
        let location = text::path_of(location.trim());
        let is_one = !location.is_empty()
            && location.len() <= LOCATION_BYTES_MAX
            && !location.contains(char::is_control);
        is_one.then(|| Self {
            location,
            title: title.and_then(text::title),
        })
    }

    /// Returns whether it is an address rather than a path.
    pub fn is_address(&self) -> bool {
        self.location.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Locations and titles.
    pub(super) fn pairs(entries: &[Entry]) -> Vec<(&str, &str)> {
        let entries = entries.iter();
        let pairs = entries.map(|entry| (&entry.location[..], entry.title.as_deref()));
        pairs.map(|(at, title)| (at, title.unwrap_or(""))).collect()
    }

    #[test]
    fn the_extension_decides() {
        for (name, syntax) in [
            ("a.m3u", Some(Syntax::M3u)),
            ("/x/A.M3U8", Some(Syntax::M3u)),
            ("a.b.pls", Some(Syntax::Pls)),
            ("a.XSPF", Some(Syntax::Xspf)),
            ("m3u", None),
            ("a.mp3", None),
        ] {
            assert_eq!(Syntax::of(Path::new(name)), syntax, "{name}");
        }
    }

    #[test]
    fn addresses_are_no_paths() {
        for (location, is_address) in [
            ("http://host/a.mp3", true),
            ("rtmp://host/a", true),
            ("a/b.mp3", false),
            ("/a://b.mp3", false),
            ("C:\\music\\a.mp3", false),
        ] {
            let entry = Entry::new(location, None).expect("a location");
            assert_eq!(entry.is_address(), is_address, "{location}");
        }
    }

    #[test]
    fn what_is_too_long_is_bounded() {
        assert_eq!(Entry::new(&"a".repeat(LOCATION_BYTES_MAX + 1), None), None);
        assert_eq!(Entry::new("a\0b", None), None);
        let long = "ü".repeat(TITLE_BYTES_MAX);
        let entry = Entry::new("a", Some(&long)).expect("a location");
        let title = entry.title.expect("a title");
        assert!(title.len() <= TITLE_BYTES_MAX);
        let many = "a\n".repeat(ENTRIES_MAX + 5);
        assert_eq!(Syntax::M3u.parse(many.as_bytes()).len(), ENTRIES_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_are_entries_or_none(bytes in any::<Vec<u8>>()) {
            for syntax in [Syntax::M3u, Syntax::Pls, Syntax::Xspf] {
                for entry in syntax.parse(&bytes) {
                    prop_assert!(!entry.location.is_empty());
                }
            }
        }
    }
}
