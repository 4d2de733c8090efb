//! Streams fetched from other servers.
//!
//! ```text
//!  join ─ not here ─► Origins ─ unknown a moment ago? ───────────────────► Unknown
//!                        ├───── already being asked? ─► waits for that answer
//!                        └───── Origin::locate, on a task of its own ─► Coming | Unknown | Unavailable
//! ```
//!
//! However many listeners want a name, its origin gets one question at a time, and about an unknown name one in
//! [`UNKNOWN_KEPT`]. A question continues even after every listener that waits for its answer has left.
//!
//! [`join`](crate::join()) asks after the gate has permitted the listener. Routing calls only [`Origin::expects`].

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::{Bounded, Lock};
use media::StreamName;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time for which a name stays unknown after its origin did not have it: the delay for a listener that comes just
/// before its publisher, and the interval at which the players of a dead address cost the origin an attempt.
pub const UNKNOWN_KEPT: Duration = Duration::from_secs(2);

/// Upper bound on remembered unknown names: about 10 MiB with names of 255 bytes. Beyond it the oldest is forgotten,
/// and may be looked up sooner.
const UNKNOWN_MAX: usize = 16 * 1024;

/// Upper bound on open questions. Each is a task, and at worst waits for another server.
const QUESTIONS_MAX: usize = 4 * 1024;

/// Source of streams from elsewhere: knows them by name and fetches them.
pub trait Origin: Send + Sync {
    /// Returns how a name is known without contacting another server; for routing, which does not wait.
    fn expects(&self, name: &StreamName) -> Expected;

    /// Begins to fetch a stream that a permitted listener wants and that is not here, or not live; or answers that it
    /// cannot. The caller waits for the answer as long as its own timeout allows.
    fn locate(&self, name: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>>;
}

/// An origin's knowledge of a name, without contacting another server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expected {
    /// The origin has this very name, so it means that stream and no other.
    Named,
    /// There may be such a stream, as there may be of many names.
    Perhaps,
    /// As `Perhaps`, for names that end with a media extension: the apparent extension is part of the name, if there is
    /// such a stream.
    Mount,
    /// The origin does not know the name.
    No,
}

/// An origin's answer about a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Located {
    /// The stream is on its way.
    Coming,
    /// There is no stream of that name. Remembered for [`UNKNOWN_KEPT`].
    Unknown,
    /// The stream cannot be located or fetched at the moment. Not remembered.
    Unavailable,
}

/// The origin, the open questions to it, and its recent negative answers.
#[derive(Default)]
pub(crate) struct Origins {
    origin: OnceLock<Arc<dyn Origin>>,
    asked: Lock<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    /// Open questions, by name.
    questions: HashMap<StreamName, watch::Receiver<Option<Located>>>,
    unknown: Unknown,
}

impl Origins {
    /// Sets the origin. Returns `false` if there is one already, which stays.
    pub(crate) fn set(&self, origin: Arc<dyn Origin>) -> bool {
        self.origin.set(origin).is_ok()
    }

    /// Returns the result of [`Origin::expects`].
    pub(crate) fn expects(&self, name: &StreamName) -> Expected {
        let origin = self.origin.get();
        origin.map_or(Expected::No, |origin| origin.expects(name))
    }

    /// Locates a stream, with a new question only if the answer is neither known nor already awaited.
    pub(crate) async fn locate(self: &Arc<Self>, name: &StreamName) -> Located {
        let mut answer = match self.question(name) {
            Ok(answer) => answer,
            Err(known) => return known,
        };
        let answered = answer.wait_for(Option::is_some).await;
        answered.map_or(Located::Unavailable, |located| {
            located.unwrap_or(Located::Unavailable)
        })
    }

    /// Returns the open question about a name, or the answer if no question is needed.
    fn question(
        self: &Arc<Self>,
        name: &StreamName,
    ) -> Result<watch::Receiver<Option<Located>>, Located> {
        let origin = self.origin.get().ok_or(Located::Unknown)?;
        let mut asked = self.asked.lock();
        if asked.unknown.has(name, Instant::now()) {
            return Err(Located::Unknown);
        }
        if let Some(question) = asked.questions.get(name) {
            return Ok(question.clone());
        }
        if asked.questions.len() >= QUESTIONS_MAX {
            return Err(Located::Unavailable);
        }
        let (tell, answer) = watch::channel(None);
        asked.questions.insert(name.clone(), answer.clone());
        drop(asked);
        let question = Question {
            origins: Arc::clone(self),
            name: name.clone(),
            tell,
            answer: Located::Unavailable,
        };
        tokio::spawn(question.ask(Arc::clone(origin)));
        Ok(answer)
    }
}

/// An open question. Its end publishes the answer, even if the origin panics.
struct Question {
    origins: Arc<Origins>,
    name: StreamName,
    tell: watch::Sender<Option<Located>>,
    answer: Located,
}

impl Question {
    async fn ask(mut self, origin: Arc<dyn Origin>) {
        self.answer = origin.locate(&self.name).await;
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let mut asked = self.origins.asked.lock();
        asked.questions.remove(&self.name);
        if self.answer == Located::Unknown {
            asked.unknown.remember(&self.name, Instant::now());
        }
        drop(asked);
        self.tell.send_replace(Some(self.answer));
    }
}

/// Names that no origin had recently, with the time at which each is forgotten: all are kept equally long, so the
/// oldest go first.
#[derive(Debug)]
struct Unknown(Bounded<StreamName, Instant>);

impl Default for Unknown {
    fn default() -> Self {
        Self(Bounded::new(UNKNOWN_MAX))
    }
}

