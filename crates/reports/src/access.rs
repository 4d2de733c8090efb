//! Access log: one line per finished request, in the Combined Log Format with the duration in seconds at the end, as Icecast
//! writes it and log analysers read it.
//!
//! There are two threads: one reads the listeners that left the workers, for this log and the session log; the other writes
//! lines.

use std::borrow::Cow;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use fanout::{Departure, Fanout, ListenerRecord, Protocol, Reason};

use crate::log::LineLog;
use crate::sessions::Sessions;
use crate::stamp;

/// Name of this log in metric labels and warnings.
pub const ACCESS: &str = "access";

/// Interval at which the reader of departures checks whether it must end.
const POLL: Duration = Duration::from_millis(100);

/// One finished request. Text from clients is escaped when it is written.
#[derive(Clone, Debug)]
pub struct AccessLine<'a> {
    /// Address of the client.
    pub peer: IpAddr,
    /// Start of the request.
    pub since: SystemTime,
    /// First line of the request; see [`request_line`].
    pub request: &'a str,
    /// Status of the response.
    pub status: u16,
    /// Bytes of the response's body.
    pub bytes: u64,
    /// Header Referer; empty if there is none.
    pub referer: &'a str,
    /// Header User-Agent; empty if there is none.
    pub agent: &'a str,
    /// Time from the request's first byte to the last of its response.
    pub duration: Duration,
}

/// Longest text from a client, in bytes. Requests for streams are far shorter.
const TEXT_BYTES_MAX: usize = 512;

/// Returns the part of a request target or URL that any log may contain. Keys are in queries and before an `@`, so both are cut
/// off.
pub fn loggable(target: &str) -> Cow<'_, str> {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let path = &target[..end];
    let userinfo = path.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.find('/').unwrap_or(rest.len());
        let at = rest[..authority].rfind('@')?;
        Some((scheme, &rest[at + 1..]))
    });
    match userinfo {
        Some((scheme, rest)) => Cow::Owned(format!("{}://{}", cut(scheme), cut(rest))),
        None => Cow::Borrowed(cut(path)),
    }
}

/// Returns a request's first line without the parts that must not be logged.
pub fn request_line(method: &str, target: &str, version: &str) -> String {
    format!("{} {} {version}", cut(method), loggable(target))
}

/// Returns the beginning of a text from a client.
pub fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

impl AccessLine<'_> {
    fn format(&self) -> String {
        format!(
            "{} - - [{}] \"{}\" {} {} \"{}\" \"{}\" {}\n",
            self.peer.to_canonical(),
            stamp::log_date(self.since),
            escape(self.request),
            self.status,
            self.bytes,
            escape(&loggable(self.referer)),
            escape(cut(self.agent)),
            self.duration.as_secs(),
        )
    }
}

