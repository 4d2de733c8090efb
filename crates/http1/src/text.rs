//! Conversion of bytes to text: tokens, percent-encoding, and the character sets of radio software.

use std::borrow::Cow;

/// Characters that windows-1252 has in place of the control characters of ISO-8859-1. Software that says "Latin-1" means this
/// (WHATWG Encoding, label `latin1`).
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// Whether a byte may occur in a method or a header name (RFC 9110 §5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether bytes are a non-empty token.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(is_token_byte)
}

/// Decodes text as UTF-8 if it is valid, else as windows-1252, under which every byte is a character.
pub fn utf8_or_latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(latin1(bytes)),
    }
}

/// Decodes text as windows-1252.
fn latin1(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|&byte| match byte {
            0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
            _ => char::from(byte),
        })
        .collect()
}

/// Decodes each `%XX`; a `%` that begins no such triple stands for itself.
pub(crate) fn percent_decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    percent_encoding::percent_decode(bytes).into()
}

/// Removes surrounding spaces and tabs (OWS, RFC 9110 §5.6.3).
pub(crate) fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_what_windows_means_by_it() {
        assert_eq!(utf8_or_latin1(b"Bj\xf6rk \x96 J\xf3ga"), "Björk – Jóga");
        assert_eq!(utf8_or_latin1("Björk – Jóga".as_bytes()), "Björk – Jóga");
    }

    #[test]
    fn stray_percent_signs_survive() {
        assert_eq!(&*percent_decode(b"100%25 %zz 50%"), b"100% %zz 50%");
    }
}
