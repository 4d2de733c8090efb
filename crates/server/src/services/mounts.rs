//! Tells the hook for permissions of publishers that come and go, whoever has permitted them.

use std::collections::HashSet;
use std::sync::Arc;

use auth_hook::{Asker, Mount};
use fanout::events::{Event, EventKind, Received};

use media::StreamName;

use super::phase::{Phase, Shown};
use super::{Context, Run, Service};

/// See the module's description.
pub(super) struct MountTeller {
    asker: Option<Asker>,
}

impl MountTeller {
    /// `asker` is the hook, if there is one.
    pub(super) fn new(asker: Option<Asker>) -> Self {
        let asker = asker.filter(Asker::tells_of_mounts);
        Self { asker }
    }
}

impl Service for MountTeller {
    fn until(&self) -> Phase {
        Phase::Told
    }

    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run {
        let Some(asker) = self.asker else {
            return Box::pin(async {});
        };
        let mut events = context.node.registry.fanout().events().subscribe();
        let config = Arc::clone(&context.node.config);
        let telling = async move {
            let mut mounts = Mounts::default();
            while let Some(received) = events.next().await {
                match received {
                    Received::Event(event) => {
                        let Some((stream, mount)) = mounts.note(&event) else {
                            continue;
                        };
                        let mut patterns = config.auth.hook.patterns.iter();
                        if patterns.any(|pattern| pattern.matches(stream)) {
                            asker.tell_of_mount(stream, mount).await;
                        }
                    }
                    Received::Missed { count } => {
                        tracing::warn!(
                            ?count,
                            "the hook for permissions may not be told of publishers: it is too slow"
                        );
                    }
                }
            }
        };
        Box::pin(phase.cut(Phase::Told, telling))
    }
}

/// Streams that have a publisher, as the events tell: as many as there are streams.
#[derive(Default)]
struct Mounts(HashSet<StreamName>);

impl Mounts {
    /// What an event is to the hook.
    fn note<'a>(&mut self, event: &'a Event) -> Option<(&'a str, Mount)> {
        let stream = event.stream.as_ref()?;
        let mount = match event.kind {
            EventKind::EpochBegan { .. } => {
                self.0.insert(stream.clone());
                Mount::Added
            }
            // A stream that ends may have lost its publisher before.
            EventKind::TakenOver { .. }
            | EventKind::PublisherLeft { .. }
            | EventKind::Ended { .. } => self.0.remove(stream).then_some(Mount::Removed)?,
            _ => return None,
        };
        Some((stream.as_str(), mount))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use fanout::events::EndReason;

    use super::*;
    use crate::http::status::tests::info;

    #[test]
    fn each_publisher_comes_once_and_leaves_once() {
        let source = info("radio.mp3").source;
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
            let told = mounts.note(&event);
            assert_eq!(told.map(|(_, mount)| mount), expected, "{event:?}");
        }
        assert!(mounts.0.is_empty());
    }
}
