//! Film: the audio and video of one file, from its first keyframe on, as one sequence of items.
//!
//! ```text
//!  file:      s s s s s s s s s s s            s: audio, p: video, K: the first keyframe
//!                 p p K p p p p p
//!  film:              s s s s s …
//!                     K p p p p …              its time begins with the earlier of the two
//! ```
//!
//! Samples presented before the first keyframe are omitted, except one audio frame, which decoders need to begin with.
//! Audio and video keep their offset. Times begin at zero, which is when the first sample is presented.

use std::collections::VecDeque;
use std::sync::Arc;

use media::{Codec, Item, Sample, Span, Timestamp, TrackId};

use super::{Format, mp4};

/// Most samples held until the beginning of the film is known: more than two seconds of audio and video, because
/// programs that write files do not interleave them at larger distances.
const HELD_MAX: usize = 256;

/// Most bytes of these samples: two seconds at 60 Mb/s.
const HELD_BYTES_MAX: usize = 16 << 20;

/// Largest jump of a film's clock, forward or back. A larger one means a damaged file, and the film ends there.
const JUMP_MAX: Span = Span::from_millis(60_000);

/// Film being read: [`push`](Self::push) the file's items, then [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct Film {
    format: Format,
    /// Configurations in force.
    tracks: Vec<Arc<media::Track>>,
    /// Presentation time of the first keyframe, once there is one.
    keyframe: Option<Timestamp>,
    /// Samples that arrive before the beginning of the film is known.
    held: VecDeque<Sample>,
    /// Beginning of the film, on the file's clock.
    begin: Option<Timestamp>,
    /// Decoding time of the last video frame, and its distance from the one before it.
    picture: Option<(Timestamp, Span)>,
    /// Decoding time of the last sample.
    last: Option<Timestamp>,
    /// Whether everything that follows is omitted.
    is_over: bool,
}

impl Film {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            tracks: Vec::new(),
            keyframe: None,
            held: VecDeque::new(),
            begin: None,
            picture: None,
            last: None,
            is_over: false,
        }
    }

    /// Adds the next items of the file, and appends those that can be passed on.
    pub(crate) fn push(&mut self, items: Vec<Item>, out: &mut VecDeque<Item>) {
        for item in items {
            match item {
                Item::Track(track) if is_of_film(track.id) => self.track(track, out),
                Item::Sample(sample) if self.takes(&sample) => {
                    self.sample(sample, out);
                }
                _ => {}
            }
        }
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self, out: &mut VecDeque<Item>) {
        if self.begin.is_none() {
            self.begin(out);
        }
    }

    /// Adds a configuration; of those before the film's beginning the last one counts.
    fn track(&mut self, track: Arc<media::Track>, out: &mut VecDeque<Item>) {
        self.tracks.retain(|known| known.id != track.id);
        if self.begin.is_some() {
            out.push_back(Item::Track(Arc::clone(&track)));
        }
        self.tracks.push(track);
    }

    /// Returns whether a sample belongs to the film.
    fn takes(&mut self, sample: &Sample) -> bool {
        if !is_of_film(sample.track) || !self.fits() {
            return false;
        }
        let last = self.last.unwrap_or(sample.dts);
        self.is_over |= (sample.dts - last).max(last - sample.dts) > JUMP_MAX;
        self.last = Some(sample.dts);
        !self.is_over
    }

    /// Returns whether both tracks are there and have the station's format: a file may continue with another one.
    fn fits(&self) -> bool {
        format_of(self.tracks.iter()) == Some(self.format)
    }

    fn sample(&mut self, mut sample: Sample, out: &mut VecDeque<Item>) {
        if sample.track == TrackId::VIDEO {
            self.time(&mut sample);
            match self.keyframe {
                None if sample.keyframe => self.keyframe = Some(sample.pts),
                None => return,
                // The frame refers to frames before the first keyframe.
                Some(first) if sample.pts < first => return,
                Some(_) => {}
            }
        }
        match (self.begin, self.keyframe) {
            (Some(begin), _) => out.extend(placed(sample, begin)),
            (None, keyframe) => {
                let is_audio = sample.track == TrackId::AUDIO;
                let is_later = keyframe.is_some_and(|first| is_audio && sample.pts >= first);
                self.held.push_back(sample);
                match keyframe {
                    Some(_) if is_later || self.holds_too_much() => self.begin(out),
                    Some(_) => {}
                    None => {
                        while self.holds_too_much() {
                            self.held.pop_front();
                        }
                    }
                }
            }
        }
    }

    fn holds_too_much(&self) -> bool {
        let bytes: usize = self.held.iter().map(Sample::bytes).sum();
        self.held.len() > HELD_MAX || bytes > HELD_BYTES_MAX
    }

    /// Sets the duration of a video frame, which lasts until the next one is decoded. FLV does not state it; then it is
    /// taken from the distance of the last two frames.
    fn time(&mut self, picture: &mut Sample) {
        let apart = match self.picture {
            Some((last, _)) if picture.dts > last => picture.dts - last,
            Some((_, apart)) => apart,
            None => Span::ZERO,
        };
        self.picture = Some((picture.dts, apart));
        if picture.duration == Span::ZERO {
            picture.duration = apart;
        }
    }

    /// Begins the film with the samples that are held.
    fn begin(&mut self, out: &mut VecDeque<Item>) {
        let Some(first) = self.keyframe else {
            return;
        };
        self.held.retain(|sample| {
            sample.track == TrackId::VIDEO || sample.pts + sample.duration >= first
        });
        let presented = self.held.iter().map(|sample| sample.pts);
        let begin = presented.min().unwrap_or(first);
        self.begin = Some(begin);
        out.extend(self.tracks.iter().cloned().map(Item::Track));
        let held = self.held.drain(..);
        out.extend(held.filter_map(|sample| placed(sample, begin)));
    }
}

