//! Extraction of one track's frames from the items of its file, without those that do not belong in a station's stream.
//!
//! The decoder of each MP3 starts with an empty bit reservoir, so a join at the beginning of a file is clean. A file
//! that was cut from another one begins with frames whose data lies in frames that are gone; a decoder would take the
//! end of the previous track for that data. So frames are omitted until one stands alone.

use std::collections::VecDeque;

use bytes::Bytes;
use container::adts::Writer;
use container::ogg::OpusPackets;
use media::codec::aac::AdtsHeader;
use media::codec::mpeg_audio::FrameHeader;
use media::codec::opus;
use media::{Codec, Item, Sample, Span, TrackId};

use super::{Format, Layout, Padding, Track, adts, mp3};

/// Most frames omitted at the beginning: data of MP3 at 32 kb/s lies in the eight frames before. It exceeds the largest
/// possible [`Padding::before`].
const OPENING_MAX: usize = 10;

/// Unit that a decoder plays as one: a frame of MP3 or AAC, or a packet of Opus.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Frame {
    pub(crate) data: Bytes,
    /// Number of samples that it decodes to.
    pub(crate) samples: u32,
}

/// Extractor of one track's frames: [`push`](Self::push) the file's items, then [`finish`](Self::finish). It holds some
/// frames at most.
#[derive(Debug)]
pub(crate) struct Reel {
    format: Format,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// Frames of MP3, or of AAC in ADTS.
    Frames(Held),
    /// AAC packets without headers, from MP4.
    Packets {
        /// Writer of the ADTS header before each packet; `None` if ADTS cannot express the format.
        writer: Option<Writer>,
        held: Held,
    },
    Opus {
        packets: OpusPackets,
        /// Samples of the pre-skip still to come.
        skip: u64,
        /// Whether the current media has the station's format.
        fits: bool,
    },
}

/// Frames that may be omitted: first those of the beginning, then the last ones.
#[derive(Debug)]
struct Held {
    padding: Padding,
    /// Whether the beginning has been found.
    has_begun: bool,
    frames: VecDeque<Frame>,
}

impl Reel {
    /// Makes an extractor for a track, from [`Track::start`] on.
    pub(crate) fn new(track: &Track) -> Self {
        let held = Held {
            padding: track.padding,
            has_begun: false,
            frames: VecDeque::new(),
        };
        let source = match (track.layout, track.format.codec) {
            (Layout::Mp4 | Layout::Flv, _) => Source::Packets {
                writer: adts::configuration(track.format).and_then(|config| Writer::new(&config)),
                held,
            },
            (Layout::Run, Codec::Opus) => Source::Opus {
                packets: OpusPackets::default(),
                skip: 0,
                fits: false,
            },
            (Layout::Run, _) => Source::Frames(held),
        };
        Self {
            format: track.format,
            source,
        }
    }

