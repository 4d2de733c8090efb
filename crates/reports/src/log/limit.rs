//! Rate limit of log lines: the events of one call site are logged while they are few, and summed up in a flood. Most events
//! are caused by peers, which can cause as many as they like; a flood must neither fill the disk nor hide other events.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use limits::Bucket;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// Limit of one call site. The burst is what encoders may cause that reconnect after an outage. The rate is more than an
/// operator reads who traces one client's trouble, and some 3 GB a month if the events never end.
const CALL_SITE: Rate = Rate::new(5, 50);

/// Limit of all call sites together: several of them flooded at a time.
const ALL: Rate = Rate::new(50, 500);

/// Limit of errors, which concern the server's own state and cannot be caused by peers.
const ERRORS: Rate = Rate::new(20, 200);

/// Limit of debug and trace lines, which are written only if the operator requests them.
const DETAILS: Rate = Rate::new(1_000, 5_000);

/// Time for which suppressed events of one call site are counted before their number is logged.
const SUM_INTERVAL: Duration = Duration::from_secs(10);

/// Longest example message in a sum, in bytes.
const EXAMPLE_BYTES_MAX: usize = 200;

/// Most call sites remembered; the program has some hundred, and libraries some more. Further ones have only the common limit.
const CALL_SITES_MAX: usize = 1_024;

/// Target of sums. These are not suppressed, because each replaces suppressed lines.
const SUMS: &str = "carillon_server::log";

#[derive(Clone, Copy)]
struct Rate {
    per_second: u32,
    at_once: u32,
}

impl Rate {
    const fn new(per_second: u32, at_once: u32) -> Self {
        Self {
            per_second,
            at_once,
        }
    }

    fn bucket(self, now: Instant) -> Bucket {
        Bucket::with_burst(self.per_second, self.at_once, now)
    }
}

/// Rate limiter of log lines. Clones share their counts.
#[derive(Clone, Debug)]
pub(super) struct Limiter(Arc<Lock<State>>);

#[derive(Debug)]
struct State {
    all: Bucket,
    errors: Bucket,
    details: Bucket,
    call_sites: HashMap<Identifier, CallSite>,
}

/// Call site of the log macros.
#[derive(Debug)]
struct CallSite {
    level: Level,
    lines: Bucket,
    unreported: Option<Unreported>,
}

/// Suppressed events of one call site.
#[derive(Debug)]
struct Unreported {
    since: Instant,
    count: u64,
    example: String,
}

/// Logged summary of suppressed events.
#[derive(Debug, Eq, PartialEq)]
struct Sum {
    level: Level,
    count: u64,
    example: String,
}

impl Limiter {
    pub(super) fn new(now: Instant) -> Self {
        Self(Arc::new(Lock::new(State {
            all: ALL.bucket(now),
            errors: ERRORS.bucket(now),
            details: DETAILS.bucket(now),
            call_sites: HashMap::new(),
        })))
    }

    /// Logs the sums of events that were suppressed some time ago.
    pub(super) fn sum_up(&self, now: Instant) {
        self.sums(|unreported| now.saturating_duration_since(unreported.since) >= SUM_INTERVAL)
            .iter()
            .for_each(Sum::tell);
    }

    /// Logs the sums of all suppressed events.
    pub(super) fn sum_up_all(&self) {
        self.sums(|_| true).iter().for_each(Sum::tell);
    }

    /// Returns whether an event becomes a line; otherwise the event is counted. `example` returns its message.
    fn may_tell(
        &self,
        metadata: &Metadata<'_>,
        example: impl FnOnce() -> String,
        now: Instant,
    ) -> bool {
        let mut state = self.0.lock();
        if state.may_tell(metadata, now) {
            return true;
        }
        if state.count(metadata) {
            return false;
        }
        // Formatting runs foreign code, which may log something itself.
        drop(state);
        let example = example();
        let mut state = self.0.lock();
        if let Some(site) = state.call_sites.get_mut(&metadata.callsite()) {
            let unreported = site.unreported.get_or_insert(Unreported {
                since: now,
                count: 0,
                example,
            });
            unreported.count += 1;
        }
        false
    }

    fn sums(&self, is_due: impl Fn(&Unreported) -> bool) -> Vec<Sum> {
        let mut state = self.0.lock();
        let call_sites = state.call_sites.values_mut();
        let sums = call_sites.filter_map(|site| {
            let Unreported { count, example, .. } =
                site.unreported.take_if(|unreported| is_due(unreported))?;
            Some(Sum {
                level: site.level,
                count,
                example,
            })
        });
        sums.collect()
    }
}

