//! Event messages: timed metadata between fragments (`emsg`, ISO/IEC 23009-1 §5.10.3.3).

use super::MediaTime;
use super::boxes::Boxes;

/// The message is an ID3v2.4 tag ("Carriage of ID3 Timed Metadata in CMAF" §2.2.3).
const SCHEME_ID3: &[u8] = b"https://aomedia.org/emsg/ID3";

/// It lasts until the next one; ID3 has no durations (§2.2.3 there).
const DURATION_UNKNOWN: u32 = u32::MAX;

/// A message, to stand before the fragment in whose time it takes effect (ISO/IEC 23000-19 §7.4.5).
#[derive(Clone, Copy, Debug)]
pub struct EventMessage<'a> {
    /// When it takes effect: within the fragment's presentation, on the clock of a track.
    pub at: MediaTime,
    /// An ID3v2.4 tag.
    pub tag: &'a [u8],
}

impl EventMessage<'_> {
    /// The box. Messages at different times have different identifiers, the same wherever they are written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let MediaTime { count, timescale } = self.at;
        let mut boxes = Boxes::default();
        boxes.put_full_box(b"emsg", 1, 0, |emsg| {
            emsg.put_u32(timescale);
            emsg.put_u64(count);
            emsg.put_u32(DURATION_UNKNOWN);
            emsg.put_u32(count as u32);
            emsg.put(SCHEME_ID3);
            emsg.put_u8(0);
            // No value: nothing gives the identifiers a meaning.
            emsg.put_u8(0);
            emsg.put(self.tag);
        });
        boxes.into_bytes()
    }
}