/// Escapes text for use between quotes on one line; empty text becomes `-`.
fn escape(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Access log of the server. Clones write to the same file.
#[derive(Clone, Debug)]
pub struct AccessLog(LineLog);

impl AccessLog {
    /// Makes an access log that writes to `lines`.
    pub fn new(lines: LineLog) -> Self {
        Self(lines)
    }

    /// Writes a line.
    pub fn write(&self, line: &AccessLine<'_>) {
        if self.0.is_open() {
            self.0.write(line.format().as_bytes());
        }
    }

    /// Returns the log itself.
    pub fn lines(&self) -> &LineLog {
        &self.0
    }
}

/// Handle of the thread that reads departures.
#[derive(Debug)]
pub struct Departures {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Departures {
    /// Starts the thread.
    ///
    /// # Errors
    /// Fails when there is no thread.
    pub fn read(
        departed: Receiver<Departure>,
        fanout: Arc<Fanout>,
        log: AccessLog,
        mut sessions: Sessions,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let reported = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("departures".to_owned())
            .spawn(move || {
                loop {
                    let next = departed.recv_timeout(POLL);
                    sessions.turn(Instant::now());
                    match next {
                        Ok(departure) => leave(&fanout, &log, &mut sessions, &departure),
                        Err(RecvTimeoutError::Disconnected) => break,
                        Err(RecvTimeoutError::Timeout) if reported.load(Ordering::Acquire) => break,
                        Err(RecvTimeoutError::Timeout) => {}
                    }
                }
                sessions.finish();
            })?;
        Ok(Self { stop, thread })
    }

    /// Reads the remaining departures, then ends the thread. Call it when the workers have ended.
    pub fn finish(self) {
        self.stop.store(true, Ordering::Release);
        if self.thread.join().is_err() {
            tracing::error!("the reader of departures had panicked");
        }
    }
}

fn leave(fanout: &Fanout, log: &AccessLog, sessions: &mut Sessions, departure: &Departure) {
    let Some(record) = fanout.directory().get(departure.id) else {
        return;
    };
    let duration = record.requested.elapsed();
    // Before the directory forgets the listener, so that it is always in the list of present listeners or in the log.
    sessions.leave(&record, departure, duration);
    fanout.directory().leave(departure);
    sessions.left(&record);
    tell(&record, departure, duration);
    log.write(&AccessLine {
        peer: record.peer.ip(),
        since: record.since,
        request: &record.request,
        // A listener has a record only after the stream was granted to it.
        status: match record.format.protocol {
            Protocol::Websocket => 101,
            _ => 200,
        },
        bytes: departure.sent_bytes,
        referer: &record.referer,
        agent: &record.agent,
        duration,
    });
}

fn tell(record: &ListenerRecord, departure: &Departure, duration: Duration) {
    let (listener, stream, peer) = (departure.id.0, &record.stream, record.peer);
    let (reason, skips) = (departure.reason.label(), departure.skips);
    let (bytes, seconds) = (departure.sent_bytes, duration.as_secs());
    match departure.reason {
        Reason::Lag | Reason::Overrun => tracing::warn!(
            listener, %stream, %peer, reason, skips, bytes, seconds,
            "a listener was dropped: it took less than the stream brings, for too long"
        ),
        Reason::Kicked => tracing::info!(
            listener, %stream, %peer, reason, skips, bytes, seconds,
            "a listener was removed: by the operator, or because its permission has ended"
        ),
        Reason::Left | Reason::Ended | Reason::Shutdown => tracing::debug!(
            listener, %stream, %peer, reason, skips, bytes, seconds,
            "a listener is gone"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_loggable() {
        let long = "/".repeat(2_000);
        for (target, expected) in [
            ("/live/show?key=K", "/live/show"),
            ("/live/show#?key=K", "/live/show"),
            ("/admin.cgi?pass=K?pass=K", "/admin.cgi"),
            ("http://user:K@host/live?x", "http://host/live"),
            ("http://a@b:K@host", "http://host"),
            ("http://host/a@b", "http://host/a@b"),
            ("/a@b", "/a@b"),
            ("", ""),
            (&long, &long[..TEXT_BYTES_MAX]),
        ] {
            assert_eq!(loggable(target), expected);
        }
        // Cut within a character, and within what must not be logged.
        assert_eq!(loggable(&"ü".repeat(2_000)).len(), TEXT_BYTES_MAX);
        let password = format!("http://user:{}@host/", "K".repeat(2_000));
        assert!(!loggable(&password).contains('K'));
    }

    #[test]
    fn a_line_is_one_line_whatever_clients_say() {
        let line = AccessLine {
            peer: IpAddr::from([192, 0, 2, 1]),
            since: SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777),
            request: "GET /radio.mp3 HTTP/1.1",
            status: 200,
            bytes: 4_711,
            referer: "",
            agent: "a\"b\\c\r\n127.0.0.1 - - forged",
            duration: Duration::from_millis(61_900),
        };
        assert_eq!(
            line.format(),
            "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /radio.mp3 HTTP/1.1\" 200 4711 \
             \"-\" \"a\\\"b\\\\c\\u{d}\\u{a}127.0.0.1 - - forged\" 61\n"
        );
    }
}
