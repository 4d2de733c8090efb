//! Tasks for streams: one for each stream that the caller picks, and never two for one name.
//!
//! The owner learns which streams are present, which have ended and whose task is over, and begins tasks. It misses
//! nothing: the list of present streams makes up for events that happened before it subscribed, or too fast to be read.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use media::StreamName;
use tokio::task::JoinSet;

use crate::Registry;
use crate::events::{EventKind, EventReader, Received};

/// The tasks of one purpose; dropping it aborts them.
#[derive(Debug)]
pub struct StreamTasks {
    registry: Arc<Registry>,
    events: EventReader,
    /// Present streams not yet reported; at most all of them.
    due: VecDeque<StreamName>,
    /// Names of streams that have a task.
    names: HashSet<StreamName>,
    tasks: JoinSet<StreamName>,
}

/// A change in a stream or its task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StreamChange {
    /// The stream is present. It may be reported more than once.
    Here(StreamName),
    /// The stream has ended.
    Ended(StreamName),
    /// The stream's task is over. There may be another stream of that name by now.
    Over(StreamName),
}

impl StreamTasks {
    /// Creates an owner without tasks. It reports the streams already present first.
    pub fn new(registry: &Arc<Registry>) -> Self {
        let mut tasks = Self {
            events: registry.fanout().events().subscribe(),
            registry: Arc::clone(registry),
            due: VecDeque::new(),
            names: HashSet::new(),
            tasks: JoinSet::new(),
        };
        tasks.look_around();
        tasks
    }

    /// Whether a stream has a task. A task that panicked still counts, so its stream gets no other.
    pub fn has(&self, name: &StreamName) -> bool {
        self.names.contains(name)
    }

    /// Begins a task for a stream that has none.
    pub fn begin(&mut self, name: StreamName, task: impl Future<Output = ()> + Send + 'static) {
        if self.names.insert(name.clone()) {
            self.tasks.spawn(async move {
                task.await;
                name
            });
        }
    }

    /// Waits for the next change; `None` when there will be none. Cancel safe.
    pub async fn next(&mut self) -> Option<StreamChange> {
        loop {
            if let Some(name) = self.due.pop_front() {
                return Some(StreamChange::Here(name));
            }
            tokio::select! {
                received = self.events.next() => match received? {
                    Received::Missed { .. } => self.look_around(),
                    Received::Event(event) => match (event.kind, event.stream) {
                        (EventKind::Began, Some(name)) => return Some(StreamChange::Here(name)),
                        (EventKind::Ended { .. }, Some(name)) => {
                            return Some(StreamChange::Ended(name));
                        }
                        _ => {}
                    },
                },
                Some(over) = self.tasks.join_next() => match over {
                    Ok(name) => {
                        self.names.remove(&name);
                        return Some(StreamChange::Over(name));
                    }
                    Err(error) => tracing::error!(%error, "the task of a stream has failed"),
                },
            }
        }
    }

    fn look_around(&mut self) {
        let streams = self.registry.list();
        self.due = streams.iter().map(|one| one.name().clone()).collect();
    }
}
