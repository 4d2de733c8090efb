//! RTP lane: samples to packets, once per stream.
//!
//! One track of each kind is carried. Among those that a payload format carries it is the one with the lowest id, so that a
//! publisher's own audio takes precedence over audio derived from another track. Sequence numbers continue across epochs, per
//! format. All tracks share one clock, which continues while there is no publisher; the times of the lane's units are that
//! clock's. A unit is a frame; viewers join at keyframes, or anywhere in a stream without video. For a large audience several
//! audio frames are one unit, in one packet (`audio`). Audio that is derived from the stream's past is left out (`present`).

mod audio;
pub mod codes;
mod lane_clock;
mod media_clock;
mod present;
pub mod record;

use std::sync::Arc;
use std::time::Instant;

use base::Counter;
use container::rtp::{PADDING_MAX, PAYLOAD_BYTES, Packetizer, PayloadFormat, Payloads, Sequencer};
use fanout::{Entry, LaneSink, Packager, Preamble, Protocol};
use media::{Item, Kind, Sample, StreamName, Track, TrackId};

use self::audio::{Due, HeldAudio};
use self::codes::FORMATS;
use self::lane_clock::LaneClock;
pub use self::media_clock::MediaClock;
use self::present::Present;

/// Format of the lane.
pub const RTP: fanout::Format = fanout::Format {
    name: "rtp",
    protocol: Protocol::Webrtc,
    retention: fanout::Retention::Live,
};

/// Advice for a publisher whose video frames are not sent in the order they are shown in. Players show a frame when it arrives:
/// B-frames come too late, or delay all others.
pub const REORDERED: &str = "the video has B-frames, which WebRTC players cannot show in time; have the \
     encoder make none, and a keyframe every 2 s: `-bf 0 -g 60` in ffmpeg; in OBS the x264 tune \
     zerolatency or option bframes=0 (other encoders: B-frames 0) and keyframe interval 2 s";

/// Largest number of tracks considered; a stream has no more.
const TRACKS_MAX: usize = 16;

/// Creates the packager of the RTP lane of `stream`. Frames that it cannot carry are counted in `tally`.
pub fn packager(stream: &StreamName, tally: &Arc<Tally>) -> Box<dyn Packager> {
    Box::new(Rtp {
        stream: stream.clone(),
        tracks: Vec::new(),
        lines: PayloadFormat::ALL.map(Line::new),
        clock: LaneClock::default(),
        payloads: Payloads::default(),
        held: HeldAudio::default(),
        present: Present::default(),
        preamble: Arc::default(),
        has_warned: false,
        tally: Arc::clone(tally),
    })
}

/// Counts of frames left out, sent late or not sent, over all streams.
#[derive(Debug, Default)]
pub struct Tally {
    /// Frames left out: B-frames that no other frame is predicted from.
    pub left_out: Counter,
    /// B-frames sent because others are predicted from them; viewers show them late or not at all.
    pub reordered: Counter,
    /// Samples that produced no packets although their track is carried.
    pub unsendable: Counter,
}

#[derive(Debug)]
struct Rtp {
    stream: StreamName,
    tracks: Vec<Announced>,
    /// Indexed by format.
    lines: [Line; FORMATS],
    clock: LaneClock,
    payloads: Payloads,
    /// Audio that waits to share a packet.
    held: HeldAudio,
    /// Filter of audio that is derived from the past.
    present: Present,
    /// Empty preamble: viewers need nothing first, since keyframes carry their parameter sets.
    preamble: Arc<Preamble>,
    /// Whether this epoch's warning was logged.
    has_warned: bool,
    tally: Arc<Tally>,
}

#[derive(Debug)]
struct Announced {
    track: Arc<Track>,
    /// Payload format of the track; `None` if no format carries it.
    format: Option<PayloadFormat>,
}

/// State that continues over all tracks that a format has in turn.
#[derive(Debug)]
struct Line {
    sequencer: Sequencer,
    packetizer: Option<Packetizer>,
    /// Track that the packetizer is set up for.
    track: Option<Arc<Track>>,
}

impl Line {
    fn new(format: PayloadFormat) -> Self {
        Self {
            sequencer: codes::sequencer(format),
            packetizer: None,
            track: None,
        }
    }

    /// Returns the packetizer, set up for `track`. Picture numbers continue where another track's ended.
    fn packetizer(&mut self, format: PayloadFormat, track: &Arc<Track>) -> &mut Packetizer {
        let is_new = !matches!(&self.track, Some(known) if Arc::ptr_eq(known, track));
        if is_new {
            self.track = Some(Arc::clone(track));
            if let Some(packetizer) = &mut self.packetizer {
                packetizer.reconfigure(track);
            }
        }
        self.packetizer
            .get_or_insert_with(|| Packetizer::new(format, track, PAYLOAD_BYTES))
    }
}

