//! EBML elements (RFC 8794) and the Matroska elements (RFC 9559) that a relay reads.

use bytes::Buf;

/// Element identifiers, marker bits included.
pub(super) mod id {
    pub(in crate::webm) const EBML: u32 = 0x1A45_DFA3;
    pub(in crate::webm) const SEGMENT: u32 = 0x1853_8067;
    pub(in crate::webm) const INFO: u32 = 0x1549_A966;
    pub(in crate::webm) const TIMESTAMP_SCALE: u32 = 0x2A_D7B1;
    pub(in crate::webm) const TRACKS: u32 = 0x1654_AE6B;
    pub(in crate::webm) const TRACK_ENTRY: u32 = 0xAE;
    pub(in crate::webm) const TRACK_NUMBER: u32 = 0xD7;
    pub(in crate::webm) const TRACK_TYPE: u32 = 0x83;
    pub(in crate::webm) const TRACK_UID: u32 = 0x73C5;
    pub(in crate::webm) const CODEC_ID: u32 = 0x86;
    pub(in crate::webm) const AUDIO: u32 = 0xE1;
    pub(in crate::webm) const SAMPLING_FREQUENCY: u32 = 0xB5;
    pub(in crate::webm) const CHANNELS: u32 = 0x9F;
    pub(in crate::webm) const CRC: u32 = 0xBF;
    pub(in crate::webm) const VOID: u32 = 0xEC;
    pub(in crate::webm) const CLUSTER: u32 = 0x1F43_B675;
    pub(in crate::webm) const TIMESTAMP: u32 = 0xE7;
    pub(in crate::webm) const SIMPLE_BLOCK: u32 = 0xA3;
    pub(in crate::webm) const BLOCK_GROUP: u32 = 0xA0;
    pub(in crate::webm) const BLOCK: u32 = 0xA1;
    pub(in crate::webm) const REFERENCE_BLOCK: u32 = 0xFB;
}

/// Bytes of the longest element head: four of identifier, eight of size.
pub(super) const HEAD_BYTES_MAX: usize = 12;

/// Identifier and size of an element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) id: u32,
    /// Bytes of the identifier and the size.
    pub(super) bytes: usize,
    /// Bytes that follow; `None` when the element ends where one of its parents' siblings begins, as live streams write
    /// it.
    pub(super) size: Option<u64>,
}

/// Result of reading the front of a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Front {
    Unclear,
    Garbage,
    Head(Head),
}

/// Reads the head of the element at the start of `bytes`.
pub(super) fn head(bytes: &[u8]) -> Front {
    let Some(first) = bytes.first() else {
        return Front::Unclear;
    };
    let id_bytes = first.leading_zeros() as usize + 1;
    if id_bytes > 4 {
        return Front::Garbage;
    }
    let Some(id) = bytes.get(..id_bytes) else {
        return Front::Unclear;
    };
    let id = id.iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
    match bytes.get(id_bytes) {
        None => return Front::Unclear,
        Some(0) => return Front::Garbage,
        Some(_) => {}
    }
    match number(&bytes[id_bytes..]) {
        None => Front::Unclear,
        Some((size, size_bytes)) => Front::Head(Head {
            id,
            bytes: id_bytes + size_bytes,
            size,
        }),
    }
}

/// Reads a variable-size integer and returns its value and length in bytes. All ones mean unknown, which is
/// `Some((None, _))`; `None` means that the integer has not fully arrived, or begins with a zero byte.
pub(super) fn number(bytes: &[u8]) -> Option<(Option<u64>, usize)> {
    let first = *bytes.first()?;
    let length = first.leading_zeros() as usize + 1;
    let mut bytes = bytes.get(..length).filter(|_| length <= 8)?;
    let value = bytes.get_uint(length);
    let mask = (1 << (7 * length)) - 1;
    let value = value & mask;
    Some(((value != mask).then_some(value), length))
}

/// Returns the elements of a header, with the segment replaced by the elements in it, up to the first that is not
/// whole.
pub(super) fn of_header(header: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = header;
    std::iter::from_fn(move || {
        while let Front::Head(head) = head(rest)
            && head.id == id::SEGMENT
        {
            rest = &rest[head.bytes..];
        }
        take(&mut rest)
    })
}

/// Returns the elements directly inside `body`, up to the first that is cut short or broken.
pub(super) fn children(mut body: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || take(&mut body))
}

/// Takes a whole element off the front.
fn take<'a>(rest: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let Front::Head(head) = head(rest) else {
        return None;
    };
    let size = usize::try_from(head.size?).ok()?;
    let (body, behind) = rest[head.bytes..].split_at_checked(size)?;
    *rest = behind;
    Some((head.id, body))
}

/// Reads an unsigned integer element; `None` if it is longer than eight bytes.
pub(super) fn unsigned(mut body: &[u8]) -> Option<u64> {
    (body.len() <= 8).then(|| body.get_uint(body.len()))
}

/// Reads a floating-point element.
pub(super) fn float(body: &[u8]) -> Option<f64> {
    match body.len() {
        4 => body
            .first_chunk()
            .map(|bytes| f32::from_be_bytes(*bytes).into()),
        8 => body.first_chunk().map(|bytes| f64::from_be_bytes(*bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_every_length() {
        let whole = |id, bytes, size| Front::Head(Head { id, bytes, size });
        assert_eq!(head(&[0xA3, 0x85]), whole(id::SIMPLE_BLOCK, 2, Some(5)));
        let cluster = [0x1F, 0x43, 0xB6, 0x75, 0xFF];
        assert_eq!(head(&cluster), whole(id::CLUSTER, 5, None));
        let unknown = *b"\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
        assert_eq!(head(&unknown), whole(id::SEGMENT, HEAD_BYTES_MAX, None));
        for cut in 0..unknown.len() {
            assert_eq!(head(&unknown[..cut]), Front::Unclear);
        }
        assert_eq!(head(&[0x08, 0x80]), Front::Garbage);
        assert_eq!(head(&[0xA3, 0x00]), Front::Garbage);
    }
}
