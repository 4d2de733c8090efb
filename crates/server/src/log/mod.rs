//! The server's messages, on standard error: standard output belongs to the start-up notice and its
//! readers.
//!
//! Nothing of the server waits for this log, and nobody can fill a disk with it. An event passes the
//! [`limit`], which bounds how many lines a second there are, and becomes a line in the bounded queue of
//! a [`sink`], whose thread alone writes. The access log has a sink of its own.

mod limit;
mod sink;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::time::{Duration, Instant};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use self::limit::Limiter;
pub(crate) use self::sink::{Sink, duplicate};

/// What this log is called where there are several: in a metric's label and in complaints.
pub(crate) const MESSAGES: &str = "messages";

/// Lines that may wait: more than a minute of what the limit lets through.
const LINES_MAX: usize = 4_096;

/// How long an error waits until it is written: it may be the last thing that this process says before
/// it ends itself. Where lines are written at all, that takes less than a millisecond; a log that has
/// been stuck for so long already is not waited for.
const ERROR_PATIENCE: Duration = Duration::from_millis(100);

/// How long the end of the process waits for the last lines.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// The process's log, or none for programs that run a relay within themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Option<Installed>);

#[derive(Clone, Debug)]
struct Installed {
    limiter: Limiter,
    sink: Sink,
}

impl Log {
    /// Installs the process's log, panics included. A second call changes nothing.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn install(log: &config::Log) -> io::Result<Self> {
        let sink = Sink::open(MESSAGES, duplicate(io::stderr())?, LINES_MAX)?;
        let limiter = Limiter::new(Instant::now());
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(Lines(sink.clone()))
            .with_ansi(io::stderr().is_terminal());
        let lines = match log.format {
            config::LogFormat::Text => lines.boxed(),
            config::LogFormat::Json => lines.json().boxed(),
        };
        let installed = tracing_subscriber::registry()
            .with(lines)
            .with(limiter.clone())
            .with(EnvFilter::new(log.level.as_str()))
            .try_init();
        if installed.is_err() {
            tracing::debug!("a log is installed already");
        }
        std::panic::set_hook(Box::new(tell_panic));
        Ok(Self(Some(Installed { limiter, sink })))
    }

    /// Lines that nobody will ever read.
    pub(crate) fn lines_lost(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |installed| installed.sink.lines_lost())
    }

    /// Tells of events that the limit has kept back. To be called now and then.
    pub(crate) fn sum_up(&self, now: Instant) {
        if let Some(installed) = &self.0 {
            installed.limiter.sum_up(now);
        }
    }

    /// Writes what is left, in bounded time.
    pub(crate) fn finish(&self) {
        if let Some(Installed { limiter, sink }) = &self.0 {
            limiter.sum_up_all();
            sink.flush(END_PATIENCE);
        }
    }
}

/// The standard library would write this itself, and wait for whoever reads it.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let message = panic.payload_as_str().unwrap_or("no message");
    let location = panic.location().map(tracing::field::display);
    // Taken if RUST_BACKTRACE asks for it.
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    let backtrace = backtrace.as_ref().map(tracing::field::display);
    tracing::error!(location, backtrace, "thread '{thread}' panicked: {message}");
}

/// Makes lines of events.
struct Lines(Sink);

/// Takes one event's line, whole.
struct Line<'a> {
    sink: &'a Sink,
    is_error: bool,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            sink: &self.0,
            is_error: false,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line<'a> {
        Line {
            sink: &self.0,
            is_error: *metadata.level() == Level::ERROR,
        }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.sink.push(line);
        if self.is_error {
            self.sink.flush(ERROR_PATIENCE);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a text to standard output and waits for that no longer than a second: a pipe that nobody reads must
/// not keep a server from its work.
pub(crate) fn announce(text: &str) {
    let announced = duplicate(io::stdout())
        .and_then(|output| Sink::open("notice", output, 1))
        .map(|sink| {
            sink.push(text.as_bytes());
            sink.flush(ANNOUNCE_PATIENCE)
        });
    if !announced.is_ok_and(|is_written| is_written) {
        tracing::warn!("standard output does not take the start-up notice");
    }
}

const ANNOUNCE_PATIENCE: Duration = Duration::from_secs(1);
