//! Character sets of radio software, which is older than UTF-8: those of the WHATWG Encoding Standard.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// A character set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Charset(&'static Encoding);

impl Charset {
    /// UTF-8.
    pub const UTF_8: Self = Self(UTF_8);

    /// Returns its name.
    pub fn label(self) -> String {
        self.0.name().to_ascii_lowercase()
    }

    /// Returns the character set that a name means, as programs and people use it. The name Latin-1 means windows-1252.
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim().to_ascii_lowercase();
        let plain = label.replace('_', "-");
        let known = match plain.as_str() {
            "latin-1" => "latin1",
            "latin9" | "latin-9" => "iso-8859-15",
            other => other,
        };
        let known = [&label[..], known].map(str::as_bytes);
        known
            .into_iter()
            .find_map(Encoding::for_label_no_replacement)
            .map(Self)
    }

    /// Whether titles interleaved with audio can be sent in it: a character has the same bytes wherever it stands, and
    /// the first 128 are those of ASCII.
    pub fn is_for_titles(self) -> bool {
        self.0.is_ascii_compatible()
    }

    /// Decodes text in this character set. Text that should be UTF-8 and is not is decoded as windows-1252.
    pub fn decode(self, bytes: &[u8]) -> String {
        if self == Self::UTF_8 {
            return Self(WINDOWS_1252).decode_unless_utf8(bytes);
        }
        self.0.decode(bytes).0.into_owned()
    }

    /// Decodes text as UTF-8 if it is valid, and otherwise in this character set: hardly any text in another is valid
    /// UTF-8 by chance.
    pub fn decode_unless_utf8(self, bytes: &[u8]) -> String {
        match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => self.decode(bytes),
        }
    }

    /// Appends a character in this character set; `?` if the set does not have it.
    pub fn encode(self, character: char, out: &mut Vec<u8>) {
        let mut text = [0; 4];
        let text = character.encode_utf8(&mut text);
        let (bytes, _, has_none) = self.0.encode(text);
        match has_none {
            true => out.push(b'?'),
            false => out.extend_from_slice(&bytes),
        }
    }
}

impl Default for Charset {
    fn default() -> Self {
        Self::UTF_8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(label: &str) -> Charset {
        Charset::from_label(label).expect("known")
    }

    #[test]
    fn texts_are_read_and_written() {
        for (label, bytes, text) in [
            ("windows-1251", &b"\xcf\xf0\xe8\xe2\xe5\xf2"[..], "Привет"),
            ("koi8-r", b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
            ("windows-1252", b"Bj\xf6rk \x96 J\xf3ga", "Björk – Jóga"),
            ("windows-1250", b"\x8akoda \xbeu\x9d", "Škoda ľuť"),
            ("iso-8859-7", b"\xc1\xe8\xde\xed\xe1", "Αθήνα"),
            ("shift_jis", b"\x93\xfa\x96\x7b", "日本"),
            ("gbk", b"\xd6\xd0\xb9\xfa", "中国"),
            ("big5", b"\xa4\xa4\xb0\xea", "中國"),
            ("euc-kr", b"\xc7\xd1\xb1\xb9", "한국"),
            ("utf-8", "Björk".as_bytes(), "Björk"),
        ] {
            let charset = charset(label);
            assert_eq!(charset.label(), label);
            assert!(charset.is_for_titles());
            assert_eq!(charset.decode(bytes), text, "{label}");
            let mut written = Vec::new();
            text.chars()
                .for_each(|one| charset.encode(one, &mut written));
            assert_eq!(written, bytes, "{label}");
        }
        assert_eq!(Charset::UTF_8.decode(b"Bj\xf6rk"), "Björk");
        let cyrillic = charset("windows-1251");
        assert_eq!(cyrillic.decode_unless_utf8("Björk".as_bytes()), "Björk");
        let mut out = Vec::new();
        "a♫ö".chars().for_each(|one| cyrillic.encode(one, &mut out));
        assert_eq!(out, b"a??");
        let wide = charset("utf-16");
        assert_eq!(wide.decode(b"\xfe\xff\0B\0j\0\xf6"), "Bjö");
        assert_eq!(wide.decode(b"B\0j\0\xf6\0"), "Bjö");
    }

    #[test]
    fn names_are_those_of_programs() {
        for (label, name) in [
            ("UTF-8", "utf-8"),
            ("UTF8", "utf-8"),
            ("ISO8859-1", "windows-1252"),
            ("iso_8859-1", "windows-1252"),
            ("Latin1", "windows-1252"),
            ("latin-1", "windows-1252"),
            ("us-ascii", "windows-1252"),
            ("latin-9", "iso-8859-15"),
            ("ISO8859-9", "windows-1254"),
            ("CP1251", "windows-1251"),
            ("windows_1251", "windows-1251"),
            ("KOI8-R", "koi8-r"),
            ("SHIFT_JIS", "shift_jis"),
            ("GB2312", "gbk"),
        ] {
            assert_eq!(charset(label).label(), name, "{label}");
        }
        for label in ["klingon", "", "iso-2022-kr"] {
            assert_eq!(Charset::from_label(label), None, "{label}");
        }
        for label in ["utf-16le", "iso-2022-jp"] {
            assert!(!charset(label).is_for_titles(), "{label}");
        }
    }
}
