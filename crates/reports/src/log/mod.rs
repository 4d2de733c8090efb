//! Message log of the server, on standard error: standard output is for the start-up notice and the programs that read it.
//!
//! The server never waits for this log, and no peer can fill a disk with it. An event passes the `limit`, which bounds the
//! lines per second, and becomes a line in the bounded queue of a `sink`, whose thread alone writes. The logs for other
//! programs ([`LineLog`]) have their own sinks.

mod limit;
mod lines;
mod place;
mod sink;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::time::{Duration, Instant};

use tracing::{Level, Metadata};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::limit::Limiter;
pub use self::lines::{LineLog, end_torn_line};
pub use self::place::Place;
pub use self::sink::{LineSink, duplicate};

/// Name of this log in metric labels and warnings.
pub const MESSAGES: &str = "messages";

/// Most lines that may wait: more than a minute of what the limit allows.
const LINES_MAX: usize = 4_096;

/// Longest time to wait until an error is written: it may be the last line before the process aborts. A working log takes less
/// than a millisecond; one that has already been stuck for this long is not waited for.
const ERROR_PATIENCE: Duration = Duration::from_millis(100);

/// Longest time that the end of the process waits for the last lines.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// Log of the process, or none for programs that embed a relay.
#[derive(Clone, Debug, Default)]
pub struct Log(Option<Installed>);

#[derive(Clone, Debug)]
struct Installed {
    limiter: Limiter,
    sink: LineSink,
}

impl Log {
    /// Installs the process's log, panics included. A second call changes nothing.
    ///
    /// # Errors
    /// Fails when its thread cannot be started.
    pub fn install(log: &config::Log) -> io::Result<Self> {
        let sink = LineSink::open(MESSAGES, duplicate(io::stderr())?, LINES_MAX)?;
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
            .with(level(log.level))
            .try_init();
        if installed.is_err() {
            tracing::debug!("a log is installed already");
        }
        std::panic::set_hook(Box::new(tell_panic));
        Ok(Self(Some(Installed { limiter, sink })))
    }

    /// Returns the number of dropped lines.
    pub fn lines_lost(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |installed| installed.sink.lines_lost())
    }

    /// Logs sums of suppressed events. Call it at intervals.
    pub fn sum_up(&self, now: Instant) {
        if let Some(installed) = &self.0 {
            installed.limiter.sum_up(now);
        }
    }

    /// Writes the remaining lines, in bounded time.
    pub fn finish(&self) {
        if let Some(Installed { limiter, sink }) = &self.0 {
            limiter.sum_up_all();
            sink.flush(END_PATIENCE);
        }
    }
}

/// Returns the filter for the lowest level that is written.
const fn level(level: config::LogLevel) -> LevelFilter {
    match level {
        config::LogLevel::Error => LevelFilter::ERROR,
        config::LogLevel::Warn => LevelFilter::WARN,
        config::LogLevel::Info => LevelFilter::INFO,
        config::LogLevel::Debug => LevelFilter::DEBUG,
        config::LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Logs a panic. The standard library's own hook would wait for the reader of standard error.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let message = panic.payload_as_str().unwrap_or("no message");
    let location = panic.location().map(tracing::field::display);
    // Captured only if RUST_BACKTRACE requests it.
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    let backtrace = backtrace.as_ref().map(tracing::field::display);
    tracing::error!(location, backtrace, "thread '{thread}' panicked: {message}");
}

/// Factory of writers, one for each event.
struct Lines(LineSink);

/// Writer of one event's line.
struct Line<'a> {
    sink: &'a LineSink,
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

/// Writes a text to standard output, and waits for that at most one second: a pipe without a reader must not stop a server.
pub fn announce(text: &str) {
    let announced = duplicate(io::stdout())
        .and_then(|output| LineSink::open("notice", output, 1))
        .map(|sink| {
            sink.push(text.as_bytes());
            sink.flush(ANNOUNCE_PATIENCE)
        });
    if !announced.is_ok_and(|is_written| is_written) {
        tracing::warn!("standard output does not take the start-up notice");
    }
}

const ANNOUNCE_PATIENCE: Duration = Duration::from_secs(1);
