//! The world that a seed makes.

use std::time::Duration;

use fanout::{Class, Policy, Settings};
use media::Span;

use super::peer::{Nanos, SECOND};
use super::rng::Rng;
use super::wire::Style;

/// Size of a memory for logs that does not suffice.
const SHORT: usize = 8 << 20;

/// Seconds of media that a publisher may send at once.
const AT_ONCE_MAX: u64 = 20;

/// A world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) duration: Nanos,
    pub(crate) streams: Vec<StreamPlan>,
    /// Number of listeners at a time, storms aside.
    pub(crate) audience: u64,
    /// Time for which a listener stays, in seconds: from and to.
    pub(crate) session: (u64, u64),
    /// Kinds of listeners, each as often as it stands here.
    pub(crate) kinds: Vec<Pace>,
    /// Number of listeners in a hundred that have a conversation.
    pub(crate) talkers: u64,
    pub(crate) storms: bool,
    pub(crate) faults: bool,
    /// Whether sends cost nothing.
    pub(crate) is_free: bool,
    /// Pace of one more listener that connects after ten seconds.
    pub(crate) ghost: Option<Pace>,
    pub(crate) log_bytes_max: usize,
}

/// A stream of the world.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan {
    pub(crate) settings: Settings,
    pub(crate) class: Class,
    /// Time between two samples of a track.
    pub(crate) interval: Nanos,
    pub(crate) sample_bytes: usize,
    /// Number of samples from one join point to the next.
    pub(crate) key_every: u64,
    pub(crate) styles: Vec<(&'static str, Style)>,
    /// Whether its publisher does everything that publishers do; otherwise it just sends, sample by sample.
    pub(crate) is_restless: bool,
}

impl Plan {
    /// Whether logs may have to give up pages that their readers still need.
    pub(crate) fn is_short_of_memory(&self) -> bool {
        self.log_bytes_max <= SHORT
    }
}

impl StreamPlan {
    pub(crate) fn policy(&self) -> &Policy {
        match self.class {
            Class::Audio => &self.settings.audio,
            Class::Video => &self.settings.video,
        }
    }

    /// Bytes per second of its media.
    pub(crate) fn rate(&self) -> u64 {
        let samples = match self.class {
            Class::Audio => 1,
            Class::Video => 2,
        };
        samples * self.sample_bytes as u64 * SECOND / self.interval
    }
}

/// Reading speed of a listener.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pace {
    /// Takes all bytes at once.
    Fast,
    /// Several times as fast as the stream, from a usual buffer.
    Quick,
    /// About as fast as the stream, or slower.
    Slow,
    /// Takes nothing, now and then.
    Stalling,
    /// Takes nothing after a while.
    Dead,
}

const STYLES: [(&str, Style); 3] = [
    ("plain", Style::PLAIN),
    ("headed", Style::new(1, true)),
    ("pieces", Style::new(3, true)),
];

impl Plan {
    /// A small world with everything that may happen, three minutes long.
    pub(crate) fn small(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let streams = (0..rng.range(1, 4)).map(|_| stream(&mut rng)).collect();
        Self {
            seed,
            workers: rng.range(1, 3) as usize,
            duration: 180 * SECOND,
            streams,
            audience: rng.range(1, 80),
            session: (rng.range(1, 20), rng.range(30, 200)),
            kinds: vec![
                Pace::Fast,
                Pace::Fast,
                Pace::Quick,
                Pace::Slow,
                Pace::Stalling,
                Pace::Dead,
            ],
            talkers: 20,
            storms: rng.chance(50),
            faults: rng.chance(70),
            log_bytes_max: rng.pick(&[SHORT, 256 << 20, 256 << 20]),
            ..Self::default()
        }
    }

