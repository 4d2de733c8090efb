//! Pause of a worker between two reads of its socket, so that datagrams are taken in batches.
//!
//! Publishers send at their own times: two hundred of them wake a worker thousands of times a second, for a few datagrams each
//! time, and half of that cost is waking up. A worker that spends more than its target share on datagrams therefore reads them
//! less often, and takes more at a time. Unspent time is saved up to [`SAVED_MAX`]: packets of a few publishers are received at
//! once, and so is a keyframe.

use std::time::{Duration, Instant};

/// Longest pause. It is a tenth of the time between video frames, players wait longer than that for late packets, and a longer
/// pause would gain nothing: a worker then wakes up 500 times a second.
const REST_MAX: Duration = Duration::from_millis(2);

/// Past time that may be used up at once, at the target share: 400 µs of work at 2 %, or thirty datagrams.
const SAVED_MAX: Duration = Duration::from_millis(20);

/// Pause calculator; call [`worked`](Self::worked) after each batch, and [`get`](Self::get) before the next.
#[derive(Debug)]
pub(super) struct Rest {
    /// Share of each second that work with datagrams should take.
    target_utilisation: f64,
    /// Time up to which the work so far, at its target share, is accounted for.
    paid_until: Instant,
}

impl Rest {
    pub(super) fn new(target_utilisation: f64, now: Instant) -> Self {
        Self {
            target_utilisation,
            paid_until: now,
        }
    }

    /// Records that datagrams occupied the worker from `began` until `now`.
    pub(super) fn worked(&mut self, began: Instant, now: Instant) {
        let work = now.saturating_duration_since(began).as_secs_f64();
        let share = work / self.target_utilisation.max(f64::EPSILON);
        let share = Duration::try_from_secs_f64(share).ok();
        let paid = share.and_then(|share| self.paid_until.max(began).checked_add(share));
        // However long the work took, datagrams wait for it no longer than once.
        let most = now + SAVED_MAX + REST_MAX;
        self.paid_until = paid.map_or(most, |paid| paid.min(most));
    }

    /// Returns the pause before the next read, at most [`REST_MAX`].
    pub(super) fn get(&self, now: Instant) -> Duration {
        let owed = self.paid_until.saturating_duration_since(now);
        owed.saturating_sub(SAVED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: f64 = 0.02;

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Looks once per `every` for `work`, for a second; returns the rests.
    fn rests(every: Duration, work: Duration) -> Vec<Duration> {
        let began = Instant::now();
        let (mut rest, mut now) = (Rest::new(TARGET, began), began);
        let mut rests = Vec::new();
        while now - began < Duration::from_secs(1) {
            rest.worked(now, now + work);
            now += work;
            rests.push(rest.get(now));
            now += every.max(rest.get(now));
        }
        rests
    }

    #[test]
    fn a_few_publishers_are_heard_at_once() {
        let rests = rests(micros(5_000), micros(60));
        assert!(rests.iter().all(Duration::is_zero), "{rests:?}");
    }

    #[test]
    fn so_is_a_keyframe() {
        let began = Instant::now();
        let mut rest = Rest::new(TARGET, began);
        rest.worked(began, began + micros(390));
        assert_eq!(rest.get(began + micros(390)), Duration::ZERO);
    }

    #[test]
    fn many_are_heard_by_the_batch() {
        let rests = rests(micros(100), micros(60));
        let (first, last) = (rests[0], rests[rests.len() - 1]);
        assert_eq!((first, last), (Duration::ZERO, REST_MAX));
        assert!((300..600).contains(&rests.len()), "{}", rests.len());
    }

    #[test]
    fn nobody_waits_longer_than_once_for_long_work() {
        let began = Instant::now();
        let mut rest = Rest::new(TARGET, began);
        let after = began + Duration::from_secs(30);
        rest.worked(began, after);
        assert_eq!(rest.get(after), REST_MAX);
        assert_eq!(rest.get(after + REST_MAX), Duration::ZERO);
        let mut none = Rest::new(0.0, began);
        none.worked(began, after);
        assert_eq!(none.get(after), REST_MAX);
    }
}
