//! Meaning of a failed `accept` for the loop that called it.

use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// Wait before the next `accept` when the process or the system ran out of something. Retrying at once would
/// spin, because the pending connection stays readable.
pub const EXHAUSTED_BACKOFF: Duration = Duration::from_millis(100);

base::labels! {
    /// Cause of a failed `accept`.
    pub enum Failure {
        /// That one connection died before it was taken. Continue at once.
        Connection = "connection",
        /// Descriptors or memory ran out. Back off; present connections are unaffected.
        Exhausted = "exhausted",
        /// Something else: the listening socket itself may be broken. Back off.
        Unknown = "unknown",
    }
}

/// Classifies the error that `accept` returned.
pub fn classify(error: &io::Error) -> Failure {
    let Some(errno) = error.raw_os_error().map(Errno::from_raw_os_error) else {
        return Failure::Unknown;
    };
    match errno {
        Errno::CONNABORTED
        | Errno::CONNRESET
        | Errno::INTR
        | Errno::PROTO
        | Errno::NETDOWN
        | Errno::NOPROTOOPT
        | Errno::HOSTDOWN
        | Errno::HOSTUNREACH
        | Errno::NETUNREACH
        | Errno::PERM => Failure::Connection,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => Failure::Exhausted,
        _ => Failure::Unknown,
    }
}

/// Interval between two warnings that `accept` fails for lack of descriptors or memory.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Rate-limited warning that a port cannot accept; each accepting loop has one.
#[derive(Debug, Default)]
pub struct AcceptWarning(Option<Instant>);

impl AcceptWarning {
    /// Warns of a failed `accept`, unless it has done so in the last 10 s.
    pub fn warn(&mut self, error: &io::Error, now: Instant) {
        let was_warned = |at: Instant| now.saturating_duration_since(at) < WARNING_INTERVAL;
        if self.0.is_some_and(was_warned) {
            return;
        }
        self.0 = Some(now);
        tracing::warn!(
            %error,
            class = classify(error).label(),
            "connections cannot be accepted; present ones continue. `ulimit -n` tells how many \
             descriptors this process may have"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_running_out_is_not_the_connections_fault() {
        let of = |errno: Errno| classify(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert_eq!(of(Errno::MFILE), Failure::Exhausted);
        assert_eq!(of(Errno::CONNABORTED), Failure::Connection);
        assert_eq!(of(Errno::BADF), Failure::Unknown);
        assert_eq!(classify(&io::Error::other("x")), Failure::Unknown);
    }
}
