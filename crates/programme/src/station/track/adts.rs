//! Inspection of an AAC file in ADTS by its beginning: its format and its approximate duration.
//!
//! ADTS does not say how much silence its encoder has added, so all of it stays. It does not distinguish
//! high-efficiency AAC from plain AAC at the core's rate either: that is left to the decoder, as it is in a broadcast.

use container::id3;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::{Codec, Span};

use super::{Contents, Format, Layout, Padding, Unfit};

/// Number of consistent headers in a row that make a beginning.
const LOCK_FRAMES: usize = 3;

/// Inspects a file. `head` is the data after the tags, `bytes` its full length; `tail` is the end of the file.
pub(super) fn inspect(head: &[u8], tail: &[u8], bytes: u64) -> Result<Contents, Unfit> {
    let first = AdtsHeader::parse(head).ok_or(Unfit::Unknown)?;
    let format = format_of(&first).ok_or(Unfit::Channels)?;
    let (mut at, mut frames, mut samples) = (0, 0, 0);
    while let Some(header) = head.get(at..).and_then(AdtsHeader::parse)
        && header.is_consistent_with(&first)
    {
        at += header.frame_bytes;
        frames += 1;
        samples += u64::from(header.samples());
    }
    if frames < LOCK_FRAMES {
        return Err(Unfit::Unknown);
    }
    // Assumes as many bytes per frame as at the beginning.
    let samples = u128::from(samples) * u128::from(bytes) / at as u128;
    let samples = u64::try_from(samples).unwrap_or(u64::MAX);
    Ok(Contents {
        format,
        length: Some(Span::from_samples(samples, format.rate)),
        title: id3::title_at_end(tail),
        start: 0,
        layout: Layout::Run,
        padding: Padding::default(),
    })
}

/// Returns the format of frames that begin like this one; `None` for a channel layout without a number.
pub(super) fn format_of(header: &AdtsHeader) -> Option<Format> {
    (header.channels() > 0).then(|| Format {
        object_type: header.object_type,
        ..Format::audio(Codec::Aac, header.sample_rate, header.channels())
    })
}

/// Returns the configuration that a decoder of these frames needs first.
pub(crate) fn configuration(format: Format) -> Option<[u8; 2]> {
    let config = AudioSpecificConfig {
        object_type: match format.object_type {
            // The decoder finds the extension in the frames.
            Format::HE_AAC | Format::HE_AAC_V2 => 2,
            plain => plain,
        },
        sample_rate: format.rate,
        channel_configuration: match format.channels {
            8 => 7,
            channels => channels,
        },
        channels: format.channels,
        extension: None,
        short_frames: false,
    };
    config.to_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::testing::aac_frame;
    use super::*;

    #[test]
    fn a_file_tells_its_format_and_about_its_length() {
        let file: Vec<u8> = (0..100).flat_map(aac_frame).collect();
        let contents = inspect(&file[..2_000], &file, file.len() as u64).expect("it is AAC");
        assert_eq!(contents.format.to_string(), "AAC-LC, 44100 Hz, stereo");
        let length = Span::from_samples(100 * 1_024, 44_100);
        assert_eq!(contents.length, Some(length));
        assert_eq!(configuration(contents.format), Some([0x12, 0x10]));
    }

    #[test]
    fn what_is_no_adts_is_refused() {
        let file: Vec<u8> = (0..2).flat_map(aac_frame).collect();
        assert!(matches!(inspect(&file, &[], 9), Err(Unfit::Unknown)));
        assert!(matches!(inspect(b"", &[], 0), Err(Unfit::Unknown)));
        // Channels that are listed inside of the frames.
        let mut listed = aac_frame(0);
        listed[3] &= 0x3F;
        let listed = listed.repeat(3);
        assert!(matches!(inspect(&listed, &[], 9), Err(Unfit::Channels)));
    }
}
