//! Title history of streams, for sessions: the titles and the times at which they began.
//!
//! The thread that reads departures writes it, and the one that writes checkpoints also reads it. A lock protects it, held no
//! longer than one stream's titles take.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use base::date;
use base::{Bounded, Lock};
use media::{StreamName, Title};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Most titles kept of a stream: two days of songs. Each takes some hundred bytes.
const TITLES_MAX: usize = 1_024;

/// Most streams whose titles are kept. Beyond that, the streams whose last title is oldest are dropped.
const STREAMS_MAX: usize = 4_096;

/// Title with the time at which it began.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) at: SystemTime,
    pub(super) title: Arc<Title>,
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Change", 2)?;
        object.serialize_field("at", &date::rfc3339_millis(self.at))?;
        object.serialize_field("title", &self.title.text)?;
        object.end()
    }
}

/// Recent titles of all streams.
#[derive(Debug)]
pub(super) struct Titles(Lock<Bounded<StreamName, VecDeque<Change>>>);

impl Default for Titles {
    fn default() -> Self {
        Self(Lock::new(Bounded::new(STREAMS_MAX)))
    }
}

impl Titles {
    /// Records a stream's new title.
    pub(super) fn note(&self, stream: StreamName, change: Change) {
        let mut all = self.0.lock();
        let titles = all.renew_or_insert(stream);
        if titles.len() >= TITLES_MAX {
            titles.pop_front();
        }
        titles.push_back(change);
    }

    /// Returns the titles of a stream from a moment on: the one that was current then, and those after it.
    pub(super) fn since(&self, stream: &StreamName, since: SystemTime) -> Vec<Change> {
        let all = self.0.lock();
        let titles = all.get(stream).into_iter().flat_map(|titles| {
            let before = titles.partition_point(|change| change.at <= since);
            titles.iter().skip(before.saturating_sub(1))
        });
        titles.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn name(number: usize) -> StreamName {
        StreamName::parse(&format!("radio-{number}")).expect("a name")
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn change(seconds: u64) -> Change {
        Change {
            at: at(seconds),
            title: Arc::default(),
        }
    }

    #[test]
    fn titles_and_streams_are_bounded() {
        let titles = Titles::default();
        for number in 0..STREAMS_MAX + 2 {
            titles.note(name(number), change(number as u64));
        }
        assert_eq!(titles.0.lock().len(), STREAMS_MAX);
        for number in 0..2 {
            assert!(titles.0.lock().get(&name(number)).is_none(), "{number}");
        }
        for number in 0..TITLES_MAX + 5 {
            titles.note(name(9), change(10_000 + number as u64));
        }
        let kept = titles.since(&name(9), at(0));
        assert_eq!(kept.len(), TITLES_MAX);
        assert_eq!(kept.last().map(|it| it.at), Some(at(10_000 + 1_028)));
    }

    #[test]
    fn the_title_that_was_on_is_the_first() {
        let titles = Titles::default();
        for seconds in [10, 20, 30] {
            titles.note(name(0), change(seconds));
        }
        let since = |seconds| {
            let changes = titles.since(&name(0), at(seconds));
            changes.iter().map(|it| it.at).collect::<Vec<_>>()
        };
        assert_eq!(since(5), [at(10), at(20), at(30)]);
        assert_eq!(since(20), [at(20), at(30)]);
        assert_eq!(since(25), [at(20), at(30)]);
        assert_eq!(since(99), [at(30)]);
        assert!(titles.since(&name(1), at(99)).is_empty());
    }
}
