//! Listeners over HLS and low-latency HLS (draft-pantos-hls-rfc8216bis-22).
//!
//! ```text
//!  request ─► viewer: known, or join ─► Channel ─► wait for a part ─► playlist, segment, part ─► Answer
//!                                          │
//!                                     RangeReader ─► the lane of segments
//! ```
//!
//! * A playlist is a view of a lane's index; segments and parts are ranges of its log. Nothing is copied but the
//!   playlist's text, which is rendered and compressed once per version of the playlist.
//! * A stream has one channel for each packaging that has viewers, which keeps its lane open.
//! * Several streams may be the qualities of one name ([`Variants`]). Each has its own channels and viewers; they have
//!   a multivariant playlist in common, and each one's media playlist reports where the others end.
//! * A viewer is one address with one program and one set of credentials: it passes the gate and the limits once,
//!   counts as one listener, and leaves when it has requested nothing for a while.
//! * Requests wait for what is about to come, with a deadline; a request that is dropped leaves nothing behind.
//!
//! The server's pages find the [`Resource`] of a path and call [`answer()`].

mod answer;
mod channel;
mod date_range;
mod encoding;
mod multivariant;
mod packaging;
mod playlist;
mod presentation;
mod relative;
mod reload;
mod report;
mod resource;
#[cfg(test)]
mod tests;
mod timeline;
mod variants;
mod viewers;
mod wall;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use fanout::gate::Gate;
use fanout::{Choice, Info, Permit, Registry};
use http::HeaderMap;
use media::StreamName;

pub use self::answer::{Answer, Refused};
pub use self::packaging::Packaging;
pub use self::relative::relative;
pub use self::resource::{Piece, Resource};
pub use self::variants::{QUALITIES_MAX, Quality, Variants};

use self::channel::{Channel, Channels};
use self::multivariant::Variant;
use self::reload::Directives;
use self::viewers::{Introduced, Viewer};

/// Lets viewers in, within the server's limits.
pub trait Admission: Send + Sync {
    /// A permit for a viewer at `peer`, held for as long as it watches.
    ///
    /// # Errors
    /// Why it is turned away.
    fn admit(&self, peer: SocketAddr) -> Result<Permit, Turned>;
}

/// Why the server's limits turn a viewer away.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Turned {
    /// For people.
    pub reason: String,
    /// Seconds after which it may come again.
    pub retry_after: u64,
}

/// What all requests share.
pub struct Context {
    registry: Arc<Registry>,
    gate: Arc<dyn Gate>,
    admission: Box<dyn Admission>,
    variants: Arc<Variants>,
    channels: Arc<Channels>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

impl Context {
    /// Without channels.
    pub fn new(
        registry: Arc<Registry>,
        gate: Arc<dyn Gate>,
        admission: Box<dyn Admission>,
        variants: Arc<Variants>,
    ) -> Self {
        Self {
            registry,
            gate,
            admission,
            variants,
            channels: Arc::default(),
        }
    }
}

/// Where a stream can be watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// For people.
    pub label: &'static str,
    /// Relative to the stream's page.
    pub path: &'static str,
    /// What is there.
    pub media_type: &'static str,
}

/// The address of a stream's playlist; `None` if its codecs do not allow one.
pub fn address(info: &Info) -> Option<Address> {
    let choice = Packaging::usual(info).choose(info);
    let is_carried = matches!(choice, Choice::Take(_) | Choice::Settle(..));
    is_carried.then_some(Address {
        label: "HLS",
        path: resource::MULTIVARIANT,
        media_type: answer::PLAYLIST_TYPE,
    })
}

/// A request for a resource of a stream.
#[derive(Debug)]
pub struct Request<'a> {
    /// Which stream.
    pub stream: &'a StreamName,
    /// What of it.
    pub resource: &'a Resource,
    /// The client.
    pub peer: SocketAddr,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The query as it was sent, without the question mark; empty without one.
    pub query: &'a str,
}

/// Answers a request. Waits for what is about to come, for 18 s at most; to be called within a runtime, and may be
/// dropped.
pub async fn answer(context: &Context, request: Request<'_>) -> Answer {
    match resource(context, &request).await {
        Ok(answer) => answer,
        Err(refused) => refused.answer(),
    }
}

async fn resource(context: &Context, request: &Request<'_>) -> Result<Answer, Refused> {
    let directives = Directives::parse(request.query)?;
    if *request.resource == Resource::Multivariant {
        let streams = context.variants.streams(&context.registry, request.stream);
        if streams != [request.stream.clone()] {
            return presentation::answer(context, request, &directives, &streams).await;
        }
    }
    let viewer = Viewer::of(request);
    let channel = channel(context, request, &directives, &viewer).await?;
    let answer = match request.resource {
        Resource::Multivariant => multivariant(&channel, &viewer, request),
        Resource::Media(_, piece) => match piece {
            Piece::Playlist => playlist(context, &channel, &viewer, &directives, request).await?,
            Piece::Init(digest) => {
                let bytes = channel.init(digest).ok_or(Refused::NoSuchPiece)?;
                Answer::init(bytes)
            }
            Piece::Segment(number) => channel.segment(*number).ok_or(Refused::NoSuchPiece)?,
            Piece::Part(number, part) => channel
                .part(*number, *part)
                .await
                .ok_or(Refused::NoSuchPiece)?,
        },
    };
    channel
        .viewers()
        .sent(&viewer, &answer, request.resource, Instant::now());
    Ok(answer)
}

/// The channel that a request is about, once the viewer may watch it.
async fn channel(
    context: &Context,
    request: &Request<'_>,
    directives: &Directives,
    viewer: &Viewer,
) -> Result<Arc<Channel>, Refused> {
    let named = match request.resource {
        Resource::Media(packaging, _) => Some(*packaging),
        Resource::Multivariant => directives.packaging,
    };
    let stream = || context.registry.stream(request.stream);
    let present = named
        .or_else(|| Some(Packaging::usual(&stream()?.info())))
        .and_then(|packaging| {
            context
                .channels
                .get(&context.registry, request.stream, packaging)
        });
    if let Some(channel) = present
        && channel.viewers().touch(viewer, Instant::now())?
    {
        return Ok(channel);
    }
    let choose = |info: &Info| {
        let packaging = named.unwrap_or_else(|| Packaging::usual(info));
        packaging.choose(info)
    };
    let Introduced { channel, listener } = viewers::introduce(context, request, choose).await?;
    channel.viewers().enter(viewer, listener, Instant::now())?;
    Ok(channel)
}

fn multivariant(channel: &Channel, viewer: &Viewer, request: &Request<'_>) -> Answer {
    let variant = Variant {
        quality: Quality::of(channel.info()),
        packaging: channel.packaging(),
        segments: channel.index().segments,
        address: Resource::Media(channel.packaging(), Piece::Playlist).to_string(),
    };
    let text = multivariant::text(&[variant], viewer.suffix());
    Answer::multivariant(text, request.headers)
}

async fn playlist(
    context: &Context,
    channel: &Channel,
    viewer: &Viewer,
    directives: &Directives,
    request: &Request<'_>,
) -> Result<Answer, Refused> {
    reload::wait(channel, directives).await?;
    let reports = report::all(context, request.stream, channel.packaging());
    let rendered = channel.playlist(directives, reports, viewer.suffix());
    Ok(Answer::playlist(&rendered, directives, request.headers))
}
