//! A spool: the items of a stream for a recorder, which takes all of them about once a second.
//!
//! ```text
//!  publisher ─push─► │ item │ item │ item │ ─take─► recorder
//!                    └─ at most a share of the memory, once they span more than SPAN_KEPT ─┘
//! ```
//!
//! A spool shares the publisher's samples, so there is no copy of them, and the publisher never waits: the lock is held
//! for one push, or to hand over the whole queue. Unlike a [tap](super::tap) it wakes nobody and does not make arrivals
//! urgent, and it loses nothing that fits in the memory for logs: each recorder has an equal share of the memory that
//! logs leave, so a recorder whose disk hangs takes nothing from the others. The oldest samples are dropped first; the
//! loss is reported once, with the announcements among the lost items.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use base::Lock;
use log::SpoolShare;
use media::{Item, Span, Timestamp};

use super::missed::{Missed, weight};

/// Upper bound on waiting bytes, whatever the memory: half a minute of 16 Mb/s.
const BYTES_MAX: usize = 64 << 20;

/// Span that a recorder needs when it is on time: two turns of a second, and one for a thread that comes late. It is
/// kept whatever the share.
const SPAN_KEPT: Span = Span::from_millis(3_000);

/// Memory of an item beside its own bytes.
const ITEM_BYTES: usize = size_of::<Spooled>();

/// Content of a spool, in order.
#[derive(Clone, Debug)]
pub enum Spooled {
    /// The next item, on the stream's timeline, and its arrival time.
    Item(Item, Instant),
    /// A loss, because the reader was too slow: samples are missing here, from this time on.
    Lost(Timestamp),
}

/// State of the stream after everything that a spool has returned.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Follows {
    /// More items will come from the same publisher.
    #[default]
    More,
    /// No item before the next publisher, if there is one.
    Pause,
    /// No more items.
    End,
}

/// Reads a stream's items as its publisher wrote them, without derived ones; call [`take`](Self::take) about once a
/// second.
#[derive(Debug)]
pub struct Spool(Arc<Lock<Queue>>);

/// The stream's end of a spool.
#[derive(Debug)]
pub(super) struct SpoolWriter {
    shared: Arc<Lock<Queue>>,
    share: SpoolShare,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Spooled>,
    bytes: usize,
    missed: Option<Missed>,
    newest: Timestamp,
    follows: Follows,
}

/// Creates both ends of a spool that holds as much as `share` allows.
pub(super) fn spool(share: SpoolShare) -> (SpoolWriter, Spool) {
    let shared = Arc::<Lock<Queue>>::default();
    let spool = Spool(Arc::clone(&shared));
    (SpoolWriter { shared, share }, spool)
}

impl Spool {
    /// Appends all waiting items to `into`, and returns what follows.
    pub fn take(&mut self, into: &mut VecDeque<Spooled>) -> Follows {
        let mut queue = self.0.lock();
        queue.tell_missed();
        queue.bytes = 0;
        if into.is_empty() {
            mem::swap(into, &mut queue.waiting);
        } else {
            into.append(&mut queue.waiting);
        }
        queue.follows
    }
}

impl SpoolWriter {
    /// Whether it has a reader.
    pub(super) fn is_read(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Appends an item that has arrived now.
    pub(super) fn push(&self, item: &Item, now: Instant) {
        let mut queue = self.shared.lock();
        queue.follows = Follows::More;
        queue.push(item.clone(), now);
        queue.make_room(&self.share);
    }

    /// Records that the publisher has left.
    pub(super) fn pause(&self) {
        self.shared.lock().follows = Follows::Pause;
    }
}

impl Drop for SpoolWriter {
    fn drop(&mut self) {
        self.shared.lock().follows = Follows::End;
    }
}

impl Queue {
    fn push(&mut self, item: Item, now: Instant) {
        self.bytes += ITEM_BYTES + weight(&item);
        if let Item::Sample(sample) = &item {
            self.newest = self.newest.max(sample.dts);
        }
        self.waiting.push_back(Spooled::Item(item, now));
    }

    /// Drops the oldest items until the rest fits.
    fn make_room(&mut self, share: &SpoolShare) {
        while self.bytes > BYTES_MAX || self.span() > SPAN_KEPT && self.bytes > share.bytes() {
            let Some(oldest) = self.waiting.pop_front() else {
                break;
            };
            if let Spooled::Item(item, _) = oldest {
                self.bytes -= ITEM_BYTES + weight(&item);
                self.missed.get_or_insert_default().note(item);
            }
        }
    }

    /// Returns the span from the oldest sample to the newest.
    fn span(&self) -> Span {
        let oldest = self.waiting.iter().find_map(|spooled| match spooled {
            Spooled::Item(Item::Sample(sample), _) => Some(sample.dts),
            _ => None,
        });
        oldest.map_or(Span::ZERO, |oldest| self.newest - oldest)
    }

