use super::*;
use crate::webhooks::receiver::IN_FLIGHT_MAX;

const FAILED: Answer = Answer::Failed { retry_after: None };

pub(in crate::webhooks) fn delivery(receiver: u64, stream: &str, due: Millis) -> Delivery {
    Delivery {
        receiver,
        stream: stream.into(),
        id: "msg_1".into(),
        kind: "recording.closed".into(),
        body: Bytes::from_static(b"{}"),
        attempts: 0,
        due,
        reported: due,
        is_apart: false,
    }
}

/// Another stream each time.
fn streams(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("live/{number}"))
}

fn queue(receivers: u64) -> Queue {
    Queue::new(0..receivers)
}

fn kept(changes: Changes) -> Kept {
    let there = |(number, one): (u64, Option<Delivery>)| Some((number, one?));
    Kept {
        deliveries: changes.into_iter().filter_map(there).collect(),
        sequence: 0,
    }
}

/// A receiver that answers at once, and what it was asked, until so many seconds have passed.
struct World {
    queue: Queue,
    now: Millis,
    /// The numbers that were attempted, and when.
    asked: Vec<(Millis, u64)>,
    taken: Vec<u64>,
}

impl World {
    fn new(receivers: u64) -> Self {
        Self {
            queue: queue(receivers),
            now: 1_000_000,
            asked: Vec::new(),
            taken: Vec::new(),
        }
    }

    fn tell(&mut self, stream: &str) -> u64 {
        self.queue.push(delivery(0, stream, self.now));
        self.queue.next - 1
    }

    fn pass(&mut self, seconds: u64, answer: impl Fn(u64) -> Answer) {
        let until = self.now + 1_000 * seconds;
        while let Some(due) = self.queue.next_due().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            let (number, _) = self.queue.take_due(self.now).expect("due");
            self.asked.push((self.now, number));
            let answer = answer(number);
            if answer == Answer::Taken {
                self.taken.push(number);
            }
            self.queue.settle(number, answer, self.now, 0);
        }
        self.now = until;
    }
}

#[test]
fn messages_of_a_stream_arrive_in_order_and_at_once_after_an_outage() {
    for outage in [1, 20, 600, 20_000] {
        let mut world = World::new(1);
        let mut reported = Vec::new();
        for _ in 0..5 {
            reported.push(world.tell("live/a"));
            reported.push(world.tell("live/b"));
            world.pass(outage / 5, |_| FAILED);
        }
        let asked = world.asked.len();
        assert!(asked <= 40 + outage as usize / 15, "{asked}");
        let back = world.now;
        world.pass(66, |_| Answer::Taken);
        let mut all = world.taken.clone();
        for stream in [0, 1] {
            let of_stream = |number: &&u64| **number % 2 == reported[stream] % 2;
            let of_stream: Vec<u64> = world.taken.iter().filter(of_stream).copied().collect();
            assert!(of_stream.is_sorted(), "{outage}: {:?}", world.taken);
        }
        all.sort_unstable();
        assert_eq!(all, reported, "after {outage} s");
        let times = world.asked[asked..].iter().map(|(at, _)| at - back);
        let last = times.max().expect("asked");
        let first = world.asked[asked].0 - back;
        assert_eq!(last, first, "all at the moment in which it is back");
    }
}

#[test]
fn new_messages_wait_behind_older_ones_of_their_stream() {
    let mut queue = queue(1);
    queue.push(delivery(0, "live/a", 5));
    queue.push(delivery(0, "live/a", 5));
    queue.push(delivery(0, "live/b", 5));
    let taken = std::iter::from_fn(|| queue.take_due(9)).map(|(number, _)| number);
    let taken: Vec<u64> = taken.take(3).collect();
    assert_eq!(taken, [FIRST, FIRST + 2]);
    queue.settle(FIRST, Answer::Taken, 9, 0);
    assert_eq!(queue.take_due(9).map(|(number, _)| number), Some(FIRST + 1));
}