/// Returns a sample on the film's clock; `None` if it lies before the film.
fn placed(sample: Sample, begin: Timestamp) -> Option<Item> {
    let on_clock = |at: Timestamp| Timestamp::ZERO + (at - begin);
    (sample.pts >= begin).then(|| {
        Item::Sample(Sample {
            dts: on_clock(sample.dts),
            pts: on_clock(sample.pts),
            ..sample
        })
    })
}

fn is_of_film(track: TrackId) -> bool {
    matches!(track, TrackId::VIDEO | TrackId::AUDIO)
}

/// Returns the format of these tracks; `None` unless they are audio and video that films may have.
pub(super) fn format_of<'a>(tracks: impl Iterator<Item = &'a Arc<media::Track>>) -> Option<Format> {
    let (mut picture, mut audio) = (None, None);
    for track in tracks {
        match (track.id, track.codec) {
            (TrackId::VIDEO, codec @ (Codec::H264 | Codec::Hevc)) => picture = Some(codec),
            (TrackId::AUDIO, Codec::Aac) => audio = mp4::format_of_config(&track.config).ok(),
            _ => {}
        }
    }
    picture.zip(audio).map(|(picture, audio)| Format {
        picture: Some(picture),
        ..audio
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{Framing, Kind};

    use super::super::testing::film_format;
    use super::*;

    const FRAME: Span = Span::from_samples(1_024, 48_000);

    fn track(id: TrackId, codec: Codec, config: &'static [u8]) -> Item {
        let kind = match id {
            TrackId::VIDEO => Kind::Video,
            _ => Kind::Audio,
        };
        Item::Track(Arc::new(media::Track {
            config: Bytes::from_static(config),
            ..media::Track::new(id, kind, codec, Framing::Bare)
        }))
    }

    fn sample(at: Timestamp) -> Sample {
        Sample::frame(TrackId::AUDIO, at, FRAME, Bytes::new())
    }

    /// A video frame every 40 ms, the first at a time; each with the delay of its presentation.
    fn picture(millis: i64, later: i64, keyframe: bool) -> Item {
        let dts = Timestamp::from_millis(millis);
        Item::Sample(Sample {
            track: TrackId::VIDEO,
            pts: dts + Span::from_millis(later),
            duration: Span::ZERO,
            keyframe,
            ..sample(dts)
        })
    }

    fn audio(at: Timestamp) -> Item {
        Item::Sample(sample(at))
    }

    fn run(items: Vec<Item>) -> (usize, Vec<Sample>) {
        let mut film = Film::new(film_format());
        let mut out = VecDeque::new();
        for item in items {
            film.push(vec![item], &mut out);
        }
        film.finish(&mut out);
        let is_sample = |item: &Item| matches!(item, Item::Sample(_));
        let tracks = out.iter().filter(|item| !is_sample(item)).count();
        let samples = out.into_iter().filter_map(|item| match item {
            Item::Sample(sample) => Some(sample),
            _ => None,
        });
        (tracks, samples.collect())
    }

    fn tracks() -> Vec<Item> {
        vec![
            track(TrackId::VIDEO, Codec::H264, b""),
            track(TrackId::AUDIO, Codec::Aac, &[0x11, 0x90]),
        ]
    }

    #[test]
    fn it_begins_with_its_first_keyframe_and_one_frame_of_audio() {
        let mut items = tracks();
        let at = |number: i64| Timestamp::ZERO + Span::from_ticks(FRAME.ticks() * number);
        items.extend((0..6).map(|number| audio(at(number))));
        items.extend([picture(0, 40, false), picture(40, 40, true)]);
        // The first refers to frames before the keyframe, the second does not.
        items.extend([picture(80, -20, false), picture(120, 0, false)]);
        items.extend((6..9).map(|number| audio(at(number))));
        let (tracks, samples) = run(items);
        assert_eq!(tracks, 2);
        // The keyframe is presented at 80 ms, within the fourth frame, which begins at 64.
        let begin = at(3);
        let found = samples.iter();
        let found = found.map(|sample| (sample.track, sample.pts + (begin - Timestamp::ZERO)));
        let mut found: Vec<_> = found.collect();
        let mut expected: Vec<_> = (3..9).map(|it| (TrackId::AUDIO, at(it))).collect();
        expected.extend([80, 120].map(|at| (TrackId::VIDEO, Timestamp::from_millis(at))));
        found.sort_by_key(|it| it.1);
        expected.sort_by_key(|it| it.1);
        assert_eq!(found, expected);
        let pictures = samples.iter().filter(|it| it.track == TrackId::VIDEO);
        let pictures: Vec<_> = pictures.map(|it| it.duration.millis()).collect();
        assert_eq!(pictures, [40, 40], "as far apart as they are decoded");
    }

    #[test]
    fn without_a_keyframe_or_of_another_format_there_is_nothing() {
        let mut items = tracks();
        items.extend((0..600).map(|at| picture(40 * at, 0, false)));
        items.extend((0..600).map(|at| audio(Timestamp::from_millis(40 * at))));
        assert_eq!(run(items).1.len(), 0);
        let mut items = tracks();
        items.push(track(TrackId::AUDIO, Codec::Aac, &[0x12, 0x10]));
        items.extend([picture(0, 0, true), audio(Timestamp::ZERO)]);
        assert_eq!(run(items).1.len(), 0);
        assert_eq!(run(vec![picture(0, 0, true)]).1.len(), 0);
    }

    #[test]
    fn a_clock_that_jumps_ends_it() {
        let mut items = tracks();
        items.extend((0..10).map(|at| picture(40 * at, 0, at == 0)));
        items.extend((0..10).map(|at| picture(100_000 + 40 * at, 0, at == 0)));
        assert_eq!(run(items).1.len(), 10);
    }

    #[test]
    fn a_film_whose_audio_ends_continues() {
        let mut items = tracks();
        items.extend((0..300).map(|at| picture(40 * at, 0, at % 50 == 0)));
        let (_, samples) = run(items);
        assert_eq!(samples.len(), 300);
        let times: Vec<_> = samples.iter().map(|sample| sample.dts.millis()).collect();
        assert!((0..300).map(|at| 40 * at).eq(times));
    }
}
