//! A listener's way to its stream, the same for every protocol.
//!
//! ```text
//!  gate ─► stream: here, or brought by its origin ─► tracks, until `choose` has decided ─► Subscription
//!                                                                  lane, record, lane, … ◄──────┘
//! ```
//!
//! [`join`] is woken by the registry when a stream begins, and by the stream when its description changes. It returns a
//! [`Subscription`], which opens the listener's lanes and writes its record for the books. A subscription may open
//! several lanes one after the other, as for an RTMP player that switches from audio and video to audio alone; a reader
//! with no socket needs a lane only. Content requested in pieces is read by [`Subscription::ranges`], which counts no
//! listener.
//!
//! Callers: `web`, `egress-rtmp`. A push to another server needs no permission from the gate and waits on its own
//! terms; it begins with [`Subscription::permitted`].

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use media::StreamName;
use tokio::time::{Instant, timeout_at};

use crate::directory::{ListenerRecord, Permit};
use crate::format::Format;
use crate::gate::{self, Authorized, Denied, Gate, Ongoing, Play};
use crate::lane::LaneGuard;
use crate::origin::Located;
use crate::packager::Packager;
use crate::ranges::RangeReader;
use crate::stream::{Full, Info, LaneRefused, Phase, Stream};
use crate::{Fanout, Registry};

/// A protocol's report about a listener, for the books only; no decision depends on it.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Address it connects from.
    pub peer: SocketAddr,
    /// First line of its request, without secrets. Untrusted text.
    pub request: String,
    /// Name that its program reports. Untrusted text.
    pub agent: String,
    /// Page that referred it here. Untrusted text.
    pub referer: String,
    /// Its permit under the server's limits.
    pub permit: Option<Permit>,
}

/// A listener and the stream it requests.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The request as shown to the gate, with the name of the stream.
    pub request: gate::Request<'a>,
    /// The entry for the books.
    pub introduction: Introduction,
}

/// Condition on a stream's phase for joining it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presence {
    /// The stream is live, or lingers.
    Here,
    /// The stream is live.
    Live,
}

impl Presence {
    fn fits(self, phase: Phase) -> bool {
        match self {
            Self::Here => phase != Phase::Ended,
            Self::Live => phase == Phase::Live,
        }
    }
}

/// Time limits of a listener's wait, from the gate's permission on.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Limit for a stream that no origin knows: a publisher may be about to begin it.
    pub absent: Duration,
    /// Limit for a stream that an origin fetches, including the origin's reply.
    pub coming: Duration,
    /// Limit for the tracks that decide, from the time at which the stream is present.
    pub tracks: Duration,
    /// Phase in which the stream can be joined.
    pub presence: Presence,
}

impl Waits {
    /// Default of [`coming`](Self::coming): connecting to another server and receiving the first keyframe's headers
    /// take some round trips.
    pub const COMING: Duration = Duration::from_secs(10);

    /// Default of [`tracks`](Self::tracks): a publisher that has just connected announces its tracks with its first
    /// packets.
    pub const TRACKS: Duration = Duration::from_secs(2);
}

impl Default for Waits {
    /// Returns the default limits: no wait for a stream that is neither here nor elsewhere.
    fn default() -> Self {
        Self {
            absent: Duration::ZERO,
            coming: Self::COMING,
            tracks: Self::TRACKS,
            presence: Presence::Here,
        }
    }
}

/// A protocol's choice from a stream in its current state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice<T> {
    /// This choice, whatever else may be announced.
    Take(T),
    /// This choice, unless a better one appears within this time.
    Settle(T, Duration),
    /// No choice yet: it depends on a track that has not been announced, or on bytes that have not arrived.
    Unclear,
    /// No choice, and waiting does not help: the stream's codecs do not allow one.
    Impossible,
}

impl<T> Choice<T> {
    /// Maps the choice with `make`.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Choice<U> {
        match self {
            Self::Take(choice) => Choice::Take(make(choice)),
            Self::Settle(choice, time) => Choice::Settle(make(choice), time),
            Self::Unclear => Choice::Unclear,
            Self::Impossible => Choice::Impossible,
        }
    }
}

