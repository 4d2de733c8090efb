//! Streams that are the qualities of one name.

use super::*;

/// From x264: 1280×720, high profile, and 320×180, baseline.
const SPS_720: &[u8] = &[
    0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
];
const SPS_180: &[u8] = &[
    0x67, 0x42, 0xC0, 0x0C, 0xD9, 0x01, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10,
    0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0xA4, 0x80,
];
const PPS: &[u8] = &[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0];

/// Announces video of a size beside the audio.
fn show(publisher: &mut Publisher, sps: &[u8]) {
    write(publisher, vec![h264(sps, PPS)]);
}

/// Publishes some seconds of audio with so many bytes a second.
fn published(server: &TestServer, stream: &str, words: usize) -> Publisher {
    let mut publisher = server.publish(stream);
    play_at(&mut publisher, 0, 7_000, words);
    publisher
}

/// An attribute of each variant, as a number.
fn figures(listing: &str, name: &str) -> Vec<u64> {
    let variants = tags(listing, "#EXT-X-STREAM-INF").into_iter();
    let figures = variants.map(|variant| attribute(variant, name).parse().expect("a number"));
    figures.collect()
}

#[tokio::test]
async fn a_group_lists_what_the_viewer_may_watch_best_first() {
    let streams: &[_] = &["live/low", "live/high", "secret/best"];
    let server = TestServer::with_groups(&[("live/show", streams), ("all", &["secret/best"])]);
    let _low = published(&server, "live/low", 10);
    let _best = published(&server, "secret/best", 40);
    let _high = published(&server, "live/high", 20);
    let listing = server.text("/live/show/index.m3u8").await;
    let expected = ["../high/aac/live.m3u8", "../low/aac/live.m3u8"];
    assert_eq!(segments(&listing), expected);
    let query = format!("?key={PASSWORD}");
    let listing = server.text(&format!("/live/show/index.m3u8{query}")).await;
    let expected = ["../../secret/best", "../high", "../low"];
    let expected = expected.map(|stream| format!("{stream}/aac/live.m3u8{query}"));
    assert_eq!(segments(&listing), expected);
    for name in ["BANDWIDTH", "AVERAGE-BANDWIDTH"] {
        let figures = figures(&listing, name);
        assert!(figures.is_sorted_by(|a, b| a > b), "{name}: {figures:?}");
    }
    assert_eq!(server.viewers(), 0, "nothing is watched yet");
    let target = format!("/live/high/hls/live.m3u8{query}");
    let playlist = server.ask(&target).await;
    assert_eq!((playlist.status, server.viewers()), (StatusCode::OK, 1));

    let refused = server.ask("/all/index.m3u8").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let listing = server.text(&format!("/all/index.m3u8{query}")).await;
    let expected = format!("../secret/best/aac/live.m3u8{query}");
    assert_eq!(segments(&listing), [expected]);
}

#[tokio::test]
async fn a_stream_is_listed_with_its_renditions() {
    let server = TestServer::new();
    let mut own = server.publish("live/show");
    let mut large = server.publish("live/show~hd");
    let _other = server.publish("live/show2");
    let _second = server.publish("live/show~hd~2");
    show(&mut own, SPS_180);
    show(&mut large, SPS_720);
    let listing = server.text("/live/show/index.m3u8").await;
    let expected = ["../show~hd/hls/live.m3u8", "hls/live.m3u8"];
    assert_eq!(segments(&listing), expected);
    let variants = tags(&listing, "#EXT-X-STREAM-INF");
    let sizes = variants.iter().map(|it| attribute(it, "RESOLUTION"));
    assert_eq!(sizes.collect::<Vec<_>>(), ["1280x720", "320x180"]);
    let codecs = "CODECS=\"avc1.64001F,mp4a.40.2\"";
    assert!(variants[0].contains(codecs), "{listing}");
    let alone = server.text("/live/show2/index.m3u8").await;
    assert_eq!(segments(&alone), ["aac/live.m3u8"]);
    let listing = server.text("/live/show/index.m3u8?format=ts").await;
    let expected = ["../show~hd/ts/live.m3u8", "ts/live.m3u8"];
    assert_eq!(segments(&listing), expected);

    drop(own);
    let listing = server.text("/live/show/index.m3u8").await;
    let expected = ["../show~hd/hls/live.m3u8"];
    assert_eq!(segments(&listing), expected, "its publisher is away");
    drop(large);
    let listing = server.text("/live/show/index.m3u8").await;
    assert_eq!(segments(&listing).len(), 2, "both may return: {listing}");
}

#[tokio::test(start_paused = true)]
async fn a_group_without_a_publisher_waits_for_one() {
    let server = TestServer::with_groups(&[("show", &["a", "b"])]);
    let began = tokio::time::Instant::now();
    let absent = server.ask("/show/index.m3u8").await;
    assert_eq!(absent.status, StatusCode::NOT_FOUND);
    assert_eq!(began.elapsed().as_secs(), 8);

    let mut request = pin!(server.text("/show/index.m3u8"));
    assert!(at_once(&mut request).is_none());
    let _b = published(&server, "b", 10);
    let began = tokio::time::Instant::now();
    let listing = request.await;
    assert_eq!(segments(&listing), ["../b/aac/live.m3u8"]);
    let seconds = began.elapsed().as_secs();
    assert!(seconds <= 2, "the other is not waited for any longer");
}

