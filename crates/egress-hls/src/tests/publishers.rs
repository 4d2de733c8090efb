//! Publishers whose clocks leap, whose tracks pause, come late and change, and whose keyframes fall anywhere, on
//! virtual time: what their viewers are answered keeps the rules of [`testkit::hls`].

use std::collections::HashSet;
use std::rc::Rc;

use media::Script;
use testkit::hls::{History, MediaPlaylist, Rule, Segment, Subject, violations};
use testkit::http::Response;

use super::*;

/// High profile, 320×180, from x264.
const SPS: &[u8] = &[
    0x67, 0x64, 0x00, 0x0D, 0xAC, 0xD9, 0x41, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0x99, 0x60,
];
const PPS: &[u8] = &[0x68, 0xEF, 0xBC, 0xB0];

/// Milliseconds from one look at the playlist to the next, and in what lasts for long: less than parts are listed for.
const LOOK_INTERVAL: i64 = 200;
const RARE_LOOK_INTERVAL: i64 = 2_000;

/// Duration of a long phase, in milliseconds.
const LONG: i64 = 100_000;

/// Rules about a file server's duties to its clients, which are not about publishers.
const OTHER_RULES: &[Rule] = &[
    Rule::Caching,
    Rule::ContentType,
    Rule::Cors,
    Rule::Priority,
    Rule::Validators,
];

const LEAPS: [i64; 4] = [1_000, 5_000, 60_000, 3_600_000];

/// `onMetaData` of both tracks.
fn metadata() -> Item {
    Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: Bytes::from_static(b"onMetaData videocodecid audiocodecid"),
    })
}

/// A stream and the viewer that watches it.
struct Show {
    server: Rc<TestServer>,
    publisher: Option<Publisher>,
    began: Instant,
    /// Milliseconds that have passed.
    now: i64,
    /// Time at which the present publisher came.
    since: i64,
    /// Frames from one keyframe to the next, and milliseconds before the first.
    group: i64,
    first_keyframe: i64,
    /// Each track is announced with its first sample.
    announced: HashSet<TrackId>,
    history: History,
    fetched: HashSet<String>,
    /// There is a viewer.
    is_watched: bool,
}

impl Show {
    fn new(group: i64) -> Self {
        let mut show = Self {
            server: Rc::new(TestServer::new()),
            publisher: None,
            began: Instant::now(),
            now: 0,
            since: 0,
            group,
            first_keyframe: 0,
            announced: HashSet::new(),
            history: History {
                playlist: "/live/show/hls/live.m3u8".to_owned(),
                ..History::default()
            },
            fetched: HashSet::new(),
            is_watched: true,
        };
        show.publish(&[metadata()]);
        show
    }

    /// Another publisher comes, after the present one has left.
    fn publish(&mut self, items: &[Item]) {
        self.publisher = None;
        let publisher = self.server.begin("live/show", None, self.time(self.now));
        self.publisher = Some(publisher);
        self.announced.clear();
        self.since = self.now;
        self.write(items.to_vec(), self.now);
    }

    fn time(&self, millis: i64) -> Instant {
        self.began + Duration::from_millis(millis.unsigned_abs())
    }

    fn write(&mut self, mut items: Vec<Item>, now: i64) {
        let now = self.time(now);
        let publisher = self.publisher.as_mut().expect("one is there");
        publisher.write(&mut items, now).expect("it publishes");
    }

    /// Sends audio, and video at 25 frames a second, for so long. `clock` makes the timestamps from the times since the
    /// publisher came. The viewer watches.
    async fn send(&mut self, millis: i64, clock: impl Fn(TrackId, i64) -> Option<i64>) {
        let until = self.now + millis;
        let interval = if millis >= LONG {
            RARE_LOOK_INTERVAL
        } else {
            LOOK_INTERVAL
        };
        while self.now < until {
            let end = (self.now + interval).min(until);
            for now in self.now..end {
                let since = now - self.since;
                // Frames begin every 1,024 samples of 48 in a millisecond.
                let is_frame = since * 48 % 1_024 < 48;
                let behind = since - self.first_keyframe;
                let is_keyframe = behind >= 0 && behind / 40 % self.group == 0;
                for (track, is_due) in [
                    (TrackId::VIDEO, since % 40 == 0),
                    (TrackId::AUDIO, is_frame),
                ] {
                    if is_due && let Some(own) = clock(track, since) {
                        self.sample(track, own, is_keyframe, now);
                    }
                }
            }
            self.now = end;
            if self.is_watched {
                self.look().await;
            }
        }
    }

    fn sample(&mut self, track: TrackId, own: i64, is_keyframe: bool, now: i64) {
        let is_picture = track == TrackId::VIDEO;
        let at = Timestamp::from_millis(own);
        let mut items = Vec::new();
        if self.announced.insert(track) {
            items.push(if is_picture { h264(SPS, PPS) } else { aac() });
        }
        let data = Bytes::copy_from_slice(&now.to_be_bytes());
        items.push(Item::Sample(Sample {
            keyframe: is_keyframe || !is_picture,
            ..Sample::frame(track, at, Span::ZERO, data)
        }));
        self.write(items, now);
    }

