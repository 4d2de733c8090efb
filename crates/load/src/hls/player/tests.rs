//! A player and a script: the player's requests after each response.

use super::super::parser::Document;
use super::super::request::Fetched;
use super::super::shelf::Shelf;
use super::*;

const SECOND: u64 = 1_000_000_000;
const MOOF: &[u8] = b"\0\0\0\x10moof";
const FTYP: &[u8] = b"\0\0\0\x10ftyp";

const LOW_LATENCY: Playing = Playing {
    whole_segments: false,
    hints: false,
    paced: false,
};
const HINTING: Playing = Playing {
    hints: true,
    ..LOW_LATENCY
};
const PACED: Playing = Playing {
    paced: true,
    ..LOW_LATENCY
};
const WHOLE: Playing = Playing {
    whole_segments: true,
    ..LOW_LATENCY
};

const HEAD: &str = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PART-INF:PART-TARGET=0.5\n\
    #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5,HOLD-BACK=12,CAN-SKIP-UNTIL=24\n";
const OLD: &str = "#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-MAP:URI=\"init.mp4\"\n\
    #EXTINF:4,\ns7.mp4\n#EXTINF:4,\ns8.mp4\n#EXTINF:4,\ns9.mp4\n#EXTINF:4,\ns10.mp4\n";

/// Parts of half a second; every third one is independent.
fn parts(numbers: std::ops::Range<u32>) -> String {
    let line = |number| {
        let flag = if number % 3 == 0 {
            ",INDEPENDENT=YES"
        } else {
            ""
        };
        format!("#EXT-X-PART:DURATION=0.5,URI=\"p{number}.mp4\"{flag}\n")
    };
    numbers.map(line).collect()
}

fn hint(number: u32) -> String {
    format!("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p{number}.mp4\"\n")
}

/// Segments 7 to 10, and the first parts of 11.
fn live(count: u32) -> String {
    format!("{HEAD}{OLD}{}", parts(0..count))
}

struct Script {
    player: Player,
    shelf: Shelf,
    record: Record,
    now: u64,
}

impl Script {
    fn new(playing: Playing) -> Self {
        Self {
            player: Player::new(&"host".into(), "show/live.m3u8".to_owned(), playing, true),
            shelf: Shelf::default(),
            record: Record::default(),
            now: SECOND,
        }
    }

    /// A player that has loaded the playlist, its map, and all that is listed of it; six parts are.
    fn at_the_end(playing: Playing) -> Self {
        let mut script = Self::new(playing);
        assert_eq!(script.playlist().as_deref(), Some("show/live.m3u8"));
        script.update(&(live(6) + &hint(6)));
        assert_eq!(script.media().as_deref(), Some("show/init.mp4"));
        script.give(FTYP);
        for number in 3..6 {
            assert_eq!(script.media(), Some(format!("show/p{number}.mp4")));
            script.give(MOOF);
        }
        script
    }

    /// Returns the path of the playlist request, if there is one.
    fn playlist(&mut self) -> Option<String> {
        let request = self.player.playlist_request(self.now);
        request.map(|request| request.path)
    }

    fn media(&mut self) -> Option<String> {
        let request = self.player.media_request(self.now, &mut self.record);
        request.map(|request| request.path)
    }

    fn update(&mut self, text: &str) {
        let read = self.shelf.read(text.as_bytes()).expect("a playlist");
        let Document::Media(playlist) = read else {
            panic!("a media playlist");
        };
        let heard = self.now - 1;
        self.player
            .update(&playlist, heard, self.now, &mut self.record);
    }

    fn give(&mut self, start: &[u8]) -> Option<Fetched> {
        self.player.take(start, self.now, &mut self.record)
    }

    fn refuse_playlist(&mut self, status: u16) -> Result<(), String> {
        let failure = Failure::Status(status);
        self.player
            .miss_playlist(&failure, self.now, &mut self.record)
    }

    fn refuse_media(&mut self, status: u16) -> Result<(), String> {
        let failure = Failure::Status(status);
        self.player.miss_media(&failure, self.now, &mut self.record)
    }

    fn violations(&self) -> Vec<String> {
        let violations = self.record.violations.iter();
        violations.map(|(flaw, _)| flaw.to_owned()).collect()
    }
}

#[test]
fn the_best_variant_is_followed_once() {
    let mut script = Script::new(LOW_LATENCY);
    script.playlist();
    assert_eq!(script.player.follow("hls/live.m3u8"), Ok(()));
    assert_eq!(script.playlist().as_deref(), Some("show/hls/live.m3u8"));
    assert!(script.player.follow("other.m3u8").is_err());
    let mut script = Script::new(LOW_LATENCY);
    assert!(script.player.follow("http://other/live.m3u8").is_err());
}

