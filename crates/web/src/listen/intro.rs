//! Intro audio that each listener of a stream is sent first: whole frames of a file.
//!
//! Listeners that request titles count bytes, and join their lane where an interval begins. So their intro fills whole
//! intervals, ending with frames of silence for MP3. AAC cannot be padded that way, so listeners of AAC with titles have no
//! intro.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use container::mp3_file::silence;
use container::{Sniffer, icy};
use fanout::Info;
use media::{Codec, Container, Item, Track};
use packagers::{Form, METAINT};

/// Maximum length of an intro in bytes: a minute at 128 kb/s. A listener on a plain socket holds its own copy until it is sent.
pub const INTRO_BYTES_MAX: usize = 1024 * 1024;

/// Reason why a file cannot be an intro.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoIntro {
    /// The file is longer than any intro may be.
    #[error("it is longer than 1 MiB, about a minute at 128 kb/s")]
    TooLong,
    /// The file is neither MP3 nor AAC in ADTS.
    #[error("it is neither MP3 nor AAC in ADTS")]
    Foreign,
    /// The format changes within the file.
    #[error("its sample rate or number of channels changes")]
    Mixed,
}

/// Intro of a stream, with and without room for titles.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Intro {
    codec: Codec,
    rate: u32,
    channels: u8,
    /// Frames for listeners without titles.
    plain: Bytes,
    /// Frames for listeners with titles; `None` for AAC.
    titled: Option<Bytes>,
}

impl Intro {
    /// Reads a file. Tags and tables are left out.
    ///
    /// # Errors
    /// See [`NoIntro`].
    pub fn read(file: &[u8]) -> Result<Self, NoIntro> {
        if file.len() > INTRO_BYTES_MAX {
            return Err(NoIntro::TooLong);
        }
        let mut items = Vec::new();
        let mut sniffer = Sniffer::new("");
        let found = sniffer
            .push(file, &mut items)
            .map_err(|_| NoIntro::Foreign)?;
        let found = found.or_else(|| sniffer.finish(&mut items));
        let mut demuxer = found.ok_or(NoIntro::Foreign)?.demuxer;
        demuxer.finish(&mut items);
        if !matches!(demuxer.container(), Container::Mp3 | Container::Adts) {
            return Err(NoIntro::Foreign);
        }
        let (mut track, mut plain) = (None::<Arc<Track>>, BytesMut::new());
        for item in items {
            match item {
                Item::Track(new) if track.is_none() => track = Some(new),
                Item::Track(_) => return Err(NoIntro::Mixed),
                Item::Sample(sample) => plain.put(sample.data),
                _ => {}
            }
        }
        let track = track.ok_or(NoIntro::Foreign)?;
        let plain = plain.freeze();
        Ok(Self {
            codec: track.codec,
            rate: track.sample_rate,
            channels: track.channels,
            titled: titled(&plain, track.codec),
            plain,
        })
    }

    /// Returns the bytes sent to listeners of a stream in this form; empty if the intro does not fit the stream or the form.
    pub(crate) fn of(&self, info: &Info, form: Form) -> Bytes {
        let is_alike = info.tracks.iter().any(|track| {
            let own = (track.codec, track.sample_rate, track.channels);
            own == (self.codec, self.rate, self.channels)
        });
        let is_bare = matches!(info.source.container, Container::Mp3 | Container::Adts);
        let bytes = match form {
            Form::Source if is_bare => Some(&self.plain),
            Form::Icy if is_bare => self.titled.as_ref(),
            Form::Mp3 if self.codec == Codec::Mp3 => Some(&self.plain),
            Form::IcyMp3 if self.codec == Codec::Mp3 => self.titled.as_ref(),
            Form::Aac if self.codec == Codec::Aac => Some(&self.plain),
            _ => None,
        };
        bytes.filter(|_| is_alike).cloned().unwrap_or_default()
    }
}

/// Returns the frames, padded with silence, with an empty title block after each interval.
fn titled(plain: &Bytes, codec: Codec) -> Option<Bytes> {
    if codec != Codec::Mp3 {
        return None;
    }
    let interval = METAINT.get();
    let missing = plain.len().next_multiple_of(interval) - plain.len();
    // A remainder that is too short for a frame, or falls between frame lengths, is filled together with the next interval.
    let filled = silence(plain, missing).or_else(|| silence(plain, missing + interval))?;
    let mut all = BytesMut::from(&plain[..]);
    all.extend_from_slice(&filled);
    let mut titled = BytesMut::with_capacity(all.len() + all.len() / interval);
    let nothing = icy::Block::empty();
    for interval in all.chunks(interval) {
        titled.extend_from_slice(interval);
        titled.extend_from_slice(nothing.bytes());
    }
    Some(titled.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of MP3 at 128 kb/s and 44.1 kHz in stereo.
    fn song(frames: u8) -> Vec<u8> {
        let frame = |number: u8| {
            let mut frame = vec![0xFF, 0xFB, 0x90, 0x00];
            frame.resize(417, number);
            frame
        };
        (0..frames).flat_map(frame).collect()
    }

    #[test]
    fn an_intro_is_whole_frames_without_tags() {
        let mut file = b"ID3\x04\0\0\0\0\0\x05tag!!".to_vec();
        file.extend(song(100));
        file.extend(&song(1)[..200]);
        let intro = Intro::read(&file).expect("MP3");
        assert_eq!(intro.plain, song(100));
        let format = (intro.codec, intro.rate, intro.channels);
        assert_eq!(format, (Codec::Mp3, 44_100, 2));
    }

    #[test]
    fn with_titles_it_fills_whole_intervals() {
        for frames in [1, 38, 39, 100] {
            let intro = Intro::read(&[song(frames), song(3)].concat()).expect("MP3");
            let titled = intro.titled.expect("MP3 can be filled up");
            let whole = METAINT.get() + 1;
            assert_eq!(titled.len() % whole, 0, "{frames} frames");
            let mut audio = Vec::new();
            for interval in titled.chunks(whole) {
                let (bytes, block) = interval.split_at(METAINT.get());
                audio.extend_from_slice(bytes);
                assert_eq!(block, [0], "no title");
            }
            let length = intro.plain.len();
            assert_eq!(audio[..length], intro.plain);
            assert!(audio.len() - length < 2 * METAINT.get());
            assert!(audio[length..].is_empty() || audio[length..].starts_with(&[0xFF, 0xFB]));
        }
    }

    #[test]
    fn what_is_no_intro_is_refused_with_the_reason() {
        for (file, reason) in [
            (vec![0; 4_000], NoIntro::Foreign),
            (b"OggS is something else".to_vec(), NoIntro::Foreign),
            (Vec::new(), NoIntro::Foreign),
            (vec![0xFF; INTRO_BYTES_MAX + 1], NoIntro::TooLong),
        ] {
            assert_eq!(Intro::read(&file), Err(reason));
        }
    }
}
