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
//! * A stream has one channel while it has viewers, which keeps its lane open.
//! * A viewer is one address with one program and one set of credentials: it passes the gate and the limits once,
//!   counts as one listener, and leaves when it has requested nothing for a while.
//! * A stream may have a [DVR window](dvr): its past on disk, which a playlist lists before what the lane has.
//! * Requests wait for what is about to come, with a deadline; a request that is dropped leaves nothing behind.
//!
//! The server's pages find the [`Resource`] of a path and call [`answer()`].

mod answer;
mod channel;
pub mod dvr;
mod encoding;
mod multivariant;
mod playlist;
mod reload;
mod resource;
#[cfg(test)]
mod tests;
mod viewers;
mod wall;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use fanout::gate::Gate;
use fanout::{Choice, Info, Permit, Registry, Segmentation};
use http::HeaderMap;
use media::StreamName;

pub use self::answer::{Answer, Refused};
pub use self::resource::Resource;

use self::channel::{Channel, Channels};
use self::dvr::{Dvr, Window};
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

/// What holds for all streams, and for as long as the server runs: playlists promise it.
#[derive(Debug)]
pub struct Settings {
    /// The bounds of segments and parts.
    pub segmentation: Segmentation,
    /// Which streams can be watched further back than memory reaches; `None` for none.
    pub dvr: Option<dvr::Settings>,
}

/// What all requests share.
pub struct Context {
    segmentation: Segmentation,
    dvr: Option<Arc<Dvr>>,
    registry: Arc<Registry>,
    gate: Arc<dyn Gate>,
    admission: Box<dyn Admission>,
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
        settings: Settings,
        registry: Arc<Registry>,
        gate: Arc<dyn Gate>,
        admission: Box<dyn Admission>,
    ) -> Self {
        let Settings { segmentation, dvr } = settings;
        Self {
            segmentation,
            dvr: dvr.map(|settings| Arc::new(Dvr::new(settings, segmentation))),
            channels: Arc::new(Channels::new(segmentation)),
            registry,
            gate,
            admission,
        }
    }

    /// The DVR windows, if any stream may have one. They are kept by [`Dvr::keep`].
    pub fn dvr(&self) -> Option<&Arc<Dvr>> {
        self.dvr.as_ref()
    }

    /// The DVR window of a channel's stream.
    fn window(&self, channel: &Channel) -> Option<(&Arc<Dvr>, Arc<Window>)> {
        let dvr = self.dvr.as_ref()?;
        Some((dvr, dvr.window(channel.stream())?))
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
    let is_carried = matches!(viewers::choose(info), Choice::Take(()) | Choice::Settle(..));
    is_carried.then_some(Address {
        label: "HLS",
        path: resource::MULTIVARIANT,
        media_type: answer::PLAYLIST_TYPE,
    })
}

/// The address of the playlist of a stream's DVR window; `None` if it has none.
pub fn dvr_address(context: &Context, info: &Info) -> Option<Address> {
    let dvr = context.dvr.as_ref()?;
    let live = address(info).filter(|_| dvr.has_window(&info.name))?;
    Some(Address {
        label: "HLS with the past",
        path: resource::WITH_DVR,
        ..live
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

/// Answers a request. Waits for what is about to come, for 25 s at most; to be called within a runtime, and may be
/// dropped.
pub async fn answer(context: &Context, request: Request<'_>) -> Answer {
    let answer = match resource(context, &request).await {
        Ok(answer) => answer,
        Err(refused) => refused.answer(),
    };
    answer.cached_by(playlist::target_seconds(&context.segmentation))
}

async fn resource(context: &Context, request: &Request<'_>) -> Result<Answer, Refused> {
    let viewer = Viewer::of(request);
    let channel = channel(context, request, &viewer).await?;
    let answer = match request.resource {
        Resource::Multivariant => multivariant(context, &channel, &viewer, request),
        Resource::Playlist => playlist(context, &channel, false, &viewer, request).await?,
        Resource::Dvr => playlist(context, &channel, true, &viewer, request).await?,
        Resource::Init(name) => match channel.init(name) {
            Some(bytes) => Answer::init(bytes),
            None => {
                let (dvr, window) = context.window(&channel).ok_or(Refused::NoSuchPiece)?;
                Answer::init(dvr.init(&window, name).await?)
            }
        },
        Resource::Segment(number) => match channel.segment(*number) {
            Some(answer) => answer,
            None => {
                let (dvr, window) = context.window(&channel).ok_or(Refused::NoSuchPiece)?;
                let (body, is_whole) = dvr.segment(&window, *number).await?;
                Answer::file(body, is_whole)
            }
        },
        Resource::Part(number, part) => channel
            .part(*number, *part)
            .await
            .ok_or(Refused::NoSuchPiece)?,
    };
    channel
        .viewers()
        .sent(&viewer, &answer, request.resource, Instant::now());
    Ok(answer)
}

/// The channel of the stream, once the viewer may watch it.
async fn channel(
    context: &Context,
    request: &Request<'_>,
    viewer: &Viewer,
) -> Result<Arc<Channel>, Refused> {
    let present = context.channels.get(&context.registry, request.stream);
    if let Some(channel) = present
        && channel.viewers().touch(viewer, Instant::now())?
    {
        return Ok(channel);
    }
    let Introduced { channel, listener } = viewers::introduce(context, request).await?;
    channel.viewers().enter(viewer, listener, Instant::now())?;
    Ok(channel)
}

fn multivariant(
    context: &Context,
    channel: &Channel,
    viewer: &Viewer,
    request: &Request<'_>,
) -> Answer {
    let info = channel.info();
    let index = channel.index();
    // An address with the parameter stays good when an operator gives the window up.
    let playlist = match Directives::wants_dvr(request.query) && context.window(channel).is_some() {
        true => Resource::Dvr,
        false => Resource::Playlist,
    };
    let text = multivariant::text(&info, &index, &playlist, viewer.suffix());
    Answer::multivariant(text, request.headers)
}

/// The media playlist, or that of the DVR window.
async fn playlist(
    context: &Context,
    channel: &Channel,
    is_dvr: bool,
    viewer: &Viewer,
    request: &Request<'_>,
) -> Result<Answer, Refused> {
    let window = context.window(channel).map(|(_, window)| window);
    if is_dvr && window.is_none() {
        return Err(Refused::NoWindow);
    }
    let directives = Directives::parse(request.query)?;
    reload::wait(channel, &directives).await?;
    let rendered = channel.playlist(window.as_deref(), is_dvr, &directives, viewer.suffix());
    Ok(Answer::playlist(&rendered, &directives, request.headers))
}
