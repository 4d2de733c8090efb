//! Verdicts on tracks: refusals and losses, in words for operators and listeners.

use std::fmt;

use media::Codec;

/// Reason why a track has no Opus beside it. All but the last name what the publisher would have to change.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unsupported {
    /// The track is neither AAC nor MP3.
    #[error("{} is not transcoded to Opus; AAC-LC and MP3 are", codec_name(*.0))]
    Codec(Codec),
    /// AAC was relayed without a configuration that could be read.
    #[error("the publisher's AAC configuration cannot be read")]
    Configuration,
    /// The audio object type is other than 2 under any extension.
    #[error("{} is not transcoded to Opus; publish AAC-LC", object_type_name(*.0))]
    ObjectType(u8),
    /// There are more than two channels.
    #[error("audio with {0} channels is not transcoded to Opus; publish mono or stereo")]
    Channels(u8),
    /// The channels are listed in the bitstream and not in the configuration.
    #[error(
        "the AAC configuration does not say how many channels there are; publish mono or stereo \
         with a predefined channel configuration"
    )]
    Layout,
    /// Frames have 960 samples, as in digital radio.
    #[error("AAC with 960 samples per frame is not transcoded to Opus; publish 1024")]
    ShortFrames,
    /// The rate is not listed in any MPEG table.
    #[error("audio at {0} Hz is not transcoded to Opus; publish 44100 or 48000 Hz")]
    SampleRate(u32),
    /// The decoder panicked on so many frames that it was given up.
    #[error("the audio is damaged in a way that breaks the decoder; transcoding was given up")]
    Damaged,
    /// libopus failed to start, which is our fault.
    #[error("the Opus encoder cannot be started: {0}")]
    Encoder(String),
}

impl Unsupported {
    /// Returns the label in the metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Codec(_) => "codec",
            Self::Configuration => "configuration",
            Self::ObjectType(_) => "object_type",
            Self::Channels(_) => "channels",
            Self::Layout => "layout",
            Self::ShortFrames => "short_frames",
            Self::SampleRate(_) => "sample_rate",
            Self::Damaged => "damaged",
            Self::Encoder(_) => "encoder",
        }
    }

    /// Every label in the metrics.
    pub const LABELS: [&str; 9] = [
        "codec",
        "configuration",
        "object_type",
        "channels",
        "layout",
        "short_frames",
        "sample_rate",
        "damaged",
        "encoder",
    ];
}

/// Loss in a track that can be transcoded: high-efficiency AAC, of which only the AAC-LC core is decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Caveat {
    /// Samples per second of the core: frequencies above half of it are lost.
    pub core_rate: u32,
    /// Whether parametric stereo (HE-AAC v2) is present, which becomes mono.
    pub parametric_stereo: bool,
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, in_mono) = if self.parametric_stereo {
            (" v2", " and in mono")
        } else {
            ("", "")
        };
        write!(
            f,
            "the source is HE-AAC{version}, of which only the AAC-LC core is transcoded: listeners of \
             the Opus hear it without anything above {} Hz{in_mono}; publish AAC-LC for the full \
             sound",
            self.core_rate / 2
        )
    }
}

fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::Other(_) => "this codec",
        Codec::Opus => "Opus of more than two channels",
        known => known.label(),
    }
}

/// Names of ISO/IEC 14496-3 table 1.17.
fn object_type_name(object_type: u8) -> String {
    match object_type {
        1 => "AAC Main".to_owned(),
        3 => "AAC-SSR".to_owned(),
        4 => "AAC-LTP".to_owned(),
        23 => "AAC-LD".to_owned(),
        39 => "AAC-ELD".to_owned(),
        42 => "xHE-AAC".to_owned(),
        other => format!("MPEG-4 audio object type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_people() {
        assert_eq!(
            Unsupported::ObjectType(42).to_string(),
            "xHE-AAC is not transcoded to Opus; publish AAC-LC"
        );
        assert_eq!(
            Unsupported::Channels(6).to_string(),
            "audio with 6 channels is not transcoded to Opus; publish mono or stereo"
        );
        assert!(Unsupported::LABELS.contains(&Unsupported::Channels(6).label()));
        let caveat = Caveat {
            core_rate: 22_050,
            parametric_stereo: true,
        };
        let words = caveat.to_string();
        assert!(words.contains("HE-AAC v2"), "{words}");
        assert!(words.contains("above 11025 Hz and in mono"), "{words}");
    }
}
