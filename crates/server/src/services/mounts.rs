//! Notifications to the permission hook about publishers that come and go, no matter which authority permitted them.

use std::collections::HashSet;
use std::sync::Arc;

use auth::{Asker, Mount};
use fanout::events::{Event, EventKind, Received};
use fanout::{Phase as StreamPhase, Registry};
use media::StreamName;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Run, Service};

/// Service that notifies the hook of each publisher that comes or goes.
pub(super) struct MountTeller {
    pub(super) front: Arc<FrontDoor>,
    /// The hook, if there is one that is told of mounts.
    pub(super) asker: Option<Asker>,
}

impl Service for MountTeller {
    fn until(&self) -> Phase {
        Phase::Reported
    }

    fn run(self: Box<Self>, phase: Shown) -> Run {
        let Some(asker) = self.asker else {
            return Box::pin(async {});
        };
        let registry = Arc::clone(&self.front.registry);
        let mut events = registry.fanout().events().subscribe();
        let config = Arc::clone(&self.front.config);
        let telling = async move {
            let mut mounts = Mounts::default();
            while let Some(received) = events.next().await {
                let changes = match received {
                    Received::Event(event) => mounts.note(&event).into_iter().collect(),
                    // The hook was slower than the events. It is not notified of publishers that both came and left meanwhile.
                    Received::Missed { .. } => mounts.compare(live(&registry)),
                };
                for (stream, mount) in changes {
                    let mut patterns = config.auth.hook.patterns.iter();
                    if patterns.any(|pattern| pattern.matches(stream.as_str())) {
                        asker.tell_of_mount(stream.as_str(), mount).await;
                    }
                }
            }
        };
        Box::pin(phase.cut(Phase::Reported, telling))
    }
}

/// Returns the streams that have a publisher now.
fn live(registry: &Registry) -> HashSet<StreamName> {
    let streams = registry.list().into_iter();
    let live = streams.filter(|stream| stream.info().phase == StreamPhase::Live);
    live.map(|stream| stream.name().clone()).collect()
}

/// Streams that have a publisher according to the notifications sent; at most one entry per stream.
#[derive(Default)]
struct Mounts(HashSet<StreamName>);

impl Mounts {
    /// Returns the notification that an event requires, if any.
    fn note(&mut self, event: &Event) -> Option<(StreamName, Mount)> {
        let stream = event.stream.as_ref()?;
        let mount = match event.kind {
            EventKind::EpochBegan { .. } => {
                self.0.insert(stream.clone()).then_some(Mount::Added)?
            }
            // A stream that ends may have lost its publisher before.
            EventKind::TakenOver { .. }
            | EventKind::PublisherLeft { .. }
            | EventKind::Ended { .. } => self.0.remove(stream).then_some(Mount::Removed)?,
            _ => return None,
        };
        Some((stream.clone(), mount))
    }

    /// Returns the notifications that are missing, given the streams that have a publisher now.
    fn compare(&mut self, live: HashSet<StreamName>) -> Vec<(StreamName, Mount)> {
        let change = |mount| move |stream: &StreamName| (stream.clone(), mount);
        let removed = self.0.difference(&live).map(change(Mount::Removed));
        let added = live.difference(&self.0).map(change(Mount::Added));
        let changes = removed.chain(added).collect();
        self.0 = live;
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use fanout::events::EndReason;

    use super::*;
    use fanout::Source;
    use media::Container;

    fn source() -> Arc<Source> {
        Arc::new(Source {
            protocol: "icecast",
            peer: None,
            agent: "ices".to_owned(),
            container: Container::Mp3,
            content_type: "audio/mpeg".to_owned(),
            headers: Vec::new(),
        })
    }

    #[test]
    fn each_publisher_comes_once_and_leaves_once() {
        let source = source();
        let began = |epoch| EventKind::EpochBegan {
            epoch,
            source: Arc::clone(&source),
        };
        let left = EventKind::PublisherLeft {
            epoch: 2,
            linger: Duration::ZERO,
        };
        let ended = || EventKind::Ended {
            reason: EndReason::Operator,
        };
        let taken_over = EventKind::TakenOver {
            epoch: 1,
            source: Arc::clone(&source),
        };
        let (added, removed) = (Some(Mount::Added), Some(Mount::Removed));
        let mut mounts = Mounts::default();
        for (kind, expected) in [
            (EventKind::Began, None),
            (began(1), added),
            (taken_over, removed),
            (began(2), added),
            (left, removed),
            (ended(), None),
            (began(1), added),
            (ended(), removed),
        ] {
            let event = Event {
                sequence: 1,
                at: SystemTime::UNIX_EPOCH,
                stream: StreamName::parse("radio.mp3").ok(),
                kind,
            };
            let reported = mounts.note(&event);
            assert_eq!(reported.map(|(_, mount)| mount), expected, "{event:?}");
        }
        assert!(mounts.0.is_empty());
    }

    #[test]
    fn what_was_missed_is_reported_by_what_is_there() {
        let name = |name: &str| StreamName::parse(name).expect("a name");
        let mut mounts = Mounts(HashSet::from([name("left"), name("stayed")]));
        let live = HashSet::from([name("stayed"), name("came")]);
        let changes = [(name("left"), Mount::Removed), (name("came"), Mount::Added)];
        assert_eq!(mounts.compare(live.clone()), changes);
        // The event itself may still be read.
        let began = Event {
            sequence: 1,
            at: SystemTime::UNIX_EPOCH,
            stream: Some(name("came")),
            kind: EventKind::EpochBegan {
                epoch: 1,
                source: source(),
            },
        };
        assert_eq!(mounts.note(&began), None);
        assert_eq!(mounts.compare(live), []);
    }
}