impl Packager for Rtp {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            Item::Epoch => {
                self.release(sink);
                self.tracks.clear();
                self.has_warned = false;
                self.clock.begin_epoch();
            }
            Item::Track(track) => {
                self.release(sink);
                self.announce(track, sink.arrived());
            }
            Item::Sample(sample) => {
                self.clock.saw(sample, sink.arrived());
                self.sample(sample, sink);
            }
            Item::Header(_)
            | Item::Metadata(_)
            | Item::Script(_)
            | Item::Title(_)
            | Item::Event(_) => {}
        }
    }

    fn pause(&mut self, sink: &mut LaneSink<'_>) {
        self.release(sink);
    }

    fn end(&mut self, sink: &mut LaneSink<'_>) {
        self.release(sink);
    }

    fn takes_derived(&self) -> bool {
        true
    }
}

impl Rtp {
    fn announce(&mut self, track: &Arc<Track>, arrived: Instant) {
        if track.id == TrackId::DERIVED {
            self.present.begin(arrived);
        }
        let announced = Announced {
            track: Arc::clone(track),
            format: PayloadFormat::of(track),
        };
        let count = self.tracks.len();
        let mut known = self.tracks.iter_mut();
        match known.find(|known| known.track.id == track.id) {
            Some(known) => *known = announced,
            None if count < TRACKS_MAX => self.tracks.push(announced),
            None => {}
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut LaneSink<'_>) {
        if self.held.is_overdue(sink.arrived()) {
            self.release(sink);
        }
        if sample.track != TrackId::DERIVED && self.is_audio(sample.track) {
            self.present.saw(sample, sink.arrived());
        }
        let Some((format, track)) = self.carried(sample) else {
            return;
        };
        if track.id == TrackId::DERIVED && self.present.is_past(sample, sink.arrived()) {
            return;
        }
        let due = Due {
            sample: sample.clone(),
            track,
            arrived: sink.arrived(),
        };
        if format.kind() == Kind::Video {
            self.send(format, &due, sink);
            return;
        }
        let most = audio::most(sink.window(), self.has_picture());
        for due in self.held.push(due, most).into_iter().flatten() {
            self.send(format, &due, sink);
        }
    }

    /// Sends the waiting audio.
    fn release(&mut self, sink: &mut LaneSink<'_>) {
        if let Some(due) = self.held.release() {
            self.send(PayloadFormat::Opus, &due, sink);
        }
    }

    fn send(&mut self, format: PayloadFormat, due: &Due, sink: &mut LaneSink<'_>) {
        let Due {
            sample,
            track,
            arrived,
        } = due;
        self.payloads.clear();
        let packetizer = self.lines[format as usize].packetizer(format, track);
        let Ok(picture) = packetizer.push(sample, &mut self.payloads) else {
            self.tally.unsendable.add(1);
            return;
        };
        if picture.is_reordered {
            self.warn_of_reordering();
            if picture.is_disposable {
                self.tally.left_out.add(1);
                return;
            }
            self.tally.reordered.add(1);
        }
        self.write(format, sample, sink);
        let may_join = match format.kind() {
            Kind::Video => picture.keyframe,
            Kind::Audio => !self.has_picture(),
        };
        let entry = if may_join {
            Entry::Join(Arc::clone(&self.preamble))
        } else {
            Entry::None
        };
        sink.end_unit_since(self.clock.at(sample.dts), *arrived, entry);
    }

    /// Returns the format of `sample` and its track, if that track is the carried one of its kind.
    fn carried(&self, sample: &Sample) -> Option<(PayloadFormat, Arc<Track>)> {
        let mut known = self.tracks.iter();
        let own = known.find(|known| known.track.id == sample.track)?;
        let (format, track) = (own.format?, Arc::clone(&own.track));
        let goes_before = |other: &Announced| {
            let is_alike = other.format.is_some_and(|of| of.kind() == format.kind());
            is_alike && other.track.id < track.id
        };
        (!self.tracks.iter().any(goes_before)).then_some((format, track))
    }

    fn write(&mut self, format: PayloadFormat, sample: &Sample, sink: &mut LaneSink<'_>) {
        let sequencer = &mut self.lines[format as usize].sequencer;
        let decoded = self.clock.at(sample.dts);
        let timestamp = sequencer.timestamp(decoded + (sample.pts - sample.dts));
        self.payloads.level();
        for payload in self.payloads.packets() {
            let header = sequencer.number(payload, timestamp);
            let bytes = &self.payloads.bytes()[payload.range.clone()];
            let mut space = [0; PADDING_MAX];
            let padding = payload.padding(&mut space);
            sink.put(&record::head(
                format,
                header.len() + bytes.len() + padding.len(),
            ));
            sink.put(&header);
            sink.put(bytes);
            sink.put(padding);
        }
    }

    fn is_audio(&self, track: TrackId) -> bool {
        let mut tracks = self.tracks.iter();
        tracks.any(|known| known.track.id == track && known.track.kind == Kind::Audio)
    }

    fn has_picture(&self) -> bool {
        let mut tracks = self.tracks.iter();
        tracks.any(|known| known.track.kind == Kind::Video)
    }

    fn warn_of_reordering(&mut self) {
        if !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(
                stream = %self.stream,
                "viewers over WebRTC get some of the frames at the wrong time or not at all, and \
                 new viewers are refused: {REORDERED}"
            );
        }
    }
}
