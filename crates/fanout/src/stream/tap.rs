//! A tap: the items of a stream, for code that needs the samples themselves.
//!
//! Writers of a stream append to the queue of each of its taps and never wait: the lock is held for one push or one
//! look. A reader that lags loses the oldest samples and receives their number; announcements among them (tracks,
//! headers, a title) are repeated, as they stood at the point where reading continues.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use base::Lock;
use media::{Item, Kind};

use super::missed::{Missed, weight};

/// Upper bound on waiting items: twenty seconds of audio, or ten of audio and video.
const ITEMS_MAX: usize = 1_024;

/// Upper bound on waiting bytes: a second or two of the heaviest streams. They are shared with the stream's own memory
/// of the recent past.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Content of a tap, in order.
#[derive(Clone, Debug)]
pub enum Tapped {
    /// The next item, on the stream's timeline.
    Item(Item),
    /// A loss, because the reader was too slow: this many samples are missing here.
    Lost(u64),
}

/// Reads a stream's items as its publisher wrote them, without derived ones; call [`next`](Self::next) until it returns
/// `None`.
#[derive(Debug)]
pub struct Tap(Arc<Lock<Queue>>);

/// The stream's end of a tap.
#[derive(Debug)]
pub(super) struct TapWriter {
    shared: Arc<Lock<Queue>>,
    /// Kind of the samples to pass on; `None` for every kind.
    kind: Option<Kind>,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    lost: Option<Missed>,
    /// Whether nothing follows.
    ended: bool,
    waker: Option<Waker>,
}

/// Creates both ends of a tap for samples of `kind`, or of every kind.
pub(super) fn tap(kind: Option<Kind>) -> (TapWriter, Tap) {
    let shared = Arc::<Lock<Queue>>::default();
    let writer = TapWriter {
        shared: Arc::clone(&shared),
        kind,
    };
    (writer, Tap(shared))
}

impl Tap {
    /// Waits for and returns the next item; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<Tapped> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Waits for items, and appends all that are available; returns `false` when the stream has ended.
    pub async fn take_all(&mut self, into: &mut Vec<Tapped>) -> bool {
        let before = into.len();
        std::future::poll_fn(|cx| {
            loop {
                match self.poll_next(cx) {
                    Poll::Ready(Some(next)) => into.push(next),
                    Poll::Ready(None) => return Poll::Ready(false),
                    Poll::Pending if into.len() == before => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(true),
                }
            }
        })
        .await
    }

