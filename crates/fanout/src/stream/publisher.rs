//! The writing end of a stream, held by one publisher's connection.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use media::{Item, StreamName};

use super::{Phase, Settings, Source, Stream};
use crate::gate::Credential;
use crate::registry::PublishRefused;

/// An encoder is asked for keyframes no more often than this: each costs as much as many other frames,
/// and a viewer that lost one asks again and again until the next is there.
const KEYFRAME_INTERVAL: Duration = Duration::from_millis(500);

/// Writes one epoch of a stream. Dropping it ends the epoch; the stream lingers.
#[derive(Debug)]
pub struct Publisher {
    stream: Arc<Stream>,
    epoch: u32,
    takes_over: bool,
    /// Somebody followed the stream at the last write.
    is_followed: bool,
    /// When its encoder was last asked for a keyframe.
    keyframe_asked: Option<Instant>,
}

/// Tells when a publisher's turn on its stream is over, to whoever does not hold the
/// [`Publisher`] itself. One at a time is told.
#[derive(Debug)]
pub struct Claim {
    stream: Arc<Stream>,
    epoch: u32,
}

/// Another publisher has taken the stream, or it was ended. The connection should say so and close.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("another publisher has taken over")]
pub struct Superseded;

impl Publisher {
    /// Takes a stream over for a new epoch.
    pub(crate) fn begin(
        stream: Arc<Stream>,
        credential: Credential,
        source: Source,
        settings: Settings,
        now: Instant,
    ) -> Result<Self, PublishRefused> {
        let mut core = stream.core();
        let takes_over = match core.phase {
            Phase::Live => {
                core.permits(&stream.name, credential, &source, &settings, now)?;
                core.replace(&stream.name, &source, &settings, now);
                true
            }
            Phase::Lingering => false,
            Phase::Ended => return Err(PublishRefused::Ended),
        };
        core.begin_epoch(credential, source, settings, now);
        let epoch = core.epoch;
        drop(core);
        Ok(Self {
            stream,
            epoch,
            takes_over,
            is_followed: true,
            keyframe_asked: None,
        })
    }

    /// Whether it began by replacing another.
    pub(crate) fn took_over(&self) -> bool {
        self.takes_over
    }

    /// The stream's name.
    pub fn name(&self) -> &StreamName {
        &self.stream.name
    }

    /// The stream it writes to.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Passes on what one read brought, in order; `items` is empty afterwards. `now` is when it
    /// arrived.
    ///
    /// # Errors
    /// When the stream is somebody else's by now; nothing was written then.
    pub fn write(&mut self, items: &mut Vec<Item>, now: Instant) -> Result<(), Superseded> {
        let mut core = self.stream.core();
        if core.phase != Phase::Live || core.epoch != self.epoch {
            items.clear();
            return Err(Superseded);
        }
        core.last_item = now;
        core.write(items, now);
        self.is_followed = !core.lanes.is_empty() || !core.taps.is_empty();
        Ok(())
    }

    /// Whether, as of the last write, the stream has lanes (listeners, or some not long ago) or taps.
    pub fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Whether the encoder is to be asked for a keyframe now, because somebody cannot go on without.
    /// To be called often by whoever has a way to ask; says so at most once in half a second.
    pub fn takes_keyframe_request(&mut self, now: Instant) -> bool {
        let too_soon = self
            .keyframe_asked
            .is_some_and(|at| now.saturating_duration_since(at) < KEYFRAME_INTERVAL);
        if too_soon || !self.stream.wish.is_set() {
            return false;
        }
        self.stream.wish.clear();
        self.keyframe_asked = Some(now);
        true
    }

    /// What tells when it is over.
    pub fn claim(&self) -> Claim {
        Claim {
            stream: Arc::clone(&self.stream),
            epoch: self.epoch,
        }
    }

    /// Waits until somebody else has the stream.
    pub async fn superseded(&self) -> Superseded {
        self.claim().superseded().await
    }
}

impl Claim {
    /// Resolves when somebody else has the stream.
    pub fn poll_superseded(&self, cx: &Context<'_>) -> Poll<Superseded> {
        let mut core = self.stream.core();
        if core.phase != Phase::Live || core.epoch != self.epoch {
            return Poll::Ready(Superseded);
        }
        match &mut core.superseded {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Waits until somebody else has the stream, or it has ended.
    pub async fn superseded(&self) -> Superseded {
        std::future::poll_fn(|cx| self.poll_superseded(cx)).await
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        let mut core = self.stream.core();
        if core.phase == Phase::Live && core.epoch == self.epoch {
            core.phase = Phase::Lingering;
            core.linger_until = Instant::now() + core.settings.linger;
            core.superseded = None;
        }
    }
}
