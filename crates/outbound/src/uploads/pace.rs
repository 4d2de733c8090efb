//! Rate limit of sending.

use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base::Lock;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpRequestBody};
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes sent at once. At a megabit per second the next piece follows after half a second, and at a gigabit the timer fires two
/// thousand times a second.
const PIECE_BYTES: usize = 64 << 10;

/// One rate for all requests.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: Option<NonZeroU64>,
    /// Time at which the next bytes may be sent.
    free: Lock<Instant>,
}

impl Pace {
    pub(crate) fn new(bytes_per_second: Option<NonZeroU64>) -> Self {
        Self {
            bytes_per_second,
            free: Lock::new(Instant::now()),
        }
    }

    /// Reserves time for `bytes` bytes, and returns when they may be sent; `None` for at once.
    fn reserve(&self, bytes: usize, now: Instant) -> Option<Instant> {
        let rate = self.bytes_per_second?.get();
        let taken = Duration::from_nanos((bytes as u64).saturating_mul(1_000_000_000) / rate);
        let mut free = self.free.lock();
        let at = (*free).max(now);
        *free = at + taken;
        (at > now).then_some(at)
    }
}

/// Request body, sent in pieces at the common rate.
#[derive(Debug)]
pub(crate) struct PacedBody {
    body: HttpRequestBody,
    /// Data taken from the body, but not sent.
    rest: Bytes,
    pace: Arc<Pace>,
    /// Timer that the next piece waits for.
    wait: Option<Pin<Box<Sleep>>>,
    /// Counter of pieces sent.
    moved: Arc<AtomicU64>,
}

impl PacedBody {
    pub(crate) fn new(body: HttpRequestBody, pace: Arc<Pace>, moved: Arc<AtomicU64>) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            pace,
            wait: None,
            moved,
        }
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => this.rest = frame.into_data().unwrap_or_default(),
                ended => return Poll::Ready(ended),
            }
        }
        if let Some(wait) = &mut this.wait {
            ready!(wait.as_mut().poll(context));
            this.wait = None;
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        // Sent now; the following piece waits for its share of time.
        let until = this.pace.reserve(piece.len(), Instant::now());
        this.wait = until.map(|at| Box::pin(sleep_until(at)));
        this.moved.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let inner = self.body.size_hint().exact().unwrap_or_default();
        SizeHint::with_exact(inner + self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bodies_share_one_rate_and_arrive_whole() {
        let pace = Arc::new(Pace::new(NonZeroU64::new(1 << 20)));
        let sent: Vec<u8> = (0..1_u32 << 20).map(|n| n.to_le_bytes()[0]).collect();
        let moved = Arc::new(AtomicU64::new(0));
        let body = || {
            let body = HttpRequestBody::from(sent.clone());
            PacedBody::new(body, Arc::clone(&pace), Arc::clone(&moved))
        };
        assert_eq!(body().size_hint().exact(), Some(1 << 20));
        let begun = Instant::now();
        let (one, other) = tokio::join!(body().collect(), body().collect());
        let took = begun.elapsed();
        assert_eq!(one.expect("whole").to_bytes(), sent);
        assert_eq!(other.expect("whole").to_bytes(), sent);
        // Two megabytes at one a second, but for the last pieces.
        assert!((1.7..=2.1).contains(&took.as_secs_f64()), "{took:?}");
        assert_eq!(moved.load(Ordering::Relaxed), 32);
    }
}
