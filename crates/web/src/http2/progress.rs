//! Progress of a client through the body of a reply: the pieces that wait to be sent, and the time since when.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use base::Lock;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Pieces of a connection that may wait to be sent, in addition to one per request: 256 KiB.
pub const PIECES_MAX: usize = 16;

/// Time for which a client may take nothing of a body, in the extensions of its response. `None` for bodies that have rules of
/// their own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Patience(pub Option<Duration>);

impl Default for Patience {
    /// Returns 30 s. A page is small: a client that takes longer is not reading.
    fn default() -> Self {
        Self(Some(Duration::from_secs(30)))
    }
}

/// Check whether a client may be sent no more of a body, in the extensions of its response. The body itself ends when it is
/// polled for more; the stream of a body that waits for its client to take something is reset.
#[derive(Clone)]
pub struct IsOver(pub Arc<dyn Fn() -> bool + Send + Sync>);

base::debug!(IsOver {});

/// Interval at which `IsOver` is checked.
const OVER_LOOK: Duration = Duration::from_secs(1);

/// Interval at which a body is checked for a changed patience.
const LOOK: Duration = Duration::from_secs(60);

/// Number of pieces that wait to be sent, for all requests of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding(Arc<AtomicUsize>);

/// Progress of one request's body; [`stalls`](Self::stalls) resolves when the body must end.
#[derive(Debug)]
pub(crate) struct Progress {
    connection: Outstanding,
    state: Lock<State>,
    /// Notified when the patience or the end condition of the body has changed.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    patience: Patience,
    is_over: Option<IsOver>,
    /// Number of pieces that wait to be sent.
    pieces: usize,
    /// Time at which the first of them was handed over, or at which the piece before it was sent.
    since: Instant,
    /// Waker of the body with the next piece.
    waker: Option<Waker>,
}

impl Progress {
    pub(crate) fn new(connection: Outstanding) -> Arc<Self> {
        Arc::new(Self {
            connection,
            state: Lock::new(State {
                patience: Patience::default(),
                is_over: None,
                pieces: 0,
                since: Instant::now(),
                waker: None,
            }),
            changed: Notify::new(),
        })
    }

    pub(crate) fn set_patience(&self, patience: Patience) {
        self.state.lock().patience = patience;
        self.changed.notify_one();
    }

    pub(crate) fn set_over(&self, is_over: IsOver) {
        self.state.lock().is_over = Some(is_over);
        self.changed.notify_one();
    }

    /// Whether another piece may be handed over; if not, the caller is woken when one may.
    pub(crate) fn has_room(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        let has_room = state.pieces == 0 || self.connection.0.load(Ordering::Relaxed) < PIECES_MAX;
        if !has_room {
            state.waker = Some(cx.waker().clone());
        }
        has_room
    }

    /// Whether all pieces are sent; if not, the caller is woken when one is.
    pub(crate) fn is_taken(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        if state.pieces > 0 {
            state.waker = Some(cx.waker().clone());
        }
        state.pieces == 0
    }

    /// Returns a piece that counts as waiting to be sent until it is dropped.
    pub(crate) fn hand_over(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        self.connection.0.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        if state.pieces == 0 {
            state.since = Instant::now();
        }
        state.pieces += 1;
        drop(state);
        Bytes::from_owner(Piece {
            bytes,
            progress: Arc::clone(self),
        })
    }

    fn sent(&self) {
        self.connection.0.fetch_sub(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.pieces -= 1;
        state.since = Instant::now();
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Resolves when nothing was taken for too long, or nothing may be taken any more.
    pub(crate) async fn stalls(&self) {
        loop {
            let now = Instant::now();
            let (patience, since, is_over) = {
                let state = self.state.lock();
                let waits = state.pieces > 0;
                let since = waits.then_some(state.since);
                (state.patience.0, since, state.is_over.clone())
            };
            let until = match (patience, since) {
                (Some(patience), Some(since)) => since + patience,
                (patience, _) => now + patience.unwrap_or(LOOK),
            };
            if until <= now {
                return;
            }
            let until = match is_over {
                None => until,
                Some(IsOver(is_over)) => {
                    if since.is_some_and(|since| since + OVER_LOOK <= now) && is_over() {
                        return;
                    }
                    until.min(now + OVER_LOOK)
                }
            };
            tokio::select! {
                () = sleep_until(until) => {}
                () = self.changed.notified() => {}
            }
        }
    }
}

/// Piece that was handed over.
struct Piece {
    bytes: Bytes,
    progress: Arc<Progress>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.progress.sent();
    }
}
