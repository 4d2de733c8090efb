//! The way of a listener to its stream, the same for every protocol.
//!
//! ```text
//!  gate ─► stream: here, or brought by its origin ─► tracks, until `choose` has decided ─► Subscription
//!                                                                  lane, record, lane, … ◄──────┘
//! ```
//!
//! [`join`] waits by being woken: by the registry when a stream begins, by the stream when its description
//! changes. It returns a [`Subscription`], which opens the listener's lanes and writes its record for the
//! books; it may open several one after the other, as for an RTMP player that switches from audio and video to
//! audio alone, and a lane alone is enough for a reader that has no socket to follow it with. What is asked for in
//! pieces is read by [`Subscription::ranges`], which counts no listener.
//!
//! Callers: `web`, `egress-rtmp`. A push to another server asks no gate and waits on
//! its own terms; it begins with [`Subscription::permitted`].

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

/// What a protocol reports of a listener: for the books; nothing is decided by it.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The first line of its request, without secrets. Untrusted text.
    pub request: String,
    /// What its program calls itself. Untrusted text.
    pub agent: String,
    /// The page that sent it here. Untrusted text.
    pub referer: String,
    /// Its permit under the server's limits.
    pub permit: Option<Permit>,
}

/// The listener, and the stream it wants.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The stream, and what the gate is shown.
    pub request: gate::Request<'a>,
    /// What the books record.
    pub introduction: Introduction,
}

/// The phase in which a stream can be joined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presence {
    /// It is live, or lingers.
    Here,
    /// It is live.
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

/// How long a listener waits once the gate has let it in.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// For a stream that no origin knows of: a publisher may be about to begin it.
    pub absent: Duration,
    /// For a stream that an origin brings, the origin's answer included.
    pub coming: Duration,
    /// For the tracks that decide, from when the stream is there.
    pub tracks: Duration,
    /// The phase of the stream that it waits for.
    pub presence: Presence,
}

impl Waits {
    /// For a stream that comes from another server: connecting there, and the first keyframe's headers, take
    /// some round trips.
    pub const COMING: Duration = Duration::from_secs(10);

    /// For tracks: a publisher that has just connected announces them with its first packets.
    pub const TRACKS: Duration = Duration::from_secs(2);
}

impl Default for Waits {
    /// A stream that is neither here nor elsewhere is not waited for.
    fn default() -> Self {
        Self {
            absent: Duration::ZERO,
            coming: Self::COMING,
            tracks: Self::TRACKS,
            presence: Presence::Here,
        }
    }
}

/// What a protocol chooses of a stream as it is now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice<T> {
    /// This, whatever else may be announced.
    Take(T),
    /// This, unless a better choice appears within this time.
    Settle(T, Duration),
    /// It depends on a track that has not been announced, or on bytes that have not come.
    Unclear,
    /// Nothing, and waiting does not help: the stream's codecs do not allow it.
    Impossible,
}

impl<T> Choice<T> {
    /// The same choice, mapped by `make`.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Choice<U> {
        match self {
            Self::Take(choice) => Choice::Take(make(choice)),
            Self::Settle(choice, time) => Choice::Settle(make(choice), time),
            Self::Unclear => Choice::Unclear,
            Self::Impossible => Choice::Impossible,
        }
    }
}

/// Why a listener could not join, sorted by blame. Each protocol has words of its own for it.
#[derive(Debug, thiserror::Error)]
pub enum JoinRefused {
    // The listener is not permitted, or asks for what does not exist.
    /// The gate denied it.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// No publisher has begun it in time, and no origin knows it.
    #[error("there is no such stream")]
    NotFound,
    /// The stream has nothing in it that the listener could be sent.
    #[error("the stream cannot be had in this format")]
    Impossible(Box<Info>),

    /// It has as many listeners as it may.
    #[error("the stream has as many listeners as it may")]
    Full,

    // Its publisher, or its origin.
    /// The tracks that would decide were not announced in time.
    #[error("the publisher has not said yet what it sends")]
    Unclear(Box<Info>),
    /// The origin has not brought it in time.
    #[error("the stream did not come from its origin in time")]
    Late,

