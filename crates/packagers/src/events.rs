//! Queue of events for the parts of segments.

use std::collections::VecDeque;
use std::sync::Arc;

use media::{Item, TimedEvent, Timestamp};

/// Largest number of waiting events: far more than occur during one part. The oldest are dropped first.
const WAITING_MAX: usize = 64;

/// Events that no part has carried yet.
///
/// An event is carried by the part in whose time it takes effect. That part is still being collected when the event arrives.
#[derive(Debug, Default)]
pub(crate) struct Events(VecDeque<Arc<TimedEvent>>);

impl Events {
    /// Queues `item` if it is an event.
    pub(crate) fn hear(&mut self, item: &Item) {
        let Item::Event(event) = item else { return };
        if self.0.len() >= WAITING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Arc::clone(event));
    }

    /// Returns the next event for a part that ends at `end`.
    pub(crate) fn take_before(&mut self, end: Timestamp) -> Option<Arc<TimedEvent>> {
        let due = self.0.iter().position(|event| event.at < end)?;
        self.0.remove(due)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use container::id3::Tag;
    use media::EventContent;
    use testkit::Clip;

    use super::*;
    use crate::testing::{Written, insert, of_flv};

    fn event(millis: i64, tag: &[u8]) -> Item {
        Item::Event(Arc::new(TimedEvent {
            at: Timestamp::from_millis(millis),
            content: EventContent::Id3(Bytes::copy_from_slice(tag)),
            is_scripted: false,
        }))
    }

    #[test]
    fn events_wait_for_the_part_of_their_time() {
        let mut events = Events::default();
        for millis in [500, 1_500, 400] {
            events.hear(&event(millis, b""));
        }
        events.hear(&Item::Epoch);
        let mut until = |millis| {
            let end = Timestamp::from_millis(millis);
            let reported = std::iter::from_fn(|| events.take_before(end));
            reported.map(|event| event.at.millis()).collect::<Vec<_>>()
        };
        assert_eq!(until(400), [0; 0]);
        assert_eq!(until(1_500), [500, 400]);
        assert_eq!(until(2_000), [1_500]);
        assert_eq!(until(9_000), [0; 0]);
    }

    #[test]
    fn an_event_is_reported_once_in_the_part_of_its_time() {
        let at = Timestamp::from_millis(4_100);
        let tag = Tag::default().title("Two").into_bytes();
        let mut items = of_flv(Clip::FlvBframes, 8);
        insert(&mut items, 4_100, event(4_100, &tag));
        for write in [Written::mp4, Written::ts, Written::packed_audio] {
            let written = write(&items);
            let segments = written.index().segments;
            let parts = segments.iter().flat_map(|segment| &segment.parts);
            let reported = parts.filter(|part| {
                let bytes = written.bytes(part.range.clone());
                bytes.windows(tag.len()).any(|window| window == tag)
            });
            let reported: Vec<_> = reported.collect();
            assert_eq!(reported.len(), 1);
            assert!(reported[0].start <= at && at < reported[0].start + reported[0].duration);
            let listed = segments.iter().filter(|segment| !segment.events.is_empty());
            let listed: Vec<_> = listed.collect();
            assert_eq!(listed.len(), 1);
            let before = segments.iter().rfind(|segment| segment.start < at);
            let before = before.expect("the segment of its time");
            assert_eq!(listed[0].number, before.number + 1);
        }
    }

    #[test]
    fn events_that_wait_are_bounded() {
        let mut events = Events::default();
        for millis in 0..1_000 {
            events.hear(&event(millis, b""));
        }
        let end = Timestamp::from_millis(1_000);
        let reported = std::iter::from_fn(|| events.take_before(end));
        assert!(reported.map(|event| event.at.millis()).eq(936..1_000));
    }
}
