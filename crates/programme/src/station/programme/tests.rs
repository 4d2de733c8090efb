//! Programmes of tracks that are named after their list and number.

use media::Codec;

use super::*;
use crate::station::track::testing::track;

const MINUTE: Duration = Duration::from_secs(60);

fn tracks(list: &str, count: usize) -> Vec<Track> {
    let named = |number| Track {
        path: format!("/{list}{number}").into(),
        name: format!("{list}{number}"),
        ..track(Codec::Mp3)
    };
    (0..count).map(named).collect()
}

const NO_DISTANCES: Distances = Distances {
    repeat: Duration::ZERO,
    request: Duration::ZERO,
};

fn programme(lists: &[(Role, Rule, &str, usize)], repeat: Duration) -> Programme {
    let distances = Distances {
        repeat,
        request: 15 * MINUTE,
    };
    let roles = lists.iter();
    let roles = roles.map(|(role, rule, ..)| (*role, *rule, Hours::default()));
    let mut programme = Programme::new(roles, true, distances, 5);
    let all = lists.iter().map(|(.., name, count)| tracks(name, *count));
    programme.renew(all.collect());
    programme
}

/// Lists that are played in their order.
fn sequences(lists: &[(Role, &str, usize)]) -> Programme {
    let lists = lists.iter();
    let lists = lists.map(|(role, name, count)| (*role, Rule::Sequential, *name, *count));
    programme(&lists.collect::<Vec<_>>(), Duration::ZERO)
}

/// The next tracks, a minute each from `at` on; what is announced comes.
fn play(programme: &mut Programme, at: &mut Instant, count: usize) -> Vec<String> {
    let play = |_| {
        let now = *at;
        let moment = Moment { now, minute: 0 };
        let announced = programme.peek(moment);
        let announced = announced.map(|(track, by)| (track.clone(), by));
        let next = programme.advance(moment);
        assert_eq!(announced, next);
        *at += MINUTE;
        next.map_or_else(String::new, |(track, _)| track.name)
    };
    (0..count).map(play).collect()
}

const ROTATION: Role = Role::Rotation { weight: 1 };

#[test]
fn jingles_come_after_so_many_others_and_requests_do_not_drown_them() {
    let mut programme = sequences(&[(ROTATION, "s", 9), (Role::Every(2), "j", 2)]);
    let mut at = Instant::now();
    let played = play(&mut programme, &mut at, 4);
    assert_eq!(played, ["s0", "s1", "j0", "s2"]);
    for (name, before) in [("s7", 0), ("s5", 1), ("s6", 2)] {
        assert_eq!(programme.request(name, at), Ok(before));
    }
    let wanted: Vec<_> = programme.requests().map(|track| &track.name[..]).collect();
    assert_eq!(wanted, ["s7", "s5", "s6"]);
    let played = play(&mut programme, &mut at, 8);
    assert_eq!(played, ["s7", "j1", "s5", "s6", "j0", "s3", "s4", "j1"]);
}

#[test]
fn requests_are_of_songs_that_were_not_just_played() {
    let mut programme = sequences(&[(ROTATION, "s", 90), (Role::Every(9), "j", 1)]);
    let mut at = Instant::now();
    play(&mut programme, &mut at, 1);
    for name in ["j0", "x", ""] {
        assert_eq!(programme.request(name, at), Err(RequestRefused::Unknown));
    }
    let played = programme.request("s0", at);
    assert_eq!(played, Err(RequestRefused::Played(MINUTE)));
    assert_eq!(programme.request("s1", at), Ok(0));
    assert_eq!(programme.request("s1", at), Err(RequestRefused::Waiting));
    assert_eq!(programme.request("s0", at + 14 * MINUTE), Ok(1));
    for number in 2..REQUESTS_MAX {
        assert_eq!(programme.request(&format!("s{number}"), at), Ok(number));
    }
    assert_eq!(programme.request("s80", at), Err(RequestRefused::Full));
    // What is gone after a scan is not played.
    programme.renew(vec![tracks("s", 1), Vec::new()]);
    assert_eq!(programme.requests().count(), 1);
}

#[test]
fn lists_take_turns_by_weight() {
    let heavy = Role::Rotation { weight: 3 };
    let mut programme = sequences(&[(heavy, "a", 9), (ROTATION, "b", 9), (ROTATION, "c", 0)]);
    let played = play(&mut programme, &mut Instant::now(), 8);
    assert_eq!(played, ["a0", "a1", "b0", "a2", "a3", "a4", "b1", "a5"]);
}

#[test]
fn shuffled_tracks_stay_apart_over_all_lists() {
    let list = |count| (ROTATION, Rule::Shuffle, "s", count);
    let mut programme = programme(&[list(30), list(25)], 20 * MINUTE);
    let mut at = Instant::now();
    let played = play(&mut programme, &mut at, 400);
    for window in played.windows(20) {
        let mut names = window.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 20, "{window:?}");
    }
    // With fewer tracks than the distance asks for, the one that has waited longest comes.
    programme.renew(vec![tracks("s", 3), Vec::new()]);
    let played = play(&mut programme, &mut at, 12);
    assert!(played.iter().all(|name| !name.is_empty()));
}

#[test]
fn a_programme_that_is_not_looped_ends_with_its_songs() {
    let roles = [
        (ROTATION, Rule::Sequential, Hours::default()),
        (Role::Every(2), Rule::Sequential, Hours::default()),
    ];
    let mut programme = Programme::new(roles, false, NO_DISTANCES, 0);
    programme.renew(vec![tracks("s", 3), tracks("j", 1)]);
    let mut at = Instant::now();
    let played = play(&mut programme, &mut at, 5);
    assert_eq!(played, ["s0", "s1", "j0", "s2", ""]);
    // A request is played all the same, and a scan begins it again.
    assert_eq!(programme.request("s1", at), Ok(0));
    assert_eq!(play(&mut programme, &mut at, 1), ["s1"]);
    programme.renew(vec![tracks("s", 3), tracks("j", 1)]);
    assert_eq!(play(&mut programme, &mut at, 1), ["j0"]);
    assert_eq!(play(&mut programme, &mut at, 1), ["s0"]);
}

#[test]
fn lists_have_their_hours() {
    let morning = Hours(vec![60..90, 90..120]);
    let roles = [
        (ROTATION, Rule::Sequential, Hours::default()),
        (ROTATION, Rule::Sequential, morning.clone()),
        (Role::Every(1), Rule::Sequential, morning),
    ];
    let mut programme = Programme::new(roles, true, NO_DISTANCES, 0);
    programme.renew(vec![tracks("s", 9), tracks("m", 9), tracks("j", 1)]);
    let now = Instant::now();
    let next = |minute| {
        let next = programme.advance(Moment { now, minute });
        next.map_or_else(String::new, |(track, _)| track.name)
    };
    let played = [58, 59, 60, 61, 62, 119, 120, 121].map(next);
    assert_eq!(played, ["s0", "s1", "j0", "m0", "j0", "m1", "s2", "s3"]);
}