    // This server.
    /// The origin cannot be asked, or brings as many streams as it may.
    #[error("the stream cannot be fetched at the moment")]
    Unavailable,
    /// The stream has ended, or has no lane for the listener.
    #[error("{0}")]
    Lane(#[from] LaneRefused),
}

/// A listener that has joined.
#[derive(Debug)]
pub struct Joined<T> {
    /// What opens its lanes.
    pub subscription: Subscription,
    /// The stream's description at the time of the choice.
    pub info: Info,
    /// What was chosen.
    pub choice: T,
}

/// A listener's right to a stream's lanes.
#[derive(Debug)]
pub struct Subscription {
    fanout: Arc<Fanout>,
    permission: Arc<Authorized<Play>>,
    stream: Arc<Stream>,
    introduction: Introduction,
    /// Its place among the stream's listeners, where there is a limit of them.
    place: Option<Permit>,
    /// When it asked; `None` once it has a record, so that a later interruption does not count as a slow join.
    requested: Option<std::time::Instant>,
}

/// Joins a listener to its stream: asks the gate, then waits for the stream and for what `choose` needs to know
/// of it. Nothing is opened yet, and no listener is counted. To be called within a runtime; cancelled at any
/// point, it leaves nothing behind.
///
/// # Errors
/// See [`JoinRefused`].
pub fn join<T>(
    registry: &Registry,
    gate: &dyn Gate,
    wish: Wish<'_>,
    waits: Waits,
    choose: impl FnMut(&Info) -> Choice<T>,
) -> impl Future<Output = Result<Joined<T>, JoinRefused>> {
    let requested = std::time::Instant::now();
    // No `async fn`, which would hold its arguments twice. Thousands may wait for a permission, so what comes
    // after it is on the heap.
    async move {
        let permission = permit(gate, &wish).await?;
        Box::pin(permitted(
            registry, permission, wish, requested, waits, choose,
        ))
        .await
    }
}

/// The join of a listener that has its permission.
async fn permitted<T>(
    registry: &Registry,
    permission: Authorized<Play>,
    wish: Wish<'_>,
    requested: std::time::Instant,
    waits: Waits,
    choose: impl FnMut(&Info) -> Choice<T>,
) -> Result<Joined<T>, JoinRefused> {
    // The gate may have answered with another stream.
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

/// Asks the gate: the one place that does for listeners.
async fn permit(gate: &dyn Gate, wish: &Wish<'_>) -> Result<Authorized<Play>, Denied> {
    gate.play(&wish.request).await
}

/// The stream, or the origin's answer if it is not here.
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
        // Looked for first, so that no origin is asked for a stream that is here.
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

/// The choice of `choose`, as soon as it has decided.
async fn decided<T>(
    stream: &Stream,
    patience: Duration,
    mut choose: impl FnMut(&Info) -> Choice<T>,
) -> Result<(Info, T), JoinRefused> {
    let deadline = Instant::now() + patience;
    loop {
        let seen = stream.news().seen();
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
        if timeout_at(until, stream.news().after(seen)).await.is_err() {
            return match otherwise {
                Some(choice) => Ok((info, choice)),
                None => Err(JoinRefused::Unclear(Box::new(info))),
            };
        }
    }
}

impl Subscription {
    /// For a listener that has its permission, and a stream of that name.
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

    /// The stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Sets the listener's permit under the server's limits.
    pub fn set_permit(&mut self, permit: Permit) {
        self.introduction.permit = Some(permit);
    }

    /// See [`Stream::lane`].
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn lane(
        &self,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: std::time::Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        self.stream.lane(&self.permission, format, make, now)
    }

    /// See [`Stream::reserve_lane`].
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn reserve_lane(
        &self,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: std::time::Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        let permission = &self.permission;
        self.stream.reserve_lane(permission, format, make, now)
    }

    /// See [`Stream::ranges`].
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn ranges(
        &self,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: std::time::Instant,
    ) -> Result<RangeReader, LaneRefused> {
        self.stream.ranges(&self.permission, format, make, now)
    }

    /// The record of the listener, which follows `lane` from now on.
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
