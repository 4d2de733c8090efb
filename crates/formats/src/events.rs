//! Events on their way into the parts of segments.

use std::collections::VecDeque;
use std::sync::Arc;

use media::{Item, TimedEvent, Timestamp};

/// Events that wait at the most: far more than a part's time brings. The oldest go first.
const WAITING_MAX: usize = 64;

/// The events that no part has told yet.
///
/// An event is told with the part in whose time it takes effect. That one is still being collected when the event
/// comes.
#[derive(Debug, Default)]
pub(crate) struct Events(VecDeque<Arc<TimedEvent>>);

impl Events {
    /// Takes `item` if it is an event.
    pub(crate) fn hear(&mut self, item: &Item) {
        let Item::Event(event) = item else { return };
        if self.0.len() >= WAITING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Arc::clone(event));
    }

    /// The next event to tell with a part that ends at `end`.
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
    use crate::testing::{BOUNDS, Written, of_flv};
    use crate::{Mp4, PackedAudio, Ts};

    fn event(millis: i64) -> Item {
        Item::Event(Arc::new(TimedEvent {
            at: Timestamp::from_millis(millis),
            content: EventContent::Id3(Bytes::new()),
            is_scripted: false,
        }))
    }

    #[test]
    fn events_wait_for_the_part_of_their_time() {
        let mut events = Events::default();
        for millis in [500, 1_500, 400] {
            events.hear(&event(millis));
        }
        events.hear(&Item::Epoch);
        let mut until = |millis| {
            let end = Timestamp::from_millis(millis);
            let told = std::iter::from_fn(|| events.take_before(end));
            told.map(|event| event.at.millis()).collect::<Vec<_>>()
        };
        assert_eq!(until(400), [0; 0]);
        assert_eq!(until(1_500), [500, 400]);
        assert_eq!(until(2_000), [1_500]);
        assert_eq!(until(9_000), [0; 0]);
    }

    #[test]
    fn an_event_is_told_once_in_the_part_of_its_time() {
        let at = Timestamp::from_millis(4_100);
        let tag = Tag::default().title("Two").into_bytes();
        let mut items = of_flv(Clip::FlvBframes, 8);
        let is_later = |item: &Item| matches!(item, Item::Sample(sample) if sample.dts >= at);
        let later = items.iter().position(is_later).expect("it is longer");
        let event = TimedEvent {
            at,
            content: EventContent::Id3(tag.clone().into()),
            is_scripted: false,
        };
        items.insert(later, Item::Event(Arc::new(event)));
        for written in [
            Written::of(Mp4::segments(&BOUNDS), Mp4::segmented(BOUNDS), &items),
            Written::of(Ts::segments(&BOUNDS), Ts::segmented(BOUNDS), &items),
            Written::of(
                PackedAudio::segments(&BOUNDS),
                PackedAudio::segmented(BOUNDS),
                &items,
            ),
        ] {
            let segments = written.index().segments;
            let parts = segments.iter().flat_map(|segment| &segment.parts);
            let told: Vec<_> = parts
                .filter(|part| {
                    let bytes = written.bytes(part.range.clone());
                    bytes.windows(tag.len()).any(|window| window == tag)
                })
                .collect();
            assert_eq!(told.len(), 1);
            assert!(told[0].start <= at && at < told[0].start + told[0].duration);
            let listed: Vec<_> = segments
                .iter()
                .filter(|segment| !segment.events.is_empty())
                .collect();
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
            events.hear(&event(millis));
        }
        let end = Timestamp::from_millis(1_000);
        let told = std::iter::from_fn(|| events.take_before(end));
        assert!(told.map(|event| event.at.millis()).eq(936..1_000));
    }
}
