//! Admission of publishers, the same for every protocol: name, gate, registry.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Instant;

use fanout::gate::{Authorized, Ongoing, Publish, Request, Revocation};
use fanout::{EpochWatch, Permit, PublishRefused, Publisher, Registry, Source};
use media::{Container, StreamName, TrackId};
use net::wait;

use crate::{Context, Error, Protocol, Stats, now};

/// Times a stream may end between the lookup and the takeover. The caller that finds a stream ended removes
/// it, so a second time in a row means another publisher's interference.
const TRIES_MAX: usize = 2;

/// Media type of a stream of tracks, for listeners that take it whole. It is the same for all protocols, so
/// that listeners stay when a publisher changes from one to another.
const TRACKS_TYPE: &str = "video/x-flv";

/// One publisher's epoch, counted and logged. Dropping it ends the epoch.
#[derive(Debug)]
pub(crate) struct PublishedEpoch {
    /// Whether the end of the epoch has been logged.
    is_reported: bool,
    pub(crate) publisher: Publisher,
    /// End of the permission.
    until: Option<Instant>,
    /// Ends the permission early.
    revocation: Revocation,
    /// Reports the end of the epoch to the gate's authority.
    #[expect(dead_code, reason = "held for its Drop")]
    witness: Option<Permit>,
    stats: Arc<Stats>,
    protocol: Protocol,
    peer: Option<SocketAddr>,
    began: Instant,
    bytes: u64,
}

/// Watch on the loss of a published epoch; made by [`PublishedEpoch::watch`].
#[derive(Debug)]
pub(crate) struct PublicationWatch {
    epoch: EpochWatch,
    revocation: Revocation,
}

impl PublicationWatch {
    /// Waits until the stream is lost or the permission is revoked.
    pub(crate) async fn lost(&self) {
        tokio::select! {
            _ = self.epoch.superseded() => {}
            () = self.revocation.revoked() => {}
        }
    }
}

/// Returns the name of the stream that a publisher requests, in a path or as an RTMP stream name.
///
/// # Errors
/// The name is invalid, or it belongs to one of the server's own pages: reserved, or
/// [taken](crate::Context::is_taken).
pub fn name(text: &str, is_taken: fn(&StreamName) -> bool) -> Result<StreamName, Error> {
    let name = StreamName::parse(text)?;
    match name.is_reserved() || is_taken(&name) {
        true => Err(Error::NameReserved),
        false => Ok(name),
    }
}

/// Returns the description of a publisher of tracks; `agent` is the name of its program.
pub(crate) fn source(protocol: Protocol, peer: Option<SocketAddr>, agent: &str) -> Source {
    Source {
        protocol: protocol.label(),
        peer,
        agent: agent.to_owned(),
        container: Container::Tracks,
        content_type: TRACKS_TYPE.to_owned(),
        headers: Vec::new(),
    }
}

/// Begins an epoch if the gate and the registry permit it. Await it in the connection's own task: the gate
/// may take its time.
pub(crate) async fn admit(
    context: &Context,
    request: &Request<'_>,
    protocol: Protocol,
    source: &Source,
) -> Result<PublishedEpoch, Error> {
    let permission = context.gate.publish(request).await?;
    let Context {
        registry, stats, ..
    } = context;
    enter(registry, stats, &permission, protocol, source, now())
}

/// Begins an epoch with a permission, if the registry agrees.
pub(crate) fn enter(
    registry: &Registry,
    stats: &Arc<Stats>,
    permission: &Authorized<Publish>,
    protocol: Protocol,
    source: &Source,
    now: Instant,
) -> Result<PublishedEpoch, Error> {
    if permission.is_over(now) {
        return Err(Error::Expired);
    }
    let mut tries = (0..TRIES_MAX).map(|_| registry.publish(permission, source.clone(), now));
    let published = tries.find(|published| !matches!(published, Err(PublishRefused::Ended)));
    let publisher = published.unwrap_or(Err(PublishRefused::Ended))?;
    Ok(PublishedEpoch::new(
        stats, publisher, permission, protocol, source,
    ))
}

