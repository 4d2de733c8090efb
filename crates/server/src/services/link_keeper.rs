//! The links to other servers, and their metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base::Labelled;
use links::{Board, Links, Row};
use net::link::{LinkReport, State};
use operator::metrics::table::*;
use operator::metrics::{Page, capped};

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Time allowed for notifying other servers that this server is ending.
const GOODBYE: Duration = Duration::from_millis(500);

/// Service that supervises the links, and ends them before the streams.
pub(super) struct LinkKeeper(pub(super) links::Context);

impl Service for LinkKeeper {
    fn until(&self) -> Phase {
        Phase::Unlinked
    }

    fn metrics(&self) -> Option<Encoder> {
        let links = self.0.links.clone();
        Some(Box::new(move |page| encode(&links, page)))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let keeping = links::supervise(self.0, stopped);
        Box::pin(async move {
            let end = async {
                phase.reached(Phase::Unlinked).await;
                stop.send_replace(true);
                tokio::time::sleep(GOODBYE).await;
            };
            tokio::select! {
                () = keeping => {}
                () = end => tracing::debug!("some links are cut off"),
            }
        })
    }
}

fn encode(links: &Links, page: &mut Page<'_>) -> fmt::Result {
    let pushes = [PUSHES, PUSH_UP, PUSH_BYTES, PUSH_ATTEMPTS, PUSH_FAILURES];
    of(&links.pushes, pushes, page)?;
    let pulls = [PULLS, PULL_UP, PULL_BYTES, PULL_ATTEMPTS, PULL_FAILURES];
    of(&links.pulls, pulls, page)
}

/// Encodes the metrics of the links in one direction.
fn of<K: Clone + Ord>(board: &Board<K>, metrics: [Metric; 5], page: &mut Page<'_>) -> fmt::Result {
    let [by_state, is_up, bytes, attempts, failures] = metrics;
    let links = board.list();
    let states = count(links.iter().map(|(_, report)| report));
    page.gauges(by_state, states.values())?;
    page.gauges(
        is_up,
        up(links.iter().map(|(row, report)| (&**row, report))),
    )?;
    let totals = board.totals();
    page.counter(bytes, totals.bytes)?;
    page.counter(attempts, totals.attempts)?;
    page.counter(failures, totals.failures)
}

fn count<'a>(reports: impl Iterator<Item = &'a LinkReport>) -> Labelled<State> {
    let counts = Labelled::default();
    reports.for_each(|report| counts.count(report.state));
    counts
}

/// Returns for each stream whether all its links are running: 1 or 0.
fn up<'a>(links: impl Iterator<Item = (&'a Row, &'a LinkReport)>) -> Vec<(String, u64)> {
    let mut streams: BTreeMap<&str, bool> = BTreeMap::new();
    for (row, report) in links {
        let is_up = streams.entry(row.stream.as_str()).or_insert(true);
        *is_up &= report.state == State::Running;
    }
    let streams = streams.into_iter();
    capped(streams.map(|(stream, is_up)| (stream, is_up.into())))
}

#[cfg(test)]
mod tests {
    use media::StreamName;
    use net::link::Status;

    use super::*;

    #[test]
    fn a_stream_is_up_when_all_its_links_run() {
        let link = |stream: &str, state| {
            let row = Row {
                stream: StreamName::parse(stream).expect("a name"),
                url: String::new(),
                status: Default::default(),
            };
            let status: &Status = &row.status;
            status.enter(state);
            let report = status.report();
            (row, report)
        };
        let links = [
            link("b", State::Running),
            link("a", State::Running),
            link("b", State::Waiting),
        ];
        let pairs = || links.iter().map(|(row, report)| (row, report));
        assert_eq!(up(pairs()), [("a".to_owned(), 1), ("b".to_owned(), 0)]);
        let counts = count(pairs().map(|(_, report)| report));
        let expected = [
            ("idle", 0),
            ("waiting", 1),
            ("connecting", 0),
            ("running", 2),
        ];
        assert_eq!(counts.values().collect::<Vec<_>>(), expected);
    }
}
