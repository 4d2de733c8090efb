//! Demuxer of transport streams as written by a [`Muxer`](super::Muxer), for recordings, which are such streams.
//!
//! This restriction keeps it small: there is one program, packets follow one another from the first byte on, and the
//! packets of a PES packet are consecutive, so that the beginning of anything ends what came before. Streams written
//! differently are left out, and so is Dolby audio, whose frames give their length only through tables;
//! [`Demuxer::leaves_out`] reports both.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use media::codec::h264::{self, AvcConfig};
use media::codec::hevc::{self, HevcConfig};
use media::codec::nal::{self, Packing};
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use super::TRACKS_MAX;
use super::clock::{STAMP_MODULUS, TICKS_PER_90K};
use super::frames::Syntax;
use super::packet::{PACKET_BYTES, Pid, View};
use super::tables::{self, Entry, SECTION_BYTES_MAX};
use crate::frames;

/// Upper bound on the bytes of a PES packet: a frame of the highest levels of H.264.
const PES_BYTES_MAX: usize = 8 << 20;

/// Demuxer of one stream; call [`push`](Self::push) for its bytes, then [`finish`](Self::finish).
#[derive(Debug, Default)]
pub struct Demuxer {
    /// Beginning of an incomplete packet.
    cut: Vec<u8>,
    map_pid: Option<Pid>,
    /// Beginning of an incomplete program map.
    section: Vec<u8>,
    streams: Vec<Stream>,
    leaves_out: bool,
    /// Open PES packet, and its PID.
    open: Option<(Pid, Pes)>,
    /// First timestamp, and the distance of the last one from it.
    clock: Option<(u64, i64)>,
}

#[derive(Debug, Default)]
struct Pes {
    bytes: BytesMut,
    is_entry: bool,
}

/// Stream of the program.
#[derive(Debug)]
struct Stream {
    entry: Entry,
    coding: Coding,
    track: Option<Arc<Track>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Coding {
    H264,
    Hevc,
    Audio(Syntax),
}

impl Demuxer {
    /// Takes `bytes` and appends the items that they complete to `out`.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Item>) {
        if !self.cut.is_empty() {
            let (more, rest) = bytes.split_at(bytes.len().min(PACKET_BYTES - self.cut.len()));
            self.cut.extend_from_slice(more);
            bytes = rest;
            if self.cut.len() < PACKET_BYTES {
                return;
            }
            let whole = std::mem::take(&mut self.cut);
            self.packet(&whole, out);
        }
        let mut packets = bytes.chunks_exact(PACKET_BYTES);
        for packet in packets.by_ref() {
            self.packet(packet, out);
        }
        self.cut.extend_from_slice(packets.remainder());
    }

    /// Ends the input, and appends the items of its last packets.
    pub fn finish(&mut self, out: &mut Vec<Item>) {
        self.end_pes(out);
        self.cut.clear();
    }

    /// Returns whether every stream that can be extracted is known as a track.
    pub fn is_complete(&self) -> bool {
        let mut streams = self.streams.iter();
        !self.streams.is_empty() && streams.all(|stream| stream.track.is_some())
    }

    /// Returns whether there are streams that cannot be extracted.
    pub fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    fn packet(&mut self, packet: &[u8], out: &mut Vec<Item>) {
        let Some(view) = View::of(packet).filter(|view| !view.payload.is_empty()) else {
            return;
        };
        if view.starts {
            self.end_pes(out);
        }
        if view.pid == Pid::PAT {
            if let Some(map_pid) = tables::map_pid(view.payload).filter(|_| view.starts) {
                self.map_pid = Some(map_pid);
            }
        } else if Some(view.pid) == self.map_pid {
            self.map(&view);
        } else if view.starts {
            let is_known = self.streams.iter().any(|it| it.entry.pid == view.pid);
            self.open = is_known.then(|| {
                let pes = Pes {
                    bytes: view.payload.into(),
                    is_entry: view.random_access,
                };
                (view.pid, pes)
            });
        } else if let Some((pid, pes)) = &mut self.open
            && *pid == view.pid
        {
            match pes.bytes.len() + view.payload.len() <= PES_BYTES_MAX {
                true => pes.bytes.extend_from_slice(view.payload),
                false => self.open = None,
            }
        }
    }

    fn map(&mut self, view: &View<'_>) {
        if view.starts {
            self.section.clear();
        }
        if self.section.len() <= SECTION_BYTES_MAX {
            self.section.extend_from_slice(view.payload);
        }
        let Some(entries) = tables::entries(&self.section) else {
            return;
        };
        self.section.clear();
        if entries.iter().eq(self.streams.iter().map(|it| &it.entry)) {
            return;
        }
        self.leaves_out = false;
        let before = std::mem::take(&mut self.streams);
        for entry in entries.into_iter().take(2 * TRACKS_MAX) {
            if entry.is_events() {
                continue;
            }
            let Some(coding) = Coding::of(&entry) else {
                self.leaves_out = true;
                continue;
            };
            let known = before.iter().find(|it| it.entry == entry);
            self.streams.push(Stream {
                track: known.and_then(|it| it.track.clone()),
                entry,
                coding,
            });
        }
    }

