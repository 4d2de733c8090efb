//! Media made by ffmpeg, identical bytes on every run, kept below the target directory.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Tool, target_dir};

/// Time limit for the longest clip that a test requests, on a loaded machine.
const MAKE_DEADLINE: Duration = Duration::from_secs(300);

/// A kind of test media. The audio is a rising sweep and the video moves, so no two frames are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clip {
    /// FLV: H.264 baseline 320x180 at 25 fps, a keyframe each second, and AAC-LC 44.1 kHz.
    Flv,
    /// FLV: as before with B-frames, so decode and presentation order differ.
    FlvBframes,
    /// FLV: as `Flv`, other codec headers: 480x270 and AAC-LC 48 kHz.
    FlvLarger,
    /// FLV: 1.1 Mb/s, as an encoder sends it: H.264 960x540 at 30 fps, a keyframe every two seconds, and AAC-LC 48 kHz at 96
    /// kb/s.
    FlvMegabit,
    /// FLV: as `FlvMegabit` at 1280x720.
    FlvHd,
    /// FLV: HEVC 320x180 at 25 fps, a keyframe each second, and AAC-LC 44.1 kHz.
    FlvHevc,
    /// FLV: as `FlvHevc` with AV1.
    FlvAv1,
    /// FLV: as `FlvHevc` with AV1 and Opus.
    FlvAv1Opus,
    /// FLV: as `FlvHevc` with VP9.
    FlvVp9,
    /// FLV: H.264 as in `Flv` with Opus.
    FlvOpus,
    /// FLV: as `Flv` with a second audio track in the multitrack form.
    FlvMultitrack,
    /// FLV: as `Flv` with two further video tracks in the multitrack form: H.264 at 160x90 and HEVC at 240x136.
    FlvSizes,
    /// MP3 at 128 kb/s, no tags.
    Mp3,
    /// AAC-LC in ADTS at 96 kb/s.
    Adts,
    /// Ogg with Vorbis.
    OggVorbis,
    /// Ogg with Opus.
    OggOpus,
    /// Ogg with FLAC.
    OggFlac,
    /// WebM: VP8 with Opus, clusters of one second.
    WebM,
}

const H264: &str = "-c:v libx264 -preset veryfast -b:v 400k -g 25";
const BASELINE: &str = "-profile:v baseline -bf 0 -sc_threshold 0";
/// Options for a constant bit rate, so that every second costs the same.
const MEGABIT: &str = "-c:v libx264 -preset veryfast -b:v 1000k -minrate 1000k -maxrate 1000k -bufsize 1000k \
    -nal-hrd cbr -g 60";
const HEVC: &str = "-c:v libx265 -preset veryfast -b:v 400k -g 25 \
    -x265-params pools=1:frame-threads=1:log-level=error:scenecut=0:open-gop=0";
const AV1: &str = "-c:v libsvtav1 -preset 12 -g 25 -svtav1-params lp=1";
const VP9: &str = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 400k -g 25";
const BFRAMES: &str = "-profile:v high -bf 2 -sc_threshold 0";
/// Options that remove times, places and versions from the file.
const REPEATABLE: &str =
    "-threads 1 -flags:v +bitexact -flags:a +bitexact -fflags +bitexact -map_metadata -1";
/// Options for the video track once and two audio tracks, the second half as loud.
const MULTITRACK: &str = "-map 0:v -map 1:a -map 1:a -filter:a:1 volume=0.5";
/// Options for the first video track unchanged, two others of other sizes, and the audio.
const SIZES: &str = "-map 0:v -map 0:v -map 0:v -map 1:a -filter:v:1 scale=160:90 -filter:v:2 scale=240:136 \
    -c:v:2 libx265 -profile:v:2 main \
    -x265-params:v:2 pools=1:frame-threads=1:log-level=error:scenecut=0:open-gop=0";
const AAC: &str = "-c:a aac -b:a 96k";
const OPUS: &str = "-c:a libopus -b:a 64k";

impl Clip {
    /// All kinds.
    pub const ALL: [Self; 18] = [
        Self::Flv,
        Self::FlvBframes,
        Self::FlvLarger,
        Self::FlvMegabit,
        Self::FlvHd,
        Self::FlvHevc,
        Self::FlvAv1,
        Self::FlvAv1Opus,
        Self::FlvVp9,
        Self::FlvOpus,
        Self::FlvMultitrack,
        Self::FlvSizes,
        Self::Mp3,
        Self::Adts,
        Self::OggVorbis,
        Self::OggOpus,
        Self::OggFlac,
        Self::WebM,
    ];