#[test]
fn a_player_starts_behind_the_end_and_fetches_each_part_once_it_is_listed() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    assert_eq!(script.media(), None);
    let path = "show/live.m3u8?_HLS_msn=11&_HLS_part=6&_HLS_skip=YES";
    assert_eq!(script.playlist().as_deref(), Some(path));
    assert_eq!(script.playlist(), None);
    assert_eq!(script.player.due(), NEVER);
    script.now += SECOND / 2;
    script.update(&live(7));
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    assert_eq!(script.media(), None);
    let path = "show/live.m3u8?_HLS_msn=11&_HLS_part=7&_HLS_skip=YES";
    assert_eq!(script.playlist().as_deref(), Some(path));
    // The part comes after the answer that lists its successor: it was listed by the one before.
    let listed = Some(script.now - 1);
    script.now += SECOND / 2;
    script.update(&live(8));
    assert_eq!(
        script.give(MOOF),
        Some(Fetched::Live { listed, ends: None })
    );
    let counts = &script.record.counts;
    assert_eq!((counts.parts, counts.maps), (4, 1));
    assert!(script.violations().is_empty(), "{:?}", script.violations());
}

#[test]
fn a_segment_that_ends_is_followed_by_the_next_one() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    script.playlist();
    let text = format!("{}#EXTINF:3,\ns11.mp4\n", live(6));
    script.update(&text);
    assert_eq!(script.media(), None);
    let path = "show/live.m3u8?_HLS_msn=12&_HLS_part=0&_HLS_skip=YES";
    assert_eq!(script.playlist().as_deref(), Some(path));
    let delta = "#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-SKIP:SKIPPED-SEGMENTS=4\n";
    let ended = format!("{}#EXTINF:3,\ns11.mp4\n{}", parts(0..6), parts(6..7));
    script.update(&format!("{HEAD}{delta}{ended}"));
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    let counts = &script.record.counts;
    assert_eq!((counts.deltas, counts.maps), (1, 1));
    assert!(script.violations().is_empty(), "{:?}", script.violations());
}

#[test]
fn a_gap_is_passed_over() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    let gap = "#EXT-X-PART:DURATION=0.5,URI=\"p6.mp4\",GAP=YES\n";
    script.playlist();
    script.update(&format!("{}{gap}{}", live(6), parts(7..8)));
    assert_eq!(script.media().as_deref(), Some("show/p7.mp4"));
    assert_eq!(script.record.counts.gaps, 1);
}

#[test]
fn a_discontinuity_brings_its_map() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    let cut = "#EXTINF:3,\ns11.mp4\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init2.mp4\"\n";
    script.playlist();
    script.update(&format!("{}{cut}{}", live(6), parts(6..8)));
    assert_eq!(script.media().as_deref(), Some("show/init2.mp4"));
    script.give(FTYP);
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    script.give(MOOF);
    assert_eq!(script.media().as_deref(), Some("show/p7.mp4"));
    script.give(MOOF);
    let counts = &script.record.counts;
    assert_eq!((counts.discontinuities, counts.maps), (1, 2));
}

#[test]
fn a_stream_that_ends_is_played_to_its_end() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    script.playlist();
    let end = format!("{}#EXTINF:3.5,\ns11.mp4\n#EXT-X-ENDLIST\n", live(7));
    script.update(&end);
    assert_eq!(script.playlist(), None);
    assert_eq!(script.player.due(), NEVER);
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    script.give(MOOF);
    assert_eq!(script.media(), None);
    script
        .player
        .leave(script.now + 100 * SECOND, &mut script.record);
    assert_eq!(
        (script.record.counts.ended, script.record.stall.count()),
        (1, 0)
    );
}

#[test]
fn a_hinted_part_is_fetched_once() {
    let mut script = Script::at_the_end(HINTING);
    script.playlist();
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    let fetched = Fetched::Live {
        listed: None,
        ends: None,
    };
    assert_eq!(script.give(MOOF), Some(fetched));
    assert_eq!(script.media(), None);
    script.update(&(live(7) + &hint(7)));
    assert_eq!(script.media().as_deref(), Some("show/p7.mp4"));
    let counts = &script.record.counts;
    assert_eq!((counts.hinted, counts.parts), (1, 4));
}

#[test]
fn a_hinted_part_that_is_refused_is_fetched_when_it_is_listed() {
    let mut script = Script::at_the_end(HINTING);
    script.playlist();
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    assert_eq!(script.refuse_media(404), Ok(()));
    assert_eq!(script.media(), None);
    script.update(&live(7));
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    script.give(MOOF);
    let refused: Vec<_> = script.record.refused.iter().collect();
    assert_eq!(refused, [("hinted part: status 404", 1)]);
    assert!(script.violations().is_empty(), "{:?}", script.violations());
}

#[test]
fn a_listed_part_that_is_refused_is_given_up_in_the_end() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    script.playlist();
    script.update(&live(8));
    for _ in 0..3 {
        assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
        assert_eq!(script.refuse_media(404), Ok(()));
        assert_eq!(script.media(), None);
        script.now = script.player.fetch_at;
    }
    assert_eq!(script.media().as_deref(), Some("show/p7.mp4"));
    script.give(b"<html> not found");
    assert_eq!(script.record.counts.skipped, 1);
    let violations = [Flaw::Refused, Flaw::BadStart].map(|flaw| flaw.to_string());
    assert_eq!(script.violations(), violations);
}

