//! Streams of every kind of media, and the files that players of other makes write of them.

use std::path::{Path, PathBuf};

use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, vlc};

use crate::support::{DEADLINE, publish_by, publish_icecast, wait_until};

/// Length of the clips in seconds: longer than all players take to join and to get enough.
pub(crate) const SECONDS: u32 = 120;

/// Bytes that players receive before the publishers stop: some seconds.
pub(crate) const PICTURE_BYTES: u64 = 200_000;

pub(crate) const AUDIO_BYTES: u64 = 40_000;

/// Bytes of decoded frames that players write, in a file with this extension, and ffmpeg's options to read it.
pub(crate) const DECODED_BYTES: u64 = 75 * 320 * 180 * 3 / 2;

pub(crate) const DECODED: &str = "yuv";

pub(crate) const DECODED_INPUT: &str = "-f rawvideo -pixel_format yuv420p -video_size 320x180";

/// Fewest frames of a player's file that are a run of what was sent.
pub(crate) const FRAMES: usize = 50;

/// Number of last frames that are not compared: the publishers are stopped anywhere, also where frames that are shown earlier
/// would come next.
pub(crate) const REORDERED: usize = 8;

/// Suffix that makes a stream's address that of its playlist.
pub(crate) const PLAYLIST: &str = "/index.m3u8";

/// One stream: its media, and the forms it is available in.
pub(crate) struct Show {
    pub(crate) stream: &'static str,
    pub(crate) clip: Clip,
    pub(crate) picture: Option<&'static Coding>,
    pub(crate) audio: &'static Coding,
    pub(crate) bodies: &'static [&'static str],
}

/// Form in which tracks of a codec are written to a file.
pub(crate) struct Coding {
    /// Elements of GStreamer between its demuxer and the file.
    pub(crate) gstreamer: &'static str,
    pub(crate) extension: &'static str,
    /// Options of ffmpeg that make its packets from one container comparable with those from another.
    pub(crate) filter: &'static [&'static str],
}

pub(crate) const H264: Coding = Coding {
    gstreamer: "h264parse ! video/x-h264,stream-format=byte-stream",
    extension: "h264",
    filter: &[],
};

pub(crate) const HEVC: Coding = Coding {
    gstreamer: "h265parse ! video/x-h265,stream-format=byte-stream",
    extension: "hevc",
    filter: &[],
};

/// Written decoded, because AV1 as GStreamer writes it has no delimiters by which ffmpeg would find frames. For a fragment with
/// one frame GStreamer's `qtdemux` (1.22) reports no frame rate, upon which its AV1 decoder, unlike the others, starts anew
/// within a group and fails, with files of ffmpeg's as well; so the rate is given.
pub(crate) const AV1: Coding = Coding {
    gstreamer: "capssetter caps=video/x-av1,framerate=25/1 ! av1dec ! videoconvert ! video/x-raw,format=I420",
    extension: DECODED,
    filter: &[],
};

pub(crate) const AAC: Coding = Coding {
    gstreamer: "aacparse ! audio/mpeg,stream-format=adts",
    extension: "aac",
    filter: &["-bsf:a", "aac_adtstoasc"],
};

pub(crate) const OPUS: Coding = Coding {
    gstreamer: "opusparse ! oggmux",
    extension: "ogg",
    filter: &[],
};

pub(crate) const MP3: Coding = Coding {
    gstreamer: "mpegaudioparse",
    extension: "mp3",
    filter: &[],
};

const BOTH: &[&str] = &[".ts", ".mp4"];

/// Streams that are available as bodies.
pub(crate) const SHOWS: [Show; 7] = [
    Show {
        stream: "live/h264",
        clip: Clip::Flv,
        picture: Some(&H264),
        audio: &AAC,
        bodies: BOTH,
    },
    Show {
        stream: "live/reordered",
        clip: Clip::FlvBframes,
        picture: Some(&H264),
        audio: &AAC,
        bodies: BOTH,
    },
    Show {
        stream: "live/opus",
        clip: Clip::FlvOpus,
        picture: Some(&H264),
        audio: &OPUS,
        bodies: BOTH,
    },
    Show {
        stream: "live/hevc",
        clip: Clip::FlvHevc,
        picture: Some(&HEVC),
        audio: &AAC,
        bodies: BOTH,
    },
    // No player has a mapping of AV1 into a transport stream.
    Show {
        stream: "live/av1",
        clip: Clip::FlvAv1Opus,
        picture: Some(&AV1),
        audio: &OPUS,
        bodies: &[".mp4"],
    },
    Show {
        stream: "radio.aac",
        clip: Clip::Adts,
        picture: None,
        audio: &AAC,
        bodies: BOTH,
    },
    Show {
        stream: "live/radio",
        clip: Clip::FlvOpus,
        picture: None,
        audio: &OPUS,
        bodies: BOTH,
    },
];