/// Reasons why a listener could not join, sorted by blame. Each protocol has its own words for them.
#[derive(Debug, thiserror::Error)]
pub enum JoinRefused {
    // The listener is not permitted, or requests something that does not exist.
    /// The gate denied it.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// No publisher began the stream in time, and no origin knows it.
    #[error("there is no such stream")]
    NotFound,
    /// The stream has nothing that could be sent to the listener.
    #[error("the stream cannot be had in this format")]
    Impossible(Box<Info>),

    /// The stream has as many listeners as it may.
    #[error("the stream has as many listeners as it may")]
    Full,

    // The publisher, or the origin, is at fault.
    /// The tracks that would decide were not announced in time.
    #[error("the publisher has not said yet what it sends")]
    Unclear(Box<Info>),
    /// The origin did not bring the stream in time.
    #[error("the stream did not come from its origin in time")]
    Late,

    // This server is at fault.
    /// The origin cannot be reached, or already brings as many streams as it may.
    #[error("the stream cannot be fetched at the moment")]
    Unavailable,
    /// The stream has ended, or has no lane for the listener.
    #[error("{0}")]
    Lane(#[from] LaneRefused),
}

/// A listener that has joined.
#[derive(Debug)]
pub struct Joined<T> {
    /// Opens the listener's lanes.
    pub subscription: Subscription,
    /// Description of the stream at the time of the choice.
    pub info: Info,
    /// The protocol's choice.
    pub choice: T,
}

/// A listener's right to a stream's lanes.
#[derive(Debug)]
pub struct Subscription {
    fanout: Arc<Fanout>,
    permission: Arc<Authorized<Play>>,
    stream: Arc<Stream>,
    introduction: Introduction,
    /// Its place among the stream's listeners, if the stream limits them.
    place: Option<Permit>,
    /// Time of its request; `None` once it has a record, so that a later interruption does not count as a slow join.
    requested: Option<std::time::Instant>,
}

/// Joins a listener to its stream: asks the gate for permission, then waits for the stream and for everything that
/// `choose` needs to know about it. No lane is opened yet, and no listener is counted. Call it within a runtime.
/// Cancelling it at any point leaves nothing behind.
///
/// # Errors
/// Returns the reason as [`JoinRefused`].
pub fn join<T>(
    registry: &Registry,
    gate: &dyn Gate,
    wish: Wish<'_>,
    waits: Waits,
    choose: impl FnMut(&Info) -> Choice<T>,
) -> impl Future<Output = Result<Joined<T>, JoinRefused>> {
    let requested = std::time::Instant::now();
    // Not an `async fn`, which would hold its arguments twice. Thousands may wait for a permission, so the rest of the
    // join is on the heap.
    async move {
        // The only place that asks for permission for listeners.
        let permission = gate.play(&wish.request).await?;
        Box::pin(permitted(
            registry, permission, wish, requested, waits, choose,
        ))
        .await
    }
}

/// Completes the join of a listener that has its permission.
async fn permitted<T>(
    registry: &Registry,
    permission: Authorized<Play>,
    wish: Wish<'_>,
    requested: std::time::Instant,
    waits: Waits,
    choose: impl FnMut(&Info) -> Choice<T>,
) -> Result<Joined<T>, JoinRefused> {
    // The gate may have redirected the listener to another stream.
    let stream = present(registry, &permission.action().stream, waits).await?;
    let (info, choice) = decided(&stream, waits.tracks, choose).await?;
    let place = stream.place().map_err(|Full| JoinRefused::Full)?;
    let subscription = Subscription {
        requested: Some(requested),
        place,
        ..Subscription::permitted(registry, Arc::new(permission), stream, wish.introduction)
    };
    Ok(Joined {
        subscription,
        info,
        choice,
    })
}

/// Waits for the stream, and has its origin fetch it if it is not here.
async fn present(
    registry: &Registry,
    name: &StreamName,
    waits: Waits,
) -> Result<Arc<Stream>, JoinRefused> {
    let fits = |phase| waits.presence.fits(phase);
    let asked = Instant::now();
    let mut appearance = pin!(registry.appears(name, fits));
    let patience = waits.absent.max(waits.coming);
    let located = tokio::select! {
        // Polled first, so that no origin is asked for a stream that is here.
        biased;
        stream = &mut appearance => return Ok(stream),
        located = timeout_at(asked + patience, registry.locate(name)) => located,
    };
    let (patience, refused) = match located {
        Ok(Located::Coming) => (waits.coming, JoinRefused::Late),
        Ok(Located::Unknown) => (waits.absent, JoinRefused::NotFound),
        Ok(Located::Unavailable) => (waits.absent, JoinRefused::Unavailable),
        Err(_) => return Err(JoinRefused::Late),
    };
    if patience.is_zero() {
        return Err(refused);
    }
    let appeared = timeout_at(asked + patience, appearance).await;
    appeared.map_err(|_| refused)
}

/// Waits until `choose` has decided, and returns its choice with the description it was made from.
async fn decided<T>(
    stream: &Stream,
    patience: Duration,
    mut choose: impl FnMut(&Info) -> Choice<T>,
) -> Result<(Info, T), JoinRefused> {
    let deadline = Instant::now() + patience;
    loop {
        let seen = stream.news.seen();
        let info = stream.info();
        if info.phase == Phase::Ended {
            return Err(LaneRefused::Ended.into());
        }
        let (until, otherwise) = match choose(&info) {
            Choice::Take(choice) => return Ok((info, choice)),
            Choice::Settle(choice, time) => (deadline.min(Instant::now() + time), Some(choice)),
            Choice::Unclear => (deadline, None),
            Choice::Impossible => return Err(JoinRefused::Impossible(Box::new(info))),
        };
        if timeout_at(until, stream.news.after(seen)).await.is_err() {
            return match otherwise {
                Some(choice) => Ok((info, choice)),
                None => Err(JoinRefused::Unclear(Box::new(info))),
            };
        }
    }
}

impl Subscription {
    /// Creates a subscription for a listener that has its permission, and a stream of that name.
    pub fn permitted(
        registry: &Registry,
        permission: Arc<Authorized<Play>>,
        stream: Arc<Stream>,
        introduction: Introduction,
    ) -> Self {
        Self {
            fanout: Arc::clone(registry.fanout()),
            permission,
            stream,
            introduction,
            place: None,
            requested: Some(std::time::Instant::now()),
        }
    }

