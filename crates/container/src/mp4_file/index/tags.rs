//! Title and artist of a file, and the encoder's statement of the silence that it added: `moov/udta/meta/ilst`, as
//! iTunes writes it (QuickTime File Format, "Metadata"; `iTunSMPB` has no specification).

use super::super::walk::{children, find};

/// Length limit of a text in bytes: more than any title has.
const TEXT_BYTES_MAX: usize = 1_024;

/// Kind of a box whose content is identified by a name inside it, and the name that is searched for.
const FREE_FORM: &[u8; 4] = b"----";
const GAPLESS: &[u8] = b"iTunSMPB";

/// Tags of a file. Texts are exactly as in the file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tags {
    /// `©nam`.
    pub title: Option<String>,
    /// `©ART`.
    pub artist: Option<String>,
    /// Samples of silence before and after the audio.
    pub(super) silence: Option<(u64, u64)>,
}

impl Tags {
    /// Reads the tags in the body of a `moov`.
    pub(super) fn read(moov: &[u8]) -> Self {
        let mut tags = Self::default();
        let meta = find(moov, b"udta").and_then(|udta| find(udta, b"meta"));
        let meta = meta.unwrap_or_default();
        // `meta` has a version and flags, but not in QuickTime files.
        let list = meta.get(4..).and_then(|boxes| find(boxes, b"ilst"));
        for item in children(list.or_else(|| find(meta, b"ilst")).unwrap_or_default()) {
            match &item.kind {
                b"\xA9nam" => tags.title = tags.title.or_else(|| text(item.content)),
                b"\xA9ART" => tags.artist = tags.artist.or_else(|| text(item.content)),
                FREE_FORM if name(item.content) == Some(GAPLESS) => {
                    tags.silence = text(item.content).and_then(|text| silence(&text));
                }
                _ => {}
            }
        }
        tags
    }
}

/// Returns the text of an item, which is UTF-8; `None` if there is none.
fn text(item: &[u8]) -> Option<String> {
    // A type and a language come first.
    let text = find(item, b"data")?.get(8..)?;
    let text = str::from_utf8(text.get(..TEXT_BYTES_MAX).unwrap_or(text)).ok()?;
    let text = text.trim_matches(|character: char| character == '\0' || character.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the name of a free-form item.
fn name(item: &[u8]) -> Option<&[u8]> {
    find(item, b"name")?.get(4..)
}

/// Parses ` 00000000 00000840 000001CA …`: the second number is the silence before the audio, the third the silence
/// after it.
fn silence(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().skip(1);
    let mut number = || u64::from_str_radix(numbers.next()?, 16).ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let size = (content.len() as u32 + 8).to_be_bytes();
        [&size[..], kind, content].concat()
    }

    fn item(kind: &[u8; 4], text: &[u8]) -> Vec<u8> {
        let data = boxed(b"data", &[&[0, 0, 0, 1, 0, 0, 0, 0], text].concat());
        boxed(kind, &data)
    }

    fn moov(version: &[u8], items: &[u8]) -> Vec<u8> {
        let meta = [version, &boxed(b"ilst", items)].concat();
        boxed(b"udta", &boxed(b"meta", &meta))
    }

    #[test]
    fn texts_and_silence_are_found_in_both_forms_of_the_box() {
        let smpb = b" 00000000 00000840 000001CA 00000000003F31F6 00000000";
        let mean = boxed(b"mean", b"\0\0\0\0com.apple.iTunes");
        let name = boxed(b"name", b"\0\0\0\0iTunSMPB");
        let data = boxed(b"data", &[&[0; 8][..], smpb].concat());
        let items = [
            item(b"\xA9nam", "Jóga".as_bytes()),
            item(b"\xA9ART", b" Bj\xC3\xB6rk\0"),
            boxed(FREE_FORM, &[mean, name, data].concat()),
        ];
        for version in [&[0; 4][..], &[]] {
            let tags = Tags::read(&moov(version, &items.concat()));
            assert_eq!(tags.title.as_deref(), Some("Jóga"));
            assert_eq!(tags.artist.as_deref(), Some("Björk"));
            assert_eq!(tags.silence, Some((0x840, 0x1CA)));
        }
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let items = [
            item(b"\xA9nam", b"\xFF\xFE"),
            item(b"\xA9ART", b"  "),
            boxed(FREE_FORM, b"\0\0"),
            boxed(b"\xA9nam", b"\0\0\0\x0Cdata"),
        ];
        let tags = Tags::read(&moov(&[0; 4], &items.concat()));
        assert_eq!(tags, Tags::default());
        assert_eq!(silence("0 1"), None);
    }
}