#[test]
fn a_server_that_is_about_to_be_back_is_asked_again() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    let path = script.playlist();
    for _ in 0..20 {
        assert_eq!(script.refuse_playlist(503), Ok(()));
        assert_eq!(script.playlist(), None);
        assert_eq!(script.player.due(), script.now + SECOND);
        script.now = script.player.due();
        assert_eq!(script.playlist(), path);
    }
    script.update(&live(7));
    assert_eq!(script.media().as_deref(), Some("show/p6.mp4"));
    // The playhead had 1.5 s in hand.
    script.give(MOOF);
    assert_eq!(script.record.stall.count(), 1);
    assert_eq!(script.record.stall.max(), 20 * SECOND - SECOND * 3 / 2);
}

#[test]
fn a_stream_that_is_gone_is_given_up() {
    let mut script = Script::new(LOW_LATENCY);
    script.playlist();
    assert_eq!(script.refuse_playlist(404), Err("status 404".to_owned()));
    let mut script = Script::at_the_end(LOW_LATENCY);
    for _ in 1..FAILURES_MAX {
        script.playlist();
        assert_eq!(script.refuse_playlist(404), Ok(()));
        script.now += SECOND;
    }
    script.playlist();
    let reason = Err("playlist: status 404".to_owned());
    assert_eq!(script.refuse_playlist(404), reason);
}

#[test]
fn a_refused_blocking_reload_is_followed_by_a_plain_one() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    script.playlist();
    assert_eq!(script.refuse_playlist(400), Ok(()));
    script.now += SECOND;
    assert_eq!(script.playlist().as_deref(), Some("show/live.m3u8"));
    assert_eq!(script.violations(), [Flaw::Rejected.to_string()]);
}

#[test]
fn an_answer_that_was_not_held_is_not_followed_by_a_flood() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    script.playlist();
    script.update(&live(6));
    assert_eq!(script.violations(), [Flaw::Unheld.to_string()]);
    assert_eq!(script.playlist(), None);
    assert_eq!(script.player.due(), script.now + SECOND / 2);
}

#[test]
fn a_player_of_segments_reloads_by_the_target_duration() {
    let mut script = Script::new(WHOLE);
    script.playlist();
    script.update(&live(6));
    assert_eq!(script.media().as_deref(), Some("show/init.mp4"));
    script.give(FTYP);
    for number in 8..=10 {
        assert_eq!(script.media(), Some(format!("show/s{number}.mp4")));
        assert_eq!(script.give(MOOF), Some(Fetched::Past));
    }
    assert_eq!(script.media(), None);
    assert_eq!(script.player.due(), script.now + 4 * SECOND);
    script.now += 4 * SECOND;
    assert_eq!(script.playlist().as_deref(), Some("show/live.m3u8"));
    script.update(&live(6));
    assert_eq!(script.player.due(), script.now + 2 * SECOND);
    let counts = &script.record.counts;
    assert_eq!((counts.parts, counts.segments), (0, 3));
    assert!(script.violations().is_empty(), "{:?}", script.violations());
}

#[test]
fn a_position_that_is_not_listed_is_left() {
    let mut script = Script::at_the_end(LOW_LATENCY);
    script.playlist();
    let later = HEAD.to_owned() + "#EXT-X-MEDIA-SEQUENCE:40\n#EXT-X-MAP:URI=\"init.mp4\"\n";
    script.update(&(later + &parts(300..306)));
    assert_eq!(script.media().as_deref(), Some("show/p303.mp4"));
    assert_eq!(script.record.counts.jumps, 1);
    script.give(MOOF);
    // A stream that was begun anew.
    script.playlist();
    script.update(&live(6));
    assert_eq!(script.media().as_deref(), Some("show/p3.mp4"));
    assert_eq!(script.record.counts.jumps, 2);
}

#[test]
fn a_paced_player_asks_when_a_part_is_due() {
    let mut script = Script::new(PACED);
    assert!(script.playlist().is_some());
    script.update(&live(6));
    // In step with the parts: soon again, until there is another one.
    for count in [6, 6, 7] {
        assert_eq!(script.player.due(), script.now + PACE_RETRY);
        script.now += PACE_RETRY;
        assert_eq!(script.playlist().as_deref(), Some("show/live.m3u8"));
        script.update(&live(count));
    }
    // As late as the part that has come, and as the two that come then.
    for (count, step) in [(9, SECOND / 2), (9, SECOND), (10, PACE_RETRY)] {
        assert_eq!(script.player.due(), script.now + step);
        script.now += step;
        assert_eq!(script.playlist().as_deref(), Some("show/live.m3u8"));
        script.update(&live(count));
    }
    assert_eq!(script.record.violations.total(), 0);
}
