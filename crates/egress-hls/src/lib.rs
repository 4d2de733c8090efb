//! Listeners over HLS and low-latency HLS (draft-pantos-hls-rfc8216bis-22).
//!
//! ```text
//!  request ─► viewer: known, or join ─► Channel ─► wait for a part ─► playlist, segment, part ─► Answer
//!                                          │
//!                                     RangeReader ─► the lane of segments
//! ```
//!
//! * A playlist is a view of a lane's index; segments and parts are ranges of its log. Only the text of the playlist is
//!   copied: it is rendered and compressed once per version. The part that is a viewer's own (its query behind each
//!   address) is inserted as the text is sent, and is charged to its address ([`base::holdings`]).
//! * A stream has one channel for each packaging that has viewers; the channel keeps its lane open.
//! * Several streams may be the qualities of one name ([`Variants`]). Each has its own channels and viewers. They share
//!   a multivariant playlist, and the media playlist of each reports how far the others have come.
//! * A viewer is one address with one program and one set of credentials. It passes the gate and the limits once,
//!   counts as one listener, and leaves after a while without requests.
//! * A stream may be [encrypted](encryption): it then has one packaging, whose segments are ciphertext.
//! * A stream may have a [DVR window](dvr): its past on disk, which a playlist lists before the segments of the lane.
//! * Requests wait for a part or segment that is due soon, up to a deadline; a request that is dropped leaves nothing
//!   behind.
//!
//! The server's pages parse a path into a [`Resource`] and call [`answer()`].

mod answer;
mod channel;
mod channels;
mod date_range;
mod digest;
pub mod dvr;
mod encoding;
pub mod encryption;
mod keys;
mod multivariant;
mod packaging;
mod playlist;
mod presentation;
mod promise;
mod relative;
mod reload;
mod renderer;
mod report;
mod resource;
mod respond;
mod share;
mod template;
#[cfg(test)]
mod tests;
pub mod threads;
mod timeline;
mod variants;
mod viewers;
mod waits;
mod wall;

use std::net::SocketAddr;
use std::sync::Arc;

use auth::{Fields, Shown};
use base::holdings::Holdings;
use fanout::gate::{Country, Gate, Remote};
use fanout::{Info, Permit, Protocol, Registry, Segmentation, Stream, Wish};
use http::{HeaderMap, header};
use media::StreamName;

pub use self::answer::{Answer, Refused, Rest};
pub use self::packaging::Packaging;
pub use self::relative::relative;
pub use self::resource::{Piece, Resource};
pub use self::variants::{QUALITIES_MAX, Quality, Variants};

use self::channel::Channel;
use self::channels::Channels;
use self::dvr::{Dvr, Window};
use self::keys::Keys;

/// Admission of viewers within the server's limits.
pub trait Admission: Send + Sync {
    /// Returns a permit for a viewer at `peer`, which holds it as long as it watches. It is obtained before the gate is
    /// consulted, because consulting the gate is work.
    ///
    /// # Errors
    /// The reason for the refusal.
    fn admit(&self, peer: SocketAddr) -> Result<Permit, Turned>;
}

/// Refusal of a viewer by the server's limits.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Turned {
    /// Reason, for people.
    pub reason: String,
    /// Seconds after which the client may try again.
    pub retry_after: u64,
}

/// Settings of all streams. They stay fixed while the server runs, because playlists promise them.
pub struct Settings {
    /// Bounds of segments and parts.
    pub segmentation: Segmentation,
    /// Streams with a DVR window, which reaches further back than memory; `None` for none.
    pub dvr: Option<dvr::Settings>,
    /// Streams that are encrypted.
    pub encryption: encryption::Settings,
    /// Account of the memory held for viewers.
    pub holdings: Arc<Holdings>,
    /// Streams whose permission depends on who the viewer is.
    pub judged: Judged,
}

base::debug!(Settings {
    segmentation,
    dvr,
    encryption
});

/// Predicate for streams whose permission depends on more than the credentials that a client shows.
pub type Judged = Box<dyn Fn(&StreamName) -> bool + Send + Sync>;

/// State shared by all requests.
pub struct Context {
    segmentation: Segmentation,
    dvr: Option<Arc<Dvr>>,
    is_encrypted: encryption::Applies,
    registry: Arc<Registry>,
    gate: Arc<dyn Gate>,
    admission: Box<dyn Admission>,
    variants: Arc<Variants>,
    holdings: Arc<Holdings>,
    judged: Judged,
    channels: Arc<Channels>,
}

base::debug!(Context {});

