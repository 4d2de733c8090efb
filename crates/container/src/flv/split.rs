//! Splitting of one multitrack body into the bodies of its tracks (Enhanced RTMP v2, `AvMultitrackType`).
//!
//! ```text
//! [first:4 multitrack:4] [layout:4 type:4] then of one track    [FourCC] [track] data
//!                                          of many              [FourCC] ([track] [length:24] data)…
//!                                          of many codecs       ([FourCC] [track] [length:24] data)…
//! becomes, of each track                   [first:4 type:4] [FourCC] data
//! ```
//!
//! Bytes before the packet type (`ModEx`) stay with each track. A length is checked before its bytes are taken or
//! copied.

use bytes::{Buf, Bytes, BytesMut};
use media::Kind;
use thiserror::Error;

use super::WIRE_TRACKS_MAX;
use super::body::{
    EX_MODEX, MULTITRACK_MANY, MULTITRACK_MANY_CODECS, MULTITRACK_ONE, multitrack_at,
    multitrack_type,
};
use super::multitrack::{Part, alone, part, take};

/// Reason why a multitrack body cannot be read. Each is the sender's fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum MultitrackError {
    /// The body ends within a header or a track.
    #[error("a multitrack message is cut short")]
    Cut,
    /// The tracks are listed in a layout that Enhanced RTMP v2 does not have.
    #[error("a multitrack message of the unknown type {0}")]
    Layout(u8),
    /// The packet type is again that of multitrack bodies or of modifiers.
    #[error("a multitrack message within a multitrack message")]
    Nested,
    /// The body lists no track, or more than are distinguished.
    #[error("a multitrack message of {0} tracks; there may be 1 to {WIRE_TRACKS_MAX}")]
    Count(usize),
}

/// Calls `each` with the number of each track in the body and a body of that track alone, in list order. A body that is
/// not multitrack is passed on unchanged, with number 0.
///
/// Video, and the audio track with number 0, get the form of a publisher that has no other track. Further audio tracks
/// keep their number in their bodies. A body of one track is changed in place, if the caller has no other reference to
/// it; bodies of several tracks are copied.
///
/// # Errors
/// If the body is malformed. `each` has not been called then.
pub fn split(
    kind: Kind,
    body: Bytes,
    mut each: impl FnMut(u8, Bytes),
) -> Result<(), MultitrackError> {
    let Some(at) = multitrack_at(kind, &body) else {
        each(0, body);
        return Ok(());
    };
    let layout = *body.get(at + 1).ok_or(MultitrackError::Cut)?;
    let (layout, packet_type) = (layout >> 4, layout & 15);
    if packet_type == EX_MODEX || packet_type == multitrack_type(kind) {
        return Err(MultitrackError::Nested);
    }
    if layout == MULTITRACK_ONE {
        let number = *body.get(at + 6).ok_or(MultitrackError::Cut)?;
        let keeps_number = kind == Kind::Audio && number > 0;
        each(
            number,
            if keeps_number {
                body
            } else {
                unwrap(body, at, packet_type)
            },
        );
        return Ok(());
    }
    let list = parts(&body, at + 2, layout)?;
    for part in list {
        let keeps_number = kind == Kind::Audio && part.number > 0;
        let number = keeps_number.then_some(part.number);
        each(part.number, alone(&body[..=at], packet_type, number, &part));
    }
    Ok(())
}

/// Returns the parts of a body of several tracks, whose list begins at `list`.
fn parts(body: &[u8], list: usize, layout: u8) -> Result<Vec<Part<'_>>, MultitrackError> {
    let mut rest = body.get(list..).unwrap_or_default();
    let shared = match layout {
        MULTITRACK_MANY => Some(*take(&mut rest).ok_or(MultitrackError::Cut)?),
        MULTITRACK_MANY_CODECS => None,
        other => return Err(MultitrackError::Layout(other)),
    };
    let mut parts = Vec::new();
    while !rest.is_empty() && parts.len() <= usize::from(WIRE_TRACKS_MAX) {
        parts.push(part(body, shared, &mut rest).ok_or(MultitrackError::Cut)?);
    }
    match parts.len() {
        0 => Err(MultitrackError::Count(0)),
        count if count > usize::from(WIRE_TRACKS_MAX) => Err(MultitrackError::Count(count)),
        _ => Ok(parts),
    }
}