    /// Returns the stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Sets the listener's permit under the server's limits.
    pub fn set_permit(&mut self, permit: Permit) {
        self.introduction.permit = Some(permit);
    }

    /// Opens a lane as [`Stream::lane`] does.
    ///
    /// # Errors
    /// Returns [`LaneRefused`] as [`Stream::lane`] does.
    pub fn lane(
        &self,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: std::time::Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        self.stream.lane(&self.permission, format, make, now)
    }

    /// Reserves a lane as [`Stream::reserve_lane`] does.
    ///
    /// # Errors
    /// Returns [`LaneRefused`] as [`Stream::reserve_lane`] does.
    pub fn reserve_lane(
        &self,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: std::time::Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        let permission = &self.permission;
        self.stream.reserve_lane(permission, format, make, now)
    }

    /// Opens a lane for reading by ranges as [`Stream::ranges`] does.
    ///
    /// # Errors
    /// Returns [`LaneRefused`] as [`Stream::ranges`] does.
    pub fn ranges(
        &self,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: std::time::Instant,
    ) -> Result<RangeReader, LaneRefused> {
        self.stream.ranges(&self.permission, format, make, now)
    }

    /// Returns a record of the listener, which follows `lane` from now on.
    pub fn record(&mut self, lane: &LaneGuard) -> ListenerRecord {
        let introduction = self.introduction.clone();
        let requested = self.requested.take();
        let id = self.fanout.next_id();
        ListenerRecord {
            id,
            stream: self.stream.name().clone(),
            format: lane.format(),
            is_live: true,
            peer: introduction.peer,
            request: introduction.request,
            agent: introduction.agent,
            referer: introduction.referer,
            since: SystemTime::now(),
            requested: requested.unwrap_or_else(std::time::Instant::now),
            permit: Permit::of_all([
                self.place.clone(),
                introduction.permit,
                self.permission.begin(Ongoing::Listener(id)),
            ]),
            until: self.permission.until(),
            departed: Arc::clone(self.stream.departed()),
        }
    }
}