impl Show {
    /// Publishes the stream over RTMP by an ffmpeg with Enhanced RTMP, or as a source.
    pub(crate) fn publish(&self, server: &Server) -> Process {
        self.publish_for(SECONDS, server)
    }

    /// Publishes this many seconds of the stream.
    pub(crate) fn publish_for(&self, seconds: u32, server: &Server) -> Process {
        if matches!(self.clip, Clip::Adts | Clip::Mp3) {
            return publish_icecast(server, self.clip, seconds, self.stream);
        }
        let options: &[&str] = if self.picture.is_none() {
            &["-vn"]
        } else {
            &[]
        };
        let url = server.rtmp_url(self.stream, PUBLISH_KEY);
        let clip = self.clip.seconds(seconds);
        publish_by(Tool::current_ffmpeg(), &clip, options, &url)
    }

    /// Returns the frames that a file decodes to.
    pub(crate) fn pictures(&self, file: &Path) -> Vec<Frame> {
        if self.picture.is_none() {
            return Vec::new();
        }
        let ffmpeg = match is_decoded(file) {
            true => Tool::current_ffmpeg().args(DECODED_INPUT.split(' ')),
            false => Tool::current_ffmpeg(),
        };
        framemd5::video(&framemd5::decoded_by(ffmpeg, file, &["-an"]))
    }

    /// Returns the audio frames in a file, as they are coded.
    pub(crate) fn audio_frames(&self, file: &Path) -> Vec<Frame> {
        let how = [&["-vn"], self.audio.filter].concat();
        framemd5::audio(&framemd5::packets_by(Tool::current_ffmpeg(), file, &how))
    }
}

pub(crate) fn is_decoded(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == DECODED)
}

/// Player that writes the tracks of a body to files.
pub(crate) struct Recorder {
    pub(crate) name: String,
    pub(crate) show: &'static Show,
    pub(crate) process: Process,
    pub(crate) picture: Option<PathBuf>,
    pub(crate) audio: PathBuf,
}

impl Recorder {
    pub(crate) fn ffmpeg(
        server: &Server,
        show: &'static Show,
        suffix: &str,
        folder: &Path,
    ) -> Self {
        let name = format!("{}{suffix}.mkv", show.stream).replace('/', "-");
        let file = folder.join(name);
        let process = Tool::current_ffmpeg()
            .args(["-i", &server.http_url(&format!("/{}{suffix}", show.stream))])
            .args(["-map", "0", "-c", "copy", "-f", "matroska"])
            .args(["-cluster_time_limit", "500", "-flush_packets", "1"])
            .arg(&file)
            .start();
        Self {
            name: format!("ffmpeg, {}{suffix}", show.stream),
            show,
            process,
            picture: show.picture.map(|_| file.clone()),
            audio: file,
        }
    }

    pub(crate) fn gstreamer(
        server: &Server,
        show: &'static Show,
        suffix: &str,
        folder: &Path,
    ) -> Self {
        let demuxer = match (suffix, show.picture) {
            (".ts", _) => "tsdemux",
            (PLAYLIST, Some(_)) => "hlsdemux ! qtdemux",
            (PLAYLIST, None) => "hlsdemux",
            _ => "qtdemux",
        };
        let url = server.http_url(&format!("/{}{suffix}", show.stream));
        let mut pipeline =
            format!("souphttpsrc retries=0 location={url} ! {demuxer} name=demuxer ");
        let mut write = |coding: &Coding| {
            let name = format!("{}{suffix}.{}", show.stream, coding.extension);
            let name = name.replace('/', "-");
            let file = folder.join(name);
            pipeline += &format!(
                "demuxer. ! queue ! {} ! filesink buffer-mode=unbuffered location={} ",
                coding.gstreamer,
                file.display()
            );
            file
        };
        let (picture, audio) = (show.picture.map(&mut write), write(show.audio));
        let process = Tool::new("gst-launch-1.0")
            .arg("-q")
            .args(pipeline.split_whitespace())
            .start();
        Self {
            name: format!("GStreamer, {}{suffix}", show.stream),
            show,
            process,
            picture,
            audio,
        }
    }

