//! Emits when a link comes up and goes down.

use std::sync::Arc;

use base::Lock;
use fanout::events::{EventKind, Events};
use media::StreamName;
use net::link::{LinkReport, State};

use super::Row;

/// Emits what happens to one link. The link's task tells it of each change of state.
#[derive(Debug)]
pub(super) struct LinkEvents {
    direction: &'static str,
    events: Arc<Events>,
    stream: StreamName,
    url: Arc<str>,
    told: Lock<Told>,
}

/// What was emitted last.
#[derive(Debug, Default)]
struct Told {
    /// `None` before the link has been up, or has failed.
    is_up: Option<bool>,
    /// The number of failures by then.
    failures: u64,
}

impl LinkEvents {
    pub(super) fn new(direction: &'static str, events: &Arc<Events>, row: &Row) -> Self {
        Self {
            direction,
            events: Arc::clone(events),
            stream: row.stream.clone(),
            url: row.url.as_str().into(),
            told: Lock::default(),
        }
    }

    /// The link is in another state.
    pub(super) fn saw(&self, report: &LinkReport) {
        let mut told = self.told.lock();
        match report.state {
            State::Running => self.tell(&mut told, true, None),
            State::Waiting => {
                // The report keeps the last error, which may be an older one.
                let has_failed = report.failures > told.failures;
                let error = report.error.as_deref().filter(|_| has_failed);
                self.tell(&mut told, false, error);
            }
            State::Idle => self.rest(&mut told),
            State::Connecting => {}
        }
        told.failures = report.failures;
    }

    /// There is no such link any more.
    pub(super) fn ended(&self) {
        self.rest(&mut self.told.lock());
    }

    /// Nothing is relayed, and nothing is wrong.
    fn rest(&self, told: &mut Told) {
        if told.is_up == Some(true) {
            self.tell(told, false, None);
        }
    }

    fn tell(&self, told: &mut Told, is_up: bool, error: Option<&str>) {
        if told.is_up == Some(is_up) {
            return;
        }
        told.is_up = Some(is_up);
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
    use net::link::Status;

    use super::*;

    /// What was emitted since the last time: up, or down with an error.
    fn told(reader: &mut EventReader) -> Vec<Result<(), Option<String>>> {
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
    fn a_link_is_told_up_and_down_once_however_often_it_tries() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let mut reader = events.subscribe();
        let row = Row {
            stream: StreamName::parse("live/show").expect("a name"),
            url: "rtmp://***@h/a".to_owned(),
            status: Arc::new(Status::default()),
        };
        let emitter = Arc::new(LinkEvents::new("push", &events, &row));
        let observer = Arc::clone(&emitter);
        row.status.observe(move |report| observer.saw(report));
        for _ in 0..3 {
            row.status.enter(State::Connecting);
            row.status.fail(&"no answer");
            row.status.enter(State::Waiting);
        }
        let no_answer = || Err(Some("no answer".to_owned()));
        assert_eq!(told(&mut reader), [no_answer()]);
        row.status.enter(State::Connecting);
        row.status.enter(State::Running);
        // It was asked to connect anew: nothing has failed since.
        row.status.enter(State::Waiting);
        assert_eq!(told(&mut reader), [Ok(()), Err(None)]);
        row.status.enter(State::Running);
        row.status.enter(State::Idle);
        emitter.ended();
        assert_eq!(told(&mut reader), [Ok(()), Err(None)]);
        row.status.enter(State::Running);
        emitter.ended();
        assert_eq!(told(&mut reader), [Ok(()), Err(None)]);
    }
}
