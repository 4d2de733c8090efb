//! Muxer of items into units: decides which tracks are carried, how long samples wait, and where listeners may join.

use media::{EventContent, Item, Kind, Sample, Span, TimedEvent, Timestamp, Track};

use super::PacketSink;
use super::audio::{Audio, Held};
use super::clock::{CLOCK_EVERY, stamp};
use super::decoding::DecodingTimes;
use super::events::{Carriage, EventStreams};
use super::picture::{Picture, Syntax};
use super::program::{Program, Unit};
use super::stream::{Coding, Stream, Unsupported};
use crate::joins::Joins;
use crate::{id3, scte35};

/// Upper bound on the tracks carried: as many as a stream announces.
pub const TRACKS_MAX: usize = 16;

/// Longest audio in a PES packet without video: the longest time between two clock references, which each of these
/// packets carries. At 64 kb/s, the AAC frames that fit fill their packets to 94 %; a single frame would fill its own
/// by half.
const AUDIO_SPAN: Span = CLOCK_EVERY;

/// Longest audio in a PES packet with video, where delay counts and the bytes of audio do not. At usual rates the next
/// video frame ends the wait earlier: it is written after the audio before it.
const AUDIO_SPAN_BESIDE_PICTURES: Span = Span::from_millis(60);

/// Muxer of a stream's items into a transport stream; call [`push`](Self::push) for each item.
///
/// If there is video, listeners join at keyframes of the first video track; else at audio, wherever tables are
/// written. Nothing is written before the first join point, because no decoder could start there, and nothing of a
/// video track before its first keyframe.
///
/// An audio frame waits for others of its track up to 100 ms, and with video up to 60 ms; it is never written after a
/// later video frame. Held samples take the time of the first of them, and units are in the order of their times as far
/// as samples are.
#[derive(Debug, Default)]
pub struct Muxer {
    tracks: Vec<Carried>,
    events: EventStreams,
    program: Program,
    joins: Joins,
    /// Time of the latest unit; never decreases, although the tracks' times interleave.
    at: Timestamp,
    has_begun: bool,
}

/// Track as it is carried.
#[derive(Debug)]
struct Carried {
    track: Track,
    stream: Stream,
    media: Media,
}

#[derive(Debug)]
enum Media {
    Picture(Picture, DecodingTimes),
    Audio(Audio, Held),
}

impl Muxer {
    /// Creates a muxer for segments, which their writer begins ([`begin_segment`](Self::begin_segment)), and not
    /// listeners that join. The muxer writes everything it is given, except video before its track's first keyframe.
    pub fn of_segments() -> Self {
        Self {
            has_begun: true,
            ..Self::default()
        }
    }

    /// Makes the next unit begin with the tables, so that a player may start there. Continuity counters are not reset.
    pub fn begin_segment(&mut self) {
        self.program.tables.want();
    }

    /// Appends the units of `item`.
    pub fn push(&mut self, item: &Item, sink: &mut impl PacketSink) {
        match item {
            Item::Track(track) => self.track(track, sink),
            Item::Sample(sample) => self.sample(sample, sink),
            Item::Epoch => self.begin_epoch(sink),
            Item::Metadata(script) => self.joins.metadata(&script.body),
            Item::Event(event) => self.event(event, sink),
            Item::Header(_) | Item::Script(_) | Item::Title(_) => {}
        }
    }

    /// Writes the held audio at the end of a stream.
    pub fn flush(&mut self, sink: &mut impl PacketSink) {
        for index in 0..self.tracks.len() {
            self.write_audio(index, sink);
        }
    }

    fn track(&mut self, track: &Track, sink: &mut impl PacketSink) {
        let known = self.tracks.iter().position(|c| c.track.id == track.id);
        if known.is_some_and(|index| self.tracks[index].is_of(track)) {
            return;
        }
        let carried = Carried::new(track).ok();
        if let Some(index) = known {
            self.write_audio(index, sink);
        }
        match (carried, known) {
            (Some(carried), Some(index)) => self.tracks[index] = carried,
            (Some(carried), None) if self.tracks.len() < TRACKS_MAX => self.tracks.push(carried),
            (None, Some(index)) => drop(self.tracks.remove(index)),
            _ => return,
        }
        self.declare();
    }

    /// Begins an epoch, since the next publisher announces its own tracks. Joiners wait for its video, if it has any,
    /// and for nothing of the last publisher's.
    fn begin_epoch(&mut self, sink: &mut impl PacketSink) {
        self.flush(sink);
        self.tracks.clear();
        self.joins = Joins::default();
        self.program.clock.break_off();
        self.declare();
    }

    /// Makes the next tables declare the current streams.
    fn declare(&mut self) {
        let clock = self.picture_track().or_else(|| self.tracks.first());
        let clock_pid = clock.map(|carried| carried.stream.entry.pid);
        let streams = self.tracks.iter();
        let streams = streams.map(|carried| carried.stream.entry.clone());
        let streams = streams.chain(self.events.entries());
        let descriptors = self.events.descriptors();
        let tables = &mut self.program.tables;
        tables.renew(clock_pid, &descriptors, streams);
    }

    fn event(&mut self, event: &TimedEvent, sink: &mut impl PacketSink) {
        if !self.has_begun {
            return;
        }
        let carriage = Carriage::of(&event.content);
        if self.events.declare(carriage) {
            self.declare();
        }
        match &event.content {
            EventContent::Cue(cue) => {
                let section = scte35::moved(&cue.section, stamp(event.at));
                let pid = carriage.pid();
                self.program
                    .write_event_section(self.at, pid, &section, sink);
            }
            content => {
                let tag = id3::of_event(content);
                let times = (self.at, event.at);
                self.program.write_tag(times, carriage.pid(), &tag, sink);
            }
        }
        sink.end_unit(self.at, false);
    }

