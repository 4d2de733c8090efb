//! Inspection of an Ogg file by its beginning and its end: the Opus stream in it.

use container::id3;
use container::ogg::{Demuxer, OpusPackets, describe};
use media::codec::opus;
use media::{Codec, Item, Span};

use super::{Contents, Format, Layout, Padding, Unfit};

/// Inspects a file. `head` begins with the first page; `tail` is the end of the file.
pub(super) fn inspect(head: &[u8], tail: &[u8]) -> Result<Contents, Unfit> {
    let mut items = Vec::new();
    Demuxer::default().push(head, &mut items);
    let header = items.iter().find_map(|item| match item {
        Item::Header(header) => Some(header),
        _ => None,
    });
    // Comments with cover art exceed the bytes read; the first page is enough for the format.
    let header = header.map_or(head, |header| &header[..]);
    let description = describe(header);
    let identification = match description.codec {
        Some(Codec::Opus) => OpusPackets::head(header),
        Some(other) => return Err(Unfit::Codec(other)),
        None => None,
    };
    let identification = identification.ok_or(Unfit::Unknown)?;
    let (format, pre_skip) = format_of(&identification)?;
    let samples = last_position(tail).map(|end| end.saturating_sub(pre_skip));
    Ok(Contents {
        format,
        length: samples.map(|samples| Span::from_samples(samples, opus::RATE)),
        title: id3::joined(description.artist, description.title),
        start: 0,
        layout: Layout::Run,
        padding: Padding::default(),
    })
}

/// Returns the format in an identification header, and the number of samples that a decoder drops (RFC 7845 §5.1).
pub(super) fn format_of(head: &[u8]) -> Result<(Format, u64), Unfit> {
    let channels = opus::plain_head_channels(head).ok_or(Unfit::Channels)?;
    let field = |at: usize| head.get(at..)?.first_chunk().copied();
    let format = Format {
        gain: field(16).map_or(0, i16::from_le_bytes),
        ..Format::audio(Codec::Opus, opus::RATE, channels)
    };
    Ok((format, field(10).map_or(0, u16::from_le_bytes).into()))
}

/// Returns the granule position of the last page, which is the number of samples (RFC 7845 §4).
fn last_position(tail: &[u8]) -> Option<u64> {
    let at = tail.windows(4).rposition(|found| found == b"OggS")?;
    let granule = u64::from_le_bytes(*tail.get(at + 6..)?.first_chunk()?);
    (granule != u64::MAX).then_some(granule)
}

#[cfg(test)]
mod tests {
    use super::super::testing::opus_file;
    use super::*;

    #[test]
    fn opus_tells_its_format_length_and_title() {
        let file = opus_file(2, 50, Some("One"), 0);
        let contents = inspect(&file, &file).expect("it is Opus");
        assert_eq!(contents.format.to_string(), "Opus, 48000 Hz, stereo");
        assert_eq!(contents.title.as_deref(), Some("One"));
        assert_eq!(contents.length, Some(Span::from_millis(1_000)));
        let loud = opus_file(1, 50, None, 512);
        let contents = inspect(&loud, &loud).expect("it is Opus");
        assert_eq!(contents.format.to_string(), "Opus, 48000 Hz, mono, +2.0 dB");
        // The beginning of long comments.
        let cut = inspect(&file[..60], b"").expect("it is Opus");
        assert_eq!((cut.title, cut.length), (None, None));
    }

    #[test]
    fn other_codecs_and_channels_are_refused() {
        assert!(matches!(inspect(b"OggS", b""), Err(Unfit::Unknown)));
        let mut surround = opus::head(2);
        surround[18] = 1;
        assert!(matches!(format_of(&surround), Err(Unfit::Channels)));
        assert!(matches!(format_of(b"OpusHead"), Err(Unfit::Channels)));
    }
}
