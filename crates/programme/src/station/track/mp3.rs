//! Inspection of an MP3 file by its beginning: its format, its duration, where its audio begins, and the silence that
//! its encoder added.
//!
//! ```text
//!  [ID3v2] │ [Xing, Info or VBRI frame] │ frame │ frame │ … │ [APE] │ [ID3v1]
//! ```
//!
//! Source of the table's layout: "MP3 Info Tag revision 1", which LAME and FFmpeg write.

use container::id3;
use media::codec::mpeg_audio::{FrameHeader, Layer, Version};
use media::{Codec, Span};

use super::{Contents, Format, Layout, Padding, Unfit};

/// Number of consistent headers in a row that make a beginning.
const LOCK_FRAMES: usize = 3;

/// Delay of a decoder in samples; encoders do not include it in theirs.
const DECODER_DELAY: usize = 529;

/// Table that stands in place of the first frame.
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    frames: Option<u32>,
    /// Samples of silence before and after the audio.
    silence: Option<(usize, usize)>,
}

/// Inspects a file. `head` is the data after the tags, `bytes` its full length; `tail` is the end of the file.
pub(super) fn inspect(head: &[u8], tail: &[u8], bytes: u64) -> Result<Contents, Unfit> {
    let (mut start, first) = first_frame(head).ok_or(Unfit::Unknown)?;
    if first.layer != Layer::Three {
        return Err(Unfit::Unknown);
    }
    let mut table = Table::default();
    let frame = head.get(start..start + first.frame_bytes());
    if let Some(frame) = frame.filter(|frame| first.is_info_frame(frame)) {
        table = read_table(frame).unwrap_or_default();
        start += first.frame_bytes();
    }
    // The table may have a different bit rate, so the header of the audio counts.
    let first = head
        .get(start..)
        .and_then(FrameHeader::parse)
        .unwrap_or(first);
    let samples = match table.frames {
        Some(frames) => u64::from(frames) * u64::from(first.samples()),
        None => {
            let audio = bytes.saturating_sub(start as u64);
            audio * 8 * u64::from(first.sample_rate) / u64::from(first.bitrate.max(1))
        }
    };
    let (before, behind) = table.silence.unwrap_or_default();
    let per_frame = first.samples() as usize;
    Ok(Contents {
        format: format_of(&first),
        length: Some(Span::from_samples(samples, first.sample_rate)),
        title: id3::title_at_end(tail),
        start: start as u64,
        layout: Layout::Run,
        padding: Padding {
            before: table
                .silence
                .map_or(0, |_| (before + DECODER_DELAY) / per_frame),
            behind: behind.saturating_sub(DECODER_DELAY) / per_frame,
        },
    })
}

/// Returns the format of frames that begin like this one.
pub(super) fn format_of(header: &FrameHeader) -> Format {
    Format::audio(Codec::Mp3, header.sample_rate, header.channels)
}

/// Returns whether a frame can be decoded without earlier ones: none of its data lies in them (ISO/IEC 11172-3
/// §2.4.2.7).
pub(super) fn stands_alone(frame: &[u8]) -> bool {
    let Some(header) = FrameHeader::parse(frame) else {
        return false;
    };
    let at = FrameHeader::BYTES + if header.checksum { 2 } else { 0 };
    match (header.version, frame.get(at..at + 2)) {
        // The field has nine bits in MPEG-1, otherwise eight.
        (Version::Mpeg1, Some(&[high, low])) => high == 0 && low & 0x80 == 0,
        (_, Some(&[high, _])) => high == 0,
        _ => false,
    }
}

/// Returns the position and the header of the first of three frames in a row.
fn first_frame(head: &[u8]) -> Option<(usize, FrameHeader)> {
    (0..head.len()).find_map(|start| {
        let first = FrameHeader::parse(&head[start..])?;
        let mut at = start + first.frame_bytes();
        for _ in 1..LOCK_FRAMES {
            let next = head.get(at..).and_then(FrameHeader::parse)?;
            if !next.is_consistent_with(&first) {
                return None;
            }
            at += next.frame_bytes();
        }
        Some((start, first))
    })
}

