//! Which page a path means. Addresses of live bodies are `route`'s.

use egress_hls::Resource;
use media::StreamName;
use vod::PastAddress;

use crate::pages::{Playlist, assets, icecast, shoutcast};
use crate::routes::Endpoint;
use crate::signalling;

/// What the player's address for frames begins with.
pub const EMBED: &str = "/embed/";

/// What the address of a stream's newest picture ends with.
pub const STILL: &str = "/still.mp4";

/// What that of the list of its recordings ends with.
pub const RECORDINGS: &str = "/recordings.json";

/// Which page, document, or WHIP or WHEP address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Page {
    /// The list of public streams.
    List,
    /// Icecast's status document.
    Status,
    /// The public streams as JSON.
    PublicStreams,
    /// The embedded file of this row.
    Asset(Endpoint),
    /// The player page of a stream.
    Player(StreamName),
    /// The player of a stream, for frames.
    Embed(StreamName),
    /// The newest picture of a stream.
    Still(StreamName),
    /// The state that the player page needs.
    Info(StreamName),
    /// The titles of a stream as they change.
    Titles(StreamName),
    /// The page that publishes a stream from a browser.
    Publish(StreamName),
    /// A playlist or a piece of HLS.
    Hls(StreamName, Resource),
    /// A file on demand.
    File(vod::Address),
    /// What opens the address of a live body, with its leading `/`, in player programs.
    Playlist(String, Playlist),
    /// Icecast's pages and administration: this row.
    Icecast(Endpoint),
    /// What programs of SHOUTcast read: this row.
    Shoutcast(Endpoint),
    /// The list of a stream's recordings.
    Recordings(StreamName),
    /// A recording, or what is made of some.
    Past(PastAddress),
    /// A session of WHIP or WHEP, or an endpoint that opens one.
    Rtc(signalling::Address),
    /// A CORS preflight.
    Preflight,
    /// There may be a resource, but not for this method.
    NotAllowed,
    /// There is no resource.
    Nothing,
}

impl Page {
    /// What a path means that names no stream.
    pub fn of(method: &str, path: &str) -> Self {
        let fixed = Self::fixed(path);
        if fixed.is_none()
            && let Some(address) = signalling::Address::of(method, path)
        {
            return Self::Rtc(address);
        }
        match (method, fixed) {
            ("GET" | "HEAD", Some(page)) => page,
            ("GET" | "HEAD", None) => Self::beside(path).unwrap_or(Self::Nothing),
            ("OPTIONS", _) => Self::Preflight,
            _ => Self::NotAllowed,
        }
    }

    /// The page at a fixed address, without a stream's name.
    fn fixed(path: &str) -> Option<Self> {
        let row = |endpoint: Endpoint, page| (endpoint.path() == path).then_some(page);
        row(Endpoint::List, Self::List)
            .or_else(|| row(Endpoint::Status, Self::Status))
            .or_else(|| row(Endpoint::PublicStreams, Self::PublicStreams))
            .or_else(|| assets::at(path).map(Self::Asset))
            .or_else(|| icecast::at(path).map(Self::Icecast))
            .or_else(|| shoutcast::at(path).map(Self::Shoutcast))
    }

    /// Whether a path is a page's although it may end like the address of a live body.
    pub fn resembles_body(path: &str) -> bool {
        let is_name = |text: &str| StreamName::parse(text).is_ok();
        let is_piece = Resource::of(path).is_some_and(|(stream, _)| is_name(stream));
        let is_still = path.strip_suffix(STILL).is_some_and(is_name);
        let is_reserved = StreamName::parse(path).is_ok_and(|name| name.is_reserved());
        is_piece || is_still || is_reserved || PastAddress::of(path).is_some()
    }

    /// The page that a suffix of a stream's name means, or a prefix.
    fn beside(path: &str) -> Option<Self> {
        let published = |text: &str| {
            let name = StreamName::parse(text).ok()?;
            (!name.is_reserved()).then_some(name)
        };
        let name = |suffix| published(path.strip_suffix(suffix)?);
        if let Some(stream) = path.strip_prefix(EMBED) {
            return published(stream).map(Self::Embed);
        }
        let publish = name("/publish").map(Self::Publish);
        publish
            .or_else(|| PastAddress::of(path).map(Self::Past))
            .or_else(|| name(RECORDINGS).map(Self::Recordings))
            .or_else(|| {
                let (stream, resource) = Resource::of(path)?;
                Some(Self::Hls(StreamName::parse(stream).ok()?, resource))
            })
            .or_else(|| name("/info.json").map(Self::Info))
            .or_else(|| name("/titles").map(Self::Titles))
            .or_else(|| name(STILL).map(Self::Still))
            .or_else(|| {
                let (body, playlist) = Playlist::of(path)?;
                published(body).map(|_| Self::Playlist(body.to_owned(), playlist))
            })
            .or_else(|| name("/").map(Self::Player))
    }

    /// The stream that it is about, if there were one.
    pub fn stream(&self) -> Option<&StreamName> {
        match self {
            Self::Player(name)
            | Self::Embed(name)
            | Self::Still(name)
            | Self::Info(name)
            | Self::Titles(name)
            | Self::Publish(name)
            | Self::Recordings(name)
            | Self::Hls(name, _) => Some(name),
            Self::Past(address) => Some(address.stream()),
            Self::Rtc(address) => Some(&address.stream),
            _ => None,
        }
    }

    /// The list that it is; `None` if it is none. With a query it may be another one.
    pub(super) fn list(&self, has_query: bool) -> Option<Endpoint> {
        match self {
            Self::List => Some(Endpoint::List),
            // What is told of one mount may be for whoever has its key.
            Self::Status if !has_query => Some(Endpoint::Status),
            Self::Icecast(row @ Endpoint::IcecastStatusPage)
            | Self::Shoutcast(row @ Endpoint::ShoutcastStatistics) => Some(*row),
            _ => None,
        }
    }

    /// Whether the answer lasts as long as its client takes it, as that of a file does.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::File(_) | Self::Past(_) | Self::Titles(_))
    }

    /// Whether the answer may be a playlist with the request's query behind each address. HLS of live streams judges it
    /// without its directives.
    pub(super) fn repeats_query(&self) -> bool {
        matches!(self, Self::File(_) | Self::Past(_))
    }

    /// Whether the answer may take a while, so that it matters whether the client still waits.
    pub fn may_wait(&self) -> bool {
        matches!(
            self,
            Self::File(_)
                | Self::Past(_)
                | Self::Recordings(_)
                | Self::Hls(..)
                | Self::Info(_)
                | Self::Rtc(_)
                | Self::Still(_)
        )
    }

    /// Whether the answer depends on the request's body.
    pub fn reads_body(&self) -> bool {
        matches!(self, Self::Rtc(_))
    }
}