impl State {
    fn may_tell(&mut self, metadata: &Metadata<'_>, now: Instant) -> bool {
        let level = *metadata.level();
        if level > Level::INFO {
            return self.details.take(now);
        }
        let rate = if level == Level::ERROR {
            ERRORS
        } else {
            CALL_SITE
        };
        if self.call_sites.len() < CALL_SITES_MAX {
            let site = || CallSite {
                level,
                lines: rate.bucket(now),
                unreported: None,
            };
            self.call_sites
                .entry(metadata.callsite())
                .or_insert_with(site);
        }
        let site = self.call_sites.get_mut(&metadata.callsite());
        let all = if level == Level::ERROR {
            &mut self.errors
        } else {
            &mut self.all
        };
        site.is_none_or(|site| site.lines.take(now)) && all.take(now)
    }

    /// Counts an event of a call site that already suppresses some; returns false for any other.
    fn count(&mut self, metadata: &Metadata<'_>) -> bool {
        let unreported = self
            .call_sites
            .get_mut(&metadata.callsite())
            .and_then(|site| site.unreported.as_mut());
        match unreported {
            Some(unreported) => {
                unreported.count += 1;
                true
            }
            None => false,
        }
    }
}

impl Sum {
    fn tell(&self) {
        let (count, example) = (self.count, &self.example);
        match self.level {
            Level::ERROR => {
                tracing::error!(target: SUMS, count, "… and {count} more like this: {example}");
            }
            Level::WARN => {
                tracing::warn!(target: SUMS, count, "… and {count} more like this: {example}");
            }
            _ => tracing::info!(target: SUMS, count, "… and {count} more like this: {example}"),
        }
    }
}

impl<S: Subscriber> Layer<S> for Limiter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        metadata.target() == SUMS || self.may_tell(metadata, || example(event), Instant::now())
    }
}

/// Returns an event's message, cut to a length that identifies it.
fn example(event: &Event<'_>) -> String {
    let mut message = Message(String::new());
    event.record(&mut message);
    message.0
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let whole = format!("{value:?}");
            let end = whole.floor_char_boundary(EXAMPLE_BYTES_MAX);
            // Writing to a `String` does not fail.
            write!(self.0, "{}", &whole[..end]).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metadata of an event, of one at another call site, and of an error.
    fn events() -> [&'static Metadata<'static>; 3] {
        fn metadata(event: impl Fn()) -> &'static Metadata<'static> {
            use std::sync::OnceLock;

            struct Keep(Arc<OnceLock<&'static Metadata<'static>>>);
            impl<S: Subscriber> Layer<S> for Keep {
                fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                    self.0.get_or_init(|| event.metadata());
                }
            }
            let kept = Arc::new(OnceLock::new());
            use tracing_subscriber::layer::SubscriberExt;
            let subscriber = tracing_subscriber::registry().with(Keep(Arc::clone(&kept)));
            tracing::subscriber::with_default(subscriber, event);
            kept.get().expect("an event")
        }
        [
            metadata(|| tracing::info!("refused")),
            metadata(|| tracing::warn!("dropped")),
            metadata(|| tracing::error!("broken")),
        ]
    }

    #[test]
    fn a_flood_is_reported_in_few_lines_and_nothing_is_forgotten() {
        let start = Instant::now();
        let limiter = Limiter::new(start);
        let [refused, dropped, broken] = events();
        let (mut reported, mut summed, mut sums) = (0, 0, 0);
        for millisecond in 0..60_000 {
            let now = start + Duration::from_millis(millisecond);
            for _ in 0..2 {
                reported += u64::from(limiter.may_tell(refused, || "refused".to_owned(), now));
            }
            if millisecond % 250 == 0 {
                let due = |unreported: &Unreported| now - unreported.since >= SUM_INTERVAL;
                for sum in limiter.sums(due) {
                    assert_eq!((sum.level, &*sum.example), (Level::INFO, "refused"));
                    (summed, sums) = (summed + sum.count, sums + 1);
                }
            }
        }
        let rest: u64 = limiter.sums(|_| true).iter().map(|sum| sum.count).sum();
        assert_eq!(reported + summed + rest, 120_000);
        let bound = u64::from(CALL_SITE.at_once + 60 * CALL_SITE.per_second);
        assert!((bound - 1..=bound).contains(&reported), "{reported}");
        assert!((4..=6).contains(&sums), "{sums}");
        // Another call site has lines of its own, and so have errors.
        let end = start + Duration::from_secs(60);
        assert!(limiter.may_tell(dropped, String::new, end));
        assert!(limiter.may_tell(broken, String::new, end));
        assert_eq!(limiter.sums(|_| true), []);
    }
}
