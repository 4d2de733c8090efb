//! What a failed `accept` means for the loop that called it.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

/// How long to wait before the next `accept` when the process or the system ran out of something.
/// Retrying at once would spin, because the pending connection stays readable.
pub const EXHAUSTED_BACKOFF: Duration = Duration::from_millis(100);

base::labels! {
    /// What a failed `accept` has hit.
    pub enum Failure {
        /// That one connection died before it was taken. Go on at once.
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