impl PublishedEpoch {
    /// Counts and logs an epoch that has begun.
    fn new(
        stats: &Arc<Stats>,
        publisher: Publisher,
        permission: &Authorized<Publish>,
        protocol: Protocol,
        source: &Source,
    ) -> Self {
        tracing::info!(
            stream = %publisher.name(),
            peer = ?source.peer,
            protocol = protocol.label(),
            identity = permission.identity().map(tracing::field::display),
            agent = ?source.agent,
            content_type = ?source.content_type,
            "publishing begins"
        );
        stats.publishers.count(protocol);
        let revocation = Revocation::default();
        Self {
            is_reported: false,
            publisher,
            until: permission.until(),
            witness: permission.begin(Ongoing::Publication(revocation.clone())),
            revocation,
            stats: Arc::clone(stats),
            protocol,
            peer: source.peer,
            began: now(),
            bytes: 0,
        }
    }

    /// Counts the bytes of one read.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.stats.received(self.protocol, bytes);
    }

    /// Sets the format of the publisher's bytes. `announced` is the media type that the publisher declared.
    pub(crate) fn identify(
        &mut self,
        container: Container,
        media_type: &str,
        announced: &str,
    ) -> Result<(), Error> {
        if media_type != announced {
            tracing::info!(
                stream = %self.publisher.name(),
                peer = ?self.peer,
                ?announced,
                media_type,
                "the source sends something else than it announced"
            );
        }
        Ok(self.publisher.identify(container, media_type)?)
    }

    /// Begins a rendition of the stream from the video track `track`. Returns whether that succeeded;
    /// otherwise the reason is logged, and the epoch continues without that track.
    pub(crate) fn begin_rendition(
        &mut self,
        registry: &Registry,
        track: TrackId,
        label: &str,
        now: Instant,
    ) -> bool {
        let begun = registry.publish_rendition(&mut self.publisher, track, label, now);
        let (stream, peer) = (self.publisher.name(), self.peer);
        match &begun {
            Ok(()) => tracing::info!(%stream, label, ?peer, "a rendition begins"),
            Err(reason) => tracing::warn!(
                %stream,
                label,
                ?peer,
                %reason,
                "a rendition is dropped; the publisher's other tracks continue"
            ),
        }
        begun.is_ok()
    }

    /// Waits until the stream is lost or the permission ends.
    pub(crate) async fn over(&self) -> Error {
        tokio::select! {
            over = self.publisher.superseded() => over.into(),
            () = wait::at(self.until) => Error::Expired,
            () = self.revocation.revoked() => Error::Expired,
        }
    }

    /// Returns the end of the permission; `None` if it has none.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns an error if the permission has ended by `now`.
    pub(crate) fn check_permission(&self, now: Instant) -> Result<(), Error> {
        match self.until {
            Some(until) if until <= now => Err(Error::Expired),
            _ if self.revocation.is_revoked() => Err(Error::Expired),
            _ => Ok(()),
        }
    }

    /// Returns a watch for a task that does not hold the epoch; it reports the loss of the stream or a
    /// revoked permission.
    pub(crate) fn watch(&self) -> PublicationWatch {
        PublicationWatch {
            epoch: self.publisher.epoch_watch(),
            revocation: self.revocation.clone(),
        }
    }

    /// Returns an error if the epoch is over: another publisher has the stream, or the stream or the
    /// permission has ended.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Error> {
        self.check_permission(now)?;
        let idle = &mut task::Context::from_waker(task::Waker::noop());
        match self.publisher.epoch_watch().poll_superseded(idle) {
            Poll::Ready(over) => Err(over.into()),
            Poll::Pending => Ok(()),
        }
    }

    /// Ends the epoch and logs the reason.
    pub(crate) fn end(mut self, reason: &dyn Display) {
        self.tell(reason);
    }

    fn tell(&mut self, reason: &dyn Display) {
        self.is_reported = true;
        tracing::info!(
            stream = %self.publisher.name(),
            peer = ?self.peer,
            protocol = self.protocol.label(),
            bytes = self.bytes,
            seconds = now().saturating_duration_since(self.began).as_secs(),
            %reason,
            "publishing ended"
        );
    }
}

impl Drop for PublishedEpoch {
    fn drop(&mut self) {
        if !self.is_reported {
            self.tell(&"its connection was given up");
        }
        self.stats.publishers[self.protocol].sub(1);
    }
}
