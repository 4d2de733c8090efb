//! Files for tests: their frames contain no audio, but have the headers of real ones.

use std::path::PathBuf;

use bytes::Bytes;
use container::ogg::OpusMuxer;
use files::Reader;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, TrackId};

use super::{Format, Layout, Padding, Track};

/// A file in memory, which is read as a track's.
pub(crate) struct MemoryFile {
    bytes: Vec<u8>,
    reader: Reader,
    opening: Vec<Item>,
}

impl MemoryFile {
    pub(crate) fn new(track: &Track, bytes: Vec<u8>) -> Self {
        let mut file = Self {
            reader: track.run(bytes.len() as u64),
            bytes,
            opening: Vec::new(),
        };
        while !file.reader.is_open() {
            assert!(file.read(u64::MAX, &mut Vec::new()), "it has media");
        }
        file.opening = file.reader.opening().to_vec();
        file
    }

    /// The next items, from so many bytes at most; none at the end.
    pub(crate) fn next(&mut self, piece_bytes: u64) -> Vec<Item> {
        let mut items = std::mem::take(&mut self.opening);
        items.append(&mut self.reader.ready());
        while items.is_empty() && self.read(piece_bytes, &mut items) {}
        items
    }

    fn read(&mut self, piece_bytes: u64, items: &mut Vec<Item>) -> bool {
        let Some(range) = self.reader.wants().take(piece_bytes).pop() else {
            return false;
        };
        let bytes = &self.bytes[range.start as usize..range.end as usize];
        self.reader
            .take(Bytes::copy_from_slice(bytes), items)
            .expect("it is whole");
        true
    }
}

/// Bytes of a frame: 128 kb/s at 44.1 kHz.
pub(crate) const FRAME_BYTES: usize = 417;

/// A track in stereo, of which no more is known than its codec.
pub(crate) fn track(codec: Codec) -> Track {
    let rate = match codec {
        Codec::Opus => opus::RATE,
        _ => 44_100,
    };
    Track {
        path: PathBuf::new(),
        name: String::new(),
        title: "a".to_owned(),
        format: Format {
            picture: None,
            codec,
            rate,
            channels: 2,
            gain: 0,
            object_type: if codec == Codec::Aac { 2 } else { 0 },
        },
        length: None,
        start: 0,
        layout: Layout::Run,
        padding: Padding::default(),
    }
}

/// H.264 with AAC-LC in stereo.
pub(crate) fn film_format() -> Format {
    Format {
        picture: Some(Codec::H264),
        rate: 48_000,
        ..track(Codec::Aac).format
    }
}

/// A frame of MP3 that carries a number; it needs the data of others unless it stands alone.
pub(crate) fn frame(number: u32, stands_alone: bool) -> Vec<u8> {
    let mut frame = vec![0x11; FRAME_BYTES];
    frame[..4].copy_from_slice(&0xFFFB_9064_u32.to_be_bytes());
    frame[4..6].copy_from_slice(if stands_alone { &[0, 0] } else { &[1, 0] });
    frame[40..44].copy_from_slice(&number.to_be_bytes());
    frame
}

/// The number that a frame carries.
pub(crate) fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(*frame[40..].first_chunk().expect("a frame"))
}

/// A frame of AAC-LC at 44.1 kHz in stereo, in ADTS.
pub(crate) fn aac_frame(number: u32) -> Vec<u8> {
    let config = AudioSpecificConfig::parse(&[0x12, 0x10]).expect("AAC-LC");
    let header = AdtsHeader::for_config(&config).expect("ADTS can say it");
    let header = header.to_bytes(300).expect("it is short");
    let mut frame = vec![0x11; 307];
    frame[..7].copy_from_slice(&header);
    frame[40..44].copy_from_slice(&number.to_be_bytes());
    frame
}

/// A table as LAME writes it.
pub(crate) fn info_frame(frames: u32, delay: usize, padding: usize) -> Vec<u8> {
    let mut frame = vec![0; FRAME_BYTES];
    frame[..4].copy_from_slice(&0xFFFB_9064_u32.to_be_bytes());
    frame[36..40].copy_from_slice(b"Info");
    frame[40..44].copy_from_slice(&1_u32.to_be_bytes());
    frame[44..48].copy_from_slice(&frames.to_be_bytes());
    frame[48..57].copy_from_slice(b"LAME3.100");
    let silence = ((delay << 12 | padding) as u32).to_be_bytes();
    frame[69..72].copy_from_slice(&silence[1..]);
    frame
}

/// Opus in Ogg: packets of 20 ms.
pub(crate) fn opus_file(channels: u8, packets: u16, title: Option<&str>, gain: i16) -> Vec<u8> {
    let mut head = opus::head(channels);
    head[16..18].copy_from_slice(&gain.to_le_bytes());
    let track = media::Track {
        config: head.to_vec().into(),
        sample_rate: opus::RATE,
        channels,
        ..media::Track::new(TrackId::AUDIO, Kind::Audio, Codec::Opus, Framing::Bare)
    };
    let mut muxer = OpusMuxer::new(&track, 7);
    let mut file = muxer.header(title);
    for number in 0..packets {
        let [high, low] = number.to_be_bytes();
        let at = Timestamp::from_millis(20 * i64::from(number));
        let data = vec![0xFC, high, low].into();
        let sample = Sample::frame(TrackId::AUDIO, at, Span::from_millis(20), data);
        muxer.push(&sample, |_, page| file.extend_from_slice(page));
    }
    muxer.flush(|_, page| file.extend_from_slice(page));
    file
}
