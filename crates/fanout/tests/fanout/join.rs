//! Joining: conditions that a joiner waits for, time limits, and wake-ups.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant as StdInstant};

use crate::support::{FORMAT, Frames, TestFanout, introduction, name};
use fanout::events::EndReason;
use fanout::gate::{Decision, Denied, Gate, Gatekeeper, Play, Publish, Request, UpdateMetadata};
use fanout::{
    Choice, Expected, Info, Introduction, JoinRefused, Joined, LaneRefused, ListenerRecord,
    Located, Origin, Permit, Phase, PictureOrder, Presence, Publisher, Settings, Waits, Wish,
    testing,
};
use media::{Container, Item, Sample, Span, StreamName, TrackId};
use tokio::time::{Instant, sleep, timeout};

/// Permits everything but `secret`.
struct AllButSecret<'a>(&'a Gatekeeper);

impl Gate for AllButSecret<'_> {
    fn publish<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(async { Err(Denied::Wrong) })
    }

    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play> {
        Box::pin(async {
            match request.stream.as_str() {
                "secret" => Err(Denied::Missing),
                _ => Ok(self.0.authorize(Play {
                    stream: request.stream.clone(),
                })),
            }
        })
    }

    fn update_metadata<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        Box::pin(async { Err(Denied::Wrong) })
    }
}

fn publish(setup: &TestFanout, stream: &str, container: Container) -> Publisher {
    setup.publish_as(stream, 1, container).unwrap()
}

async fn join<T>(
    setup: &TestFanout,
    stream: &str,
    waits: Waits,
    choose: impl FnMut(&Info) -> Choice<T>,
) -> Result<Joined<T>, JoinRefused> {
    let gate = AllButSecret(&setup.gatekeeper);
    let name = name(stream);
    let wish = Wish {
        request: Request::new(&name, "test", introduction().peer),
        introduction: Introduction {
            request: format!("GET /{stream} HTTP/1.1"),
            agent: "tester".to_owned(),
            ..introduction()
        },
    };
    fanout::join(&setup.registry, &gate, wish, waits, choose).await
}

/// Returns why a stream cannot be joined, after a wait of `took`.
async fn refusal(
    setup: &TestFanout,
    stream: &str,
    waits: Waits,
    took: Duration,
) -> Option<JoinRefused> {
    let asked = Instant::now();
    let joined = join(setup, stream, waits, take).await;
    assert_took(asked, took);
    joined.err()
}

/// Joins a stream that is published after half of `most`, and no later.
async fn joined_when_published(
    setup: &TestFanout,
    stream: &str,
    waits: Waits,
    most: Duration,
) -> (Joined<()>, Publisher) {
    let asked = Instant::now();
    let publishing = async {
        sleep(most / 2).await;
        publish(setup, stream, Container::Tracks)
    };
    let (joined, publisher) = tokio::join!(join(setup, stream, waits, take), publishing);
    assert_took(asked, most / 2);
    (joined.unwrap(), publisher)
}

/// Chooses anything.
fn take(_: &Info) -> Choice<()> {
    Choice::Take(())
}

fn track(id: TrackId) -> Item {
    Item::Track(Arc::new(testing::track(id)))
}

fn picture() -> Item {
    Item::Sample(Sample {
        duration: Span::from_millis(40),
        ..testing::sample(TrackId::VIDEO, 0, "picture")
    })
}

fn write(publisher: &mut Publisher, item: Item) {
    publisher.write(&mut vec![item], StdInstant::now()).unwrap();
}

/// Time that a timer may be late by.
const TIMER: Duration = Duration::from_millis(5);

