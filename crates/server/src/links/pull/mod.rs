//! Streams that are fetched.
//!
//! ```text
//!  [[pull]]                   a line each ────────────────────────────┐
//!  [[pull]], on demand        a line each, which sleeps until asked ──┤
//!  [[pull]] of a pattern      a line for each name that is asked for ─┴─► ingest::pull ─► publisher
//!                                    ▲
//!  join ─► Origin ─► Question ─► Pulls (one task has them all)
//! ```
//!
//! What a pattern brings is only known when its source is asked, and strangers choose what is asked for. So a
//! line of a pattern ends with the first attempt that finds nothing, there are no more than [`LINES_MAX`] of a
//! rule, and when there is one too many, the one that has looked for the longest in vain gives way.

mod line;
mod origin;

use std::collections::HashMap;
use std::sync::Arc;

use config::Pulled;
use ingest::pull::Source;
use media::StreamName;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use self::line::{Finding, Life, PulledLink, revive};
use self::origin::{PullOrigin, QUESTIONS_MAX, Question};
use super::Row;
use super::board::Entry;
use crate::node::Node;

/// Pulls of one pattern at a time. Each is a connection, a task, and the buffers of both ends of it: some
/// hundred kilobytes with TLS.
const LINES_MAX: usize = 512;

/// Tells links apart: the number of the rule, and the stream.
pub(crate) type Key = (usize, StreamName);

/// All pulls that can be asked for; the one owner of what is known of them.
pub(super) struct Pulls {
    node: Arc<Node>,
    stop: watch::Receiver<bool>,
    questions: mpsc::Receiver<Question>,
    known: HashMap<StreamName, Known>,
}

/// A pull that can be asked for.
struct Known {
    rule: usize,
    ask: watch::Sender<Option<Instant>>,
    finding: watch::Receiver<Finding>,
    began: Instant,
    task: AbortHandle,
}

impl Pulls {
    /// Begins every pull of a single stream; those on demand wait until they are wanted.
    pub(super) fn begin(
        node: &Arc<Node>,
        tasks: &mut JoinSet<()>,
        stop: &watch::Receiver<bool>,
    ) -> Self {
        let (asking, questions) = mpsc::channel(QUESTIONS_MAX);
        if node.config.pulls.iter().any(|rule| rule.on_demand) {
            let origin = PullOrigin::new(Arc::clone(&node.config), asking);
            node.registry.set_origin(Arc::new(origin));
        }
        let mut pulls = Self {
            node: Arc::clone(node),
            stop: stop.clone(),
            questions,
            known: HashMap::new(),
        };
        for (index, rule) in node.config.pulls.iter().enumerate() {
            if let Pulled::One(stream) = &rule.stream {
                pulls.begin_one(index, stream, tasks);
            }
        }
        pulls
    }

    /// What somebody wants; `None` when nobody can any more.
    pub(super) async fn question(&mut self) -> Option<Question> {
        self.questions.recv().await
    }

    /// Sees to it that a stream comes that somebody wants.
    pub(super) fn answer(&mut self, question: Question, tasks: &mut JoinSet<()>) {
        let Question {
            stream,
            rule,
            answer,
        } = question;
        if !self.is_at_work(rule, &stream) && !self.begin_wanted(rule, &stream, tasks) {
            return;
        }
        if let Some(known) = self.known.get(&stream) {
            known.ask.send_replace(Some(Instant::now()));
            // Whoever asked may have left.
            answer.send(known.finding.clone()).ok();
        }
    }

    fn is_at_work(&self, rule: usize, stream: &StreamName) -> bool {
        self.node.links.pulls.contains(&(rule, stream.clone()))
    }

    /// A pull that is there for as long as the server is.
    fn begin_one(&mut self, index: usize, stream: &StreamName, tasks: &mut JoinSet<()>) {
        let (ask, asked) = watch::channel(None);
        // Its source has it, or will: it is tried again and again.
        let (_, finding) = watch::channel(Finding::Found);
        let life = match self.node.config.pulls[index].on_demand {
            true => Life::OnDemand(asked),
            false => Life::Always,
        };
        let is_asked_for = matches!(life, Life::OnDemand(_));
        let Some((entry, line)) = self.line(index, stream, life) else {
            return;
        };
        let stop = self.stop.clone();
        let task = move || line.clone().keep(stop.clone());
        let task = tasks.spawn(revive(entry, task, self.stop.clone()));
        if is_asked_for {
            let known = Known {
                rule: index,
                ask,
                finding,
                began: Instant::now(),
                task,
            };
            self.known.insert(stream.clone(), known);
        }
    }