    /// Adds the next items of the file, and appends the frames that they contain.
    pub(crate) fn push(&mut self, items: Vec<Item>, out: &mut VecDeque<Frame>) {
        for item in items {
            match (&mut self.source, item) {
                (Source::Frames(held), Item::Sample(sample)) => {
                    if let Some(frame) = frame_of(sample, self.format) {
                        held.push(frame, out);
                    }
                }
                (Source::Packets { writer, held }, Item::Sample(sample))
                    if sample.track == TrackId::AUDIO =>
                {
                    if let Some(frame) = writer.as_ref().and_then(|it| packet_of(&sample, it)) {
                        held.push(frame, out);
                    }
                }
                (Source::Opus { skip, fits, .. }, Item::Header(header)) => {
                    let head = OpusPackets::head(&header);
                    let found = head.and_then(|head| super::ogg::format_of(&head).ok());
                    *fits = found.is_some_and(|(format, _)| format == self.format);
                    *skip = found.map_or(0, |(_, pre_skip)| pre_skip);
                }
                (
                    Source::Opus {
                        packets,
                        skip,
                        fits,
                        ..
                    },
                    Item::Sample(page),
                ) if *fits && page.track == TrackId::AUDIO => {
                    let mut found = Vec::new();
                    packets.push(&page, &mut found);
                    for frame in found.into_iter().map(opus_frame) {
                        match skip.checked_sub(frame.samples.into()) {
                            Some(left) if *skip > 0 => *skip = left,
                            _ => {
                                *skip = 0;
                                out.push_back(frame);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self, out: &mut VecDeque<Frame>) {
        match &mut self.source {
            Source::Frames(held) | Source::Packets { held, .. } => held.finish(out),
            Source::Opus { .. } => {}
        }
    }
}

impl Held {
    fn push(&mut self, frame: Frame, out: &mut VecDeque<Frame>) {
        self.frames.push_back(frame);
        if !self.has_begun
            && let Some(first) = beginning(&self.frames, self.padding.before)
        {
            self.frames.drain(..first);
            self.has_begun = true;
        }
        while self.has_begun && self.frames.len() > self.padding.behind {
            out.extend(self.frames.pop_front());
        }
    }

    fn finish(&mut self, out: &mut VecDeque<Frame>) {
        if !self.has_begun {
            // The file has only a few frames.
            let first = self.frames.iter().position(stands_alone);
            self.frames.drain(..first.unwrap_or(0));
        }
        let kept = self.frames.len().saturating_sub(self.padding.behind);
        out.extend(self.frames.drain(..kept));
        self.frames.clear();
    }
}

/// Returns the index of the first held frame to be played; `None` while that depends on later ones.
fn beginning(held: &VecDeque<Frame>, before: usize) -> Option<usize> {
    let behind_padding = held.get(before)?;
    if stands_alone(behind_padding) {
        return Some(before);
    }
    let first = held.iter().position(stands_alone);
    // If no frame stands alone, decoders are silent for some frames.
    first.or_else(|| (held.len() >= OPENING_MAX).then_some(0))
}

/// Makes a frame; `None` for a frame of another format, which occurs in the middle of a damaged file.
fn frame_of(sample: Sample, format: Format) -> Option<Frame> {
    let (found, samples) = match format.codec {
        Codec::Aac => {
            let header = AdtsHeader::parse(&sample.data)?;
            (adts::format_of(&header)?, header.samples())
        }
        _ => {
            let header = FrameHeader::parse(&sample.data)?;
            (mp3::format_of(&header), header.samples())
        }
    };
    (found == format).then_some(Frame {
        samples,
        data: sample.data,
    })
}

/// Makes a frame of an AAC packet, with its header. `None` if the packet is longer than any valid one.
fn packet_of(sample: &Sample, writer: &Writer) -> Option<Frame> {
    let header = writer.header(sample.data.len())?;
    let data = Bytes::from([&header[..], &sample.data].concat());
    let samples = AdtsHeader::parse(&data)?.samples();
    Some(Frame { data, samples })
}

/// Returns whether a frame can be decoded without earlier ones; every AAC frame can.
fn stands_alone(frame: &Frame) -> bool {
    AdtsHeader::parse(&frame.data).is_some() || mp3::stands_alone(&frame.data)
}

fn opus_frame(packet: Sample) -> Frame {
    let per_second = Span::from_samples(u64::from(opus::RATE), opus::RATE).ticks();
    let samples = packet.duration.ticks() * i64::from(opus::RATE) / per_second;
    Frame {
        samples: u32::try_from(samples).unwrap_or(0),
        data: packet.data,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        FRAME_BYTES, MemoryFile, aac_frame, frame, info_frame, number, opus_file, track,
    };
    use super::*;
    use media::Timestamp;

    /// The frames of a file, however it is cut.
    fn play(track: &Track, file: &[u8]) -> Vec<Frame> {
        let [whole, cut] = [file.len() as u64, 100].map(|piece_bytes| {
            let mut reel = Reel::new(track);
            let mut frames = VecDeque::new();
            let mut file = MemoryFile::new(track, file.to_vec());
            loop {
                let items = file.next(piece_bytes);
                if items.is_empty() {
                    break;
                }
                reel.push(items, &mut frames);
            }
            reel.finish(&mut frames);
            Vec::from(frames)
        });
        assert_eq!(whole, cut);
        whole
    }

    fn numbers(frames: &[Frame]) -> Vec<u32> {
        assert!(frames.iter().all(|frame| frame.samples == 1_152));
        frames.iter().map(|frame| number(&frame.data)).collect()
    }

    #[test]
    fn audio_is_all_that_is_left_of_a_file() {
        let audio: Vec<u8> = (0..6).flat_map(|at| frame(at, at == 0)).collect();
        let tag = [&b"TAG"[..], &[b'x'; 125]].concat();
        let mut ape = *b"APETAGEX\xD0\x07\0\0\x20\0\0\0\0\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0";
        let footer = ape;
        ape[23] = 0xA0;
        let id3 = b"ID3\x04\0\0\0\0\0\x03abc";
        let table = info_frame(6, 576, 0);
        let file = [&id3[..], &table, &audio, &ape, &footer, &tag].concat();
        let plain = track(Codec::Mp3);
        assert_eq!(numbers(&play(&plain, &file)), [0, 1, 2, 3, 4, 5]);
        // The rest of a frame that was cut, and frames of another rate.
        let cut = &audio[..5 * FRAME_BYTES + 9];
        assert_eq!(numbers(&play(&plain, cut)), [0, 1, 2, 3, 4]);
        let other = [&[0xFF, 0xFB, 0x94, 0x64][..], &[0; 380]].concat();
        let file = [&audio[..], &other.repeat(4)].concat();
        assert_eq!(numbers(&play(&plain, &file)), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn padding_is_left_out_where_that_breaks_nothing() {
        let audio: Vec<u8> = (0..6).flat_map(|at| frame(at, at < 2)).collect();
        let padded = |before, behind| Track {
            padding: Padding { before, behind },
            ..track(Codec::Mp3)
        };
        assert_eq!(numbers(&play(&padded(1, 2), &audio)), [1, 2, 3]);
        // The third needs those before it.
        assert_eq!(numbers(&play(&padded(2, 0), &audio)), [0, 1, 2, 3, 4, 5]);
        assert!(play(&padded(0, 9), &audio).is_empty());
    }

    #[test]
    fn a_file_that_begins_in_the_middle_begins_where_it_can() {
        let plain = track(Codec::Mp3);
        let cut: Vec<u8> = (0..30).flat_map(|at| frame(at, at == 4)).collect();
        assert_eq!(numbers(&play(&plain, &cut))[..2], [4, 5]);
        let never: Vec<u8> = (0..30).flat_map(|at| frame(at, false)).collect();
        assert_eq!(numbers(&play(&plain, &never)).len(), 30);
        let short: Vec<u8> = (0..4).flat_map(|at| frame(at, at == 2)).collect();
        assert_eq!(numbers(&play(&plain, &short)), [2, 3]);
    }

    #[test]
    fn frames_of_aac_are_all_there_is() {
        let audio: Vec<u8> = (0..6).flat_map(aac_frame).collect();
        let id3 = b"ID3\x04\0\0\0\0\0\x03abc";
        let file = [&id3[..], &audio, &aac_frame(6)[..99]].concat();
        let frames = play(&track(Codec::Aac), &file);
        assert!(frames.iter().all(|frame| frame.samples == 1_024));
        let found: Vec<_> = frames.iter().map(|frame| number(&frame.data)).collect();
        assert_eq!(found, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn packets_of_mp4_are_given_headers_and_padding_is_left_out() {
        let (before, behind) = (1, 2);
        let track = Track {
            layout: Layout::Mp4,
            padding: Padding { before, behind },
            ..track(Codec::Aac)
        };
        let item = |at: u32| {
            let data = aac_frame(at)[AdtsHeader::BYTES..].to_vec().into();
            let sample = Sample::frame(TrackId::AUDIO, Timestamp::ZERO, Span::ZERO, data);
            Item::Sample(sample)
        };
        let (mut reel, mut frames) = (Reel::new(&track), VecDeque::new());
        for at in [0, 3, 6] {
            reel.push((at..at + 3).map(item).collect(), &mut frames);
        }
        reel.finish(&mut frames);
        let expected: Vec<_> = (1..7).map(|at| Bytes::from(aac_frame(at))).collect();
        let found: Vec<_> = frames.iter().map(|frame| frame.data.clone()).collect();
        assert_eq!(found, expected);
        assert!(frames.iter().all(|frame| frame.samples == 1_024));
    }

    #[test]
    fn packets_of_opus_are_taken_out_of_their_pages() {
        let plain = track(Codec::Opus);
        let frames = play(&plain, &opus_file(2, 12, Some("x"), 0));
        assert_eq!(frames.len(), 12);
        assert!(frames.iter().all(|frame| frame.samples == 960));
        assert_eq!(frames[11].data[..], [0xFC, 0, 11]);
        // Media that follows in the file with other channels does not fit.
        let files = [(2, 3), (1, 3), (2, 1)];
        let chained = files.map(|(channels, count)| opus_file(channels, count, None, 0));
        assert_eq!(play(&plain, &chained.concat()).len(), 4);
    }
}