#[track_caller]
fn assert_took(since: Instant, expected: Duration) {
    let took = since.elapsed();
    let late = if expected.is_zero() { expected } else { TIMER };
    assert!(took >= expected && took <= expected + late, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_here_is_joined_at_once_and_its_lanes_can_be_opened_again() {
    let setup = TestFanout::new(Settings::default());
    let _publisher = setup.publish("radio", 1).unwrap();
    let asked = Instant::now();
    let joined = join(&setup, "radio", Waits::default(), take).await.unwrap();
    assert_eq!(asked.elapsed(), Duration::ZERO);
    assert_eq!(joined.info.listeners, 0);
    let mut subscription = joined.subscription;
    assert_eq!(subscription.stream().name(), &name("radio"));
    let place = Arc::new(());
    subscription.set_permit(Permit::new(Arc::clone(&place)));
    let records = [(); 2].map(|()| {
        let lane = subscription.lane(FORMAT, || Box::new(Frames), StdInstant::now());
        subscription.record(&lane.unwrap())
    });
    let [first, second] = &records;
    assert_ne!(first.id, second.id);
    assert!(second.requested >= first.requested);
    for record in [first, second] {
        assert_eq!(record.stream, name("radio"));
        assert_eq!(record.format, FORMAT);
        assert_eq!(record.request, "GET /radio HTTP/1.1");
        assert_eq!(record.agent, "tester");
    }
    let ranges = subscription.ranges(FORMAT, || Box::new(Frames), StdInstant::now());
    assert_eq!(ranges.unwrap().format(), FORMAT);
    assert_eq!(subscription.stream().info().listeners, 0);
    drop(subscription);
    drop(records);
    assert_eq!(Arc::strong_count(&place), 1, "it is given back in the end");
}

#[test]
fn what_a_listener_says_of_itself_is_cut() {
    let cut = |text: &str| ListenerRecord::cut(text).len();
    let long = "ü".repeat(1_000);
    assert_eq!(cut(&long), ListenerRecord::TEXT_BYTES_MAX);
    assert_eq!(ListenerRecord::cut("short"), "short");
    let odd = format!("x{long}");
    assert_eq!(cut(&odd), ListenerRecord::TEXT_BYTES_MAX - 1);
}

/// A change of a stream: its name, the action, and the test for its effect.
type Event = (
    &'static str,
    fn(&TestFanout, &mut Option<Publisher>),
    fn(&Info) -> bool,
);

const EVENTS: [Event; 6] = [
    (
        "a container is known",
        |_, publisher| {
            let publisher = publisher.as_mut().unwrap();
            let known = publisher.identify(Container::Tracks, "video/x-flv");
            known.unwrap();
        },
        |info| info.source.container == Container::Tracks,
    ),
    (
        "a track is announced",
        |_, publisher| write(publisher.as_mut().unwrap(), track(TrackId::AUDIO)),
        |info| info.tracks.len() == 1,
    ),
    (
        "another one is",
        |_, publisher| write(publisher.as_mut().unwrap(), track(TrackId::VIDEO)),
        |info| info.tracks.len() == 2,
    ),
    (
        "media begins",
        |_, publisher| write(publisher.as_mut().unwrap(), picture()),
        |info| info.has_media && info.picture_order == PictureOrder::Presented,
    ),
    (
        "the publisher leaves",
        |_, publisher| drop(publisher.take()),
        |info| info.phase == Phase::Lingering,
    ),
    (
        "another one comes",
        |setup, publisher| *publisher = Some(publish(setup, "show", Container::Tracks)),
        |info| info.phase == Phase::Live && info.epoch == 2,
    ),
];

#[tokio::test(start_paused = true)]
async fn joiners_are_woken_by_what_happens_and_look_at_nothing_else() {
    let setup = TestFanout::new(Settings::default());
    let mut publisher = Some(publish(&setup, "show", Container::Unknown));
    for (what, happen, shows) in EVENTS {
        let looks = Cell::new(0);
        let asked = Instant::now();
        let joining = join(&setup, "show", Waits::default(), |info| {
            looks.set(looks.get() + 1);
            match shows(info) {
                true => Choice::Take(()),
                false => Choice::Unclear,
            }
        });
        let happening = async {
            // Not a time of the paused clock: a waiter that uses a timer does not wake for it.
            while looks.get() == 0 {
                tokio::task::yield_now().await;
            }
            happen(&setup, &mut publisher);
        };
        let (joined, ()) = tokio::join!(joining, happening);
        joined.unwrap_or_else(|refused| panic!("{what}: {refused}"));
        assert_eq!(asked.elapsed(), Duration::ZERO, "{what}");
        assert_eq!(looks.get(), 2, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_announced_is_waited_for_without_looking() {
    let setup = TestFanout::new(Settings::default());
    let _publisher = publish(&setup, "show", Container::Tracks);
    let (asked, looks) = (Instant::now(), Cell::new(0));
    let joining = join(&setup, "show", Waits::default(), |_| -> Choice<()> {
        looks.set(looks.get() + 1);
        Choice::Unclear
    });
    let Err(JoinRefused::Unclear(info)) = joining.await else {
        panic!("there are no tracks");
    };
    assert_eq!(info.name, name("show"));
    assert_took(asked, Waits::TRACKS);
    assert_eq!(looks.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_best_is_taken_in_its_time_unless_better_comes() {
    let setup = TestFanout::new(Settings::default());
    let mut publisher = publish(&setup, "show", Container::Tracks);
    let second = Duration::from_secs(1);
    let choose = |info: &Info| match info.tracks.len() {
        0 => Choice::Settle("nothing", second),
        _ => Choice::Take("a track"),
    };
    let asked = Instant::now();
    let joined = join(&setup, "show", Waits::default(), choose).await;
    assert_eq!(joined.unwrap().choice, "nothing");
    assert_took(asked, second);

    // Never later than the limit for tracks.
    let asked = Instant::now();
    let hesitant = |_: &Info| Choice::Settle("late", Duration::from_secs(60));
    let joined = join(&setup, "show", Waits::default(), hesitant).await;
    assert_eq!(joined.unwrap().choice, "late");
    assert_took(asked, Waits::TRACKS);

    let asked = Instant::now();
    let writing = async {
        sleep(second / 2).await;
        write(&mut publisher, track(TrackId::AUDIO));
    };
    let (joined, ()) = tokio::join!(join(&setup, "show", Waits::default(), choose), writing);
    assert_eq!(joined.unwrap().choice, "a track");
    assert_took(asked, second / 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_or_does_not_fit_is_waited_for_no_longer() {
    let setup = TestFanout::new(Settings::default());
    let _publisher = publish(&setup, "show", Container::Tracks);
    let asked = Instant::now();
    let joined = join(&setup, "show", Waits::default(), |_| -> Choice<()> {
        Choice::Impossible
    });
    assert!(matches!(joined.await, Err(JoinRefused::Impossible(_))));
    let ending = async { setup.stream("show").end(EndReason::Operator) };
    let unclear = |_: &Info| -> Choice<()> { Choice::Unclear };
    let joining = join(&setup, "show", Waits::default(), unclear);
    let (joined, ()) = tokio::join!(joining, ending);
    assert!(matches!(joined, Err(JoinRefused::Lane(LaneRefused::Ended))));
    // A stream that has ended and is still in the books does not count as present.
    let joined = join(&setup, "show", Waits::default(), take).await;
    assert!(matches!(joined, Err(JoinRefused::NotFound)));
    assert_eq!(asked.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_stream_is_waited_for_only_if_asked_for() {
    let setup = TestFanout::new(Settings::default());
    let patient = Waits {
        absent: Duration::from_secs(20),
        ..Waits::default()
    };
    let impatient = (Waits::default(), Duration::ZERO);
    for (waits, took) in [impatient, (patient, patient.absent)] {
        let refused = refusal(&setup, "show", waits, took).await;
        assert!(matches!(refused, Some(JoinRefused::NotFound)), "{took:?}");
    }
    joined_when_published(&setup, "show", patient, patient.absent).await;
}

/// Always gives one answer, and counts the questions.
struct Far(Located, AtomicUsize);

impl Far {
    fn of(setup: &TestFanout, answer: Located) -> Arc<Self> {
        let far = Arc::new(Self(answer, AtomicUsize::new(0)));
        setup.registry.set_origin(Arc::clone(&far) as _);
        far
    }

    fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl Origin for Far {
    fn expects(&self, _: &StreamName) -> Expected {
        Expected::Perhaps
    }

    fn locate(&self, _: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_origin_brings_is_waited_for_for_a_while() {
    let setup = TestFanout::new(Settings::default());
    let far = Far::of(&setup, Located::Coming);
    let (waits, most) = (Waits::default(), Waits::COMING);
    let refused = refusal(&setup, "far/show", waits, most).await;
    assert!(matches!(refused, Some(JoinRefused::Late)));
    let _joined = joined_when_published(&setup, "far/show", waits, most).await;
    assert_eq!(far.asked(), 2);
    let joined = join(&setup, "far/show", Waits::default(), take).await;
    assert!(joined.is_ok());
    assert_eq!(far.asked(), 2, "it is here");
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_cannot_say_is_not_taken_for_one_that_has_none() {
    let setup = TestFanout::new(Settings::default());
    Far::of(&setup, Located::Unavailable);
    let refused = refusal(&setup, "far/show", Waits::default(), Duration::ZERO).await;
    assert!(matches!(refused, Some(JoinRefused::Unavailable)));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_for_an_unknown_name_ask_once() {
    let setup = TestFanout::new(Settings::default());
    let far = Far::of(&setup, Located::Unknown);
    for _ in 0..1_000 {
        let refused = refusal(&setup, "far/none", Waits::default(), Duration::ZERO).await;
        assert!(matches!(refused, Some(JoinRefused::NotFound)));
    }
    assert_eq!(far.asked(), 1);
    // An unknown name may nevertheless be published here.
    let _publisher = publish(&setup, "far/none", Container::Tracks);
    let joined = join(&setup, "far/none", Waits::default(), take).await;
    assert!(joined.is_ok());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_a_listener_that_may_not() {
    let setup = TestFanout::new(Settings::default());
    let far = Far::of(&setup, Located::Coming);
    let joined = join(&setup, "secret", Waits::default(), take).await;
    assert!(matches!(joined, Err(JoinRefused::Denied(Denied::Missing))));
    assert_eq!(far.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_must_be_live_is_not_joined_while_it_lingers() {
    let setup = TestFanout::new(Settings::default());
    drop(publish(&setup, "show", Container::Tracks));
    let live = Waits {
        presence: Presence::Live,
        ..Waits::default()
    };
    assert!(join(&setup, "show", Waits::default(), take).await.is_ok());
    let refused = refusal(&setup, "show", live, Duration::ZERO).await;
    assert!(matches!(refused, Some(JoinRefused::NotFound)));

    let setup = TestFanout::new(Settings::default());
    let far = Far::of(&setup, Located::Coming);
    drop(publish(&setup, "show", Container::Tracks));
    let (joined, _publisher) = joined_when_published(&setup, "show", live, Waits::COMING).await;
    assert_eq!(joined.info.epoch, 2);
    assert_eq!(far.asked(), 1, "its origin is told that a listener waits");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_join_leaves_no_listener_counted() {
    let setup = TestFanout::new(Settings::default());
    let _publisher = publish(&setup, "show", Container::Tracks);
    let unclear = |_: &Info| -> Choice<()> { Choice::Unclear };
    let joining = join(&setup, "show", Waits::default(), unclear);
    assert!(timeout(Waits::TRACKS / 2, joining).await.is_err());
    let info = setup.stream("show").info();
    assert_eq!((info.listeners, info.listeners_peak), (0, 0));
    assert_eq!(setup.registry.fanout().listeners(), 0);
}
