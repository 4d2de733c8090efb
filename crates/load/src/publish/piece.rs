//! Order and timing of a publisher's pieces.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use media::{Sample, Span, Timestamp, Track, TrackId};

use super::recording::Recording;
use super::synthetic::Program;
use crate::plan::Source;
use crate::stamp::Stamp;
use crate::target::Protocol;

/// A piece to be sent at once.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// The body of an FLV tag.
    Tag { is_video: bool, body: Bytes },
    /// Bytes of the source itself.
    Raw(Bytes),
    /// A track for RTP.
    Track(Arc<Track>),
    /// A frame of a track for RTP.
    Sample(Sample),
}

/// Media that all publishers of a process send.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    Recording(Arc<Recording>),
    Synthetic(Program),
}

impl Script {
    /// Reads the media to be sent; `protocol` determines what can be.
    pub(crate) fn read(source: &Source, protocol: Protocol) -> io::Result<Self> {
        Ok(match source {
            Source::File(path) => {
                let recording = Recording::read(path, protocol);
                Self::Recording(Arc::new(recording.map_err(io::Error::other)?))
            }
            Source::Synthetic(program) => Self::Synthetic(*program),
        })
    }
}

/// Position of a publisher in its script.
#[derive(Debug)]
pub(crate) struct Performer {
    script: Script,
    protocol: Protocol,
    /// Mark of a synthetic source.
    source: u32,
    /// Number of the next audio frame, or of the next piece of a recording.
    audio_frames: u64,
    pictures: u64,
    /// Length of the complete turns of a recording before this one, in nanoseconds.
    turned: u64,
    /// Whether a keyframe was requested.
    owes_keyframe: bool,
}

impl Performer {
    pub(crate) fn new(script: Script, protocol: Protocol, source: u32) -> Self {
        Self {
            script,
            protocol,
            source,
            audio_frames: 0,
            pictures: 0,
            turned: 0,
            owes_keyframe: false,
        }
    }

    /// Returns the pieces before the first frame.
    pub(crate) fn opening(&self) -> Vec<Piece> {
        match &self.script {
            Script::Recording(recording) => recording.opening.clone(),
            Script::Synthetic(program) if self.protocol == Protocol::Whip => {
                let picture = program.picture.map(|picture| picture.track());
                let tracks = picture.into_iter().chain(program.audio.track());
                tracks.map(Piece::Track).collect()
            }
            Script::Synthetic(_) if self.protocol != Protocol::Rtmp => Vec::new(),
            Script::Synthetic(program) => {
                let audio = program.audio.flv_header().map(|body| tag(false, body));
                let picture = program
                    .picture
                    .map(|picture| tag(true, picture.flv_header()));
                picture.into_iter().chain(audio).collect()
            }
        }
    }

    /// Returns the time at which the next piece is due, in nanoseconds since the first one.
    pub(crate) fn due(&self) -> u64 {
        match &self.script {
            Script::Recording(recording) => {
                let piece = recording.pieces.get(self.audio_frames as usize);
                self.turned + piece.map_or(recording.length, |(due, _)| *due)
            }
            Script::Synthetic(program) => {
                let audio = program.audio.due(self.audio_frames);
                program
                    .picture
                    .map_or(audio, |picture| audio.min(picture.due(self.pictures)))
            }
        }
    }

    /// Makes the next video frame a keyframe, if possible.
    pub(crate) fn ask_keyframe(&mut self) {
        self.owes_keyframe = true;
    }

    /// Returns the next piece, which is sent at `wall`, and whatever accompanies it.
    pub(crate) fn perform(&mut self, wall: u64) -> Vec<Piece> {
        let due = self.due();
        let program = match &self.script {
            Script::Recording(recording) => {
                if let Some((_, piece)) = recording.pieces.get(self.audio_frames as usize) {
                    self.audio_frames += 1;
                    return vec![match piece {
                        Piece::Sample(sample) => Piece::Sample(moved(sample, due)),
                        piece => piece.clone(),
                    }];
                }
                self.turned += recording.length;
                self.audio_frames = 0;
                return recording.opening.clone();
            }
            Script::Synthetic(program) => *program,
        };
        let (source, mut bytes) = (self.source, Vec::new());
        let stamp = |number| Stamp {
            source,
            number,
            sent: wall,
        };
        if let Some(picture) = program.picture
            && picture.due(self.pictures) == due
        {
            let owed = std::mem::take(&mut self.owes_keyframe);
            let keyframe = owed || picture.is_keyframe(self.pictures);
            let stamp = stamp(self.pictures);
            self.pictures += 1;
            if self.protocol == Protocol::Whip {
                picture.write_unit(stamp, keyframe, &mut bytes);
                return vec![sample(TrackId::VIDEO, due, keyframe, bytes)];
            }
            picture.write_tag(stamp, keyframe, &mut bytes);
            return vec![tag(true, bytes.into())];
        }
        let audio = program.audio;
        match self.protocol {
            Protocol::Rtmp => bytes.extend_from_slice(audio.flv_prelude()),
            _ => bytes.extend(audio.adts().into_iter().flatten()),
        }
        audio.write_frame(stamp(self.audio_frames), &mut bytes);
        self.audio_frames += 1;
        vec![match self.protocol {
            Protocol::Rtmp => tag(false, bytes.into()),
            Protocol::Whip => sample(TrackId::AUDIO, due, true, bytes),
            _ => Piece::Raw(bytes.into()),
        }]
    }
}

