//! The writing end of a stream, held by one publisher's connection.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use media::{Container, Item, SongTitle, StreamName, TrackId};

use super::incumbent::Incumbent;
use super::rendition::{Parent, RENDITIONS_MAX, Rendition, RenditionRefused, divide};
use super::{Phase, Stream};
use crate::keyframe::RequestRate;
use crate::takeover::PublishRefused;

/// Writes one epoch of a stream. Dropping it ends the epoch; the stream lingers.
#[derive(Debug)]
pub struct Publisher {
    stream: Arc<Stream>,
    /// Number of the epoch in which it came.
    epoch: u32,
    /// Whether it began by replacing another publisher.
    pub(crate) takes_over: bool,
    /// Whether another publisher had the stream at the last write, by the operator's wish.
    is_unheard: bool,
    /// Whether the stream had followers at the last write that want arrivals at once.
    is_awaited: bool,
    /// Whether there were listeners at the last write, and no keyframe recent enough for the next joiner.
    wants_keyframe: bool,
    keyframe_requests: RequestRate,
    /// Streams that carry further video tracks; their epochs end with this one.
    renditions: Vec<Rendition>,
}

/// Reports the end of a publisher's epoch to code that does not hold the [`Publisher`] itself. Supports one waiter at a
/// time.
#[derive(Debug)]
pub struct EpochWatch {
    stream: Arc<Stream>,
    epoch: u32,
}

/// Reason why an epoch is over. The connection should report it and close.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EpochOver {
    /// Another publisher has the stream.
    #[error("another publisher has taken over")]
    Superseded,
    /// The stream was ended by an operator or by the server.
    #[error("the server ended the stream")]
    Ended,
}

impl Publisher {
    /// Takes a stream over for a new epoch.
    pub(crate) fn begin(
        stream: Arc<Stream>,
        publisher: Incumbent,
        now: Instant,
    ) -> Result<Self, PublishRefused> {
        let mut core = stream.core.lock();
        let takes_over = match core.phase {
            Phase::Live => {
                core.permits(&stream.name, &publisher, now)?;
                core.replace(&stream.name, &publisher, now);
                true
            }
            Phase::Lingering => false,
            Phase::Ended => return Err(PublishRefused::Ended),
        };
        let epoch = core.admit(publisher, 0, now);
        drop(core);
        Ok(Self::new(stream, epoch, takes_over))
    }

    /// Creates the writing end of an epoch that has begun.
    pub(super) fn new(stream: Arc<Stream>, epoch: u32, takes_over: bool) -> Self {
        Self {
            stream,
            epoch,
            takes_over,
            is_unheard: false,
            is_awaited: true,
            wants_keyframe: false,
            keyframe_requests: RequestRate::default(),
            renditions: Vec::new(),
        }
    }

    /// Returns the properties that a rendition inherits from this publisher.
    pub(crate) fn parent(&self) -> Result<Parent, RenditionRefused> {
        let core = self.stream.core.lock();
        if !core.is_held_by(self.epoch) {
            return Err(RenditionRefused::Superseded);
        }
        if self.renditions.len() >= RENDITIONS_MAX {
            return Err(RenditionRefused::TooMany);
        }
        Ok(Parent::of(&core))
    }

    /// Adds a rendition, which receives the samples of its track from here on.
    pub(crate) fn add_rendition(&mut self, rendition: Rendition) {
        let track = rendition.track;
        self.renditions.retain(|known| known.track != track);
        self.renditions.push(rendition);
    }

    /// Whether the stream had another publisher before, whose listeners it may have.
    pub fn follows_another(&self) -> bool {
        self.epoch > 1
    }

    /// Whether, as of the last write, its media is dropped: by the operator's wish another publisher has the stream.
    pub fn is_unheard(&self) -> bool {
        self.is_unheard
    }

    /// Returns the stream's name.
    pub fn name(&self) -> &StreamName {
        &self.stream.name
    }

    /// Returns the stream it writes to.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Sets the actual container of the publisher's bytes, once known. To be called before the first items of a source
    /// whose container was [`Container::Unknown`].
    ///
    /// # Errors
    /// Returns [`EpochOver`] when the stream is no longer the publisher's.
    pub fn identify(&mut self, container: Container, media_type: &str) -> Result<(), EpochOver> {
        let mut core = self.stream.core.lock();
        if core.is_held_by(self.epoch) {
            core.identify(container, media_type);
            return Ok(());
        }
        match core.identify_aside(self.epoch, container, media_type) {
            true => Ok(()),
            false => Err(core.why_over()),
        }
    }

