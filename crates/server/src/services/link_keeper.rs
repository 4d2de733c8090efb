//! The links to other servers, and their metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use net::link::{LinkReport, State};

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};
use links::{Links, Row, Totals};
use operator::metrics::table::*;
use operator::metrics::{Page, capped};

/// How long other servers may be told that the server ends.
const GOODBYE: Duration = Duration::from_millis(500);

/// See the module's description.
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
    let pushes = links.pushes.list();
    page.gauges(PUSHES, by_state(pushes.iter().map(|(_, report)| report)))?;
    page.gauges(
        PUSH_UP,
        up(pushes.iter().map(|(row, report)| (&**row, report))),
    )?;
    let Totals {
        attempts,
        failures,
        bytes,
    } = links.pushes.totals();
    page.counter(PUSH_BYTES, bytes as f64)?;
    page.counter(PUSH_ATTEMPTS, attempts as f64)?;
    page.counter(PUSH_FAILURES, failures as f64)?;

    let pulls = links.pulls.list();
    page.gauges(PULLS, by_state(pulls.iter().map(|(_, report)| report)))?;
    page.gauges(
        PULL_UP,
        up(pulls.iter().map(|(row, report)| (&**row, report))),
    )?;
    let Totals {
        attempts,
        failures,
        bytes,
    } = links.pulls.totals();
    page.counter(PULL_BYTES, bytes as f64)?;
    page.counter(PULL_ATTEMPTS, attempts as f64)?;
    page.counter(PULL_FAILURES, failures as f64)
}

fn by_state<'a>(
    reports: impl Iterator<Item = &'a LinkReport>,
) -> [(&'static str, f64); State::ALL.len()] {
    let mut counts = State::ALL.map(|state| (state.label(), 0.0));
    for report in reports {
        for (label, count) in &mut counts {
            if *label == report.state.label() {
                *count += 1.0;
            }
        }
    }
    counts
}

/// For each stream whether all its links run.
fn up<'a>(links: impl Iterator<Item = (&'a Row, &'a LinkReport)>) -> Vec<(String, f64)> {
    let mut streams: BTreeMap<&str, bool> = BTreeMap::new();
    for (row, report) in links {
        let is_up = streams.entry(row.stream.as_str()).or_insert(true);
        *is_up &= report.state == State::Running;
    }
    capped(
        streams
            .into_iter()
            .map(|(stream, is_up)| (stream, f64::from(u8::from(is_up)))),
    )
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
        assert_eq!(up(pairs()), [("a".to_owned(), 1.0), ("b".to_owned(), 0.0)]);
        let counts = by_state(pairs().map(|(_, report)| report));
        let expected = [
            ("idle", 0.0),
            ("waiting", 1.0),
            ("connecting", 0.0),
            ("running", 2.0),
        ];
        assert_eq!(counts, expected);
    }
}
