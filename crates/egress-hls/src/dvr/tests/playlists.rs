//! Playlists of a window.

use super::*;

#[tokio::test]
async fn a_delta_update_leaves_out_all_but_the_end() {
    let (kept, _publisher) = fed(120, 150_100).await;
    let listing = kept.listing().await;
    for skip in ["YES", "v2"] {
        let target = format!("/live/show/hls/dvr.m3u8?_HLS_skip={skip}");
        let delta = kept.server.text(&target).await;
        let skipped = attribute(tags(&delta, "#EXT-X-SKIP")[0], "SKIPPED-SEGMENTS");
        let skipped: usize = skipped.parse().expect("a number");
        // Six target durations of six seconds stay.
        let all = segments(&listing).len();
        let is_old = skipped > 20 && all - skipped >= 11;
        assert!(is_old, "{skipped} of {all}: {delta}");
        assert_eq!(sequence(&delta), sequence(&listing));
        assert_eq!(segments(&delta), segments(&listing)[skipped..]);
        let rest = &lines(&delta)[1..];
        assert!(lines(&listing).ends_with(rest), "{delta}");
        assert!(!rest[0].starts_with("#EXT-X-MAP"), "{delta}");
    }
}

#[tokio::test]
async fn what_is_kept_has_its_date_ranges() {
    const RANGE: &str = "#EXT-X-DATERANGE";
    let (kept, mut publisher) = fed(600, 30_100).await;
    announce(&kept.server, "live/show", "ad1", CueAction::Out);
    feed(&kept, &mut publisher, 30_100, 39_100).await;
    announce(&kept.server, "live/show", "ad1", CueAction::In);
    feed(&kept, &mut publisher, 39_100, 48_100).await;
    let fresh = kept.listing().await;
    feed(&kept, &mut publisher, 48_100, 180_100).await;
    let listing = kept.listing().await;
    let ranges = tags(&listing, RANGE);
    assert_eq!(ranges.len(), 2, "{listing}");
    assert_eq!(ranges, tags(&fresh, RANGE), "they do not change");
    let behind = |listing: &str| {
        let (_, behind) = listing.split_once(RANGE).expect("listed");
        let file = behind.lines().find(|line| line.ends_with(".m4s"));
        file.map(str::to_owned)
    };
    assert_eq!(behind(&listing), behind(&fresh));
    let live = kept.server.text("/live/show/hls/live.m3u8").await;
    assert!(!live.contains(RANGE), "the lane has neither: {live}");
    let target = "/live/show/hls/dvr.m3u8?_HLS_skip=YES";
    let delta = kept.server.text(target).await;
    assert_eq!(tags(&delta, RANGE), ranges, "{delta}");
    let (before, _) = delta.split_once(".m4s\n").expect("a segment");
    let comes_first = before.contains(ranges[1]);
    assert!(comes_first, "those left out come first: {delta}");
}

#[tokio::test]
async fn the_windows_of_several_qualities_are_one_presentation() {
    let streams: &[_] = &["live/show", "live/low"];
    let kept = Kept::on(TestServer::with_groups(&[("all", streams)]), 600);
    let mut low = publish_as(&kept, "live/low").await;
    feed(&kept, &mut low, 100, 12_100).await;
    let mut show = publish(&kept).await;
    feed(&kept, &mut show, 100, 12_100).await;
    let multivariant = kept.server.text("/all/index.m3u8?dvr").await;
    let mut named = segments(&multivariant);
    named.sort_unstable();
    let expected = ["low", "show"].map(|name| format!("../live/{name}/hls/dvr.m3u8"));
    assert_eq!(named, expected);
    let low = kept.server.text("/live/low/hls/dvr.m3u8").await;
    assert!(low.contains("#EXT-X-PRELOAD-HINT"), "{low}");
    for playlist in ["dvr", "live"] {
        let target = format!("/live/show/hls/{playlist}.m3u8");
        let listing = kept.server.text(&target).await;
        let report = tags(&listing, "#EXT-X-RENDITION-REPORT");
        let expected = format!("../../low/hls/{playlist}.m3u8");
        assert_eq!(attribute(report[0], "URI"), expected, "{listing}");
    }
}

#[tokio::test]
async fn other_packagings_have_no_past() {
    let (kept, _publisher) = fed(600, 180_100).await;
    let first = sequence(&kept.listing().await);
    for (folder, suffix) in [("aac", "aac"), ("ts", "ts")] {
        let playlist = format!("/live/show/{folder}/live.m3u8");
        kept.server.text(&playlist).await;
        let target = format!("/live/show/{folder}/{first}.{suffix}");
        let answer = kept.server.ask(&target).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{target}");
    }
    let plain = kept.server.text("/live/show/index.m3u8").await;
    assert_eq!(segments(&plain), ["aac/live.m3u8"]);
    let refused = kept.server.ask("/live/show/index.m3u8?format=ts&dvr").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_stream_without_a_window_has_no_playlist_of_one() {
    let (server, _publisher) = playing("live/show", 10_000);
    let answer = server.ask("/live/show/hls/dvr.m3u8").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", text(&answer));
    let multivariant = server.text("/live/show/index.m3u8?dvr").await;
    assert_eq!(segments(&multivariant), ["hls/live.m3u8"]);
}
