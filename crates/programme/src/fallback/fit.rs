//! Compatibility of two streams: whether listeners of one can be sent the other.
//!
//! A decoder can continue with another stream of the same format, but not with another format. For audio the format is
//! the container, the codec, the sample rate and the number of channels (the rate implies the version of MPEG). Video
//! comes with its own headers, as after any publisher; only its codec must be the same. If the audio frames, or the
//! links of Ogg, state rate and channels themselves, many decoders accept a change, which an operator may allow
//! ([`Misfit::is_stated_by_frames`]).

use std::fmt;

use fanout::Info;
use media::{Codec, Container, Kind};

/// Format that listeners of a stream were promised.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Shape {
    container: Container,
    tracks: Vec<Form>,
}

/// Properties of a track that must stay the same for a decoder.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Form {
    kind: Kind,
    codec: Codec,
    /// Sample rate in Hz and number of channels, for audio.
    audio: Option<(u32, u8)>,
}

/// Pair of streams that differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Misfit {
    own: Shape,
    other: Shape,
}

impl Shape {
    /// Returns the shape of a stream. Additional tracks of the same kind are ignored.
    pub(crate) fn of(info: &Info) -> Self {
        let mut tracks: Vec<Form> = Vec::new();
        for track in &info.tracks {
            if tracks.iter().any(|known| known.kind == track.kind) {
                continue;
            }
            tracks.push(Form {
                kind: track.kind,
                codec: track.codec,
                audio: (track.kind == Kind::Audio).then_some((track.sample_rate, track.channels)),
            });
        }
        tracks.sort_by_key(|form| form.kind == Kind::Audio);
        Self {
            container: info.source.container,
            tracks,
        }
    }

    /// Returns whether a publisher has ever described what it sends.
    pub(crate) fn is_known(&self) -> bool {
        self.container != Container::Unknown
    }

    /// Returns the difference that keeps listeners of this stream from being sent the other.
    pub(crate) fn misfit(&self, other: &Self) -> Option<Misfit> {
        (self != other).then(|| Misfit {
            own: self.clone(),
            other: other.clone(),
        })
    }
}

impl Misfit {
    /// Returns whether the two differ only in properties that each frame of MP3 and ADTS, and each link of Ogg, states
    /// itself.
    pub(crate) fn is_stated_by_frames(&self) -> bool {
        let Self { own, other } = self;
        let codecs = |shape: &Shape| -> Vec<_> {
            let tracks = shape.tracks.iter();
            tracks.map(|track| (track.kind, track.codec)).collect()
        };
        matches!(
            own.container,
            Container::Mp3 | Container::Adts | Container::Ogg
        ) && own.container == other.container
            && codecs(own) == codecs(other)
    }
}

/// Explains why listeners of a stream cannot be sent another; `None` if they can.
pub fn misfit(own: &Info, other: &Info) -> Option<String> {
    let own = Shape::of(own);
    let misfit = own.misfit(&Shape::of(other)).filter(|_| own.is_known());
    misfit.map(|misfit| misfit.to_string())
}

#[cfg(test)]
impl Shape {
    /// MP3 in stereo.
    pub(crate) fn audio(rate: u32) -> Self {
        Self {
            container: Container::Mp3,
            tracks: vec![Form {
                kind: Kind::Audio,
                codec: Codec::Mp3,
                audio: Some((rate, 2)),
            }],
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { own, other } = self;
        write!(f, "listeners have {own}, and the fallback is {other}")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let container = match self.container {
            Container::Tracks => "",
            Container::Mp3 => "MP3: ",
            Container::Adts => "ADTS: ",
            Container::Ogg => "Ogg: ",
            Container::WebM => "WebM",
            Container::Unknown | Container::Other => "a body of another kind",
        };
        f.write_str(container)?;
        for (at, Form { codec, audio, .. }) in self.tracks.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{codec}")?;
            if let Some((rate, channels)) = audio {
                let plural = if *channels == 1 { "" } else { "s" };
                write!(f, " of {rate} Hz and {channels} channel{plural}")?;
            }
        }
        Ok(())
    }
}
