//! The titles of streams, as sessions need them: what was on, and since when.
//!
//! Written by the thread that reads departures, read by the one that writes checkpoints too, so behind a lock that is held for
//! no longer than one stream's titles take.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use media::{StreamName, Title};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::stamp;

/// Titles kept of a stream: two days of songs. Each takes some hundred bytes.
const TITLES_MAX: usize = 1_024;

/// Streams whose titles are kept. Beyond, those that have had a title longest ago are forgotten.
const STREAMS_MAX: usize = 4_096;

/// A title, and since when.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) at: SystemTime,
    pub(super) title: Arc<Title>,
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Change", 2)?;
        object.serialize_field("at", &stamp::iso8601_millis(self.at))?;
        object.serialize_field("title", &self.title.text)?;
        object.end()
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Titles(Mutex<HashMap<StreamName, VecDeque<Change>>>);

impl Titles {
    /// A stream has another title.
    pub(super) fn note(&self, stream: StreamName, change: Change) {
        let mut all = self.lock();
        if all.len() >= STREAMS_MAX && !all.contains_key(&stream) {
            let newest = |titles: &VecDeque<Change>| titles.back().map(|change| change.at);
            let oldest = all.iter().min_by_key(|(_, titles)| newest(titles));
            let oldest = oldest.map(|(stream, _)| stream.clone());
            if let Some(oldest) = oldest {
                all.remove(&oldest);
            }
        }
        let titles = all.entry(stream).or_default();
        if titles.len() >= TITLES_MAX {
            titles.pop_front();
        }
        titles.push_back(change);
    }

    /// The titles of a stream from a moment on: the one that was on then, and those after it.
    pub(super) fn since(&self, stream: &StreamName, since: SystemTime) -> Vec<Change> {
        let all = self.lock();
        let titles = all.get(stream).into_iter().flat_map(|titles| {
            let before = titles.partition_point(|change| change.at <= since);
            titles.iter().skip(before.saturating_sub(1))
        });
        titles.cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamName, VecDeque<Change>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert_eq!(titles.lock().len(), STREAMS_MAX);
        assert!(!titles.lock().contains_key(&name(0)) && !titles.lock().contains_key(&name(1)));
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
