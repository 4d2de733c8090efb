//! A publisher sends frames whose presentation time precedes their decoding time, as some encoders do: FLV carries its bytes,
//! and every other output the same intervals between frames.

use std::collections::HashSet;
use std::path::Path;

use testkit::hls::MediaPlaylist;
use testkit::{Clip, PUBLISH_KEY, Player, Process, Server, Tool, framemd5};

use crate::support::flv::{self, Tag, media};
use crate::support::{
    DEADLINE, file, script, server_with_short_linger, wait_for_stream, wait_until,
};

const STREAM: &str = "live/show";
const SECONDS: u32 = 14;
/// Type of an FLV tag of video.
const KIND: u8 = 9;
/// Milliseconds by which frames are presented earlier than in the clip.
const EARLIER: i32 = 80;
const DISTANCE: i64 = 40;
/// Number of segments that are joined.
const SEGMENTS: usize = 3;
/// Fewest frames to check: three seconds of video, which ffmpeg's demuxers need to find the rate.
const ENOUGH: usize = 75;

/// Returns the composition time of a frame (presentation after decoding) in milliseconds; `None` for headers.
fn composition(body: &[u8]) -> Option<i32> {
    let time = body.get(2..5).filter(|_| body[1] == 1)?;
    Some(i32::from_be_bytes([time[0], time[1], time[2], 0]) >> 8)
}

/// Returns the clip with frames that are presented earlier.
fn shifted(clip: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(clip).expect("the clip");
    let begin = bytes.as_ptr() as usize;
    let pictures = media(&bytes).filter(|tag| tag.kind == KIND);
    let times = pictures.filter_map(|tag| {
        let at = tag.data.as_ptr() as usize - begin;
        Some((at, composition(tag.data)? - EARLIER))
    });
    let times: Vec<_> = times.collect();
    assert!(times.iter().any(|(_, time)| *time < 0));
    for (at, time) in times {
        bytes[at + 2..at + 5].copy_from_slice(&time.to_be_bytes()[1..]);
    }
    bytes
}

fn publish(server: &Server, clip: &Path) -> Process {
    let addr = server.addr("rtmp");
    let (app, name) = STREAM.split_once('/').expect("two parts");
    Tool::new("python3")
        .arg(script("flv_publisher.py"))
        .args([addr.ip().to_string(), addr.port().to_string()])
        .args([app, &format!("{name}?key={PUBLISH_KEY}")])
        .arg(clip)
        .start()
}

/// Joins the segments of a media playlist, behind their initialization segment.
fn joined(server: &Server, playlist: &str) -> Vec<u8> {
    let folder = playlist.rsplit_once('/').expect("a folder").0;
    let mut segments = Vec::new();
    wait_until(&format!("segments of {playlist}"), || {
        let text = server.get(playlist).text();
        let playlist = MediaPlaylist::parse(&text).unwrap_or_default();
        let whole = playlist.segments.into_iter();
        segments = whole.filter(|segment| segment.file.is_some()).collect();
        segments.len() >= SEGMENTS
    });
    let map = segments[0].map.as_ref().map(|map| &map.uri);
    let files = segments.iter().filter_map(|segment| segment.file.as_ref());
    let uris = map.into_iter().chain(files.map(|file| &file.uri));
    let bodies = uris.map(|uri| server.get(&format!("{folder}/{uri}")).body);
    bodies.collect::<Vec<_>>().concat()
}

/// Asserts that a file's frames have the same intervals as those that were sent.
fn assert_even(what: &str, mut times: Vec<i64>) {
    times.sort_unstable();
    assert!(times.len() >= ENOUGH, "{what}: {} pictures", times.len());
    for pair in times.windows(2) {
        assert_eq!(pair[1] - pair[0], DISTANCE, "{what}: {pair:?}");
    }
}

fn assert_decoded_even(what: &str, body: &[u8]) {
    let file = file(body);
    let in_milliseconds = ["-an", "-enc_time_base", "1:1000"];
    let frames = framemd5::decoded_by(Tool::current_ffmpeg(), file.path(), &in_milliseconds);
    assert_even(what, frames.iter().map(|frame| frame.pts).collect());
}

/// Asserts that each video tag is one of those that were sent, byte by byte, and that the frames are presented evenly.
fn assert_same_tags(what: &str, body: &[u8], sent: &HashSet<&[u8]>) {
    let whole = flv::whole_tags(body);
    let pictures: Vec<Tag<'_>> = media(&whole).filter(|tag| tag.kind == KIND).collect();
    for tag in &pictures {
        assert!(
            sent.contains(tag.data),
            "{what}: changed at {} ms",
            tag.time
        );
    }
    let presented = |tag: &Tag<'_>| Some(i64::from(tag.time) + i64::from(composition(tag.data)?));
    assert_even(what, pictures.iter().filter_map(presented).collect());
}

#[test]
fn are_as_far_from_each_other_on_every_output() {
    let clip = shifted(&Clip::FlvBframes.seconds(SECONDS));
    let sent = media(&clip).filter(|tag| tag.kind == KIND);
    let sent: HashSet<&[u8]> = sent.map(|tag| tag.data).collect();
    let server = server_with_short_linger();
    let clip = file(&clip);
    let _publisher = publish(&server, clip.path());
    wait_for_stream(&server, STREAM);
    let mut rtmp = Player::Rtmpdump.start(&server.rtmp_url(STREAM, PUBLISH_KEY));
    // Each body is read all the time, because the server leaves a listener behind that does not read.
    let bodies = ["flv", "mp4", "ts"].map(|suffix| {
        let mut listener = server.listen(&format!("/{STREAM}.{suffix}"));
        assert_eq!(listener.status(), 200);
        let reading = std::thread::spawn(move || listener.read_to_end(DEADLINE).to_vec());
        (suffix, reading)
    });
    let playlists = ["hls", "ts"].map(|folder| format!("/{STREAM}/{folder}/live.m3u8"));
    // These requests start both HLS formats.
    for playlist in &playlists {
        assert_eq!(server.get(playlist).status, 200);
    }
    let hls = playlists.map(|playlist| {
        let body = joined(&server, &playlist);
        (playlist, body)
    });
    for (suffix, reading) in bodies {
        let body = reading.join().expect("a body");
        match suffix {
            "flv" => assert_same_tags(suffix, &body, &sent),
            other => assert_decoded_even(other, &body),
        }
    }
    rtmp.wait(DEADLINE);
    let body = std::fs::read(rtmp.file()).expect("what it wrote");
    assert_same_tags("RTMP", &body, &sent);
    for (playlist, body) in &hls {
        assert_decoded_even(playlist, body);
    }
}
