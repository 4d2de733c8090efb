//! Time limits for a listener, served by a task, that takes none of the data it is given.

use std::pin::pin;
use std::time::Duration;

use fanout::{LogReader, Reason};
use tokio::time::{Instant, sleep};

/// Time within which a client must take a piece; equal to the timeout of a plain socket.
pub(super) const STALLED_AFTER: Duration = net::tcp::USER_TIMEOUT;

/// Interval at which the server checks whether a client that takes nothing may stay.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Waits for `giving` and returns its output.
///
/// # Errors
/// The reason why the listener of `reader` is dropped: it takes nothing for too long, lags too far, or was kicked.
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
