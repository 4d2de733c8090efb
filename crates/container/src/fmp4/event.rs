//! Event messages: timed metadata between fragments (`emsg`, ISO/IEC 23009-1 §5.10.3.3).

use std::borrow::Cow;

use media::{Cue, EventContent, Span, TimedEvent, Timestamp};

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

/// Event message, to be written before the fragment in whose time it takes effect (ISO/IEC 23000-19 §7.4.5).
#[derive(Clone, Debug)]
pub struct EventMessage<'a> {
    at: MediaTime,
    scheme: &'static [u8],
    duration: Option<Span>,
    /// Number that distinguishes messages of the same time.
    number: u32,
    message: Cow<'a, [u8]>,
}

impl<'a> EventMessage<'a> {
    /// Creates the message for an ID3v2.4 tag that takes effect at `at`: within the fragment's presentation, on the
    /// clock of a track.
    pub fn of_tag(at: MediaTime, tag: &'a [u8]) -> Self {
        Self {
            at,
            scheme: SCHEME_ID3,
            duration: None,
            number: 0,
            message: Cow::Borrowed(tag),
        }
    }

    /// Creates the message for an event that takes effect at `at`.
    pub fn of_event(at: MediaTime, event: &'a TimedEvent) -> Self {
        let (scheme, duration, message) = match &event.content {
            EventContent::Cue(Cue {
                section, duration, ..
            }) => (SCHEME_SPLICE, *duration, Cow::Borrowed(&section[..])),
            content => (SCHEME_ID3, None, id3::of_event(content)),
        };
        Self {
            at,
            scheme,
            duration,
            number: crc32(&message),
            message,
        }
    }

    /// Returns the box. Messages at different times, or of different bytes, have different identifiers, which are the
    /// same wherever the messages are written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let MediaTime { count, timescale } = self.at;
        let duration = self.duration.map_or(DURATION_UNKNOWN, |span| {
            let units = to_units(Timestamp::ZERO + span, timescale);
            u32::try_from(units).unwrap_or(DURATION_UNKNOWN)
        });
        let mut boxes = Boxes::default();
        boxes.put_full_box(b"emsg", 1, 0, |emsg| {
            emsg.put_u32(timescale);
            emsg.put_u64(count);
            emsg.put_u32(duration);
            emsg.put_u32((count as u32).wrapping_add(self.number));
            emsg.put(self.scheme);
            emsg.put_u8(0);
            // No value: nothing gives the identifiers a meaning.
            emsg.put_u8(0);
            emsg.put(&self.message);
        });
        boxes.into_bytes()
    }
}
