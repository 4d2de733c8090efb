//! Things that connections wait for, beside bytes.

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
