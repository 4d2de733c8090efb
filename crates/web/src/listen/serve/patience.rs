//! How long a listener that a task serves may take nothing of what it is given.

use std::pin::pin;
use std::time::Duration;

use fanout::{LogReader, Reason};
use tokio::time::{Instant, sleep};

/// How long it may take to give a client something; the same patience as for a plain socket.
pub(super) const STALLED_AFTER: Duration = net::tcp::USER_TIMEOUT;

/// How often it is asked, while a client takes nothing, whether it may stay.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// What becomes of `giving`.
///
/// # Errors
/// Why the listener of `reader` is let go: it takes nothing for too long, lags too far, or was kicked.
pub(super) async fn patiently<T>(
    reader: &mut LogReader,
    giving: impl Future<Output = T>,
) -> Result<T, Reason> {
    let mut giving = pin!(giving);
    let deadline = Instant::now() + STALLED_AFTER;
    loop {
        tokio::select! {
            biased;
            given = &mut giving => return Ok(given),
            () = sleep(CHECK_INTERVAL) => {}
        }
        if let Some(reason) = reader.overdue() {
            return Err(reason);
        }
        if Instant::now() >= deadline {
            return Err(Reason::Lag);
        }
    }
}
