//! Bodies that carry several tracks at once (Enhanced RTMP v2, `ExVideoTagBody`, `ExAudioTagBody`).
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
    /// Its number.
    pub(super) number: u8,
    /// Its own bytes, behind their length.
    pub(super) data: &'a [u8],
    /// Where in the body they are.
    pub(super) at: usize,
}

/// The parts of `body`, as far as they are complete. A body whose track is not [`WireTrack::Many`] has none.
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

/// The part that `rest`, the end of `body`, begins with, if it is complete. `shared` is the codec of all parts,
/// unless each names its own.
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

/// A body that carries `part` alone with the same statement, and its number. `parsed` is the start of `body`; its
/// modifiers are left out, because they concern the time of media.
pub(super) fn numbered(kind: Kind, parsed: &Body, body: &[u8], part: &Part<'_>) -> Bytes {
    let first = match kind {
        Kind::Audio => AUDIO_EX_HEADER << 4,
        // Bit 7, the frame type, and what was modified.
        Kind::Video => body.first().copied().unwrap_or_default() & 0xF0,
    };
    let head = [first | multitrack_type(kind)];
    alone(&head, parsed.packet_type, Some(part.number), part)
}

/// The body of one of several tracks, with its number or as if there were no others. `head` ends with the byte of the
/// packet type.
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
        let listed = |body: &'static [u8]| {
            let parsed = Body::video(body).expect("a whole header");
            assert_eq!(parsed.track, WireTrack::Many);
            parts(&parsed, body)
                .map(|part| (part.codec, part.number, part.data))
                .collect::<Vec<_>>()
        };
        let [avc, hevc] = [*b"avc1", *b"hvc1"];
        // Coded frames: the composition times belong to the tracks.
        assert_eq!(
            listed(b"\x96\x11hvc1\x00\0\0\x05\0\0\x28ab\x02\0\0\x04\0\0\0c"),
            [(hevc, 0, &b"\0\0\x28ab"[..]), (hevc, 2, b"\0\0\0c")]
        );
        assert_eq!(
            listed(b"\x96\x20avc1\x00\0\0\x04confhvc1\x01\0\0\0"),
            [(avc, 0, &b"conf"[..]), (hevc, 1, b"")]
        );
        // The second part is cut short.
        assert_eq!(
            listed(b"\x96\x13hvc1\x00\0\0\x01a\x01\0\0\x02b"),
            [(hevc, 0, &b"a"[..])]
        );
        let unknown = Body::video(b"\x96\x31avc1\x00\0\0\x01a").expect("a whole header");
        assert_eq!(unknown.track, WireTrack::Unknown);
    }

    #[test]
    fn a_part_alone_says_what_it_said_in_company() {
        let body = b"\x96\x20avc1\x03\0\0\x04confhvc1\x01\0\0\0";
        let parsed = Body::video(body).expect("a whole header");
        let first = parts(&parsed, body).next().expect("two parts");
        let alone = numbered(Kind::Video, &parsed, body, &first);
        assert_eq!(alone, &b"\x96\x00avc1\x03conf"[..]);
        let again = Body::video(&alone).expect("a whole header");
        assert_eq!(again.track, WireTrack::One(3));
        assert_eq!(again.packet, parsed.packet);
    }
}