    /// Fetches the playlist and what is new in it.
    async fn look(&mut self) {
        let at = Duration::from_millis(self.now.unsigned_abs());
        let path = self.history.playlist.clone();
        let answer = self.server.ask(&format!("{path}?_parts")).await;
        if answer.status != StatusCode::OK {
            return;
        }
        let text = text(&answer);
        let playlist = match MediaPlaylist::parse(&text) {
            Ok(playlist) => playlist,
            Err(error) => panic!("{error}\n{text}"),
        };
        for segment in playlist.segments.iter().filter(|segment| !segment.is_gap) {
            let map = segment.map.iter().map(|map| &map.uri);
            let parts = segment.parts.iter().map(|part| &part.uri);
            let file = segment.file.iter().map(|file| &file.uri);
            for uri in map.chain(parts).chain(file) {
                let path = self.history.path(uri);
                if self.fetched.insert(path.clone()) {
                    let answer = self.server.ask(&path).await;
                    assert_eq!(answer.status, StatusCode::OK, "{path}");
                    self.history.answers.push(testkit::hls::Answer {
                        asked: at,
                        answered: at,
                        subject: Subject::Media,
                        path,
                        condition: None,
                        response: Response {
                            status: 200,
                            headers: Vec::new(),
                            body: body(&answer),
                        },
                    });
                }
            }
        }
        self.history.see(at, text, playlist);
    }

    /// Demands that every rule was kept, and that there was media until the end.
    fn check(&self, what: &str) {
        let found = violations(&self.history).into_iter();
        let found: Vec<_> = found
            .filter(|breach| !OTHER_RULES.contains(&breach.rule))
            .map(|breach| breach.to_string())
            .collect();
        let last = self.history.versions.last().expect("some versions");
        let first = found.first();
        let (count, text) = (found.len(), &last.text);
        assert!(first.is_none(), "{what}: {count} of {first:?}\n{text}");
        let newest = self.history.versions.iter().rev();
        let newest = newest.map_while(|version| (version.text == last.text).then_some(version.at));
        let since = newest.last().expect("the last one");
        let now = Duration::from_millis(self.now.unsigned_abs());
        let is_recent = now - since <= Duration::from_secs(2);
        assert!(is_recent, "{what}: nothing since {since:?}");
    }

    /// Returns the number of segments of which something is true in a version of the playlist.
    fn count(&self, is: impl Fn(&Segment) -> bool) -> usize {
        let versions = self.history.versions.iter();
        let segments = versions.flat_map(|version| &version.playlist.segments);
        let found = segments.filter(|segment| is(segment)).map(|it| it.number);
        found.collect::<HashSet<_>>().len()
    }

    /// Returns the number of segments whose first part is not independent.
    fn begun_without_keyframe(&self) -> usize {
        self.count(|segment| segment.parts.first().is_some_and(|it| !it.is_independent))
    }

    fn discontinuities(&self) -> usize {
        self.count(|segment| segment.is_discontinuous)
    }
}

#[tokio::test(start_paused = true)]
async fn each_hinted_part_comes_wherever_segments_begin() {
    // Keyframes every two and four seconds, at no beginning of a slot, and rare ones.
    for group in [50, 79, 100, 250] {
        let mut show = Show::new(group);
        show.send(40_000, |_, now| Some(now)).await;
        let versions = &show.history.versions;
        let segments = versions.iter().flat_map(|it| &it.playlist.segments);
        let parts = segments.flat_map(|segment| &segment.parts);
        let listed: HashSet<_> = parts.map(|part| part.uri.as_str()).collect();
        let hints = versions.iter().rev().skip(1);
        for hint in hints.filter_map(|version| version.playlist.hinted_part()) {
            assert!(listed.contains(hint), "{group}: {hint} did not come");
        }
        assert_eq!(show.begun_without_keyframe() > 0, group > 79, "{group}");
    }
}

#[tokio::test(start_paused = true)]
async fn parts_are_listed_where_keyframes_are_as_near_as_players_of_parts_need_them() {
    for (group, has_parts) in [(50, true), (100, true), (125, false), (250, false)] {
        let mut show = Show::new(group);
        show.is_watched = false;
        show.send(12_000, |_, now| Some(now)).await;
        show.is_watched = true;
        show.send(20_000, |_, now| Some(now)).await;
        let listing = show.server.text("/live/show/hls/live.m3u8").await;
        for tag in ["EXT-X-PART:", "EXT-X-PART-INF", "PRELOAD-HINT", "CAN-BLOCK"] {
            assert_eq!(listing.contains(tag), has_parts, "{group}: {listing}");
        }
        assert!(listing.contains("HOLD-BACK=18.0"), "{group}: {listing}");
        assert!(segments(&listing).len() >= 5, "{group}: {listing}");
    }
}

