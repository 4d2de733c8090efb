//! Event messages: timed metadata between fragments (`emsg`, ISO/IEC 23009-1 §5.10.3.3).

use std::borrow::Cow;

use media::{EventContent, Span, TimedEvent, Timestamp};

use super::MediaTime;
use super::boxes::Boxes;
use super::clock::to_units;
use crate::crc::crc32;
use crate::id3;

/// Scheme of a message that is an ID3v2.4 tag ("Carriage of ID3 Timed Metadata in CMAF" §2.2.3).
const SCHEME_ID3: &[u8] = b"https://aomedia.org/emsg/ID3";

/// Scheme of a message that is a `splice_info_section` (ANSI/SCTE 214-3 §7.3.2).
const SCHEME_SPLICE: &[u8] = b"urn:scte:scte35:2013:bin";

/// Duration of a message that lasts until the next one: ID3 has no durations (§2.2.3 there), and breaks may have none.
const DURATION_UNKNOWN: u32 = u32::MAX;

/// Returns the event message of an ID3v2.4 tag, to be written before the fragment in whose time it takes effect
/// (ISO/IEC 23000-19 §7.4.5): `at`, within the fragment's presentation, on the clock of a track.
pub fn tag_message(at: MediaTime, tag: &[u8]) -> Vec<u8> {
    message(at, SCHEME_ID3, None, 0, tag)
}

/// Returns the event message of an event that takes effect at `at`.
pub fn event_message(at: MediaTime, event: &TimedEvent) -> Vec<u8> {
    let (scheme, duration, content) = match &event.content {
        EventContent::Cue(cue) => (SCHEME_SPLICE, cue.duration, Cow::from(&cue.section[..])),
        content => (SCHEME_ID3, None, id3::of_event(content)),
    };
    message(at, scheme, duration, crc32(&content), &content)
}

/// Returns the box. Messages at different times, or of different numbers, have different identifiers, which are the same
/// wherever the messages are written.
fn message(
    MediaTime { count, timescale }: MediaTime,
    scheme: &[u8],
    duration: Option<Span>,
    number: u32,
    content: &[u8],
) -> Vec<u8> {
    let duration = duration.map_or(DURATION_UNKNOWN, |span| {
        let units = to_units(Timestamp::ZERO + span, timescale);
        u32::try_from(units).unwrap_or(DURATION_UNKNOWN)
    });
    let mut boxes = Boxes::default();
    boxes.put_full_box(b"emsg", 1, 0, |emsg| {
        emsg.put_u32(timescale);
        emsg.put_u64(count);
        emsg.put_u32(duration);
        emsg.put_u32((count as u32).wrapping_add(number));
        emsg.put(scheme);
        emsg.put_u8(0);
        // No value: nothing gives the identifiers a meaning.
        emsg.put_u8(0);
        emsg.put(content);
    });
    boxes.into_bytes()
}