/// Makes a piece from the body of an FLV tag.
fn tag(is_video: bool, body: Bytes) -> Piece {
    Piece::Tag { is_video, body }
}

/// Makes a piece from a frame that is due this many nanoseconds after the first one.
fn sample(track: TrackId, due: u64, keyframe: bool, data: Vec<u8>) -> Piece {
    let at = timestamp(due);
    Piece::Sample(Sample {
        track,
        dts: at,
        pts: at,
        duration: Span::ZERO,
        keyframe,
        data: data.into(),
        flv: None,
    })
}

/// Returns a recording's frame with its time in the current turn.
fn moved(sample: &Sample, due: u64) -> Sample {
    let dts = timestamp(due);
    Sample {
        dts,
        pts: dts + (sample.pts - sample.dts),
        ..sample.clone()
    }
}

/// Converts nanoseconds since the first frame to a timestamp.
pub(crate) fn timestamp(nanoseconds: u64) -> Timestamp {
    let ticks = i128::from(nanoseconds) * i128::from(media::TICKS_PER_SECOND) / 1_000_000_000;
    // Nanoseconds reach five hundred years, ticks four hundred.
    Timestamp::from_ticks(ticks as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::synthetic::Audio;

    fn performed(performer: &mut Performer, times: usize) -> Vec<(u64, Piece)> {
        let mut pieces = Vec::new();
        for _ in 0..times {
            let due = performer.due();
            pieces.extend(performer.perform(due).into_iter().map(|piece| (due, piece)));
        }
        pieces
    }

    #[test]
    fn audio_and_pictures_come_in_turn_by_their_times() {
        let program = Program::of(Audio::Aac, 64_000, Some(500_000));
        let mut performer = Performer::new(Script::Synthetic(program), Protocol::Rtmp, 7);
        assert_eq!(performer.opening().len(), 2);
        let pieces = performed(&mut performer, 72);
        assert!(pieces.is_sorted_by_key(|(due, _)| *due));
        let is_picture = |piece: &Piece| matches!(piece, Piece::Tag { is_video: true, .. });
        let pictures = pieces.iter().filter(|(_, piece)| is_picture(piece)).count();
        assert_eq!(pictures, 25);
        for (due, piece) in &pieces {
            let Piece::Tag { body, .. } = piece else {
                panic!("RTMP carries tags");
            };
            assert_eq!(Stamp::read(body).map(|stamp| stamp.sent), Ok(*due));
        }
    }

    #[test]
    fn a_recording_turns() {
        let raw = |byte| Piece::Raw(Bytes::from(vec![byte]));
        let recording = Recording {
            opening: vec![raw(0)],
            pieces: vec![(0, raw(1)), (10, raw(2))],
            length: 20,
            content_type: "audio/mpeg",
        };
        let script = Script::Recording(Arc::new(recording));
        let mut performer = Performer::new(script, Protocol::Icecast, 0);
        let pieces = performed(&mut performer, 5);
        let shown = pieces.iter().map(|(due, piece)| match piece {
            Piece::Raw(bytes) | Piece::Tag { body: bytes, .. } => (*due, bytes[0]),
            other => panic!("no bytes of the source: {other:?}"),
        });
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown, [(0, 1), (10, 2), (20, 0), (20, 1), (30, 2)]);
    }

    #[test]
    fn a_request_over_whip_is_answered_with_a_keyframe() {
        let program = Program::of(Audio::Opus, 64_000, Some(500_000));
        let mut performer = Performer::new(Script::Synthetic(program), Protocol::Whip, 7);
        assert_eq!(performer.opening().len(), 2);
        let keyframes = |pieces: &[(u64, Piece)]| {
            let samples = pieces.iter().map(|(due, piece)| match piece {
                Piece::Sample(sample) => {
                    assert_eq!(sample.dts, timestamp(*due));
                    sample
                }
                other => panic!("no sample: {other:?}"),
            });
            let pictures = samples.filter(|sample| sample.track == TrackId::VIDEO);
            pictures.filter(|picture| picture.keyframe).count()
        };
        assert_eq!(keyframes(&performed(&mut performer, 90)), 1);
        performer.ask_keyframe();
        performer.ask_keyframe();
        assert_eq!(keyframes(&performed(&mut performer, 20)), 1);
    }

    #[test]
    fn a_recordings_samples_continue_in_the_next_turn() {
        let Piece::Sample(mut first) = sample(TrackId::VIDEO, 5, true, vec![1]) else {
            panic!("no sample");
        };
        first.pts = Timestamp::from_millis(40);
        let recording = Recording {
            opening: Vec::new(),
            pieces: vec![(0, Piece::Sample(first))],
            length: 1_000_000_000,
            content_type: "video/x-flv",
        };
        let script = Script::Recording(Arc::new(recording));
        let mut performer = Performer::new(script, Protocol::Whip, 0);
        let pieces = performed(&mut performer, 3);
        let times = pieces.iter().map(|(_, piece)| match piece {
            Piece::Sample(sample) => (sample.dts.millis(), sample.pts.millis()),
            other => panic!("no sample: {other:?}"),
        });
        assert_eq!(times.collect::<Vec<_>>(), [(0, 39), (1_000, 1_039)]);
    }
}