#[test]
fn a_message_that_is_refused_keeps_no_other_waiting() {
    // The only stream, and one of several; with a status of its own, and with any.
    for (others, answer, most) in [
        (0, FAILED, 40),
        (3, FAILED, 40),
        (0, Answer::Refused, 0),
        (3, Answer::Refused, 0),
    ] {
        let mut world = World::new(1);
        let refused = world.tell("live/a");
        let mut reported: Vec<u64> = (0..5).map(|_| world.tell("live/a")).collect();
        reported.extend(streams(others).map(|stream| world.tell(&stream)));
        let begun = world.now;
        let of = |number: u64| {
            move |one: u64| match one == number {
                true => answer,
                false => Answer::Taken,
            }
        };
        world.pass(120, of(refused));
        let mut taken = world.taken.clone();
        taken.sort_unstable();
        assert_eq!(taken, reported, "{others} {answer:?}");
        let asked = world.asked.iter().filter(|(_, number)| *number != refused);
        let last = asked.map(|(at, _)| at - begun).max();
        assert!(last <= Some(1_000 * most), "{last:?}");
        // It is tried for days, and given up.
        world.pass(90 * 3_600, of(refused));
        assert_eq!(world.queue.len(), 0);
        let tried = world.asked.iter().filter(|(_, number)| *number == refused);
        assert!((10..=14).contains(&tried.count()));
    }
}

#[test]
fn a_receiver_that_refuses_several_receives_the_others() {
    let mut world = World::new(1);
    let reported: Vec<u64> = (0..10).map(|_| world.tell("live/a")).collect();
    let is_refused = |number: u64| number - reported[0] < 3;
    world.pass(20 * 60, |number| match is_refused(number) {
        true => FAILED,
        false => Answer::Taken,
    });
    assert!(world.taken.is_sorted());
    assert_eq!(world.taken, reported[3..]);
}

#[test]
fn a_receiver_that_is_never_there_is_given_up_by_age() {
    let mut world = World::new(1);
    world.tell("live/a");
    world.pass(75 * 3_600, |_| FAILED);
    world.tell("live/a");
    assert_eq!(world.queue.len(), 2);
    world.pass(2 * 3_600, |_| FAILED);
    assert_eq!(world.queue.len(), 1, "the newer one waits");
    // A clock that was a year behind when the message was queued does not cost a message.
    let mut queue = queue(1);
    queue.push(delivery(0, "live/a", 5));
    let year = 365 * 24 * 3_600 * 1_000;
    let (number, _) = queue.take_due(year).expect("due");
    let settled = queue.settle(number, FAILED, year, 0);
    assert_eq!(settled, Settled::Again { at: year + 5_000 });
}

#[test]
fn a_receiver_has_few_at_a_time_and_may_pause() {
    let mut queue = queue(2);
    for stream in streams(10) {
        queue.push(delivery(0, &stream, 5));
    }
    queue.push(delivery(1, "live/a", 7));
    let taken: Vec<_> = std::iter::from_fn(|| queue.take_due(10)).collect();
    // The other one does not wait.
    assert_eq!(taken.len(), IN_FLIGHT_MAX + 1);
    for (number, _) in &taken[1..] {
        let settled = queue.settle(*number, Answer::Taken, 10, 0);
        assert_eq!(settled, Settled::Delivered);
    }
    let retry_after = Some(Duration::from_secs(60));
    let failed = Answer::Failed { retry_after };
    queue.settle(taken[0].0, failed, 10, 0);
    assert!(queue.take_due(60_009).is_none());
    assert!(queue.take_due(60_010).is_some());
}

