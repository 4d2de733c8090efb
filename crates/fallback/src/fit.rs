//! Whether listeners of one stream can be sent another.
//!
//! A decoder goes on with another stream of the same format and not with another format. For sound that is the container,
//! the codec, the sample rate and the number of channels (the rate tells the version of MPEG). Pictures come with headers
//! of their own, as after any publisher; only their codec has to be the same. Where frames or links of sound tell its rate
//! and channels themselves, many decoders take another, which an operator may say ([`Misfit::is_told_by_frames`]).

use std::fmt;

use fanout::Info;
use media::{Codec, Container, Kind};

/// What listeners of a stream were promised.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Shape {
    container: Container,
    tracks: Vec<Form>,
}

/// A track, as far as a decoder must not meet another.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Form {
    kind: Kind,
    codec: Codec,
    /// Sample rate and channels of sound.
    sound: Option<(u32, u8)>,
}

/// Two streams that differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Misfit {
    own: Shape,
    other: Shape,
}

impl Shape {
    /// That of a stream. Further tracks of a kind are no reason to refuse it.
    pub(crate) fn of(info: &Info) -> Self {
        let mut tracks: Vec<Form> = Vec::new();
        for track in &info.tracks {
            if tracks.iter().any(|known| known.kind == track.kind) {
                continue;
            }
            tracks.push(Form {
                kind: track.kind,
                codec: track.codec,
                sound: (track.kind == Kind::Audio).then_some((track.sample_rate, track.channels)),
            });
        }
        tracks.sort_by_key(|form| form.kind == Kind::Audio);
        Self {
            container: info.source.container,
            tracks,
        }
    }

    /// Whether a publisher has ever said what it sends.
    pub(crate) fn is_known(&self) -> bool {
        self.container != Container::Unknown
    }

    /// Why listeners of this stream cannot be sent the other.
    pub(crate) fn misfit(&self, other: &Self) -> Option<Misfit> {
        (self != other).then(|| Misfit {
            own: self.clone(),
            other: other.clone(),
        })
    }
}

impl Misfit {
    /// Whether nothing differs but what each frame of MP3 and ADTS, and each link of Ogg, says of itself.
    pub(crate) fn is_told_by_frames(&self) -> bool {
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

/// Why listeners of a stream cannot be sent another, in words.
pub fn misfit(own: &Info, other: &Info) -> Option<String> {
    let own = Shape::of(own);
    let misfit = own.misfit(&Shape::of(other)).filter(|_| own.is_known());
    misfit.map(|misfit| misfit.to_string())
}

#[cfg(test)]
impl Shape {
    /// MP3 in stereo.
    pub(crate) fn sound(rate: u32) -> Self {
        Self {
            container: Container::Mp3,
            tracks: vec![Form {
                kind: Kind::Audio,
                codec: Codec::Mp3,
                sound: Some((rate, 2)),
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
        for (at, Form { codec, sound, .. }) in self.tracks.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{codec}")?;
            if let Some((rate, channels)) = sound {
                let plural = if *channels == 1 { "" } else { "s" };
                write!(f, " of {rate} Hz and {channels} channel{plural}")?;
            }
        }
        Ok(())
    }
}