    /// Returns the bytes of the clip of so many seconds.
    ///
    /// # Panics
    /// Panics if the clip cannot be made or read.
    pub fn bytes(self, seconds: u32) -> Vec<u8> {
        let path = self.seconds(seconds);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns a file with `seconds` of the clip, made on first use.
    ///
    /// # Panics
    /// Panics if ffmpeg is missing or cannot make it.
    pub fn seconds(self, seconds: u32) -> PathBuf {
        let folder = target_dir().join("testmedia");
        let arguments = self.arguments(seconds);
        let name = format!("{:016x}.{}", fnv1a(&arguments.join("\0")), self.extension());
        let path = folder.join(name);
        if path.is_file() {
            return path;
        }
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        // Tests that want the same clip at once each make it; a rename never exposes half a file.
        let draft = tempfile::Builder::new()
            .suffix(&format!(".{}", self.extension()))
            .tempfile_in(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .into_temp_path();
        self.ffmpeg()
            // Otherwise SVT-AV1 prints its settings.
            .env("SVT_LOG", "1")
            .arg("-y")
            .args(&arguments)
            .arg(&draft)
            .run(MAKE_DEADLINE);
        draft
            .persist(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Returns the ffmpeg that makes the clip and can read it.
    pub fn ffmpeg(self) -> Tool {
        match self {
            Self::FlvHevc
            | Self::FlvAv1
            | Self::FlvAv1Opus
            | Self::FlvVp9
            | Self::FlvOpus
            | Self::FlvMultitrack
            | Self::FlvSizes => Tool::current_ffmpeg(),
            _ => Tool::ffmpeg(),
        }
    }

    /// Returns the name of the clip's container for `ffmpeg -f`.
    pub fn format(self) -> &'static str {
        match self {
            Self::Mp3 => "mp3",
            Self::Adts => "adts",
            Self::OggVorbis | Self::OggOpus | Self::OggFlac => "ogg",
            Self::WebM => "webm",
            _ => "flv",
        }
    }

    /// Returns the media type that a source client announces for the clip.
    pub fn content_type(self) -> &'static str {
        match self.format() {
            "mp3" => "audio/mpeg",
            "adts" => "audio/aac",
            "ogg" => "application/ogg",
            "webm" => "video/webm",
            _ => "video/x-flv",
        }
    }

    /// Returns whether the clip has moving video.
    pub fn has_pictures(self) -> bool {
        matches!(self.format(), "flv" | "webm")
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Adts => "aac",
            other => other.format(),
        }
    }

    fn arguments(self, seconds: u32) -> Vec<String> {
        let rate = match self {
            Self::OggOpus
            | Self::WebM
            | Self::FlvOpus
            | Self::FlvAv1Opus
            | Self::FlvLarger
            | Self::FlvMegabit
            | Self::FlvHd => 48_000,
            _ => 44_100,
        };
        let sweep = format!(
            "aevalsrc=0.3*sin(2*PI*(200+15*t)*t)|0.3*sin(2*PI*(300+10*t)*t):s={rate}:d={seconds}"
        );
        let (size, fps) = match self {
            Self::FlvLarger => ("480x270", 25),
            Self::FlvMegabit => ("960x540", 30),
            Self::FlvHd => ("1280x720", 30),
            _ => ("320x180", 25),
        };
        let picture = format!("testsrc2=size={size}:rate={fps}:duration={seconds}");
        let codecs = match self {
            Self::Flv | Self::FlvLarger => [H264, BASELINE, AAC].join(" "),
            Self::FlvMegabit | Self::FlvHd => [MEGABIT, BASELINE, AAC].join(" "),
            Self::FlvHevc => [HEVC, AAC].join(" "),
            Self::FlvAv1 => [AV1, AAC].join(" "),
            Self::FlvAv1Opus => [AV1, OPUS].join(" "),
            Self::FlvVp9 => [VP9, AAC].join(" "),
            Self::FlvOpus => [H264, BASELINE, OPUS].join(" "),
            Self::FlvMultitrack => [H264, BASELINE, AAC, MULTITRACK].join(" "),
            Self::FlvSizes => [H264, BASELINE, AAC, SIZES].join(" "),
            Self::FlvBframes => [H264, BFRAMES, AAC].join(" "),
            Self::Mp3 => "-c:a libmp3lame -b:a 128k -write_xing 0".to_owned(),
            Self::Adts => AAC.to_owned(),
            Self::OggVorbis => "-c:a libvorbis -b:a 96k".to_owned(),
            Self::OggOpus => OPUS.to_owned(),
            Self::OggFlac => "-c:a flac -sample_fmt s16".to_owned(),
            Self::WebM => "-c:v libvpx -deadline realtime -b:v 400k -g 25 -c:a libopus -b:a 64k \
                           -cluster_time_limit 1000"
                .to_owned(),
        };
        let mut arguments: Vec<&str> = Vec::new();
        if self.has_pictures() {
            arguments.extend(["-f", "lavfi", "-i", &picture]);
        }
        arguments.extend(["-f", "lavfi", "-i", &sweep]);
        arguments.extend(codecs.split_whitespace());
        arguments.extend(REPEATABLE.split_whitespace());
        if self == Self::Mp3 {
            arguments.extend(["-id3v2_version", "0"]);
        }
        arguments.extend(["-f", self.format()]);
        arguments.into_iter().map(str::to_owned).collect()
    }
}

/// Returns a hash that is identical in every build: the names of kept files depend on it.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framemd5;

    #[test]
    fn every_clip_can_be_made_and_decoded() {
        for clip in Clip::ALL {
            let frames = framemd5::decoded_by(clip.ffmpeg(), clip.seconds(2), &[]);
            let audio = frames.iter().filter(|frame| !frame.is_video).count();
            assert!(audio > 10, "{clip:?}: {audio} audio frames");
            let pictures = frames.len() - audio;
            let expected = match clip {
                Clip::FlvMegabit | Clip::FlvHd => 60,
                // Three video tracks.
                Clip::FlvSizes => 150,
                _ if clip.has_pictures() => 50,
                _ => 0,
            };
            assert_eq!(pictures, expected, "{clip:?}");
        }
    }

    #[test]
    fn mp3_starts_with_a_frame() {
        let bytes = fs::read(Clip::Mp3.seconds(2)).expect("the clip was made");
        assert_eq!((bytes[0], bytes[1] & 0xe0), (0xff, 0xe0));
    }
}
