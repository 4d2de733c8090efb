//! `.ts` and `.mp4` as live bodies: different players get every picture and every frame of sound as sent,
//! from the join on.
//!
//! ffmpeg and GStreamer demux the bodies, each by its own demuxers, and their output is compared with what
//! was sent: pictures decoded, sound coded, because a decoder of AAC that starts in the middle has less
//! history. VLC plays them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, vlc, wait_until};

use crate::browser::Browser;
use crate::support::{
    DEADLINE, play_url, publish_icecast, publish_rtmp, server_with_short_linger, wait_for_stream,
};

/// Longer than all players take to join and to get enough.
pub(crate) const SECONDS: u32 = 120;
/// What players get before the publishers stop: some seconds.
const PICTURE_BYTES: u64 = 200_000;
const SOUND_BYTES: u64 = 40_000;
/// The same of decoded pictures, in a file with that extension.
const DECODED_BYTES: u64 = 75 * 320 * 180 * 3 / 2;
const DECODED: &str = "yuv";
const DECODED_INPUT: &str = "-f rawvideo -pixel_format yuv420p -video_size 320x180";
/// At least this much of what a player gets is a run of what was sent.
const FRAMES: usize = 50;

/// The last pictures are not compared: the publishers are stopped anywhere, also where pictures that are
/// shown earlier would come next.
const REORDERED: usize = 8;

/// What makes a stream's address that of its playlist.
pub(crate) const PLAYLIST: &str = "/index.m3u8";

const BOTH: &[&str] = &[".ts", ".mp4"];

/// One stream: its media, and the forms it is available in.
pub(crate) struct Show {
    pub(crate) stream: &'static str,
    pub(crate) clip: Clip,
    pub(crate) picture: Option<&'static Coding>,
    pub(crate) sound: &'static Coding,
    pub(crate) bodies: &'static [&'static str],
}

/// How tracks of a codec are written to a file.
pub(crate) struct Coding {
    /// What GStreamer puts between its demuxer and the file.
    gstreamer: &'static str,
    extension: &'static str,
    /// What ffmpeg needs to compare its packets from one container with those from another.
    filter: &'static [&'static str],
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
/// Decoded, because AV1 as GStreamer writes it has no delimiters by which ffmpeg would find pictures. Of a
/// fragment with one picture its `qtdemux` (1.22) reports no frame rate, upon which its AV1 decoder, unlike
/// the others, starts anew within a group and fails, with files of ffmpeg's as well; so the rate is given.
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

const SHOWS: [Show; 7] = [
    Show {
        stream: "live/h264",
        clip: Clip::Flv,
        picture: Some(&H264),
        sound: &AAC,
        bodies: BOTH,
    },
    Show {
        stream: "live/reordered",
        clip: Clip::FlvBframes,
        picture: Some(&H264),
        sound: &AAC,
        bodies: BOTH,
    },
    Show {
        stream: "live/opus",
        clip: Clip::FlvOpus,
        picture: Some(&H264),
        sound: &OPUS,
        bodies: BOTH,
    },
    Show {
        stream: "live/hevc",
        clip: Clip::FlvHevc,
        picture: Some(&HEVC),
        sound: &AAC,
        bodies: BOTH,
    },
    // No player has a mapping of AV1 into a transport stream.
    Show {
        stream: "live/av1",
        clip: Clip::FlvAv1Opus,
        picture: Some(&AV1),
        sound: &OPUS,
        bodies: &[".mp4"],
    },
    Show {
        stream: "radio.aac",
        clip: Clip::Adts,
        picture: None,
        sound: &AAC,
        bodies: BOTH,
    },
    Show {
        stream: "live/radio",
        clip: Clip::FlvOpus,
        picture: None,
        sound: &OPUS,
        bodies: BOTH,
    },
];

impl Show {
    /// Publishes it over RTMP by an ffmpeg with Enhanced RTMP, or as a source.
    pub(crate) fn publish(&self, server: &Server) -> Process {
        if matches!(self.clip, Clip::Adts | Clip::Mp3) {
            return publish_icecast(server, self.clip, SECONDS, self.stream);
        }
        let no_picture: &[&str] = if self.picture.is_none() {
            &["-vn"]
        } else {
            &[]
        };
        Tool::current_ffmpeg()
            .args(["-re", "-i"])
            .arg(self.clip.seconds(SECONDS))
            .args(["-c", "copy"])
            .args(no_picture)
            .args(["-f", "flv"])
            .arg(server.rtmp_url(self.stream, PUBLISH_KEY))
            .start()
    }