impl Context {
    /// Makes a context without channels.
    pub fn new(
        settings: Settings,
        registry: Arc<Registry>,
        gate: Arc<dyn Gate>,
        admission: Box<dyn Admission>,
        variants: Arc<Variants>,
    ) -> Self {
        let Settings {
            segmentation,
            dvr,
            encryption,
            holdings,
            judged,
        } = settings;
        let keys = Keys::new(&encryption.secret, encryption.key_period, &segmentation);
        let channels = Channels::new(segmentation, Arc::new(keys), Arc::clone(&holdings));
        Self {
            segmentation,
            dvr: dvr.map(|settings| Arc::new(Dvr::new(settings, segmentation))),
            channels: Arc::new(channels),
            holdings,
            judged,
            is_encrypted: encryption.applies,
            registry,
            gate,
            admission,
            variants,
        }
    }

    /// Returns whether caches may give an answer about a stream to other clients. They may not if the client showed
    /// credentials in a header, which is not part of the address (RFC 9111 §3.5), nor if permission depends on who the
    /// client is.
    fn is_shared(&self, stream: &StreamName, headers: &HeaderMap) -> bool {
        !headers.contains_key(header::AUTHORIZATION) && !(self.judged)(stream)
    }

    /// Returns the DVR windows, if any stream may have one. [`Dvr::keep`] maintains them.
    pub fn dvr(&self) -> Option<&Arc<Dvr>> {
        self.dvr.as_ref()
    }

    /// Returns the DVR window of a channel's stream.
    fn window(&self, channel: &Channel) -> Option<(&Arc<Dvr>, Arc<Window>)> {
        let dvr = self.dvr.as_ref()?;
        let promise = &channel.promise;
        let is_kept = promise.packaging == dvr::PACKAGING;
        let window = is_kept.then(|| dvr.window(&promise.stream)).flatten();
        Some((dvr, window?))
    }

    /// Returns the media playlist that viewers of a stream are given: that of the DVR window if they want it and there
    /// is one. So an address that requests the window stays valid when an operator removes the window.
    fn playlist_of(&self, stream: &Arc<Stream>, wants_dvr: bool) -> Piece {
        let wants_dvr = wants_dvr && !(self.is_encrypted)(stream.name());
        let dvr = self.dvr.as_ref().filter(|_| wants_dvr);
        match dvr.and_then(|dvr| dvr.window(stream)) {
            Some(_) => Piece::Dvr,
            None => Piece::Playlist,
        }
    }
}

/// Address at which a stream can be watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// Label for people.
    pub label: &'static str,
    /// Path relative to the stream's page.
    pub path: &'static str,
    /// Media type of the resource.
    pub media_type: &'static str,
}

/// Returns the address of a stream's playlist; `None` if its codecs do not allow one.
pub fn address(info: &Info) -> Option<Address> {
    Packaging::usual(info).carries(info).then_some(Address {
        label: "HLS",
        path: resource::MULTIVARIANT,
        media_type: answer::PLAYLIST_TYPE,
    })
}

/// Returns the address of the playlist of a stream's DVR window; `None` if it has none.
pub fn dvr_address(context: &Context, info: &Info) -> Option<Address> {
    let dvr = context.dvr.as_ref()?;
    let has_window = dvr.has_window(&info.name) && dvr::PACKAGING.carries(info);
    has_window.then_some(Address {
        label: "HLS with the past",
        path: resource::WITH_DVR,
        media_type: answer::PLAYLIST_TYPE,
    })
}

/// A request for a resource of a stream.
#[derive(Debug)]
pub struct Request<'a> {
    /// Name of the stream.
    pub stream: &'a StreamName,
    /// Resource of that stream.
    pub resource: &'a Resource,
    /// Address of the client.
    pub peer: SocketAddr,
    /// Country of the client, as stated by a trusted proxy.
    pub country: Option<Country>,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
    /// Query as it was sent, without the question mark; empty if there is none.
    pub query: &'a str,
}

impl<'a> Request<'a> {
    /// Returns the credentials and the description that the client shows.
    fn shown(&self) -> Shown<'a, Fields<'a>> {
        Shown::by(Fields(self.headers), self.query)
    }

    /// Returns the client's wish to watch a stream, from what it shows.
    fn wish<'w>(&self, shown: &'w Shown<'_, Fields<'_>>, stream: &'w StreamName) -> Wish<'w> {
        let remote = Remote {
            peer: self.peer,
            country: self.country,
        };
        let line = format!("GET /{stream}/{} HLS/9", Resource::Multivariant);
        Wish {
            request: shown.request(stream, Protocol::Hls.label(), remote),
            introduction: shown.introduction(remote, line, None),
        }
    }
}

/// Answers a request. It waits up to 25 s for a part or segment that is due soon. Call it within a runtime; the future
/// may be dropped.
pub async fn answer(context: &Context, request: Request<'_>) -> Answer {
    let answer = match respond::resource(context, &request).await {
        Ok(answer) => answer,
        Err(refused) => refused.answer(),
    };
    let target = playlist::target_seconds(&context.segmentation);
    answer.cached_by(target, context.is_shared(request.stream, request.headers))
}
