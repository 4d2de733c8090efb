//! State of a task that keeps a connection to another server.

use std::fmt;
use std::sync::OnceLock;
use std::time::SystemTime;

use base::{Counter, Lock};

/// Longest error text that is kept, in bytes.
const ERROR_BYTES_MAX: usize = 512;

base::labels! {
    /// Activity of the task.
    pub enum State {
        /// Idle: the stream does not exist, has no listeners, or has another publisher.
        Idle = "idle",
        /// The last attempt failed; the next one follows.
        Waiting = "waiting",
        /// An attempt is under way.
        Connecting = "connecting",
        /// The stream is being passed on.
        Running = "running",
    }
}

/// Content of a [`Status`] at one moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkReport {
    /// Activity of the task.
    pub state: State,
    /// Time at which this activity began.
    pub since: SystemTime,
    /// Connection attempts so far.
    pub attempts: u64,
    /// Connections, or attempts at one, that failed so far.
    pub failures: u64,
    /// Reason of the last failure; holds no secrets. May hold untrusted text.
    pub error: Option<String>,
    /// Bytes passed on so far, framing included.
    pub bytes: u64,
}

/// A cell that one task writes and any task reads.
#[derive(Debug)]
pub struct Status {
    report: Lock<LinkReport>,
    bytes: Counter,
    observer: OnceLock<Observer>,
}

/// Callback for each change of state.
struct Observer(Box<dyn Fn(&LinkReport) + Send + Sync>);

base::debug!(Observer {});

impl Status {
    /// Returns the current state.
    pub fn report(&self) -> LinkReport {
        LinkReport {
            bytes: self.bytes.value(),
            ..self.report.lock().clone()
        }
    }

    /// Sets the callback for changes of state; the task that changes the state calls it. The first observer
    /// stays.
    pub fn observe(&self, observer: impl Fn(&LinkReport) + Send + Sync + 'static) {
        // The caller made the cell; there is no other observer.
        self.observer.set(Observer(Box::new(observer))).ok();
    }

    /// Sets the task's activity. [`State::Connecting`] counts as an attempt.
    pub fn enter(&self, state: State) {
        if !self.change(state) {
            return;
        }
        if let Some(Observer(observer)) = self.observer.get() {
            observer(&self.report());
        }
    }

    /// Changes the state; returns whether it was another one before.
    fn change(&self, state: State) -> bool {
        let mut report = self.report.lock();
        if state == State::Connecting {
            report.attempts += 1;
        }
        let is_news = report.state != state;
        if is_news {
            report.state = state;
            report.since = SystemTime::now();
        }
        is_news
    }

    /// Records the reason of a failure; `error` shows no secrets.
    pub fn fail(&self, error: &dyn fmt::Display) {
        let mut text = error.to_string();
        text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
        let mut report = self.report.lock();
        report.failures += 1;
        report.error = Some(text);
    }

    /// Counts bytes passed on.
    pub fn add_bytes(&self, bytes: usize) {
        self.bytes.add(bytes as u64);
    }
}

impl Default for Status {
    fn default() -> Self {
        Self {
            report: Lock::new(LinkReport {
                state: State::Idle,
                since: SystemTime::now(),
                attempts: 0,
                failures: 0,
                error: None,
                bytes: 0,
            }),
            bytes: Counter::default(),
            observer: OnceLock::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_was_reported() {
        let status = Status::default();
        let first = status.report();
        assert_eq!((first.state, first.attempts), (State::Idle, 0));
        status.enter(State::Idle);
        assert_eq!(status.report(), first, "nothing has changed");
        for _ in 0..2 {
            status.enter(State::Connecting);
            status.fail(&"€".repeat(ERROR_BYTES_MAX));
            status.enter(State::Waiting);
        }
        status.add_bytes(3);
        status.add_bytes(4);
        let report = status.report();
        assert_eq!(report.state, State::Waiting);
        assert_eq!((report.attempts, report.failures, report.bytes), (2, 2, 7));
        assert_eq!(report.error.map(|text| text.len()), Some(510));
        assert!(report.since >= first.since);
    }

    #[test]
    fn an_observer_learns_of_changes() {
        let status = Status::default();
        let (tell, reported) = std::sync::mpsc::sync_channel(8);
        status.observe(move |report| drop(tell.send((report.state, report.error.clone()))));
        status.enter(State::Idle);
        status.enter(State::Connecting);
        status.enter(State::Connecting);
        status.fail(&"no answer");
        status.enter(State::Waiting);
        let all: Vec<_> = reported.try_iter().collect();
        let error = Some("no answer".to_owned());
        assert_eq!(all, [(State::Connecting, None), (State::Waiting, error)]);
    }
}