fn read_table(frame: &[u8]) -> Option<Table> {
    // The position depends on version, channels and checksum; nothing before the table can look like it.
    let find = |word: &[u8; 4]| frame.windows(4).position(|found| found == word);
    if let Some(at) = find(b"VBRI") {
        let frames = number(frame, at + 14)?;
        return Some(Table {
            frames: Some(frames),
            silence: None,
        });
    }
    let at = find(b"Xing").or_else(|| find(b"Info"))?;
    let flags = number(frame, at + 4)?;
    let mut end = at + 8;
    let mut field = |flag: u32, bytes: usize| {
        let begins = end;
        let is_there = flags & flag != 0;
        end += if is_there { bytes } else { 0 };
        is_there.then_some(begins)
    };
    let frames = field(1, 4);
    field(2, 4);
    field(4, 100);
    field(8, 4);
    let encoder = frame.get(end..end + 9)?;
    // Without an encoder's name the rest is only padding.
    let has_more = encoder.iter().take(4).all(u8::is_ascii_alphanumeric);
    let silence = frame.get(end + 21..end + 24).filter(|_| has_more);
    Some(Table {
        frames: frames.and_then(|at| number(frame, at)),
        silence: silence.map(|bytes| {
            let [a, b, c] = [bytes[0], bytes[1], bytes[2]].map(usize::from);
            (a << 4 | b >> 4, (b & 0x0F) << 8 | c)
        }),
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*field))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{frame, info_frame};
    use super::*;

    #[test]
    fn a_file_with_a_table_tells_its_length_and_padding() {
        let audio: Vec<u8> = (0..5).flat_map(|number| frame(number, true)).collect();
        let file = [vec![0; 11], info_frame(5, 1_105, 2_000), audio].concat();
        let contents = inspect(&file, &file, file.len() as u64).expect("it is MP3");
        assert_eq!(contents.format.to_string(), "MP3, 44100 Hz, stereo");
        assert_eq!(contents.start, 11 + 417);
        assert_eq!(contents.length, Some(Span::from_samples(5 * 1_152, 44_100)));
        let [before, behind] = [1, 1];
        assert_eq!(contents.padding, Padding { before, behind });
        let usual = [info_frame(5, 576, 1_680), frame(0, true), frame(1, true)].concat();
        let usual = inspect(&usual, &usual, usual.len() as u64).expect("it is MP3");
        assert_eq!(usual.padding, Padding::default());
    }

    #[test]
    fn a_file_without_a_table_is_estimated() {
        let file: Vec<u8> = (0..100).flat_map(|number| frame(number, true)).collect();
        let contents = inspect(&file[..2_000], &[], file.len() as u64).expect("it is MP3");
        let length = contents.length.expect("it is estimated").millis();
        assert!((2_600..2_620).contains(&length), "{length} ms");
        assert_eq!((contents.start, contents.padding), (0, Padding::default()));
    }

    #[test]
    fn what_is_no_mp3_is_refused() {
        for bytes in [&b""[..], b"RIFF....WAVEfmt ", &frame(0, true)] {
            assert!(matches!(inspect(bytes, bytes, 9), Err(Unfit::Unknown)));
        }
        let layer_two = [&[0xFF, 0xFD, 0xA4, 0x04][..], &[0; 572]].concat();
        let layer_two = layer_two.repeat(3);
        assert!(matches!(inspect(&layer_two, &[], 9), Err(Unfit::Unknown)));
    }

    #[test]
    fn frames_that_need_others_are_known() {
        assert!(stands_alone(&frame(0, true)) && !stands_alone(&frame(0, false)));
        // MPEG-2 has eight bits, whatever follows them.
        let half = [0xFF, 0xF3, 0x80, 0xC4, 0, 0x80];
        assert!(stands_alone(&half) && !stands_alone(&half[..5]));
        // Behind a checksum.
        let checked = [0xFF, 0xFA, 0x90, 0x64, 1, 2, 0, 0x7F];
        assert!(stands_alone(&checked));
    }

    proptest! {
        #[test]
        fn any_table_is_read_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..60) {
            let mut file = [info_frame(5, 576, 0), frame(0, true), frame(1, true)].concat();
            file[at + 4..][..bytes.len()].copy_from_slice(&bytes);
            drop(inspect(&file, &file, file.len() as u64));
            drop(inspect(&bytes, &bytes, 0));
        }
    }
}
