//! Waits of connections for things other than bytes.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::sync::watch;

/// Waits for a point in time, or for ever.
pub async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

/// Waits until `flag` changes; each change is returned once.
pub async fn change(flag: &mut watch::Receiver<bool>) {
    // The sender was dropped: the flag stays as it is.
    if flag.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns the output of a future if it is ready at once. Otherwise it may be awaited afterwards.
pub fn at_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(future).poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
