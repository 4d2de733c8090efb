//! Tasks for streams: one for each stream that is to have one, and never two for one name.
//!
//! Whoever looks after streams is told which are here, which have ended and whose task is over, and begins tasks. Nothing
//! is missed: what happened before, or too fast to be read, is made up for by the streams that are here.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use media::StreamName;
use tokio::task::JoinSet;

use crate::Registry;
use crate::events::{EventKind, EventReader, Received};

/// The tasks of one purpose. They end when it is dropped.
#[derive(Debug)]
pub struct StreamTasks {
    registry: Arc<Registry>,
    events: EventReader,
    /// Streams that are here and have not been told; at most all of them.
    due: VecDeque<StreamName>,
    /// Those that have a task.
    names: HashSet<StreamName>,
    tasks: JoinSet<StreamName>,
}

/// What has become of a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StreamChange {
    /// It is here. That may be told again.
    Here(StreamName),
    /// It has ended.
    Ended(StreamName),
    /// Its task is over. There may be another stream of that name by now.
    Over(StreamName),
}

impl StreamTasks {
    /// Without tasks. The streams that are here are told first.
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

    /// Whether a stream has a task. One that panicked remains its stream's, which gets no other.
    pub fn has(&self, name: &StreamName) -> bool {
        self.names.contains(name)
    }

    /// Begins the task of a stream that has none.
    pub fn begin(&mut self, name: StreamName, task: impl Future<Output = ()> + Send + 'static) {
        if self.names.insert(name.clone()) {
            self.tasks.spawn(async move {
                task.await;
                name
            });
        }
    }

    /// Waits for the next change; `None` when there will be none. It may be given up at any time.
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