    fn end_pes(&mut self, out: &mut Vec<Item>) {
        let Some((pid, pes)) = self.open.take() else {
            return;
        };
        let bytes = pes.bytes.freeze();
        let Some((pts, dts, begin)) = super::pes::stamps(&bytes) else {
            return;
        };
        let dts = self.at(dts);
        let pts = self.at(pts);
        let mut streams = self.streams.iter_mut();
        let Some(stream) = streams.find(|it| it.entry.pid == pid) else {
            return;
        };
        let data = bytes.slice(begin..);
        match stream.coding {
            Coding::H264 | Coding::Hevc => stream.picture((pts, dts), pes.is_entry, &data, out),
            Coding::Audio(syntax) => stream.audio(syntax, dts, &data, out),
        }
    }

    /// Converts a timestamp to the time since the first one. Timestamps start again at zero after 26.5 hours.
    fn at(&mut self, stamp: u64) -> Timestamp {
        let (first, last) = *self.clock.get_or_insert((stamp, 0));
        let since = stamp.wrapping_sub(first) as i64;
        let step = (since - last + STAMP_MODULUS / 2).rem_euclid(STAMP_MODULUS) - STAMP_MODULUS / 2;
        let since = last + step;
        self.clock = Some((first, since));
        Timestamp::from_ticks(since * TICKS_PER_90K)
    }
}

impl Coding {
    fn of(entry: &Entry) -> Option<Self> {
        Some(match entry.stream_type {
            0x1B => Self::H264,
            0x24 => Self::Hevc,
            0x0F => Self::Audio(Syntax::Headers(frames::Syntax::Adts)),
            0x03 | 0x04 => Self::Audio(Syntax::Headers(frames::Syntax::MpegAudio)),
            0x06 => Self::Audio(Syntax::Opus(super::opus::channels(&entry.descriptors)?)),
            _ => return None,
        })
    }
}

impl Stream {
    /// Returns the track's number, which a muxer stores in the PID.
    fn id(&self) -> TrackId {
        TrackId((self.entry.pid.0 & 0xFF) as u8)
    }

    fn picture(
        &mut self,
        (pts, dts): (Timestamp, Timestamp),
        is_entry: bool,
        data: &[u8],
        out: &mut Vec<Item>,
    ) {
        let mut sets: [Vec<&[u8]>; 3] = Default::default();
        let mut picture = BytesMut::with_capacity(data.len());
        for unit in nal::units(data, Packing::StartCodes) {
            let first = unit.first().copied().unwrap_or(0);
            let kind = match self.coding {
                Coding::Hevc => match first >> 1 & 0x3F {
                    hevc::unit::VPS => Some(0),
                    hevc::unit::SPS => Some(1),
                    hevc::unit::PPS => Some(2),
                    hevc::unit::DELIMITER => continue,
                    _ => None,
                },
                _ => match h264::unit_type(first) {
                    h264::unit::SPS => Some(1),
                    h264::unit::PPS => Some(2),
                    h264::unit::DELIMITER => continue,
                    _ => None,
                },
            };
            match kind {
                Some(kind) => sets[kind].push(unit),
                None => {
                    picture.extend_from_slice(&(unit.len() as u32).to_be_bytes());
                    picture.extend_from_slice(unit);
                }
            }
        }
        if is_entry {
            self.announce_picture(&sets, out);
        }
        if self.track.is_none() || picture.is_empty() {
            return;
        }
        out.push(Item::Sample(Sample {
            pts,
            keyframe: is_entry,
            ..Sample::frame(self.id(), dts, Span::ZERO, picture.freeze())
        }));
    }

    fn announce_picture(&mut self, [vps, sps, pps]: &[Vec<&[u8]>; 3], out: &mut Vec<Item>) {
        let (codec, config) = match self.coding {
            Coding::Hevc => (Codec::Hevc, HevcConfig::write(vps, sps, pps)),
            _ => (Codec::H264, AvcConfig::write(sps, pps)),
        };
        let Some(config) = config else { return };
        if self.track.as_ref().is_some_and(|it| *it.config == *config) {
            return;
        }
        let mut track = Track::new(self.id(), Kind::Video, codec, Framing::Bare);
        track.config = config.into();
        self.announce(track, out);
    }

    fn audio(&mut self, syntax: Syntax, mut at: Timestamp, data: &Bytes, out: &mut Vec<Item>) {
        let mut rest = data.clone();
        while let Some(frame) = syntax.next(self.id(), &mut rest) {
            if self.track.as_deref() != Some(&frame.track) {
                self.announce(frame.track, out);
            }
            let sample = Sample::frame(self.id(), at, frame.lasts, frame.data);
            out.push(Item::Sample(sample));
            at += frame.lasts;
        }
    }

    fn announce(&mut self, track: Track, out: &mut Vec<Item>) {
        let track = Arc::new(track);
        out.push(Item::Track(Arc::clone(&track)));
        self.track = Some(track);
    }
}
