//! `.ts` and `.mp4` as live bodies: different players receive every video and audio frame as sent, from the join on.
//!
//! ffmpeg and GStreamer demux the bodies, each by its own demuxers, and their output is compared with what was sent: video
//! decoded, audio coded, because a decoder of AAC that starts in the middle has less history. VLC plays the bodies.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, framemd5};

use crate::support::browser::Browser;
use crate::support::shows::{
    FRAMES, Recorder, SECONDS, SHOWS, check_vlc, start_vlc, wait_for_enough,
};
use crate::support::{
    DEADLINE, assert_joins, gstreamer_whip, play_url, publish_rtmp, server_with_short_linger,
    wait_for_stream, wait_until,
};

#[test]
fn what_players_get_is_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    // The clips are made before the first is published, since encoding them may take as long as one lasts.
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
    wait_for_enough(&recorders);
    let watching: Vec<_> = bodies()
        .map(|(show, suffix)| (start_vlc(&server, show, suffix), show, suffix))
        .collect();
    for (player, show, suffix) in watching {
        check_vlc(player, show, suffix);
    }
    publishers.iter_mut().for_each(Process::kill);
    let sent = SHOWS.map(|show| {
        let clip = show.clip.seconds(SECONDS);
        (show.stream, show.pictures(&clip), show.audio_frames(&clip))
    });
    for recorder in recorders {
        let of = |(stream, ..): &&(&str, _, _)| *stream == recorder.show.stream;
        let (_, pictures, audio_frames) = sent.iter().find(of).unwrap();
        recorder.check(pictures, audio_frames);
    }
}

/// Makes an MP4 file of HEVC without reordering, long enough for a busy machine.
fn hevc(folder: &Path) -> PathBuf {
    let path = folder.join("sent.mp4");
    let coder = "pools=1:frame-threads=1:log-level=error:scenecut=0:open-gop=0";
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25"])
        .args(["-t", "60", "-pix_fmt", "yuv420p", "-c:v", "libx265"])
        .args(["-preset", "ultrafast", "-tune", "zerolatency", "-g", "25"])
        .args(["-x265-params", coder])
        .arg(&path)
        .run(DEADLINE);
    path
}

/// HEVC and Opus arrive over WebRTC, from GStreamer, and leave by every protocol that carries them.
#[test]
fn hevc_over_whip_is_had_as_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with_short_linger();
    let sent = hevc(folder.path());
    let publisher = gstreamer_whip(&server, "live/show", PUBLISH_KEY);
    let mut publisher = publisher.arg(&sent).start();
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
            .args(["-y", "-i", url])
            .args("-map 0:v -map 0:a -c copy -t 8 -f matroska".split(' '))
            .arg(file.path())
            .start();
        (player, file)
    });
    let got = players.map(|(mut player, file)| {
        assert!(player.wait(DEADLINE).success(), "{}", player.stderr());
        file
    });
    publisher.kill();
    let decoded = |file: &Path| framemd5::decoded_by(Tool::current_ffmpeg(), file, &["-an"]);
    let pictures = |file: &Path| framemd5::video(&decoded(file));
    let sent = pictures(&sent);
    for (url, file) in urls.iter().zip(got) {
        let got = pictures(file.path());
        let join = assert_joins(url, &sent, &got);
        assert!(join.matched >= FRAMES, "{url}: {join:?}");
        let audio_frames = framemd5::packets_by(Tool::current_ffmpeg(), file.path(), &["-vn"]);
        let count = audio_frames.len();
        assert!(count >= FRAMES, "{url}: {count} packets of sound");
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
        wait_until("three seconds to have been played", || {
            seen = browser.run(look);
            assert!(seen[0].is_null(), "{path}: {seen}");
            let start = seen[2].as_f64();
            start.is_some_and(|start| seen[1].as_f64().unwrap_or_default() > start + 3.0)
        });
        assert_eq!(seen[3].as_u64() > Some(0), has_pictures, "{path}: {seen}");
    }
}

/// The refusal of a transport stream names the reason.
#[test]
fn av1_has_no_transport_stream() {
    let server = Server::start();
    let show = SHOWS.iter().find(|show| show.stream == "live/av1").unwrap();
    let _publisher = show.publish(&server);
    wait_for_stream(&server, show.stream);
    let listener = server.listen("/live/av1.ts");
    assert_eq!(listener.status(), 406);
}