    /// An hour of a large radio station: ten thousand listeners, of whom one in fifty reads badly.
    pub(crate) fn hour(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let streams = (0..6).map(|index| radio(&mut rng, index)).collect();
        let mut kinds = vec![Pace::Fast; 90];
        kinds.extend([Pace::Quick; 8]);
        kinds.extend([Pace::Slow, Pace::Stalling]);
        Self {
            seed,
            workers: 2,
            duration: 3_600 * SECOND,
            streams,
            audience: 10_000,
            session: (60, 3_000),
            kinds,
            talkers: 1,
            storms: true,
            faults: true,
            log_bytes_max: 256 << 20,
            ..Self::default()
        }
    }

    /// Plans a world in which one more listener makes no difference of itself: sends cost nothing, windows are fixed,
    /// and listeners come or go only by the stream.
    pub(crate) fn still(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut plan = Self::small(rng.next());
        plan.workers = 1;
        plan.duration = 90 * SECOND;
        plan.audience = rng.range(20, 60);
        plan.session = (10_000, 20_000);
        plan.talkers = 0;
        plan.storms = false;
        plan.faults = false;
        plan.is_free = true;
        plan.log_bytes_max = 256 << 20;
        plan.streams.truncate(2);
        for stream in &mut plan.streams {
            stream.styles.truncate(1);
            let wait = Duration::from_millis(rng.range(20, 500));
            for policy in [&mut stream.settings.audio, &mut stream.settings.video] {
                policy.min_wait = wait;
                policy.max_wait = wait;
                policy.max_samples = 0;
                policy.subgroup = 500;
            }
        }
        plan
    }
}

fn millis(rng: &mut Rng, low: u64, high: u64) -> Duration {
    Duration::from_millis(rng.range(low, high))
}

fn seconds(rng: &mut Rng, low: u64, high: u64) -> Span {
    Span::from_millis(rng.range(low, high) as i64 * 1_000)
}

fn stream(rng: &mut Rng) -> StreamPlan {
    let class = rng.pick(&Class::ALL);
    let is_video = class == Class::Video;
    let wait = millis(rng, 20, 800);
    let is_fixed = rng.chance(50);
    let policy = Policy {
        subgroup: rng.pick(&[1, 3, 20, 500]),
        max_samples: if is_fixed { 0 } else { rng.pick(&[0, 4, 16]) },
        min_wait: if is_fixed { wait } else { Duration::ZERO },
        max_wait: wait,
        burst: if is_video {
            Span::ZERO
        } else {
            seconds(rng, 0, 6)
        },
        burst_bytes: 0,
        skip_after: seconds(rng, 2, 10),
        drop_after: seconds(rng, 8, 30),
    };
    let settings = Settings {
        audio: policy,
        video: policy,
        linger: millis(rng, 1_000, 15_000),
        takeover_back: Duration::ZERO,
        ..Settings::default()
    };
    let first = rng.range(0, 2) as usize;
    let interval = rng.range(15, if is_video { 50 } else { 120 }) * 1_000_000;
    let samples = (AT_ONCE_MAX * SECOND / interval) as usize;
    let at_once_max = if is_video { 6 << 20 } else { 3 << 19 };
    StreamPlan {
        settings,
        class,
        interval,
        // Chosen so that a visit can carry everything that may come between two: four sends of eight pages.
        sample_bytes: rng
            .pick(&[120, 500, 4_000, 20_000])
            .min(at_once_max / samples),
        key_every: match is_video {
            true => rng.pick(&[10, 60, 150, 600]),
            false => 1,
        },
        styles: STYLES[first..].to_vec(),
        is_restless: rng.chance(80),
    }
}

/// Plans an audio stream whose media time between two samples is that of an Ogg page or some frames.
fn radio(rng: &mut Rng, index: u64) -> StreamPlan {
    let settings = Settings {
        takeover_back: Duration::ZERO,
        ..Settings::default()
    };
    let first = index as usize % 3;
    StreamPlan {
        settings,
        class: Class::Audio,
        interval: rng.pick(&[100, 130, 200]) * 1_000_000,
        sample_bytes: 400,
        key_every: 1,
        styles: STYLES[first..=first].to_vec(),
        is_restless: index % 2 == 1,
    }
}
