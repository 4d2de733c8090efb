//! Tests of an asker's memory: cached permissions and failures.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fanout::gate::{Action, Headers};

use super::{STREAM, began, request};
use crate::hook::asker::{Breaker, Cache, Change, ENTRIES_MAX, FAILURES, REST};
use crate::hook::*;

const LIFETIME: Duration = Duration::from_secs(10);

/// The value of every header.
struct Every(&'static str);

impl Headers for Every {
    fn header(&self, _: &str) -> Option<&str> {
        Some(self.0)
    }
}

fn permitted() -> Answer {
    Ok(Grant::to_all())
}

#[test]
fn only_the_same_question_finds_a_permission() {
    let settings = AuthHook {
        headers: vec!["referer".to_owned()],
        ..AuthHook::default()
    };
    let mut cache = Cache::new(LIFETIME);
    let now = Instant::now();
    let mut base = request(&STREAM);
    (base.user, base.token) = (Some("ann"), None);
    let on = began(&base, &settings);
    let asked = cache.digest(&on);
    cache.keep(asked, &permitted(), now);
    let finds = |on: &Occasion<'_>| cache.find(cache.digest(on), now).is_some();
    let mut again = base;
    again.peer = SocketAddr::from(([192, 0, 2, 7], 4712));
    let mut on_again = began(&again, &settings);
    on_again.number = 2;
    assert!(finds(&on_again));
    let mut publishes = on;
    publishes.action = Action::Publish;
    assert!(!finds(&publishes));
    let stream = StreamName::parse("live/other").expect("a name");
    let mut others = [base; 9];
    others[0].stream = &stream;
    others[1].peer = SocketAddr::from(([192, 0, 2, 8], 4711));
    others[2].agent = "mpv";
    others[3].protocol = "webrtc";
    (others[4].user, others[4].password) = (None, Some("ann"));
    others[5].user = Some("bob");
    others[6].token = Some("t");
    others[7].query = "ann";
    others[8].headers = Some(&Every("http://a/"));
    for other in others {
        assert!(!finds(&began(&other, &settings)), "{other:?}");
    }
}

#[test]
fn a_permission_is_kept_as_long_as_it_lasts_and_a_denial_not_at_all() {
    let settings = AuthHook::default();
    let mut cache = Cache::new(LIFETIME);
    let now = Instant::now();
    let digest = cache.digest(&began(&request(&STREAM), &settings));
    cache.keep(digest, &Err(HookDenied::because(None)), now);
    assert!(cache.find(digest, now).is_none());
    cache.keep(digest, &permitted(), now);
    let last = now + LIFETIME - Duration::from_millis(1);
    assert!(cache.find(digest, last).is_some());
    assert!(cache.find(digest, now + LIFETIME).is_none());
    let second = Duration::from_secs(1);
    cache.keep(digest, &Ok(Grant::lasting(Some(3 * second), now)), now);
    let found = cache.find(digest, now + second).expect("kept");
    let until = found.expect("a permission").terms.until;
    assert_eq!(until, Some(now + 3 * second), "it is not prolonged");
    assert!(cache.find(digest, now + 3 * second).is_none());
    let mut none = Cache::new(Duration::ZERO);
    none.keep(digest, &permitted(), now);
    assert!(none.find(digest, now).is_none());
}

#[test]
fn a_full_cache_forgets_what_has_ended() {
    let settings = AuthHook::default();
    let mut cache = Cache::new(LIFETIME);
    let now = Instant::now();
    let keep = |cache: &mut Cache, token: usize, now| {
        let token = token.to_string();
        let mut asked = request(&STREAM);
        asked.token = Some(&token);
        let digest = cache.digest(&began(&asked, &settings));
        cache.keep(digest, &permitted(), now);
        cache.find(digest, now).is_some()
    };
    assert!((0..ENTRIES_MAX).all(|token| keep(&mut cache, token, now)));
    assert!(!keep(&mut cache, ENTRIES_MAX, now));
    assert!(keep(&mut cache, ENTRIES_MAX, now + LIFETIME));
    assert_eq!(cache.kept.len(), 1);
}

#[test]
fn it_rests_after_failures_in_a_row_and_is_tried_by_one_question_at_a_time() {
    let mut breaker = Breaker::default();
    let start = Instant::now();
    for _ in 1..FAILURES {
        assert_eq!(breaker.note(false, start), Change::None);
    }
    assert_eq!(breaker.note(true, start), Change::None);
    for _ in 1..FAILURES {
        assert_eq!(breaker.note(false, start), Change::None);
        assert!(breaker.lets_through(start));
    }
    assert_eq!(breaker.note(false, start), Change::Opened);
    assert!(!breaker.lets_through(start));
    let later = start + REST;
    assert!(breaker.lets_through(later));
    assert!(!breaker.lets_through(later));
    assert_eq!(breaker.note(false, later), Change::None);
    assert!(breaker.lets_through(later + REST));
    assert_eq!(breaker.note(true, later + REST), Change::Closed);
    assert!(breaker.lets_through(later + REST) && breaker.lets_through(later + REST));
}