    pub(crate) fn has_enough(&self) -> bool {
        let has = |file: &Path, bytes| file.metadata().is_ok_and(|it| it.len() >= bytes);
        let has_pictures = |file| match is_decoded(file) {
            true => has(file, DECODED_BYTES),
            false => has(file, PICTURE_BYTES),
        };
        self.picture.as_deref().is_none_or(has_pictures) && has(&self.audio, AUDIO_BYTES)
    }

    /// Asserts that the files hold what was sent, once the stream has ended.
    pub(crate) fn check(mut self, pictures: &[Frame], audio_frames: &[Frame]) {
        // GStreamer reconnects after the end, and reports that there is nothing as an error.
        self.process.wait(DEADLINE);
        let joins = |sent, got: &[Frame]| {
            let join = framemd5::join(sent, got, 0);
            let join = join.unwrap_or_else(|mismatch| panic!("{}: {mismatch}", self.name));
            assert!(join.matched >= FRAMES, "{}: {join:?}", self.name);
            join
        };
        if let Some(file) = &self.picture {
            let got = self.show.pictures(file);
            let join = joins(pictures, &got[..got.len().saturating_sub(REORDERED)]);
            let keyframe = join.at % 25 == 0;
            assert!(keyframe, "{} begins at a keyframe: {join:?}", self.name);
        }
        joins(audio_frames, &self.show.audio_frames(&self.audio));
    }
}

/// Waits until players have written enough of each track.
pub(crate) fn wait_for_enough<'a>(recorders: impl IntoIterator<Item = &'a Recorder>) {
    for recorder in recorders {
        let what = format!("some seconds for {}", recorder.name);
        wait_until(&what, || recorder.has_enough());
    }
}

/// Starts GStreamer's `playbin3`, whose sinks report their positions.
pub(crate) fn start_gstreamer(url: &str) -> Process {
    Tool::new("gst-launch-1.0")
        .args(["playbin3", "flags=audio+video"])
        .arg(format!("uri={url}"))
        .arg("video-sink=progressreport name=picture update-freq=1 ! fakevideosink")
        .arg("audio-sink=progressreport name=sound update-freq=1 ! fakeaudiosink")
        .start()
}

/// Returns the seconds that GStreamer has played of `sound` or `picture`.
pub(crate) fn played(gstreamer: &Process, track: &str) -> f64 {
    let said = String::from_utf8_lossy(&gstreamer.stdout()).into_owned();
    // `audio (00:00:05): 3 seconds`
    let lines = said.split(['\n', '\r']).rev();
    let last = lines.filter_map(|line| line.strip_prefix(track)).next();
    let seconds = last.and_then(|line| line.split_once("): ")?.1.split(' ').next());
    let seconds = seconds.and_then(|text| text.parse().ok());
    seconds.unwrap_or_default()
}

/// Starts VLC, which names the tracks it found, and those it cannot decode.
pub(crate) fn start_vlc(server: &Server, show: &Show, suffix: &str) -> Process {
    vlc()
        .args(["-vv", "--intf", "dummy", "--no-video-title-show"])
        .args(["--vout", "dummy"])
        .args(["--aout", "dummy", "--run-time", "4"])
        .arg(server.http_url(&format!("/{}{suffix}", show.stream)))
        .arg("vlc://quit")
        .start()
}

pub(crate) fn check_vlc(mut player: Process, show: &Show, suffix: &str) {
    let what = format!("{}{suffix}", show.stream);
    player.wait(DEADLINE);
    let said = player.stderr();
    for (kind, is_there) in [("audio", true), ("video", show.picture.is_some())] {
        let found = said.contains(&format!("using {kind} decoder module"));
        assert_eq!(found, is_there, "{what}: {kind}: {said}");
    }
    assert!(!said.contains("cannot start codec"), "{what}: {said}");
}