impl Unknown {
    fn has(&mut self, name: &StreamName, now: Instant) -> bool {
        self.0.drop_while(|until| *until <= now);
        self.0.get(name).is_some()
    }

    /// Remembers a name that is not yet remembered.
    fn remember(&mut self, name: &StreamName, now: Instant) {
        self.0.insert(name.clone(), now + UNKNOWN_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;
    use tokio::time::{advance, sleep, timeout};

    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    /// Gives a set answer, once the test permits it; panics without one.
    struct Far {
        answer: Option<Located>,
        may_answer: Arc<Semaphore>,
        questions: AtomicUsize,
    }

    impl Far {
        fn new(answer: impl Into<Option<Located>>) -> (Arc<Self>, Arc<Origins>) {
            let far = Arc::new(Self {
                answer: answer.into(),
                may_answer: Arc::new(Semaphore::new(0)),
                questions: AtomicUsize::new(0),
            });
            let origins = Arc::new(Origins::default());
            assert!(origins.set(Arc::clone(&far) as _));
            (far, origins)
        }

        fn questions(&self) -> usize {
            self.questions.load(Ordering::Relaxed)
        }
    }

    impl Origin for Far {
        fn expects(&self, _: &StreamName) -> Expected {
            Expected::Perhaps
        }

        fn locate(&self, _: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
            self.questions.fetch_add(1, Ordering::Relaxed);
            let (answer, may_answer) = (self.answer, Arc::clone(&self.may_answer));
            Box::pin(async move {
                let permit = may_answer.acquire().await;
                drop(permit.expect("never closed"));
                answer.expect("a defect")
            })
        }
    }

    #[tokio::test]
    async fn a_thousand_requests_for_a_name_ask_once_and_have_one_answer() {
        let (far, origins) = Far::new(Located::Coming);
        let askers: Vec<_> = (0..1_000)
            .map(|_| {
                let origins = Arc::clone(&origins);
                tokio::spawn(async move { origins.locate(&name("cam/1")).await })
            })
            .collect();
        while far.questions() == 0 {
            tokio::task::yield_now().await;
        }
        far.may_answer.add_permits(1);
        for asker in askers {
            assert_eq!(asker.await.expect("no panic"), Located::Coming);
        }
        assert_eq!(far.questions(), 1);
        // A stream reported as coming may be gone the next time.
        assert_eq!(origins.locate(&name("cam/1")).await, Located::Coming);
        assert_eq!(far.questions(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_unknown_stays_so_for_a_while_and_nothing_else_does() {
        let (far, origins) = Far::new(Located::Unknown);
        far.may_answer.add_permits(1);
        for _ in 0..1_000 {
            assert_eq!(origins.locate(&name("cam/1")).await, Located::Unknown);
        }
        assert_eq!(far.questions(), 1);
        origins.locate(&name("cam/2")).await;
        assert_eq!(far.questions(), 2, "another name");
        advance(UNKNOWN_KEPT).await;
        origins.locate(&name("cam/1")).await;
        assert_eq!(far.questions(), 3);

        let (far, origins) = Far::new(Located::Unavailable);
        far.may_answer.add_permits(1);
        for asked in 1..=3 {
            assert_eq!(origins.locate(&name("cam/1")).await, Located::Unavailable);
            assert_eq!(far.questions(), asked);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_outlives_the_requests_that_asked_it() {
        let (far, origins) = Far::new(Located::Unknown);
        let cam = name("cam/1");
        let asker = timeout(Duration::from_secs(1), origins.locate(&cam));
        assert!(asker.await.is_err());
        let asker = timeout(Duration::from_secs(1), origins.locate(&cam));
        assert!(asker.await.is_err());
        assert_eq!(far.questions(), 1);
        far.may_answer.add_permits(1);
        while !origins.asked.lock().questions.is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(origins.locate(&cam).await, Located::Unknown);
        assert_eq!(far.questions(), 1, "its answer was remembered");
    }

    #[tokio::test]
    async fn questions_are_bounded_in_number() {
        let (far, origins) = Far::new(Located::Coming);
        for number in 0..QUESTIONS_MAX {
            let asked = origins.question(&name(&format!("s{number}")));
            assert!(asked.is_ok());
        }
        assert_eq!(origins.locate(&name("more")).await, Located::Unavailable);
        assert!(origins.question(&name("s0")).is_ok(), "it is asked already");
        while far.questions() < QUESTIONS_MAX {
            tokio::task::yield_now().await;
        }
        far.may_answer.add_permits(1);
        assert_eq!(origins.locate(&name("s1")).await, Located::Coming);
    }

    #[tokio::test]
    async fn an_origin_that_panics_is_unavailable() {
        let (far, origins) = Far::new(None::<Located>);
        far.may_answer.add_permits(1);
        for _ in 0..2 {
            assert_eq!(origins.locate(&name("cam/1")).await, Located::Unavailable);
        }
    }

    #[test]
    fn of_unknown_names_the_newest_are_remembered() {
        let (mut unknown, now) = (Unknown::default(), Instant::now());
        for number in 0..=UNKNOWN_MAX {
            unknown.remember(&name(&format!("s{number}")), now);
        }
        assert_eq!(unknown.0.len(), UNKNOWN_MAX);
        assert!(!unknown.has(&name("s0"), now) && unknown.has(&name("s1"), now));
        assert!(!unknown.has(&name("s1"), now + UNKNOWN_KEPT));
        assert!(unknown.0.is_empty());
    }
}
