//! Tags that files carry around their frames, and that sources send along when they play files.

use bytes::Buf;

use crate::id3;

/// Length of the longest tag that is accepted. Cover art makes large ones; a greater length is assumed to be an
/// accident, because accepting it would silence the stream for minutes.
const TAG_BYTES_MAX: usize = 4 * 1024 * 1024;

const ID3V2_HEADER_BYTES: usize = 10;
const APE_HEADER_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    /// A tag of this many bytes.
    Tag(usize),
    /// Unknown until more bytes arrive.
    Perhaps,
    None,
}

/// Returns whether a tag may begin with `byte`.
pub(super) const fn may_begin(byte: u8) -> bool {
    matches!(byte, b'I' | b'T' | b'A')
}

/// Looks for a tag that begins at the start of `bytes`.
pub(super) fn at_front(bytes: &[u8]) -> Found {
    match bytes.first() {
        Some(b'I') => of_format(bytes, b"ID3", ID3V2_HEADER_BYTES, id3v2_bytes),
        Some(b'T') => of_format(bytes, b"TAG", 4, |head| {
            // "TAG+" is the extension that some write before the tag proper.
            Some(if head[3] == b'+' { 227 } else { 128 })
        }),
        Some(b'A') => of_format(bytes, b"APETAGEX", APE_HEADER_BYTES, ape_bytes),
        _ => Found::None,
    }
}

fn of_format(
    bytes: &[u8],
    magic: &[u8],
    head_bytes: usize,
    length: impl Fn(&[u8]) -> Option<usize>,
) -> Found {
    let seen = bytes.len().min(magic.len());
    if bytes[..seen] != magic[..seen] {
        return Found::None;
    }
    let Some(head) = bytes.get(..head_bytes) else {
        return Found::Perhaps;
    };
    match length(head) {
        Some(length) if length <= TAG_BYTES_MAX => Found::Tag(length),
        _ => Found::None,
    }
}

/// Returns the length of an ID3v2 tag (§3.1): seven bits of length per byte, header and footer not counted.
fn id3v2_bytes(head: &[u8]) -> Option<usize> {
    let has_footer = head[5] & 0x10 != 0;
    let size = id3::read_size(&head[6..10])?;
    Some(ID3V2_HEADER_BYTES * if has_footer { 2 } else { 1 } + size)
}

/// Returns the length of an APEv2 tag: its length field counts the items and the footer. Nothing follows a footer.
fn ape_bytes(head: &[u8]) -> Option<usize> {
    let field = |at: usize| head.get(at..)?.try_get_u32_le().ok();
    let is_header = field(20)? >> 29 & 1 == 1;
    let length = if is_header { field(12)? as usize } else { 0 };
    Some(APE_HEADER_BYTES + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read() {
        assert_eq!(at_front(b"ID3\x04\0\0\0\0\x02\x01"), Found::Tag(10 + 257));
        assert_eq!(at_front(b"ID3\x04\0\x10\0\0\0\x01"), Found::Tag(21));
        assert_eq!(at_front(b"TAGx"), Found::Tag(128));
        assert_eq!(at_front(b"TAG+"), Found::Tag(227));
        let mut ape = *b"APETAGEX\xD0\x07\0\0\x40\0\0\0\x01\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0";
        assert_eq!(at_front(&ape), Found::Tag(32 + 64));
        ape[23] = 0x80;
        assert_eq!(at_front(&ape), Found::Tag(32));
    }

    #[test]
    fn beginnings_wait_and_accidents_do_not() {
        for beginning in ["I", "ID", "ID3", "T", "TAG", "A", "APETAGE", "APETAGEX"] {
            let found = at_front(beginning.as_bytes());
            assert_eq!(found, Found::Perhaps, "{beginning}");
        }
        let others: [&[u8]; 5] = [b"IE", b"TAX", b"APP", b"\xFF", b""];
        let lies: [&[u8]; 2] = [b"ID3\x04\0\0\x80\0\0\0", b"ID3\x04\0\0\x7F\x7F\x7F\x7F"];
        for other in others.into_iter().chain(lies) {
            assert_eq!(at_front(other), Found::None, "{other:?}");
        }
    }
}