#[test]
fn a_receiver_that_is_gone_has_no_messages() {
    let mut queue = queue(2);
    for (receiver, stream) in [0, 1, 0, 0].into_iter().zip(streams(4)) {
        queue.push(delivery(receiver, &stream, 0));
    }
    let (number, _) = queue.take_due(0).expect("due");
    let (other, _) = queue.take_due(0).expect("due");
    queue.take_changes();
    let settled = queue.settle(number, Answer::Gone, 0, 0);
    assert_eq!(settled, Settled::Gone { count: 3 });
    assert!(!queue.takes(0) && queue.takes(1));
    let last = FIRST + 3;
    assert_eq!(queue.settle(last, Answer::Taken, 0, 0), Settled::Unknown);
    assert_eq!(queue.settle(other, Answer::Taken, 0, 0), Settled::Delivered);
    let changes = queue.take_changes();
    assert_eq!(changes.len(), 4);
    assert!(changes.iter().all(|(_, now)| now.is_none()));
}

#[test]
fn the_oldest_make_room() {
    let mut queue = queue(1);
    for (due, stream) in (0..).zip(streams(QUEUE_MAX)) {
        assert_eq!(queue.push(delivery(0, &stream, due)), 0);
    }
    let (first, _) = queue.take_due(0).expect("due");
    let dropped = queue.push(delivery(0, "live/a", 77));
    assert_eq!((dropped, queue.len()), (1, QUEUE_MAX));
    assert_eq!(queue.settle(first, FAILED, 0, 0), Settled::Unknown);
    let taken: Vec<_> = std::iter::from_fn(|| queue.take_due(9)).collect();
    // What was dropped holds no place.
    assert_eq!(taken.len(), IN_FLIGHT_MAX);
}

#[test]
fn a_receiver_of_many_events_makes_room_for_the_others() {
    let mut queue = queue(2);
    queue.push(delivery(0, "live/a", 0));
    let long = Bytes::from(vec![b'x'; 16_000]);
    let count = BYTES_MAX / long.len();
    let mut dropped = 0;
    for _ in 0..count + 10 {
        let mut one = delivery(1, "live/a", 0);
        one.body = long.clone();
        dropped += queue.push(one);
    }
    assert!((10..=11).contains(&dropped), "{dropped}");
    assert!(queue.bytes <= BYTES_MAX);
    queue.push(delivery(0, "live/a", 0));
    let of_other = queue.all.values().filter(|one| one.receiver == 0);
    assert_eq!(of_other.count(), 2);
    while let Some((number, _)) = queue.take_due(0) {
        queue.settle(number, Answer::Taken, 0, 0);
    }
    assert_eq!((queue.bytes, queue.len()), (0, 0));
}

#[test]
fn what_is_restored_continues_where_it_was() {
    let mut before = queue(2);
    before.push(delivery(0, "live/a", 5));
    before.push(delivery(1, "live/a", 5));
    before.push(delivery(0, "live/a", 5));
    let changes = before.take_changes();
    assert!(before.take_changes().is_empty());
    assert_eq!(before.take_all(), changes);
    // The other receiver is not configured any more.
    let mut after = queue(1);
    assert_eq!(after.restore(kept(changes), 9), 1);
    assert_eq!(after.take_changes(), [(FIRST + 1, None)]);
    after.push(delivery(0, "live/a", 9));
    for number in [FIRST, FIRST + 2, FIRST + 3] {
        assert_eq!(after.take_due(9).map(|(number, _)| number), Some(number));
        after.settle(number, Answer::Taken, 9, 0);
    }
}

#[test]
fn what_is_restored_late_comes_before_what_was_reported_meanwhile() {
    let mut before = queue(1);
    for _ in 0..3 {
        before.push(delivery(0, "live/a", 5));
    }
    let changes = before.take_changes();
    let mut after = queue(1);
    after.push(delivery(0, "live/a", 9));
    assert_eq!(after.restore(kept(changes), 9), 0);
    assert_eq!(after.len(), 4, "none has taken the place of another");
    let order = std::iter::from_fn(|| {
        let (number, _) = after.take_due(9)?;
        after.settle(number, Answer::Taken, 9, 0);
        Some(number)
    });
    let order: Vec<u64> = order.collect();
    assert_eq!(order, [FIRST - 3, FIRST - 2, FIRST - 1, FIRST]);
}