/// Removes the layout and the number from the body of one track, in place. `at` is the offset of its packet type.
fn unwrap(body: Bytes, at: usize, packet_type: u8) -> Bytes {
    let mut body = body
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    body[at] = body[at] & 0xF0 | packet_type;
    // Shift the preceding bytes over them: the four characters by one byte, the rest by two.
    body.copy_within(at + 2..at + 6, at + 3);
    body.copy_within(..=at, 2);
    body.advance(2);
    body.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(kind: Kind, body: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, MultitrackError> {
        let mut bodies = Vec::new();
        let body = Bytes::copy_from_slice(body);
        split(kind, body, |number, body| {
            bodies.push((number, body.to_vec()))
        })?;
        Ok(bodies)
    }

    fn one(number: u8, body: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, MultitrackError> {
        Ok(vec![(number, body.to_vec())])
    }

    #[test]
    fn bodies_of_a_single_track_stay_as_they_are() {
        for body in [
            &b"\x17\x01\0\0\0nal"[..],
            b"\x90hvc1config",
            b"\x97\x02\x01\x02\x03\x01hvc1\0\0\0nal",
            // A command to the player, an unfinished modifier, nothing.
            b"\xD6\x00",
            b"\x97\xFF",
            b"",
        ] {
            assert_eq!(bodies(Kind::Video, body), one(0, body), "{body:02x?}");
        }
        for body in [&b"\xaf\x01aac"[..], b"\x91Opusframe", b"\x56"] {
            assert_eq!(bodies(Kind::Audio, body), one(0, body), "{body:02x?}");
        }
    }

    #[test]
    fn one_track_gets_the_form_of_a_single_one() {
        let video: [(&[u8], u8, &[u8]); 3] = [
            // A sequence header, a keyframe with composition time 80, as ffmpeg writes them.
            (b"\x96\x00avc1\x01config", 1, b"\x90avc1config"),
            (b"\x96\x01avc1\x01\0\0\x50nal", 1, b"\x91avc1\0\0\x50nal"),
            // Frames that are presented when they are decoded; a nanosecond offset before the packet type.
            (
                b"\xA7\x02\x01\x02\x03\x06\x03hvc1\x02nal",
                2,
                b"\xA7\x02\x01\x02\x03\x03hvc1nal",
            ),
        ];
        for (body, number, alone) in video {
            assert_eq!(bodies(Kind::Video, body), one(number, alone));
        }
        let body = b"\x95\x01mp4a\x00aac";
        assert_eq!(bodies(Kind::Audio, body), one(0, b"\x91mp4aaac"));
        let body = b"\x95\x01mp4a\x01aac";
        assert_eq!(bodies(Kind::Audio, body), one(1, body));
    }

    #[test]
    fn a_body_of_one_track_is_changed_in_place() {
        let body = Bytes::from(b"\x96\x01avc1\x01\0\0\x50nal".to_vec());
        let end = body.as_ptr_range().end;
        let mut ends = Vec::new();
        let found = split(Kind::Video, body, |_, it| ends.push(it.as_ptr_range().end));
        found.expect("it is whole");
        assert_eq!(ends, [end]);
    }

    #[test]
    fn several_tracks_are_distinguished() {
        let coded = b"\x96\x11hvc1\x00\0\0\x05\0\0\x28ab\x02\0\0\x04\0\0\0c";
        let configs = b"\x96\x20avc1\x00\0\0\x04confhvc1\x01\0\0\0";
        let audio = b"\x95\x11mp4a\x00\0\0\x01a\x01\0\0\x01b";
        for (kind, body, [first, second]) in [
            (
                Kind::Video,
                &coded[..],
                [(0, &b"\x91hvc1\0\0\x28ab"[..]), (2, b"\x91hvc1\0\0\0c")],
            ),
            (
                Kind::Video,
                configs,
                [(0, b"\x90avc1conf"), (1, b"\x90hvc1")],
            ),
            (
                Kind::Audio,
                audio,
                [(0, b"\x91mp4aa"), (1, b"\x95\x01mp4a\x01b")],
            ),
        ] {
            let expected = [first, second].map(|(number, body)| (number, body.to_vec()));
            assert_eq!(bodies(kind, body), Ok(expected.to_vec()), "{body:02x?}");
        }
    }

    #[test]
    fn what_is_malformed_says_why() {
        for (body, error) in [
            (&b"\x96"[..], MultitrackError::Cut),
            (b"\x96\x00avc1", MultitrackError::Cut),
            (b"\x96\x11av", MultitrackError::Cut),
            (b"\x96\x11avc1", MultitrackError::Count(0)),
            (b"\x96\x20", MultitrackError::Count(0)),
            // Longer than the body, by one byte and by sixteen megabytes.
            (b"\x96\x11avc1\x00\0\0\x02a", MultitrackError::Cut),
            (b"\x96\x11avc1\x00\xff\xff\xffa", MultitrackError::Cut),
            (b"\x96\x11avc1\x00\0\0\x01a\x01\0", MultitrackError::Cut),
            (b"\x96\x31avc1\x00\0\0\x01a", MultitrackError::Layout(3)),
            (b"\x96\x06avc1\x00", MultitrackError::Nested),
            (b"\x96\x07avc1\x00", MultitrackError::Nested),
        ] {
            assert_eq!(bodies(Kind::Video, body), Err(error), "{body:02x?}");
        }
        let nested = bodies(Kind::Audio, b"\x95\x05mp4a\x00");
        assert_eq!(nested, Err(MultitrackError::Nested));
        let many = [b"\x96\x11avc1", &[0; 4 * 17][..]].concat();
        assert_eq!(bodies(Kind::Video, &many), Err(MultitrackError::Count(17)));
    }
}
