//! Multitrack bodies, which carry several tracks at once (Enhanced RTMP v2, `ExVideoTagBody`, `ExAudioTagBody`).
//!
//! ```text
//! ([FourCC]) [track:8] [length:24] data   ([FourCC]) [track:8] [length:24] data   …
//! ```

use bytes::{BufMut, Bytes, BytesMut};
use media::Kind;

use super::body::{AUDIO_EX_HEADER, Body, MULTITRACK_ONE, WireTrack, multitrack_type};
use super::codec::CodecTag;

/// One track's part of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Part<'a> {
    pub(super) codec: [u8; 4],
    /// Number of the track.
    pub(super) number: u8,
    /// Bytes of the part, after its length field.
    pub(super) data: &'a [u8],
    /// Offset of these bytes in the body.
    pub(super) at: usize,
}

/// Returns the complete parts of `body`. A body whose track is not [`WireTrack::Many`] has none.
pub(super) fn parts<'a>(parsed: &Body, body: &'a [u8]) -> impl Iterator<Item = Part<'a>> + use<'a> {
    let shared = match parsed.codec {
        CodecTag::FourCc(fourcc) => Some(fourcc),
        CodecTag::Mixed | CodecTag::Number(_) => None,
    };
    let mut rest = match parsed.track {
        WireTrack::Many => body.get(parsed.payload..).unwrap_or_default(),
        WireTrack::One(_) | WireTrack::Unknown => &[],
    };
    std::iter::from_fn(move || part(body, shared, &mut rest))
}

/// Takes the part at the start of `rest`, the end of `body`, if it is complete. `shared` is the codec of all parts,
/// unless each states its own.
pub(super) fn part<'a>(
    body: &'a [u8],
    shared: Option<[u8; 4]>,
    rest: &mut &'a [u8],
) -> Option<Part<'a>> {
    let codec = match shared {
        Some(fourcc) => fourcc,
        None => *take(rest)?,
    };
    let [number, high, middle, low] = *take(rest)?;
    let length = u32::from_be_bytes([0, high, middle, low]) as usize;
    let at = body.len() - rest.len();
    let (data, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(Part {
        codec,
        number,
        data,
        at,
    })
}

pub(super) fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(taken)
}

/// Creates a body that carries only `part`, with the same packet type and its number. `parsed` is the start of `body`;
/// its modifiers are left out, because they concern the time of media.
pub(super) fn numbered(kind: Kind, parsed: &Body, body: &[u8], part: &Part<'_>) -> Bytes {
    let first = match kind {
        Kind::Audio => AUDIO_EX_HEADER << 4,
        // Bit 7, the frame type, and the modified fields.
        Kind::Video => body.first().copied().unwrap_or_default() & 0xF0,
    };
    let head = [first | multitrack_type(kind)];
    alone(&head, parsed.packet_type, Some(part.number), part)
}

/// Creates the body of one of several tracks, with its number or as if there were no others. `head` ends with the byte
/// of the packet type.
pub(super) fn alone(head: &[u8], packet_type: u8, number: Option<u8>, part: &Part<'_>) -> Bytes {
    let mut alone = BytesMut::with_capacity(head.len() + 6 + part.data.len());
    alone.put_slice(head);
    if number.is_some() {
        alone.put_u8(MULTITRACK_ONE << 4 | packet_type);
    } else if let Some(last) = alone.last_mut() {
        *last = *last & 0xF0 | packet_type;
    }
    alone.put_slice(&part.codec);
    alone.extend(number);
    alone.put_slice(part.data);
    alone.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_several_tracks_are_taken_apart() {
        let body = b"\x96\x13hvc1\x00\0\0\x01a\x01\0\0\x02b";
        let parsed = Body::video(body).expect("a whole header");
        assert_eq!(parsed.track, WireTrack::Many);
        // The second part is cut short.
        let found = parts(&parsed, body).map(|part| (part.codec, part.number, part.data));
        assert_eq!(found.collect::<Vec<_>>(), [(*b"hvc1", 0, &b"a"[..])]);
        let unknown = Body::video(b"\x96\x31avc1\x00\0\0\x01a").expect("a whole header");
        assert_eq!(unknown.track, WireTrack::Unknown);
    }
}