/// The rendition reports of a playlist: address, number, part.
fn reports(listing: &str) -> Vec<(&str, u64, usize)> {
    let reports = tags(listing, "#EXT-X-RENDITION-REPORT").into_iter();
    let reports = reports.map(|report| {
        let number = attribute(report, "LAST-MSN").parse().expect("a number");
        let part = attribute(report, "LAST-PART").parse().expect("a part");
        (attribute(report, "URI"), number, part)
    });
    reports.collect()
}

/// The number of the last listed part, and its segment's.
fn last_part(listing: &str) -> (u64, usize) {
    numbers_of(tags(listing, "#EXT-X-PART").last().expect("a part"))
}

#[tokio::test]
async fn a_playlist_reports_where_the_others_end() {
    let server = TestServer::with_groups(&[("show", &["live/low", "high"])]);
    let mut low = published(&server, "live/low", 10);
    let _high = published(&server, "high", 20);
    let _rendition = published(&server, "high~m", 20);
    let alone = server.text("/live/low/hls/live.m3u8").await;
    assert_eq!(reports(&alone), [], "no other playlist has been asked for");

    let high = server.text("/high/hls/live.m3u8").await;
    let (number, part) = last_part(&alone);
    let of_low = "../../live/low/hls/live.m3u8";
    assert_eq!(reports(&high), [(of_low, number, part)]);
    let back = server.text("/live/low/hls/live.m3u8").await;
    let (number, part) = last_part(&high);
    let expected = ("../../../high/hls/live.m3u8", number, part);
    assert_eq!(reports(&back), [expected]);
    let with_key = server.text("/live/low/hls/live.m3u8?key=x").await;
    assert_eq!(reports(&with_key)[0].0, "../../../high/hls/live.m3u8?key=x");
    server.text("/high~m/hls/live.m3u8").await;
    assert_eq!(reports(&server.text("/high/hls/live.m3u8").await).len(), 2);

    let same = server.ask("/high/hls/live.m3u8").await;
    let (number, part) = newest(&high);
    let target = format!("/high/hls/live.m3u8?_HLS_msn={number}&_HLS_part={part}");
    let mut reload = pin!(server.ask(&target));
    play_at(&mut low, 7_000, 9_000, 10);
    for _ in 0..10 {
        tokio::task::yield_now().await;
        assert!(at_once(&mut reload).is_none(), "woken by a report");
    }
    let newer = server.ask("/high/hls/live.m3u8").await;
    assert_ne!(newer.headers[header::ETAG], same.headers[header::ETAG]);
    let low_now = server.text("/live/low/hls/live.m3u8").await;
    let (number, part) = last_part(&low_now);
    let newer = text(&newer);
    assert!(reports(&newer).contains(&(of_low, number, part)), "{newer}");
}

#[tokio::test]
async fn an_end_reports_nothing_and_is_not_reported() {
    let server = TestServer::with_groups(&[("show", &["a", "b"])]);
    let _a = published(&server, "a", 10);
    let _b = published(&server, "b", 10);
    server.text("/a/hls/live.m3u8").await;
    assert_eq!(reports(&server.text("/b/hls/live.m3u8").await).len(), 1);
    server.registry.end_all();
    let listing = server.text("/b/hls/live.m3u8").await;
    assert!(listing.ends_with("#EXT-X-ENDLIST\n"), "{listing}");
    assert_eq!(reports(&listing), []);
}

/// The discontinuity sequence number of a stream's playlist.
async fn discontinuity(server: &TestServer, stream: &str) -> u64 {
    let listing = server.text(&format!("/{stream}/hls/live.m3u8")).await;
    let number = tags(&listing, "#EXT-X-DISCONTINUITY-SEQUENCE")[0].parse();
    number.expect("a number")
}

#[tokio::test]
async fn streams_without_a_common_clock_have_no_number_in_common() {
    let server = TestServer::with_groups(&[("group", &["a", "b"])]);
    let encoder = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 7)));
    let names = ["a", "b", "show", "show~1", "show~own", "other"];
    let peers = [None, None, encoder, encoder, None, None];
    let publishers = names.iter().zip(peers).map(|(name, peer)| {
        let mut publisher = server.publish_from(name, peer);
        play(&mut publisher, 0, 4_000);
        publisher
    });
    let _publishers: Vec<_> = publishers.collect();
    let mut numbers = Vec::new();
    for name in names {
        numbers.push(discontinuity(&server, name).await);
    }
    let [a, b, show, rendition, own, other] = numbers[..] else {
        panic!("{numbers:?}")
    };
    let same = (rendition, other);
    assert_eq!(same, (show, show), "from one encoder, or alone");
    for (one, two) in [(a, b), (a, show), (b, show), (own, show), (own, a)] {
        assert!(one.abs_diff(two) >= 1 << 16, "{numbers:?}");
    }
    let mut all = numbers.iter();
    assert!(all.all(|number| *number < 1 << 31), "{numbers:?}");
}

#[tokio::test]
async fn a_rendition_begins_where_its_stream_is() {
    let server = TestServer::new();
    let peer = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let mut show = server.publish_from("show", peer(7));
    play(&mut show, 0, 20_000);
    let numbers = ["show~apart", "other"].map(|name| {
        let mut publisher = server.publish_from(name, peer(8));
        play(&mut publisher, 0, 4_000);
        (name, publisher)
    });
    for ((name, _), expected) in numbers.iter().zip([7, 1]) {
        let listing = server.text(&format!("/{name}/hls/live.m3u8")).await;
        let first = tags(&listing, "#EXT-X-MEDIA-SEQUENCE")[0];
        assert_eq!(first.parse(), Ok(expected), "{name}: {listing}");
    }
}