    /// The pictures that a file decodes to.
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

    /// The frames of sound in a file, as they are coded.
    pub(crate) fn sounds(&self, file: &Path) -> Vec<Frame> {
        let how = [&["-vn"], self.sound.filter].concat();
        framemd5::audio(&framemd5::packets_by(Tool::current_ffmpeg(), file, &how))
    }
}

fn is_decoded(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == DECODED)
}

/// A player that writes the tracks of a body to files.
pub(crate) struct Recorder {
    pub(crate) name: String,
    pub(crate) show: &'static Show,
    pub(crate) process: Process,
    picture: Option<PathBuf>,
    sound: PathBuf,
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
            sound: file,
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
        let (picture, sound) = (show.picture.map(&mut write), write(show.sound));
        let process = Tool::new("gst-launch-1.0")
            .arg("-q")
            .args(pipeline.split_whitespace())
            .start();
        Self {
            name: format!("GStreamer, {}{suffix}", show.stream),
            show,
            process,
            picture,
            sound,
        }
    }

    pub(crate) fn has_enough(&self) -> bool {
        let has = |file: &Path, bytes| file.metadata().is_ok_and(|it| it.len() >= bytes);
        let has_pictures = |file| match is_decoded(file) {
            true => has(file, DECODED_BYTES),
            false => has(file, PICTURE_BYTES),
        };
        self.picture.as_deref().is_none_or(has_pictures) && has(&self.sound, SOUND_BYTES)
    }

    /// Demands that the files hold what was sent, once the stream has ended.
    pub(crate) fn check(mut self, pictures: &[Frame], sounds: &[Frame]) {
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
        joins(sounds, &self.show.sounds(&self.sound));
    }
}

/// VLC names the tracks it found, and those it cannot decode.
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

#[test]
fn what_players_get_is_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    // Made before the first is published, for to encode them may take as long as one lasts.
    for show in &SHOWS {
        let _made = show.clip.seconds(SECONDS);
    }
    let server = server_with_short_linger();
    let mut publishers: Vec<_> = SHOWS.iter().map(|show| show.publish(&server)).collect();
    for show in &SHOWS {
        wait_for_stream(&server, show.stream);
    }
    let bodies = || {
        let shows = SHOWS.iter();
        shows.flat_map(|show| show.bodies.iter().map(move |suffix| (show, *suffix)))
    };
    let recorders = bodies().flat_map(|(show, suffix)| {
        let record = [Recorder::ffmpeg, Recorder::gstreamer];
        record.map(|record| record(&server, show, suffix, folder.path()))
    });
    let recorders: Vec<_> = recorders.collect();
    for recorder in &recorders {
        let what = format!("some seconds for {}", recorder.name);
        wait_until(&what, DEADLINE, || recorder.has_enough());
    }
    let watching: Vec<_> = bodies()
        .map(|(show, suffix)| (start_vlc(&server, show, suffix), show, suffix))
        .collect();
    for (player, show, suffix) in watching {
        check_vlc(player, show, suffix);
    }
    publishers.iter_mut().for_each(Process::kill);
    let sent = SHOWS.map(|show| {
        let clip = show.clip.seconds(SECONDS);
        (show.stream, show.pictures(&clip), show.sounds(&clip))
    });
    for recorder in recorders {
        let of = |(stream, ..): &&(&str, _, _)| *stream == recorder.show.stream;
        let (_, pictures, sounds) = sent.iter().find(of).unwrap();
        recorder.check(pictures, sounds);
    }
}

