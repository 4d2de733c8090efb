//! Events about links that come up and go down.

use std::sync::Arc;

use base::Lock;
use fanout::events::{EventKind, Events};
use media::StreamName;
use net::link::{LinkReport, State};

use super::Row;

/// Emitter of one link's events. The link's task reports each change of state to it.
#[derive(Debug)]
pub(super) struct LinkEvents {
    direction: &'static str,
    events: Arc<Events>,
    stream: StreamName,
    url: Arc<str>,
    reported: Lock<Reported>,
}

/// State that was emitted last.
#[derive(Debug, Default)]
struct Reported {
    /// State that was emitted: up or down; `None` before the link has been up, or has failed.
    is_up: Option<bool>,
    /// Number of failures by then.
    failures: u64,
}

impl LinkEvents {
    pub(super) fn new(direction: &'static str, events: &Arc<Events>, row: &Row) -> Self {
        Self {
            direction,
            events: Arc::clone(events),
            stream: row.stream.clone(),
            url: row.url.as_str().into(),
            reported: Lock::default(),
        }
    }

    /// Handles a change of the link's state.
    pub(super) fn saw(&self, report: &LinkReport) {
        let mut reported = self.reported.lock();
        match report.state {
            State::Running => self.tell(&mut reported, true, None),
            State::Waiting => {
                // The report keeps the last error, which may be an older one.
                let has_failed = report.failures > reported.failures;
                let error = report.error.as_deref().filter(|_| has_failed);
                self.tell(&mut reported, false, error);
            }
            State::Idle => self.rest(&mut reported),
            State::Connecting => {}
        }
        reported.failures = report.failures;
    }

    /// Handles the end of the link.
    pub(super) fn ended(&self) {
        self.rest(&mut self.reported.lock());
    }

    /// Handles a state in which nothing is relayed, and nothing is wrong.
    fn rest(&self, reported: &mut Reported) {
        if reported.is_up == Some(true) {
            self.tell(reported, false, None);
        }
    }

    fn tell(&self, reported: &mut Reported, is_up: bool, error: Option<&str>) {
        if reported.is_up == Some(is_up) {
            return;
        }
        reported.is_up = Some(is_up);
        let (direction, url) = (self.direction, Arc::clone(&self.url));
        let kind = match is_up {
            true => EventKind::LinkUp { direction, url },
            false => EventKind::LinkDown {
                direction,
                url,
                error: error.map(Arc::from),
            },
        };
        self.events.emit(Some(&self.stream), kind);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};
    use std::time::SystemTime;

    use fanout::events::{EventReader, Received};

    use super::*;

    /// Returns the events emitted since the last call: up, or down with an error.
    fn reported(reader: &mut EventReader) -> Vec<Result<(), Option<String>>> {
        let mut all = Vec::new();
        let cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Received::Event(event))) = reader.poll_next(&cx) {
            all.push(match event.kind {
                EventKind::LinkUp { .. } => Ok(()),
                EventKind::LinkDown { error, .. } => Err(error.map(|text| text.to_string())),
                other => unreachable!("{other:?}"),
            });
        }
        all
    }

    #[test]
    fn a_link_is_reported_up_and_down_once_however_often_it_tries() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let mut reader = events.subscribe();
        let row = crate::board::tests::row();
        let emitter = Arc::new(LinkEvents::new("push", &events, &row));
        let observer = Arc::clone(&emitter);
        row.status.observe(move |report| observer.saw(report));
        for _ in 0..3 {
            row.status.enter(State::Connecting);
            row.status.fail(&"no answer");
            row.status.enter(State::Waiting);
        }
        let no_answer = || Err(Some("no answer".to_owned()));
        assert_eq!(reported(&mut reader), [no_answer()]);
        row.status.enter(State::Connecting);
        row.status.enter(State::Running);
        // The link was made to connect anew: nothing has failed since.
        row.status.enter(State::Waiting);
        assert_eq!(reported(&mut reader), [Ok(()), Err(None)]);
        row.status.enter(State::Running);
        row.status.enter(State::Idle);
        emitter.ended();
        assert_eq!(reported(&mut reader), [Ok(()), Err(None)]);
        row.status.enter(State::Running);
        emitter.ended();
        assert_eq!(reported(&mut reader), [Ok(()), Err(None)]);
    }
}
