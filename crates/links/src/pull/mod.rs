//! Pulled streams, and the task that owns all pulls.
//!
//! ```text
//!  [[pull]]                   a link each ───────────────────────────────┐
//!  [[pull]], on demand        a link each, which sleeps until requested ─┤
//!  [[pull]] of a pattern      a link for each requested name ────────────┴─► ingest::pull ─► publisher
//!                                    ▲
//!  join ─► Origin ─► Question ─► Pulls (one task has them all)
//! ```
//!
//! Only its source knows which streams a pattern brings, and anonymous listeners choose the names. So a link of a pattern ends
//! with the first attempt that finds nothing, and a rule has at most [`LINKS_MAX`] links: for a further one, the link that has
//! looked longest without finding its stream is ended.

mod link;
mod origin;

use std::collections::HashMap;
use std::sync::Arc;

use config::Pulled;
use fanout::Origin;
use ingest::pull::PullSource;
use media::StreamName;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use self::link::{Finding, Life, PulledLink, revive};
use self::origin::{PullOrigin, QUESTIONS_MAX, Question};
use super::board::Entry;
use super::{Context, Row};

/// Maximum number of pulls of one pattern at a time. Each is a connection, a task, and the buffers of both ends of it: some
/// hundred kilobytes with TLS.
const LINKS_MAX: usize = 512;

/// Key of a link: the number of the rule, and the stream.
pub(super) type Key = (usize, StreamName);

/// Owner of all pulls on demand; the task of the links passes each [`question`](Self::question) to [`answer`](Self::answer).
pub(super) struct Pulls {
    context: Arc<Context>,
    stop: watch::Receiver<bool>,
    questions: mpsc::Receiver<Question>,
    known: HashMap<StreamName, Known>,
}

/// Pull that listeners can request.
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
        context: &Arc<Context>,
        tasks: &mut JoinSet<()>,
        stop: &watch::Receiver<bool>,
    ) -> Self {
        let (asking, questions) = mpsc::channel(QUESTIONS_MAX);
        let on_demand = context.config.pulls.iter().any(|rule| rule.on_demand);
        let origin = on_demand.then(|| PullOrigin::new(Arc::clone(&context.config), asking));
        let origin = origin.map(|origin| Arc::new(origin) as Arc<dyn Origin>);
        context.origin.install(&context.registry, origin);
        let mut pulls = Self {
            context: Arc::clone(context),
            stop: stop.clone(),
            questions,
            known: HashMap::new(),
        };
        for (index, rule) in context.config.pulls.iter().enumerate() {
            if let Pulled::One(stream) = &rule.stream {
                pulls.begin_one(index, stream, tasks);
            }
        }
        pulls
    }

    /// Returns the next request for a stream; `None` when none can follow any more.
    pub(super) async fn question(&mut self) -> Option<Question> {
        self.questions.recv().await
    }

    /// Begins the pull of a requested stream, unless it has begun, and replies with the channel of its finding.
    pub(super) fn answer(&mut self, question: Question, tasks: &mut JoinSet<()>) {
        let key = (question.rule, question.stream);
        let is_at_work = self.context.links.pulls.contains(&key);
        let (rule, stream) = &key;
        if !is_at_work && !self.begin_wanted(*rule, stream, tasks) {
            return;
        }
        if let Some(known) = self.known.get(stream) {
            known.ask.send_replace(Some(Instant::now()));
            // An error means that the question was given up.
            question.answer.send(known.finding.clone()).ok();
        }
    }

    /// Begins a pull that lasts as long as the server.
    fn begin_one(&mut self, index: usize, stream: &StreamName, tasks: &mut JoinSet<()>) {
        let (ask, asked) = watch::channel(None);
        // The source is assumed to have the stream: it is tried again and again.
        let (_, finding) = watch::channel(Finding::Found);
        let is_asked_for = self.context.config.pulls[index].on_demand;
        let life = match is_asked_for {
            true => Life::OnDemand(asked),
            false => Life::Always,
        };
        let Some((entry, link)) = self.link(index, stream, life) else {
            return;
        };
        let stop = self.stop.clone();
        let task = move || link.clone().keep(stop.clone());
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

    /// Begins a pull that lasts as long as the stream is wanted. Returns false if there cannot be one.
    fn begin_wanted(&mut self, rule: usize, stream: &StreamName, tasks: &mut JoinSet<()>) -> bool {
        if !self.make_room(rule) {
            return false;
        }
        let (ask, asked) = watch::channel(None);
        let (tell, finding) = watch::channel(Finding::Looking);
        let Some((entry, link)) = self.link(rule, stream, Life::Wanted(asked, tell)) else {
            return false;
        };
        let stop = self.stop.clone();
        let task = tasks.spawn(async move {
            link.keep(stop).await;
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

    /// Creates a link and its entry on the board. Returns `None` if there is one already, or the name lacks a part that the URL
    /// needs.
    fn link(
        &self,
        rule: usize,
        stream: &StreamName,
        life: Life,
    ) -> Option<(Entry<Key>, PulledLink)> {
        let config = &self.context.config.pulls[rule];
        let urls = config.sources(stream);
        let sources: Vec<_> = urls.iter().filter_map(PullSource::of).collect();
        if sources.is_empty() {
            return None;
        }
        let row = Row {
            stream: stream.clone(),
            url: config.shown(stream),
            status: Arc::default(),
        };
        let board = &self.context.links.pulls;
        let entry = board.enter((rule, stream.clone()), row)?;
        let link = PulledLink {
            context: Arc::clone(&self.context),
            stream: stream.clone(),
            sources,
            status: Arc::clone(entry.status()),
            life,
        };
        Some((entry, link))
    }

    /// Makes room for one more pull of a pattern; returns false if there are [`LINKS_MAX`] and each has found its stream.
    fn make_room(&mut self, rule: usize) -> bool {
        let board = &self.context.links.pulls;
        self.known
            .retain(|stream, known| board.contains(&(known.rule, stream.clone())));
        let has_room = give_way(&mut self.known, rule, LINKS_MAX);
        if !has_room {
            tracing::warn!(rule, LINKS_MAX, "as many pulls of one pattern as can be");
        }
        has_room
    }
}

/// If a rule has `max` pulls, ends the one that has looked longest without finding its stream. Returns false if each has found
/// its stream.
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
    async fn the_longest_look_in_vain_gives_way_and_a_found_stream_does_not() {
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