    /// Polls for [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Tapped>> {
        let mut queue = self.0.lock();
        match queue.take() {
            Some(tapped) => Poll::Ready(Some(tapped)),
            None if queue.ended => Poll::Ready(None),
            None => {
                match &mut queue.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

impl TapWriter {
    /// Whether it has a reader.
    pub(super) fn is_read(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Appends an item, if it is of interest. `kind` is that of a sample's track.
    pub(super) fn push(&self, item: &Item, kind: Option<Kind>) {
        let is_sample = matches!(item, Item::Sample(_));
        if !is_sample || self.kind.is_none() || self.kind == kind {
            self.shared.lock().push(item.clone());
        }
    }

    /// Wakes the reader if there is something for it.
    pub(super) fn publish(&self) {
        let mut queue = self.shared.lock();
        if queue.items.is_empty() && !queue.ended {
            return;
        }
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for TapWriter {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.publish();
    }
}

impl Queue {
    fn push(&mut self, item: Item) {
        self.bytes += weight(&item);
        self.items.push_back(item);
        while self.items.len() > ITEMS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.items.pop_front() else {
                break;
            };
            self.bytes -= weight(&oldest);
            self.lost.get_or_insert_default().note(oldest);
        }
    }

    fn take(&mut self) -> Option<Tapped> {
        if let Some(lost) = self.lost.take() {
            let samples = lost.samples;
            for item in lost.into_items_last_first() {
                self.bytes += weight(&item);
                self.items.push_front(item);
            }
            if samples > 0 {
                return Some(Tapped::Lost(samples));
            }
        }
        let item = self.items.pop_front()?;
        self.bytes -= weight(&item);
        Some(Tapped::Item(item))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{Sample, Span, Track, TrackId};

    use super::*;
    use crate::testing::{self, Alarm, title};

    fn sample(number: i64, len: usize) -> Item {
        Item::Sample(Sample {
            duration: Span::from_millis(1),
            ..testing::sample(TrackId::AUDIO, number, vec![0; len])
        })
    }

    fn track(id: u8, config: &'static [u8]) -> Item {
        Item::Track(Arc::new(Track {
            kind: Kind::Audio,
            config: Bytes::from_static(config),
            ..testing::track(TrackId(id))
        }))
    }

    /// Returns the items there are to read, and whether the end is reached.
    fn drain(tap: &mut Tap) -> (Vec<String>, bool) {
        let cx = Context::from_waker(Waker::noop());
        let mut words = Vec::new();
        loop {
            words.push(match tap.poll_next(&cx) {
                Poll::Pending => return (words, false),
                Poll::Ready(None) => return (words, true),
                Poll::Ready(Some(Tapped::Lost(count))) => format!("lost {count}"),
                Poll::Ready(Some(Tapped::Item(item))) => match item {
                    Item::Epoch => "epoch".to_owned(),
                    Item::Track(track) => {
                        format!("track {} {:?}", track.id.0, &track.config[..])
                    }
                    Item::Header(_) => "header".to_owned(),
                    Item::Metadata(_) => "metadata".to_owned(),
                    Item::Script(_) => "script".to_owned(),
                    Item::Title(title) => format!("title {}", title.text),
                    Item::Event(event) => format!("event at {}", event.at.millis()),
                    Item::Sample(sample) => sample.dts.millis().to_string(),
                },
            });
        }
    }

    #[test]
    fn a_tap_that_keeps_up_gets_everything_in_order() {
        let (writer, mut tap) = tap(None);
        for item in [
            track(0, &[1]),
            title("a"),
            sample(0, 9),
            Item::Epoch,
            sample(1, 9),
        ] {
            writer.push(&item, Some(Kind::Audio));
        }
        let expected = ["track 0 [1]", "title a", "0", "epoch", "1"];
        assert_eq!(drain(&mut tap), (expected.map(str::to_owned).into(), false));
        drop(writer);
        assert_eq!(drain(&mut tap), (Vec::new(), true));
    }

    #[test]
    fn samples_of_other_kinds_are_left_out() {
        let (writer, mut tap) = tap(Some(Kind::Audio));
        writer.push(&sample(0, 9), Some(Kind::Video));
        writer.push(&sample(1, 9), Some(Kind::Audio));
        writer.push(&sample(2, 9), None);
        assert_eq!(drain(&mut tap).0, ["1"]);
    }

    #[test]
    fn a_tap_that_lags_loses_the_oldest_and_hears_again_what_holds() {
        let (writer, mut tap) = tap(None);
        for item in [
            track(0, &[1]),
            track(5, &[5]),
            title("of the first epoch"),
            Item::Epoch,
            track(0, &[2]),
            track(0, &[3]),
            title("now"),
        ] {
            writer.push(&item, None);
        }
        for number in 0..ITEMS_MAX as i64 + 3 {
            writer.push(&sample(number, 1), None);
        }
        let (words, _) = drain(&mut tap);
        assert_eq!(
            words[..6],
            ["lost 3", "epoch", "track 0 [3]", "title now", "3", "4"]
        );
        assert_eq!(words.len(), 4 + ITEMS_MAX);
        writer.push(&sample(7, 1), None);
        assert_eq!(drain(&mut tap).0, ["7"], "nothing is lost any more");
    }

    #[test]
    fn bytes_are_bounded_whatever_comes() {
        let (writer, mut tap) = tap(None);
        for number in 0..100 {
            writer.push(&sample(number, BYTES_MAX / 3), None);
            writer.push(&title(&"x".repeat(BYTES_MAX / 3)), None);
            let queue = tap.0.lock();
            let held: usize = queue.items.iter().map(weight).sum();
            assert!(held <= BYTES_MAX && held == queue.bytes);
        }
        writer.push(&sample(100, BYTES_MAX + 1), None);
        let (words, _) = drain(&mut tap);
        assert_eq!(words[0], "lost 101", "too large for any queue");
        assert_eq!(tap.0.lock().bytes, 0);
    }

    #[test]
    fn a_reader_is_woken_once_and_missed_when_gone() {
        let (writer, mut tap) = tap(None);
        let (alarm, waker) = Alarm::with_waker();
        assert!(tap.poll_next(&Context::from_waker(&waker)).is_pending());
        writer.publish();
        assert_eq!(alarm.count(), 0, "there is no news");
        for number in 0..3 {
            writer.push(&sample(number, 1), None);
            writer.publish();
        }
        assert_eq!(alarm.count(), 1);
        assert!(writer.is_read());
        drop(tap);
        assert!(!writer.is_read());
    }
}
