//! Panics that cost one session, connection or datagram, and not the process.
//!
//! Untrusted bytes reach third-party code, and code of this server that may have defects. A caller that feeds one
//! peer's bytes to it does so within [`contain`] (or [`contain_task`]), gives up that peer when it panics, and
//! [reports](Panic::report) the panic: a warning in the log, rate-limited with a count of the rest, and a count
//! by part.
//!
//! State shared by all peers of a thread stays outside: a panic there has cost the thread its state, and
//! [`AbortOnPanic`](crate::AbortOnPanic) ends the process.
//!
//! [`install_hook`] keeps the standard library from writing each contained panic to standard error, unlimited
//! and waiting for room there. Called by `server` (the hook, connections), `egress-rtmp`, `ingest`, `fanout`,
//! `webrtc` and the intake.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{LazyLock, Once};
use std::task::Poll;
use std::time::{Duration, Instant};

use base::{Labelled, Lock, Quota};

/// Most panics logged one by one in [`LINES_PERIOD`]; the rest are counted. One is a defect to be reported;
/// more of them add nothing.
const LINES_MAX: u32 = 5;

/// Period of [`LINES_MAX`].
const LINES_PERIOD: Duration = Duration::from_secs(1);

base::labels! {
    /// Part of the server whose peer is given up after a panic.
    pub enum Part {
        /// A session or datagram of the WebRTC port.
        Webrtc = "webrtc",
        /// A publisher that an intake thread reads.
        Intake = "intake",
        /// A listener's conversation on a worker.
        Listener = "listener",
        /// A connection that a task serves.
        Connection = "connection",
    }
}

impl Part {
    /// Returns the number of panics in this part that have been reported since the process began.
    pub fn panics(self) -> u64 {
        COUNTS.value(self)
    }
}

/// Counts per part; a process has one panic hook and one set of counts.
static COUNTS: LazyLock<Labelled<Part>> = LazyLock::new(Labelled::default);

/// Limit on log lines, which keeps a flood of panics from filling the log.
static LINES: Lock<Quota> = Lock::new(Quota::new(LINES_MAX, LINES_PERIOD));

thread_local! {
    /// Number of [`contain`]s that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Source location of the last contained panic, as the hook received it.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic that was contained.
#[derive(Debug)]
#[must_use = "a panic is a defect to be reported"]
pub struct Panic {
    message: String,
    location: Option<String>,
}

impl Panic {
    /// Counts the panic, and logs its message, its location, and the peer that was given up.
    pub fn report(&self, part: Part, what: &dyn Display) {
        COUNTS.count(part);
        let mut lines = LINES.lock();
        let Some(unreported) = lines.take(Instant::now()) else {
            return;
        };
        drop(lines);
        tracing::warn!(
            part = part.label(),
            panic = %self,
            unreported,
            "a defect of the server has ended {what}; everything else continues"
        );
    }
}

impl Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message may contain the peer's data.
        write!(f, "{:?}", self.message)?;
        match &self.location {
            Some(location) => write!(f, " at {location}"),
            None => Ok(()),
        }
    }
}

/// Runs code that one peer's bytes may make panic. After a panic the data it worked on is in an unknown
/// state, and must be given up.
///
/// # Errors
/// The code has panicked.
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    DEPTH.set(DEPTH.get() + 1);
    // Unwind safety: the caller gives up everything that the work could have left half done.
    let done = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    done.map_err(|payload| Panic {
        message: message(&*payload).to_owned(),
        location: LOCATION.take(),
    })
}

/// Runs a task like [`contain`]; each of its polls is contained.
///
/// # Errors
/// The task has panicked. It has been dropped by then.
pub async fn contain_task<T>(task: impl Future<Output = T>) -> Result<T, Panic> {
    let mut task = pin!(task);
    std::future::poll_fn(|context| match contain(|| task.as_mut().poll(context)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// Leaves contained panics to the callers of [`contain`] from now on; all others reach the hook that was
/// there before. A second call changes nothing.
pub fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                return former(info);
            }
            LOCATION.set(info.location().map(ToString::to_string));
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let text = payload.downcast_ref::<&str>().copied().or(owned);
    text.unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_contained_with_its_words_and_its_place() {
        install_hook();
        assert_eq!(contain(|| 7).expect("no panic"), 7);
        let number = 5;
        let panic = contain(|| panic!("a defect\n of {number}")).expect_err("it panics");
        let words = panic.to_string();
        assert!(words.starts_with(r#""a defect\n of 5" at "#), "{words}");
        assert!(words.contains("panics.rs:"), "{words}");
        let nested = contain(|| contain(|| panic!("within")).expect_err("it panics"));
        assert_eq!(nested.expect("contained within").message, "within");
        assert_eq!(DEPTH.get(), 0);
    }

    #[test]
    fn each_report_counts() {
        let before = Part::Connection.panics();
        let panic = contain(|| panic!("once")).expect_err("it panics");
        panic.report(Part::Connection, &"no peer");
        assert!(Part::Connection.panics() > before);
    }

    #[test]
    fn a_task_is_contained_in_every_step() {
        let step = Cell::new(0);
        let mut task = pin!(contain_task(std::future::poll_fn(|_| {
            step.set(step.get() + 1);
            match step.get() {
                1 => Poll::<()>::Pending,
                _ => panic!("in its second step"),
            }
        })));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(task.as_mut().poll(&mut context).is_pending());
        let Poll::Ready(Err(panic)) = task.as_mut().poll(&mut context) else {
            panic!("it is over");
        };
        assert_eq!(panic.message, "in its second step");
    }
}