/// Returns the list that the first viewer gets who comes so many milliseconds after the publisher, once it is answered.
async fn first_playlist(group: i64, millis: i64) -> String {
    let mut show = Show::new(group);
    show.is_watched = false;
    show.send(millis, |_, now| Some(now)).await;
    let server = Rc::clone(&show.server);
    let mut answer = pin!(server.ask("/live/show/hls/live.m3u8"));
    loop {
        if let Some(answer) = at_once(&mut answer) {
            return text(&answer);
        }
        show.send(LOOK_INTERVAL, |_, now| Some(now)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_playlist_waits_for_two_segments_where_keyframes_are_far_apart() {
    for (group, least) in [(50, 1), (250, 2)] {
        let mut counts = HashSet::new();
        for phase in (0..10_000).step_by(500) {
            counts.insert(segments(&first_playlist(group, 20_000 + phase).await).len());
        }
        assert_eq!(counts.iter().min(), Some(&least), "{group}: {counts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn captions_that_pictures_have_no_place_for_are_declared_to_be_absent() {
    let mut show = Show::new(50);
    show.send(4_000, |_, now| Some(now)).await;
    let listing = text(&show.server.ask("/live/show/index.m3u8").await);
    assert!(listing.contains(",CLOSED-CAPTIONS=NONE\n"), "{listing}");
}

#[tokio::test(start_paused = true)]
async fn clocks_may_leap() {
    for leap in LEAPS.into_iter().chain(LEAPS.map(|leap| -leap)) {
        let mut show = Show::new(50);
        show.send(13_000, |_, now| Some(now)).await;
        show.send(13_000, |_, now| Some(now + leap)).await;
        show.send(13_000, |_, now| Some(now)).await;
        show.check(&format!("a leap of {leap} ms"));
        assert_eq!(show.discontinuities(), 0, "{leap}");
        assert_eq!(show.begun_without_keyframe(), 0, "{leap}");
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_may_stand_still() {
    for stalled in LEAPS {
        let mut show = Show::new(50);
        show.send(13_000, |_, now| Some(now)).await;
        show.send(stalled, |_, _| Some(12_960)).await;
        show.send(13_000, |_, now| Some(now - stalled)).await;
        show.send(13_000, |_, now| Some(now)).await;
        show.check(&format!("a clock that stands for {stalled} ms"));
    }
}

#[tokio::test(start_paused = true)]
async fn one_track_may_pause_or_begin_late() {
    for late in [TrackId::AUDIO, TrackId::VIDEO] {
        let mut show = Show::new(50);
        let is_there = |track: TrackId, now: i64| track != late || now >= 10_000;
        show.send(20_000, |track, now| is_there(track, now).then_some(now))
            .await;
        let pauses = |track: TrackId, now: i64| track == late && now < 26_000;
        show.send(20_000, |track, now| (!pauses(track, now)).then_some(now))
            .await;
        show.check(&format!("{late:?} that is late"));
        assert_eq!(show.discontinuities(), 0, "{late:?}");
        assert_eq!(show.begun_without_keyframe(), 0, "{late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_media_may_pause() {
    for pause in [400, 2_500, 7_000, 9_000, 11_000].into_iter().chain(LEAPS) {
        let mut show = Show::new(50);
        show.send(13_000, |_, now| Some(now)).await;
        show.send(pause, |_, _| None).await;
        show.send(20_000, |_, now| Some(now)).await;
        show.check(&format!("a pause of {pause} ms"));
    }
}

#[tokio::test(start_paused = true)]
async fn tracks_may_change_with_the_publisher() {
    let only = |wanted: Option<TrackId>| {
        move |track: TrackId, now: i64| wanted.is_none_or(|wanted| track == wanted).then_some(now)
    };
    let both = None;
    let (audio, pictures) = (Some(TrackId::AUDIO), Some(TrackId::VIDEO));
    for turns in [
        [both, pictures, both],
        [pictures, both, audio],
        [audio, both, pictures],
    ] {
        let mut show = Show::new(50);
        for (turn, tracks) in turns.into_iter().enumerate() {
            if turn > 0 {
                show.now += 1_000;
            }
            show.publish(&[]);
            show.send(13_000, only(tracks)).await;
        }
        show.check(&format!("{turns:?}"));
        assert_eq!(show.discontinuities(), 2, "{turns:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn keyframes_may_fall_into_each_phase_of_a_segment() {
    for phase in (0..3_000).step_by(200) {
        let mut show = Show::new(75);
        show.first_keyframe = phase;
        show.send(20_000, |_, now| Some(now)).await;
        show.check(&format!("a first keyframe at {phase} ms"));
        assert_eq!(show.begun_without_keyframe(), 0, "{phase}");
    }
}
