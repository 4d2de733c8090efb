//! Listeners over HLS and low-latency HLS (draft-pantos-hls-rfc8216bis-22).
//!
//! ```text
//!  request ─► viewer: known, or join ─► Channel ─► wait for a part ─► playlist, segment, part ─► Answer
//!                                          │
//!                                     RangeReader ─► the lane of segments
//! ```
//!
//! * A playlist is a view of a lane's index; segments and parts are ranges of its log. Nothing is copied but the
//!   playlist's text, which is rendered and compressed once per version of the playlist. What of it is a viewer's own
//!   (its query behind each address) is put in as it is sent, and is charged to its address ([`net::holdings`]).
//! * A stream has one channel for each packaging that has viewers, which keeps its lane open.
//! * Several streams may be the qualities of one name ([`Variants`]). Each has its own channels and viewers; they have
//!   a multivariant playlist in common, and each one's media playlist reports where the others end.
//! * A viewer is one address with one program and one set of credentials: it passes the gate and the limits once,
//!   counts as one listener, and leaves when it has requested nothing for a while.
//! * A stream may be [encrypted](encryption): then it has one packaging, whose segments are ciphertext.
//! * A stream may have a [DVR window](dvr): its past on disk, which a playlist lists before what the lane has.
//! * Requests wait for what is about to come, with a deadline; a request that is dropped leaves nothing behind.
//!
//! The server's pages find the [`Resource`] of a path and call [`answer()`].

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
use fanout::gate::{Country, Gate, Remote};
use fanout::{Info, Permit, Protocol, Registry, Segmentation, Stream, Wish};
use http::{HeaderMap, header};
use media::StreamName;
use net::holdings::Holdings;

pub use self::answer::{Answer, Refused, Rest};
pub use self::packaging::Packaging;
pub use self::relative::relative;
pub use self::resource::{Piece, Resource};
pub use self::variants::{QUALITIES_MAX, Quality, Variants};

use self::channel::Channel;
use self::channels::Channels;
use self::dvr::{Dvr, Window};
use self::encryption::Encryption;

/// Lets viewers in, within the server's limits.
pub trait Admission: Send + Sync {
    /// A permit for a viewer at `peer`, held for as long as it watches. It is asked for before the gate, because a question
    /// to the gate is work.
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
pub struct Settings {
    /// The bounds of segments and parts.
    pub segmentation: Segmentation,
    /// Which streams can be watched further back than memory reaches; `None` for none.
    pub dvr: Option<dvr::Settings>,
    /// Which streams are encrypted.
    pub encryption: encryption::Settings,
    /// What is held for viewers is charged to.
    pub holdings: Arc<Holdings>,
    /// Of which streams it depends on who a viewer is whether it may watch.
    pub judged: Judged,
}

base::debug!(Settings {
    segmentation,
    dvr,
    encryption
});

/// Whether it depends on more than what a client shows whether it may watch a stream.
pub type Judged = Box<dyn Fn(&StreamName) -> bool + Send + Sync>;

/// What all requests share.
pub struct Context {
    segmentation: Segmentation,
    dvr: Option<Arc<Dvr>>,
    encryption: Encryption,
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
    /// Without channels.
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
        let encryption = Encryption::new(encryption, &segmentation);
        Self {
            segmentation,
            dvr: dvr.map(|settings| Arc::new(Dvr::new(settings, segmentation))),
            channels: Arc::new(Channels::new(
                segmentation,
                Arc::clone(&encryption.keys),
                Arc::clone(&holdings),
            )),
            holdings,
            judged,
            encryption,
            registry,
            gate,
            admission,
            variants,
        }
    }

    /// Whether caches may give an answer about a stream to others: not if the client showed credentials in a header, of
    /// which an address tells nothing (RFC 9111 §3.5), nor if it depends on who it is.
    fn is_shared(&self, stream: &StreamName, headers: &HeaderMap) -> bool {
        !headers.contains_key(header::AUTHORIZATION) && !(self.judged)(stream)
    }

    /// The DVR windows, if any stream may have one. They are kept by [`Dvr::keep`].
    pub fn dvr(&self) -> Option<&Arc<Dvr>> {
        self.dvr.as_ref()
    }

    /// The DVR window of what a channel shows.
    fn window(&self, channel: &Channel) -> Option<(&Arc<Dvr>, Arc<Window>)> {
        let dvr = self.dvr.as_ref()?;
        let is_kept = channel.packaging() == dvr::PACKAGING;
        let window = is_kept.then(|| dvr.window(channel.stream())).flatten();
        Some((dvr, window?))
    }

    /// The media playlist of a stream that its viewers are named: that of the DVR window if they want it and there is
    /// one. So an address that asks for it stays good when an operator gives the window up.
    fn playlist_of(&self, stream: &Arc<Stream>, wants_dvr: bool) -> Piece {
        let wants_dvr = wants_dvr && !self.encryption.applies(stream.name());
        let dvr = self.dvr.as_ref().filter(|_| wants_dvr);
        match dvr.and_then(|dvr| dvr.window(stream)) {
            Some(_) => Piece::Dvr,
            None => Piece::Playlist,
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
    Packaging::usual(info).carries(info).then_some(Address {
        label: "HLS",
        path: resource::MULTIVARIANT,
        media_type: answer::PLAYLIST_TYPE,
    })
}

/// The address of the playlist of a stream's DVR window; `None` if it has none.
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
    /// Which stream.
    pub stream: &'a StreamName,
    /// What of it.
    pub resource: &'a Resource,
    /// The client.
    pub peer: SocketAddr,
    /// Its country, by the word of a proxy that may say so.
    pub country: Option<Country>,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The query as it was sent, without the question mark; empty without one.
    pub query: &'a str,
}

impl<'a> Request<'a> {
    /// What it shows of its client.
    fn shown(&self) -> Shown<'a, Fields<'a>> {
        Shown::by(Fields(self.headers), self.query)
    }

    /// The wish of its client, which shows this, to watch a stream.
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

/// Answers a request. Waits for what is about to come, for 25 s at most; to be called within a runtime, and may be
/// dropped.
pub async fn answer(context: &Context, request: Request<'_>) -> Answer {
    let answer = match respond::resource(context, &request).await {
        Ok(answer) => answer,
        Err(refused) => refused.answer(),
    };
    let target = playlist::target_seconds(&context.segmentation);
    answer.cached_by(target, context.is_shared(request.stream, request.headers))
}