    /// A pull that is there for as long as it is wanted. False when there cannot be one.
    fn begin_wanted(&mut self, rule: usize, stream: &StreamName, tasks: &mut JoinSet<()>) -> bool {
        if !self.make_room(rule) {
            return false;
        }
        let (ask, asked) = watch::channel(None);
        let (tell, finding) = watch::channel(Finding::Looking);
        let Some((entry, line)) = self.line(rule, stream, Life::Wanted(asked, tell)) else {
            return false;
        };
        let stop = self.stop.clone();
        let task = tasks.spawn(async move {
            line.keep(stop).await;
            drop(entry);
        });
        let known = Known {
            rule,
            ask,
            finding,
            began: Instant::now(),
            task,
        };
        self.known.insert(stream.clone(), known);
        true
    }

    /// A line, and its entry on the board. `None` when there is one, or the name has not what the address needs.
    fn line(
        &self,
        rule: usize,
        stream: &StreamName,
        life: Life,
    ) -> Option<(Entry<Key>, PulledLink)> {
        let config = &self.node.config.pulls[rule];
        let source = Source::try_from(&config.source(stream)?).ok()?;
        let row = Row {
            stream: stream.clone(),
            url: config.shown(stream),
            status: Arc::default(),
        };
        let entry = self.node.links.pulls.enter((rule, stream.clone()), row)?;
        let line = PulledLink {
            node: Arc::clone(&self.node),
            stream: stream.clone(),
            source,
            status: Arc::clone(entry.status()),
            life,
        };
        Some((entry, line))
    }

    /// Makes room for one more pull of a pattern; false when all that there are have found something.
    fn make_room(&mut self, rule: usize) -> bool {
        let board = &self.node.links.pulls;
        self.known
            .retain(|stream, known| board.contains(&(known.rule, stream.clone())));
        let has_room = give_way(&mut self.known, rule, LINES_MAX);
        if !has_room {
            tracing::warn!(rule, LINES_MAX, "as many pulls of one pattern as can be");
        }
        has_room
    }
}

/// Ends the pull of a rule that has looked for the longest in vain, if there are `max`. False when none does.
fn give_way(known: &mut HashMap<StreamName, Known>, rule: usize, max: usize) -> bool {
    let of_rule = known.iter().filter(|(_, known)| known.rule == rule);
    if of_rule.clone().count() < max {
        return true;
    }
    let looking = of_rule.filter(|(_, known)| *known.finding.borrow() == Finding::Looking);
    let oldest = looking.min_by_key(|(_, known)| known.began);
    let oldest = oldest.map(|(stream, _)| stream.clone());
    let evicted = oldest.and_then(|oldest| known.remove(&oldest));
    evicted.inspect(|known| known.task.abort()).is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    /// A pull of rule 1 that began so many seconds ago.
    fn known(tasks: &mut JoinSet<()>, now: Instant, seconds: u64, finding: Finding) -> Known {
        Known {
            rule: 1,
            ask: watch::channel(None).0,
            finding: watch::channel(finding).1,
            began: now
                .checked_sub(Duration::from_secs(seconds))
                .expect("a clock that has run"),
            task: tasks.spawn(std::future::pending()),
        }
    }

    #[tokio::test]
    async fn who_has_looked_for_the_longest_in_vain_gives_way_and_who_has_found_does_not() {
        let (mut tasks, now) = (JoinSet::new(), Instant::now() + Duration::from_secs(60));
        let mut all: HashMap<_, _> = [
            ("found", 40, Finding::Found),
            ("old", 30, Finding::Looking),
            ("new", 20, Finding::Looking),
        ]
        .into_iter()
        .map(|(text, age, finding)| (name(text), known(&mut tasks, now, age, finding)))
        .collect();
        let is_there = |all: &HashMap<StreamName, Known>, text| all.contains_key(&name(text));
        assert!(give_way(&mut all, 1, 4) && all.len() == 3, "there is room");
        assert!(give_way(&mut all, 2, 3) && all.len() == 3, "another rule's");
        for gone in ["old", "new"] {
            let max = all.len();
            assert!(is_there(&all, gone) && give_way(&mut all, 1, max));
            assert!(!is_there(&all, gone), "{gone}");
            let ended = tasks.join_next().await.expect("a task");
            assert!(ended.is_err_and(|ended| ended.is_cancelled()));
        }
        assert!(!give_way(&mut all, 1, 1), "one that brings something stays");
        assert!(is_there(&all, "found"));
    }
}
