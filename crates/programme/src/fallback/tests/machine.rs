//! Decisions about when a stream is fed.

use std::time::{Duration, Instant};

use crate::fallback::fit::{Misfit, Shape};
use crate::fallback::machine::{Here, Machine, Other, Outcome, Sight, Step};

const AFTER: Duration = Duration::from_millis(500);
const KEEP: Duration = Duration::from_secs(15);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A machine, and the time.
struct World {
    machine: Machine,
    now: Instant,
}

impl World {
    fn new() -> Self {
        Self {
            machine: Machine::new(AFTER, KEEP, false),
            now: Instant::now(),
        }
    }

    fn look(&mut self, here: Here, is_wanted: bool, other: Other) -> Step {
        let sight = Sight {
            here,
            is_wanted,
            other,
        };
        self.machine.look(sight, self.now)
    }

    /// The publisher has left, somebody listens, and the fallback is there.
    fn look_ready(&mut self) -> Step {
        self.look(Here::Vacant, true, Other::Ready)
    }

    fn feed(&mut self, is_wanted: bool, is_live: bool) -> Option<Outcome> {
        self.machine.look_at_feed(is_wanted, is_live, self.now)
    }
}

#[test]
fn a_publisher_is_waited_for_before_the_fallback_is_heard() {
    let mut world = World::new();
    assert_eq!(world.look(Here::Published, true, Other::Away), Step::Rest);
    let due = world.now + AFTER;
    assert_eq!(world.look_ready(), Step::Watch(Some(due)));
    world.now = due - MILLISECOND;
    let step = world.look_ready();
    assert_eq!(step, Step::Watch(Some(due)), "counted from its leaving");
    world.now = due;
    assert_eq!(world.look_ready(), Step::Feed);
    assert_eq!(world.machine.silence(world.now), Some(AFTER));
}

#[test]
fn a_publisher_that_comes_back_in_time_is_all_that_is_heard() {
    let mut world = World::new();
    world.look_ready();
    world.now += AFTER - MILLISECOND;
    assert_eq!(world.look(Here::Published, true, Other::Away), Step::Rest);
    world.now += MILLISECOND;
    let due = world.now + AFTER;
    assert_eq!(world.look_ready(), Step::Watch(Some(due)));
}

#[test]
fn nobody_is_sent_nothing() {
    let mut world = World::new();
    assert_eq!(world.look(Here::Absent, false, Other::Ready), Step::Rest);
    let step = world.look(Here::Absent, true, Other::Ready);
    assert_eq!(step, Step::Feed, "there is no publisher to wait for");
    let mut world = World::new();
    world.look(Here::Vacant, false, Other::Ready);
    world.now += AFTER;
    let step = world.look(Here::Vacant, false, Other::Ready);
    assert_eq!(step, Step::Watch(None));
    let step = world.look(Here::Vacant, true, Other::Away);
    assert_eq!(step, Step::Watch(None));
    assert_eq!(world.look_ready(), Step::Feed);
}

#[test]
fn a_feed_ends_without_listeners_or_without_the_fallback() {
    let mut world = World::new();
    world.machine.begin();
    assert_eq!(world.feed(false, true), None);
    world.now += KEEP - MILLISECOND;
    assert_eq!(world.feed(false, true), None);
    assert_eq!(world.feed(true, true), None, "somebody has come");
    world.now += MILLISECOND;
    assert_eq!(world.feed(false, true), None, "counted anew");
    world.now += KEEP;
    assert_eq!(world.feed(false, true), Some(Outcome::Unwanted));

    world.machine.begin();
    assert_eq!(world.feed(true, false), None, "its publisher may come back");
    world.now += Duration::from_secs(1);
    assert_eq!(world.feed(true, true), None);
    assert_eq!(world.feed(true, false), None);
    world.now += Duration::from_secs(2);
    assert_eq!(world.feed(true, false), Some(Outcome::Ended));
    world.machine.end(Outcome::Ended, world.now);
    let step = world.look(Here::Vacant, true, Other::Away);
    assert_eq!(step, Step::Watch(None));
    // At once when it is there again.
    assert_eq!(world.look_ready(), Step::Feed);
}

#[test]
fn after_a_return_the_publisher_is_waited_for_again() {
    let mut world = World::new();
    world.machine.begin();
    world.machine.end(Outcome::Returned, world.now);
    let due = world.now + AFTER;
    assert_eq!(world.look_ready(), Step::Watch(Some(due)));
}

#[test]
fn a_misfit_is_reported_once_until_something_changes() {
    let misfit = |rate| -> Misfit {
        let own = Shape::audio(44_100);
        own.misfit(&Shape::audio(rate)).expect("another rate")
    };
    let mut world = World::new();
    world.look(Here::Vacant, true, Other::Away);
    world.now += AFTER;
    let unfit =
        |world: &mut World, rate| world.look(Here::Vacant, true, Other::Unfit(misfit(rate)));
    let refused = |rate| Step::Refuse(misfit(rate));
    assert_eq!(unfit(&mut world, 22_050), refused(22_050));
    assert_eq!(unfit(&mut world, 22_050), Step::Watch(None));
    assert_eq!(unfit(&mut world, 48_000), refused(48_000));
    world.look(Here::Published, true, Other::Away);
    world.look(Here::Vacant, true, Other::Away);
    world.now += AFTER;
    assert_eq!(unfit(&mut world, 48_000), refused(48_000));
    let words = misfit(22_050).to_string();
    let expected = "listeners have MP3: mp3 of 44100 Hz and 2 channels, and the fallback is MP3: mp3 \
                    of 22050 Hz and 2 channels";
    assert_eq!(words, expected);
}