    /// Returns the video track that joiners wait for.
    fn picture_track(&self) -> Option<&Carried> {
        let mut tracks = self.tracks.iter();
        tracks.find(|carried| carried.track.kind == Kind::Video)
    }

    fn sample(&mut self, sample: &Sample, sink: &mut impl PacketSink) {
        let mut tracks = self.tracks.iter();
        let Some(index) = tracks.position(|c| c.track.id == sample.track) else {
            return;
        };
        match self.tracks[index].track.kind {
            Kind::Audio => self.audio(index, sample, sink),
            Kind::Video => self.picture(index, sample, sink),
        }
    }

    fn audio(&mut self, index: usize, sample: &Sample, sink: &mut impl PacketSink) {
        let has_pictures = self.picture_track().is_some();
        let may_join = self.joins.at_audio(self.at.max(sample.dts), has_pictures);
        if !may_join && !self.has_begun {
            return;
        }
        let Media::Audio(audio, held) = &self.tracks[index].media else {
            return;
        };
        let Some(span) = audio.span(&sample.data) else {
            return;
        };
        if !held.takes(sample.dts, &sample.data) {
            self.write_audio(index, sink);
        }
        let Media::Audio(audio, held) = &mut self.tracks[index].media else {
            return;
        };
        held.put(audio, sample.dts, span, &sample.data);
        let span_max = if has_pictures {
            AUDIO_SPAN_BESIDE_PICTURES
        } else {
            AUDIO_SPAN
        };
        if held.is_full(span, span_max) {
            self.write_audio(index, sink);
        }
    }

    /// Writes the held audio of a track, unless it would precede the first join point.
    fn write_audio(&mut self, index: usize, sink: &mut impl PacketSink) {
        let has_pictures = self.picture_track().is_some();
        let carried = &mut self.tracks[index];
        let Media::Audio(_, held) = &mut carried.media else {
            return;
        };
        let Some(began) = held.began() else { return };
        let at = self.at.max(began);
        let may_join = self.joins.at_audio(at, has_pictures);
        let is_join = may_join && (self.program.tables.are_due(at) || !self.has_begun);
        if is_join || self.has_begun {
            let unit = Unit {
                at,
                dts: began,
                pts: began,
                bytes: held.bytes().len(),
                is_entry: is_join,
                is_join,
            };
            self.program.write(&unit, &carried.stream, sink, |payload| {
                payload.put(held.bytes());
            });
            self.end_unit(&unit, sink);
        }
        if let Media::Audio(_, held) = &mut self.tracks[index].media {
            held.clear();
        }
    }

    fn picture(&mut self, index: usize, sample: &Sample, sink: &mut impl PacketSink) {
        self.write_audio_until(sample.dts, sink);
        let is_awaited = self
            .picture_track()
            .is_some_and(|carried| carried.track.id == sample.track);
        let at = self.at.max(sample.dts);
        let carried = &mut self.tracks[index];
        let Media::Picture(picture, decoding) = &mut carried.media else {
            return;
        };
        let Some(access_unit) = picture.access_unit(&sample.data, sample.keyframe) else {
            return;
        };
        if is_awaited {
            self.joins.picture(at);
        }
        let is_join = is_awaited && access_unit.is_entry;
        let may_be_shown = access_unit.is_entry || picture.is_open;
        if !may_be_shown || !is_join && !self.has_begun {
            return;
        }
        let unit = Unit {
            at,
            dts: decoding.place(sample.dts, sample.pts),
            pts: sample.pts,
            bytes: access_unit.bytes,
            is_entry: access_unit.is_entry,
            is_join,
        };
        self.program.write(&unit, &carried.stream, sink, |payload| {
            access_unit.write(|bytes| payload.put(bytes));
        });
        picture.is_open = true;
        self.end_unit(&unit, sink);
    }

    /// Writes the audio that is not later than a video frame at `dts`.
    fn write_audio_until(&mut self, dts: Timestamp, sink: &mut impl PacketSink) {
        for index in 0..self.tracks.len() {
            if self.tracks[index].holds_until(dts) {
                self.write_audio(index, sink);
            }
        }
    }

    fn end_unit(&mut self, unit: &Unit, sink: &mut impl PacketSink) {
        self.at = unit.at;
        self.has_begun |= unit.is_join;
        sink.end_unit(unit.at, unit.is_join);
    }
}

impl Carried {
    fn new(track: &Track) -> Result<Self, Unsupported> {
        let stream = Stream::new(track)?;
        let picture = |syntax| {
            let picture = Picture::new(syntax, &track.config);
            Media::Picture(picture, DecodingTimes::default())
        };
        let media = match stream.coding {
            Coding::H264 => picture(Syntax::H264),
            Coding::Hevc => picture(Syntax::Hevc),
            coding => {
                let audio = Audio::new(coding, track);
                let audio = audio.ok_or(Unsupported::Config(track.codec))?;
                Media::Audio(audio, Held::default())
            }
        };
        Ok(Self {
            track: track.clone(),
            stream,
            media,
        })
    }

    /// Returns whether `track` is carried just like this one.
    fn is_of(&self, track: &Track) -> bool {
        let known = &self.track;
        let key = |track: &Track| {
            (
                track.codec,
                track.framing,
                track.sample_rate,
                track.channels,
            )
        };
        key(known) == key(track) && known.config == track.config
    }

    /// Returns whether the track holds audio that is not later than `dts`.
    fn holds_until(&self, dts: Timestamp) -> bool {
        match &self.media {
            Media::Audio(_, held) => held.began().is_some_and(|began| began <= dts),
            Media::Picture(..) => false,
        }
    }
}
