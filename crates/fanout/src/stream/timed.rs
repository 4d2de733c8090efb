//! Events on a stream's timeline: their times, and those to replay to a lane that opens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use media::{Cue, CueAction, EventContent, TimedEvent, Timestamp};

use super::core::Core;
use super::{Phase, Stream};
use crate::gate::{Authorized, UpdateMetadata};

/// Upper bound on recent events kept: more than fall into the time of the backlog.
const RECENT_MAX: usize = 32;

/// Upper bound on breaks kept until they end. A source has one, or a few inside one another.
const BREAKS_MAX: usize = 16;

/// Memory of a stream's recent events and open breaks.
#[derive(Debug, Default)]
pub(super) struct TimedEvents {
    recent: VecDeque<Arc<TimedEvent>>,
    /// Breaks that have not ended.
    breaks: VecDeque<Break>,
}

#[derive(Debug)]
struct Break {
    id: String,
    began: Timestamp,
    /// Time at which it ends by itself.
    until: Option<Timestamp>,
}

impl TimedEvents {
    /// Remembers an event. An event that ends a break, or repeats its beginning, receives the time of that beginning.
    fn remember(&mut self, event: &mut Arc<TimedEvent>) {
        if let EventContent::Cue(cue) = &event.content
            && cue.action != CueAction::Other
        {
            let began = self.note_break(cue, event.at);
            if let EventContent::Cue(cue) = &mut Arc::make_mut(event).content {
                cue.began = began;
            }
        }
        push(&mut self.recent, Arc::clone(event), RECENT_MAX);
    }

    /// Returns the time at which the break of `cue` began, if it began before `at`.
    fn note_break(&mut self, cue: &Cue, at: Timestamp) -> Option<Timestamp> {
        let known = self.breaks.iter().position(|one| one.id == cue.id);
        let known = known.and_then(|index| self.breaks.remove(index));
        if cue.action == CueAction::In {
            return known.map(|one| one.began);
        }
        let repeated = known.filter(|one| one.until.is_none_or(|until| at < until));
        let began = repeated.as_ref().map(|one| one.began);
        let one = repeated.unwrap_or_else(|| Break {
            id: cue.id.clone(),
            began: at,
            until: cue.duration.map(|duration| at + duration),
        });
        push(&mut self.breaks, one, BREAKS_MAX);
        began
    }

    /// Returns the events from `since` on.
    pub(super) fn since(&self, since: Timestamp) -> impl Iterator<Item = &Arc<TimedEvent>> {
        self.recent.iter().filter(move |event| event.at >= since)
    }
}

/// Appends `value`, dropping the oldest if there is no room.
fn push<T>(queue: &mut VecDeque<T>, value: T, max: usize) {
    if queue.len() >= max {
        queue.pop_front();
    }
    queue.push_back(value);
}

impl Core {
    /// Passes an event that has its time to every lane, tap and spool.
    pub(super) fn tell_event(&mut self, mut event: Arc<TimedEvent>, now: Instant) {
        self.recent.events.remember(&mut event);
        self.outputs.tell(event, now);
    }
}

impl Stream {
    /// Announces an event from outside the source's own bytes, and returns the time at which it takes effect: now,
    /// after the newest sample. Returns `None` without a publisher.
    pub fn announce(
        &self,
        permission: &Authorized<UpdateMetadata>,
        content: EventContent,
        now: Instant,
    ) -> Option<Timestamp> {
        debug_assert_eq!(permission.action().stream, self.name);
        let mut core = self.core.lock();
        if core.phase != Phase::Live {
            return None;
        }
        let at = core.clocks.timeline.end();
        let event = TimedEvent {
            at,
            content,
            is_scripted: false,
        };
        core.tell_event(Arc::new(event), now);
        core.outputs.publish();
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::Span;

    use super::*;

    fn cue(id: &str, action: CueAction, millis: i64) -> Arc<TimedEvent> {
        let cue = Cue {
            id: id.to_owned(),
            action,
            duration: (id == "short").then_some(Span::from_millis(500)),
            section: Bytes::new(),
            began: None,
        };
        Arc::new(TimedEvent {
            at: Timestamp::from_millis(millis),
            content: EventContent::Cue(cue),
            is_scripted: false,
        })
    }

    fn began(events: &mut TimedEvents, id: &str, action: CueAction, millis: i64) -> Option<i64> {
        let mut event = cue(id, action, millis);
        events.remember(&mut event);
        match &event.content {
            EventContent::Cue(cue) => cue.began.map(Timestamp::millis),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_end_of_a_break_knows_its_beginning() {
        let mut events = TimedEvents::default();
        assert_eq!(began(&mut events, "a", CueAction::Out, 1_000), None);
        assert_eq!(began(&mut events, "b", CueAction::Out, 2_000), None);
        assert_eq!(began(&mut events, "a", CueAction::Other, 2_500), None);
        assert_eq!(began(&mut events, "a", CueAction::In, 3_000), Some(1_000));
        assert_eq!(began(&mut events, "a", CueAction::In, 4_000), None, "once");
        assert_eq!(began(&mut events, "b", CueAction::In, 5_000), Some(2_000));
    }

    #[test]
    fn a_beginning_that_is_repeated_is_the_same_break() {
        let mut events = TimedEvents::default();
        for (id, millis, expected) in [
            ("a", 1_000, None),
            ("a", 1_500, Some(1_000)),
            ("a", 90_000, Some(1_000)),
            ("short", 1_000, None),
            ("short", 1_499, Some(1_000)),
            ("short", 1_500, None),
        ] {
            assert_eq!(
                began(&mut events, id, CueAction::Out, millis),
                expected,
                "{id} at {millis}"
            );
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut events = TimedEvents::default();
        for number in 0..1_000 {
            began(&mut events, &number.to_string(), CueAction::Out, number);
        }
        assert_eq!(events.breaks.len(), BREAKS_MAX);
        let since = |millis| {
            let recent = events.since(Timestamp::from_millis(millis));
            recent.map(|event| event.at.millis()).collect::<Vec<_>>()
        };
        assert_eq!(since(0).len(), RECENT_MAX);
        assert_eq!(since(998), [998, 999]);
    }
}