    /// Writes the items of one read, in order, to the stream and its renditions; `items` is empty afterwards. `now` is
    /// their arrival time.
    ///
    /// # Errors
    /// Returns [`EpochOver`] when the stream is no longer the publisher's; nothing was written then.
    pub fn write(&mut self, items: &mut Vec<Item>, now: Instant) -> Result<(), EpochOver> {
        if items.is_empty() {
            return Ok(());
        }
        let mut core = self.stream.core.lock();
        if !core.is_held_by(self.epoch) {
            let is_aside = core.hear_aside(self.epoch, items, now);
            items.clear();
            self.is_unheard = is_aside;
            return match is_aside {
                true => Ok(()),
                false => Err(core.why_over()),
            };
        }
        self.is_unheard = false;
        core.incumbent.last_item = now;
        core.clocks.place(items, now);
        divide(&mut self.renditions, items);
        core.write_placed(items, now);
        self.is_awaited = core.outputs.are_awaited();
        self.wants_keyframe = core.wants_keyframe();
        drop(core);
        for rendition in &mut self.renditions {
            rendition.deliver(now);
            self.is_awaited |= rendition.is_awaited();
        }
        Ok(())
    }

    /// Whether the stream or a rendition has lanes (with current or recent listeners), taps or spools.
    pub fn is_followed(&self) -> bool {
        let is_followed = self.stream.core.lock().outputs.are_followed();
        is_followed || self.renditions.iter().any(Rendition::is_followed)
    }

    /// Whether, as of the last write, arrivals are wanted at once. Recorders read once a second, so a stream that is
    /// followed by them alone is not.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// Whether the encoder should be asked for a keyframe now, because a listener cannot continue without one, or
    /// joiners would find none that is recent. To be called often by publishers that have a way to ask, and by no
    /// others: joiners of a stream whose encoder can be asked do not receive old frames. True at most once in half a
    /// second, and in the long run every two seconds.
    pub fn takes_keyframe_request(&mut self, now: Instant) -> bool {
        let wish = &self.stream.wish;
        wish.set_heeded(true);
        let is_wanted = wish.is_set() || self.wants_keyframe;
        if !is_wanted || !self.keyframe_requests.take(now) {
            return false;
        }
        wish.clear();
        true
    }

    /// Whether the encoder of the rendition with video track `track` should be asked, as in
    /// [`takes_keyframe_request`](Self::takes_keyframe_request); `false` if there is none.
    pub fn takes_keyframe_request_of(&mut self, track: TrackId, now: Instant) -> bool {
        let mut renditions = self.renditions.iter_mut();
        let rendition = renditions.find(|rendition| rendition.track == track);
        rendition.is_some_and(|rendition| rendition.takes_keyframe_request(now))
    }

    /// Reports whether titles can be written into its bytes from here on, and returns the title that waits for it.
    pub fn exchange_titles(&self, takes: bool) -> Option<SongTitle> {
        self.stream.core.lock().exchange_titles(self.epoch, takes)
    }

    /// Returns a watch that reports the end of its epoch.
    pub fn epoch_watch(&self) -> EpochWatch {
        EpochWatch {
            stream: Arc::clone(&self.stream),
            epoch: self.epoch,
        }
    }

    /// Waits until another publisher has the stream, or it has ended.
    pub async fn superseded(&self) -> EpochOver {
        self.epoch_watch().superseded().await
    }
}

impl EpochWatch {
    /// Resolves when another publisher has the stream, or it has ended.
    pub fn poll_superseded(&self, cx: &Context<'_>) -> Poll<EpochOver> {
        let mut core = self.stream.core.lock();
        if !core.is_held_by(self.epoch) {
            return match core.watches_aside(self.epoch, cx.waker()) {
                true => Poll::Pending,
                false => Poll::Ready(core.why_over()),
            };
        }
        core.incumbent.watch(cx.waker());
        Poll::Pending
    }

    /// Waits until another publisher has the stream, or it has ended.
    pub async fn superseded(&self) -> EpochOver {
        std::future::poll_fn(|cx| self.poll_superseded(cx)).await
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        let mut core = self.stream.core.lock();
        core.forget_aside(self.epoch);
        if core.is_held_by(self.epoch) && !core.resume_aside() {
            core.publisher_left();
        }
    }
}
