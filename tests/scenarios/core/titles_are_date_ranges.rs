//! A source's titles are date ranges of its playlists, by the rules, from the first viewer on.

use std::time::Duration;

use testkit::hls::{DateRange, Watch, violations};
use testkit::{Clip, PUBLISH_KEY, Server, Tool};

use crate::support::titles::update;
use crate::support::{DEADLINE, media_playlist, repeat_icecast, wait_until};

const STREAM: &str = "radio.mp3";
const PLAYLIST: &str = "/radio.mp3/mp3/live.m3u8";

/// Time long enough for the segment of a title to leave the playlist: four target durations of two seconds, and two more.
const WATCHED: Duration = Duration::from_secs(20);

fn title(range: &DateRange) -> (&str, &str) {
    let text = |name| range.attributes.quoted(name).unwrap().unwrap_or_default();
    (text("X-TITLE"), text("X-ARTIST"))
}

fn set_title(server: &Server, query: &str) {
    let status = update(server.addr("http"), PUBLISH_KEY, query);
    assert_eq!(status, 200, "{query}");
}

#[test]
fn a_title_is_listed_for_as_long_as_it_lasts() {
    let server = Server::builder().set("hls", "segment", "\"1s\"").start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, STREAM);
    // There is no viewer yet.
    set_title(&server, "song=Band%20-%20Before");
    let mut watch = Watch::start(server.addr("http"), "/radio.mp3/index.m3u8");
    let first = &watch.history().versions[0].playlist;
    assert_eq!(first.date_ranges.len(), 1, "{first:?}");
    assert_eq!(title(&first.date_ranges[0]), ("Before", "Band"));
    assert_eq!(
        first.date_ranges[0].class.as_deref(),
        Some("com.carillon.title")
    );
    set_title(&server, "song=%22quoted%22%0A%23EXT-X-ENDLIST");
    watch.follow_for(WATCHED);
    let history = watch.finish();
    let found = violations(&history);
    assert!(found.is_empty(), "{found:?}");
    let last = &history.versions.last().unwrap().playlist;
    assert!(!last.is_ended);
    // The first title is over, and the present one has outlived its segment.
    let titles: Vec<_> = last.date_ranges.iter().map(title).collect();
    let [(present, "")] = titles[..] else {
        panic!("{titles:?}");
    };
    assert!(present.starts_with("'quoted'"), "{present}");
    let begun = last.segments[0].date.unwrap();
    assert!(last.date_ranges[0].start < begun);

    let played = Tool::ffmpeg()
        .args(["-v", "error", "-xerror", "-i", &server.http_url(PLAYLIST)])
        // ffmpeg counts MP3 frames across a join of segments with an error of one frame; only its decoding is judged.
        .args(["-t", "4", "-af", "asetpts=N/SR/TB", "-f", "null", "-"])
        .finish(DEADLINE);
    assert_eq!(played.stderr, "", "ffmpeg plays");
    set_title(&server, "song=");
    wait_until("the end of the title", || {
        let playlist = media_playlist(&server, PLAYLIST);
        let newest = playlist.date_ranges.last().map(title);
        newest == Some(("", ""))
    });
}