    /// Reports the loss, and repeats the announcements lost with it, before the remaining items.
    fn tell_missed(&mut self) {
        let Some(missed) = self.missed.take() else {
            return;
        };
        let arrived = self.waiting.iter().find_map(|spooled| match spooled {
            Spooled::Item(_, arrived) => Some(*arrived),
            Spooled::Lost(_) => None,
        });
        let lost_from = missed.from;
        // Without remaining items there is nothing to announce for.
        if let Some(arrived) = arrived {
            for item in missed.into_items_last_first() {
                self.waiting.push_front(Spooled::Item(item, arrived));
            }
        }
        if let Some(from) = lost_from {
            self.waiting.push_front(Spooled::Lost(from));
        }
    }
}

#[cfg(test)]
mod tests {
    use log::Budget;
    use media::{Sample, TrackId};

    use super::*;
    use crate::testing::title;

    fn sample(millis: i64, len: usize) -> Item {
        Item::Sample(Sample {
            duration: Span::from_millis(1),
            ..crate::testing::sample(TrackId::AUDIO, millis, vec![0; len])
        })
    }

    /// Returns the waiting items, and what follows.
    fn take(spool: &mut Spool) -> (Vec<String>, Follows) {
        let mut taken = VecDeque::new();
        let follows = spool.take(&mut taken);
        let words = taken.iter().map(|spooled| match spooled {
            Spooled::Lost(from) => format!("lost {}", from.millis()),
            Spooled::Item(Item::Epoch, _) => "epoch".to_owned(),
            Spooled::Item(Item::Title(title), _) => title.text.clone(),
            Spooled::Item(Item::Sample(sample), _) => sample.dts.millis().to_string(),
            Spooled::Item(other, _) => format!("{other:?}"),
        });
        (words.collect(), follows)
    }

    /// Creates shares of a memory of so many bytes, for so many recorders.
    fn shares(bytes: usize, count: usize) -> Vec<SpoolShare> {
        let budget = Arc::new(Budget::new(bytes));
        (0..count).map(|_| SpoolShare::new(&budget)).collect()
    }

    #[test]
    fn everything_is_given_in_order_and_then_what_follows() {
        let [share] = shares(1 << 20, 1).try_into().expect("one");
        let (writer, mut spool) = spool(share);
        let now = Instant::now();
        assert_eq!(take(&mut spool), (vec![], Follows::More));
        for item in [title("a"), sample(0, 9), Item::Epoch, sample(1, 9)] {
            writer.push(&item, now);
        }
        let words = ["a", "0", "epoch", "1"].map(str::to_owned).to_vec();
        assert_eq!(take(&mut spool), (words, Follows::More));
        writer.push(&sample(2, 9), now);
        writer.pause();
        assert_eq!(take(&mut spool), (vec!["2".to_owned()], Follows::Pause));
        assert_eq!(take(&mut spool), (vec![], Follows::Pause));
        writer.push(&Item::Epoch, now);
        assert!(writer.is_read());
        drop(writer);
        assert_eq!(take(&mut spool), (vec!["epoch".to_owned()], Follows::End));
    }

    #[test]
    fn what_was_taken_and_not_used_stays_before_what_comes() {
        let [share] = shares(1 << 20, 1).try_into().expect("one");
        let (writer, mut spool) = spool(share);
        let mut taken = VecDeque::new();
        for millis in 0..3 {
            writer.push(&sample(millis, 1), Instant::now());
            spool.take(&mut taken);
        }
        assert_eq!(taken.len(), 3);
    }

    #[test]
    fn a_reader_that_is_late_loses_the_oldest_beyond_its_share_alone() {
        let [share, other] = shares(2_000_000, 2).try_into().expect("two");
        let (late, mut spool_late) = spool(share);
        let (timely, mut spool_timely) = spool(other);
        let now = Instant::now();
        late.push(&title("old"), now);
        // A hundred milliseconds have 10 kB: ten seconds fit.
        for tenth in 0..150 {
            late.push(&sample(tenth * 100, 10_000 - ITEM_BYTES), now);
            timely.push(&sample(tenth * 100, 10_000 - ITEM_BYTES), now);
            if tenth % 10 == 0 {
                assert!(
                    take(&mut spool_timely)
                        .0
                        .iter()
                        .all(|word| !word.starts_with("lost"))
                );
            }
        }
        let (words, _) = take(&mut spool_late);
        assert_eq!(words[..3], ["lost 0", "old", "5000"]);
        assert_eq!(words.len(), 2 + 100);
        late.push(&sample(15_000, 1), now);
        assert_eq!(take(&mut spool_late).0, ["15000"], "it is told once");
    }

    #[test]
    fn a_reader_that_is_on_time_loses_nothing_however_little_memory_there_is() {
        let [share] = shares(1, 1).try_into().expect("one");
        let (writer, mut spool) = spool(share);
        for turn in 0..5 {
            for millis in (0..2_000).step_by(20) {
                writer.push(&sample(turn * 2_000 + millis, 50_000), Instant::now());
            }
            let (words, _) = take(&mut spool);
            assert_eq!(words.len(), 100);
        }
        writer.push(&sample(10_000, BYTES_MAX), Instant::now());
        assert_eq!(take(&mut spool).0, ["lost 10000"], "too large for any");
        assert_eq!(spool.0.lock().bytes, 0);
    }
}
