//! Things that connections wait for, beside bytes.

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

/// Waits until `flag` changes, which whoever asks again is not told a second time.
pub async fn change(flag: &mut watch::Receiver<bool>) {
    // Whoever could change it is gone: it stays as it is.
    if flag.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What a future has to say without being waited for. If it has nothing yet, it may be awaited afterwards.
pub fn at_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut nobody = Context::from_waker(Waker::noop());
    match Pin::new(future).poll(&mut nobody) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
