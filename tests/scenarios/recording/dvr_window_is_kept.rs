//! The past of a stream is kept on disk and played from there, on to the present; a disk that fails disturbs no listener.

use std::path::Path;
use std::time::Duration;

use testkit::hls::MediaPlaylist;
use testkit::{PUBLISH_KEY, Process, Server, ServerBuilder, Tool};

use crate::support::{DEADLINE, media_playlist, quoted, wait_for_stream, wait_until};

const STREAM: &str = "live/show";
const PLAYLIST: &str = "/live/show/hls/dvr.m3u8";

/// Length of the window in seconds.
const WINDOW: u64 = 20;

/// Seconds of the window, and of the present behind it, that a player decodes.
const PLAYED: &str = "24";

/// Builds a server with segments of a second and a window in `root`. Memory holds some eight seconds of what [`publish`] sends.
fn server(root: &Path) -> ServerBuilder {
    Server::builder()
        .set("ingest", "linger", "\"60s\"")
        .set("fanout", "log_mib", "2")
        .set("hls", "segment", "\"1s\"")
        .set("hls", "dvr", &format!("\"{WINDOW}s\""))
        .set("hls", "dvr_directory", &quoted(root))
}

/// Publishes video of 2 Mb/s, with a keyframe in each second, and audio.
fn publish(server: &Server) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25"])
        .args(["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100"])
        .args("-c:v libx264 -preset ultrafast -threads 1 -bf 0 -g 25 -sc_threshold 0".split(' '))
        .args("-b:v 2M -minrate 2M -maxrate 2M -bufsize 2M -x264-params nal-hrd=cbr".split(' '))
        .args("-pix_fmt yuv420p -c:a aac -b:a 96k -f flv".split(' '))
        .arg(server.rtmp_url(STREAM, PUBLISH_KEY))
        .start()
}

fn listing(server: &Server) -> Option<MediaPlaylist> {
    let is_there = server.get(PLAYLIST).status == 200;
    is_there.then(|| media_playlist(server, PLAYLIST))
}

/// Waits until the playlist of the window meets the condition.
fn wait_for(what: &str, server: &Server, is: impl Fn(&MediaPlaylist) -> bool) -> MediaPlaylist {
    let mut found = None;
    wait_until(what, || {
        found = listing(server).filter(|listing| is(listing));
        found.is_some()
    });
    found.unwrap()
}

/// Returns the numbers of the segments on disk.
fn numbers(root: &Path) -> Vec<u64> {
    let files = std::fs::read_dir(root.join("live+show"));
    let names = files.into_iter().flatten().flatten();
    let names = names.filter_map(|file| file.file_name().into_string().ok());
    let mut numbers: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".m4s")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Returns the duration of the segments after the only discontinuity.
fn since_return(listing: &MediaPlaylist) -> Duration {
    let mut segments = listing.segments.iter();
    let found = segments.any(|segment| segment.is_discontinuous);
    let files = segments.filter_map(|segment| segment.file.as_ref());
    match found {
        true => files.map(|file| file.duration).sum(),
        false => Duration::ZERO,
    }
}

#[test]
fn a_player_goes_from_the_window_s_beginning_to_the_present() {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path()).start();
    let mut first = publish(&server);
    wait_for_stream(&server, STREAM);
    let half = Duration::from_secs(WINDOW / 2);
    let before = wait_for("half a window", &server, |listing| {
        listing.duration() > half
    });
    first.kill();
    let _second = publish(&server);
    let after = wait_for("a window over the return", &server, |listing| {
        since_return(listing) > half - Duration::from_secs(1)
    });
    let numbered = after
        .segments
        .iter()
        .filter_map(|segment| segment.file.as_ref());
    for (number, file) in (after.sequence..).zip(numbered) {
        assert_eq!(file.uri, format!("{number}.m4s"));
    }
    let oldest = *numbers(root.path()).first().unwrap();
    assert!(oldest <= before.sequence, "{oldest} {}", before.sequence);

    let reads = || {
        server
            .metrics()
            .get("carillon_hls_dvr_reads_total")
            .unwrap()
    };
    let had = reads();
    let played = Tool::ffmpeg()
        .args(["-xerror", "-live_start_index", "0", "-i"])
        .arg(server.http_url("/live/show/index.m3u8?dvr"))
        .args(["-t", PLAYED, "-f", "null", "-progress", "-", "-"])
        .finish(DEADLINE);
    assert!(
        played.status.success() && played.stderr.is_empty(),
        "{}",
        played.stderr
    );
    let progress = String::from_utf8(played.stdout).unwrap();
    let mut frames = progress
        .lines()
        .filter_map(|line| line.strip_prefix("frame="));
    let frames: u32 = frames.next_back().unwrap().trim().parse().unwrap();
    assert!(frames > 550, "{frames} pictures of 25 a second");
    assert!(reads() > had + 3.0, "memory had it all");

    let info = server.get("/live/show/info.json").text();
    assert!(info.contains("../show/index.m3u8?dvr"), "{info}");
    wait_until("the oldest files to be removed", || {
        numbers(root.path())
            .first()
            .is_some_and(|first| *first > oldest)
    });
    let metrics = server.metrics();
    let on_disk: u64 = std::fs::read_dir(root.path().join("live+show"))
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(metrics.get("carillon_hls_dvr_bytes").unwrap() > 0.0 && on_disk > 0);
    assert_eq!(metrics.get("carillon_hls_dvr_failures_total"), Some(0.0));
}

#[test]
fn a_directory_that_is_gone_is_reported_once_and_listeners_continue() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("dvr");
    let server = server(&root).start();
    let _publisher = publish(&server);
    wait_for_stream(&server, STREAM);
    let count = |name: &str| {
        server
            .metrics()
            .get(&format!("carillon_hls_dvr_{name}_total"))
    };
    let is_above = |name: &str, figure: f64| count(name).is_some_and(|count| count > figure);
    wait_until("segments on disk", || is_above("segments", 2.0));
    std::fs::rename(&root, folder.path().join("away")).unwrap();
    std::fs::write(&root, "no directory").unwrap();
    wait_until("failures", || is_above("failures", 2.0));
    let reported = server.log().matches("the disk takes no segments").count();
    assert_eq!(reported, 1, "{}", server.log());
    let live = media_playlist(&server, "/live/show/hls/live.m3u8");
    let mut segments = live.segments.iter().rev();
    let newest = segments.find_map(|segment| segment.file.as_ref());
    let newest = format!("/live/show/hls/{}", newest.unwrap().uri);
    assert_eq!(server.get(&newest).status, 200);

    std::fs::remove_file(&root).unwrap();
    let written = count("segments").unwrap();
    wait_until("segments again", || is_above("segments", written + 1.0));
    server.wait_for_log("a DVR window is kept again", DEADLINE);
}