/// HEVC and Opus come in over WebRTC, from GStreamer, and go out by every protocol that carries them.
#[test]
fn hevc_over_whip_is_had_as_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with_short_linger();
    let sent = folder.path().join("sent.hevc");
    let mut publisher = Tool::new("/usr/bin/python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/scenarios/gstreamer_publisher.py"
        ))
        .args([&server.http_url("/live/show/whip"), PUBLISH_KEY])
        .arg(&sent)
        .start();
    wait_for_stream(&server, "live/show");
    let urls = [
        play_url(&server, "live/show"),
        server.http_url("/live/show.flv"),
        server.http_url("/live/show.mp4"),
        server.http_url("/live/show.ts"),
    ];
    let players = urls.each_ref().map(|url| {
        let file = tempfile::Builder::new()
            .suffix(".mkv")
            .tempfile_in(&folder)
            .unwrap();
        let player = Tool::current_ffmpeg()
            .args([
                "-y", "-i", url, "-map", "0:v", "-map", "0:a", "-c", "copy", "-t", "4", "-f",
                "matroska",
            ])
            .arg(file.path())
            .start();
        (player, file)
    });
    let got = players.map(|(mut player, file)| {
        assert!(player.wait(DEADLINE).success(), "{}", player.stderr());
        file
    });
    publisher.kill();
    let pictures = |file: &Path| {
        framemd5::video(&framemd5::decoded_by(
            Tool::current_ffmpeg(),
            file,
            &["-an"],
        ))
    };
    let sent = pictures(&sent);
    for (url, file) in urls.iter().zip(got) {
        let got = pictures(file.path());
        let join =
            framemd5::join(&sent, &got, 0).unwrap_or_else(|mismatch| panic!("{url}: {mismatch}"));
        assert!(join.matched >= FRAMES, "{url}: {join:?}");
        let sounds = framemd5::packets_by(Tool::current_ffmpeg(), file.path(), &["-vn"]);
        assert!(
            sounds.len() >= FRAMES,
            "{url}: {} packets of sound",
            sounds.len()
        );
    }
}

/// Chromium takes the body as it arrives into a `MediaSource`, and time advances.
#[test]
fn chromium_plays_mp4_by_media_source() {
    const PLAY: &str = r"
        window.failure = null;
        (async () => {
            const answer = await fetch(URL_);
            const type = answer.headers.get('Content-Type');
            if (!MediaSource.isTypeSupported(type)) throw new Error('not supported: ' + type);
            const video = document.createElement('video');
            video.muted = video.autoplay = true;
            document.body.append(video);
            window.video = video;
            const source = new MediaSource();
            video.src = URL.createObjectURL(source);
            await new Promise(done => source.addEventListener('sourceopen', done, {once: true}));
            const buffer = source.addSourceBuffer(type);
            buffer.mode = 'segments';
            const reader = answer.body.getReader();
            for (;;) {
                const {value, done} = await reader.read();
                if (done) break;
                buffer.appendBuffer(value);
                await new Promise(end => buffer.addEventListener('updateend', end, {once: true}));
                if (video.currentTime === 0 && video.buffered.length) {
                    video.currentTime = video.buffered.start(0);
                }
            }
        })().catch(error => { window.failure = String(error); });
        return null;
    ";
    let server = Server::start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(90), "live/h264");
    // Debian's Chromium decodes no HEVC.
    let shows = SHOWS
        .iter()
        .filter(|show| ["live/av1", "radio.aac", "live/radio"].contains(&show.stream));
    let _others: Vec<_> = shows.map(|show| show.publish(&server)).collect();
    let streams = [
        ("live/h264", true),
        ("live/av1", true),
        ("radio.aac", false),
        ("live/radio", false),
    ];
    for (stream, _) in streams {
        wait_for_stream(&server, stream);
    }
    let browser = Browser::open();
    for (stream, has_pictures) in streams {
        let path = format!("/{stream}.mp4");
        browser.go(&server.http_url("/_/style.css"));
        let url = server.http_url(&path);
        browser.run(&PLAY.replace("URL_", &format!("'{url}'")));
        let look = "return [window.failure, window.video?.currentTime ?? 0, \
             window.video?.buffered.length ? window.video.buffered.start(0) : null, \
             window.video?.videoWidth ?? 0];";
        let mut seen = Value::Null;
        wait_until("three seconds to have been played", DEADLINE, || {
            seen = browser.run(look);
            assert!(seen[0].is_null(), "{path}: {seen}");
            let start = seen[2].as_f64();
            start.is_some_and(|start| seen[1].as_f64().unwrap_or_default() > start + 3.0)
        });
        assert_eq!(seen[3].as_u64() > Some(0), has_pictures, "{path}: {seen}");
    }
}

/// A refused transport stream names the reason.
#[test]
fn av1_has_no_transport_stream() {
    let server = Server::start();
    let show = SHOWS.iter().find(|show| show.stream == "live/av1").unwrap();
    let _publisher = show.publish(&server);
    wait_for_stream(&server, show.stream);
    let listener = server.listen("/live/av1.ts");
    assert_eq!(listener.status(), 406);
}
