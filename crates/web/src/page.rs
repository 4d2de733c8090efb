//! Resolution of a path to a page. Addresses of live bodies are resolved by `route`.

use egress_hls::Resource;
use http::Method;
use media::StreamName;
use vod::PastAddress;

use crate::pages::{EMBED, Playlist, ROWS, Row};
use crate::signalling;

/// Path suffix of a stream's newest video frame.
const STILL: &str = "/still.mp4";

/// Page, document, or WHIP or WHEP address that a path names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Page {
    /// A row of the table, and the stream that its path names.
    Row(&'static Row, Option<StreamName>),
    /// A playlist or a piece of HLS.
    Hls(StreamName, Resource),
    /// A file on demand.
    File(vod::Address),
    /// A playlist with which player programs open the live body at this address, which begins with `/`.
    Playlist(String, Playlist),
    /// A recording, or a document made from recordings.
    Past(PastAddress),
    /// A session of WHIP or WHEP, or an endpoint that opens one.
    Rtc(signalling::Address),
    /// A CORS preflight.
    Preflight,
    /// A resource may exist, but not for this method.
    NotAllowed,
    /// No resource exists.
    Nothing,
}

impl Page {
    /// Resolves a path that names no stream.
    pub fn of(method: &str, path: &str) -> Self {
        let fixed = ROWS.iter().find(|row| row.is_at(path));
        if fixed.is_none()
            && let Some(address) = signalling::Address::of(method, path)
        {
            return Self::Rtc(address);
        }
        match (method, fixed) {
            ("GET" | "HEAD", Some(row)) => Self::Row(row, None),
            ("GET" | "HEAD", None) => Self::beside(path).unwrap_or(Self::Nothing),
            ("OPTIONS", _) => Self::Preflight,
            _ => Self::NotAllowed,
        }
    }

    /// Whether a path is a page's although it may end like the address of a live body.
    pub fn resembles_body(path: &str) -> bool {
        let is_name = |text: &str| StreamName::parse(text).is_ok();
        let is_piece = Resource::of(path).is_some_and(|(stream, _)| is_name(stream));
        let is_still = path.strip_suffix(STILL).is_some_and(is_name);
        let is_reserved = StreamName::parse(path).is_ok_and(|name| name.is_reserved());
        is_piece || is_still || is_reserved || PastAddress::of(path).is_some()
    }

    /// Resolves a path that contains a stream's name among other parts.
    fn beside(path: &str) -> Option<Self> {
        let published = |text: &str| {
            let name = StreamName::parse(text).ok()?;
            (!name.is_reserved()).then_some(name)
        };
        let row = |row: &'static Row| Some(Self::Row(row, Some(published(row.name_in(path)?)?)));
        if path.starts_with(EMBED) {
            return ROWS.iter().find_map(row);
        }
        let past = PastAddress::of(path).map(Self::Past);
        past.or_else(|| {
            let (stream, resource) = Resource::of(path)?;
            Some(Self::Hls(StreamName::parse(stream).ok()?, resource))
        })
        .or_else(|| ROWS.iter().find_map(row))
        .or_else(|| {
            let (body, playlist) = Playlist::of(path)?;
            published(body).map(|_| Self::Playlist(body.to_owned(), playlist))
        })
    }

    /// Returns the stream that the page is about, whether or not it exists.
    pub fn stream(&self) -> Option<&StreamName> {
        match self {
            Self::Row(_, stream) => stream.as_ref(),
            Self::Hls(name, _) => Some(name),
            Self::Past(address) => Some(address.stream()),
            Self::Rtc(address) => Some(&address.stream),
            _ => None,
        }
    }

    /// Returns the path of a list page; `None` for other pages. With a query, Icecast's document is another one: details of one
    /// mount may be reserved for whoever has its key.
    pub(super) fn list(&self, has_query: bool) -> Option<&'static str> {
        match self {
            Self::Row(row, _) if row.is_list && !(has_query && row.path() == STATUS) => {
                Some(row.path())
            }
            _ => None,
        }
    }

    /// Whether the reply lasts as long as its client takes it, as that of a file does.
    pub fn lasts(&self) -> bool {
        match self {
            Self::Row(row, _) => row.lasts,
            Self::File(_) | Self::Past(_) => true,
            _ => false,
        }
    }

    /// Whether the reply is text in memory that is made for its client alone. A lasting reply is read as it is sent, an
    /// embedded file is shared by all, and HLS charges its own replies.
    pub(super) fn is_made_for_one(&self) -> bool {
        let is_asset = matches!(self, Self::Row(row, _) if row.is_asset());
        !(self.lasts() || is_asset || matches!(self, Self::Hls(..)))
    }

    /// Whether the reply may be a playlist with the request's query behind each address. HLS of live streams checks the query
    /// itself, without its directives.
    pub(super) fn repeats_query(&self) -> bool {
        matches!(self, Self::File(_) | Self::Past(_))
    }

    /// Whether the reply may take a while, so that it matters whether the client still waits.
    pub fn may_wait(&self) -> bool {
        match self {
            Self::Row(row, _) => row.may_wait,
            Self::File(_) | Self::Past(_) | Self::Hls(..) | Self::Rtc(_) => true,
            _ => false,
        }
    }

    /// Whether the reply may depend on the request's body.
    pub fn reads_body(&self) -> bool {
        matches!(self, Self::Rtc(_))
    }

    /// Whether the reply depends on the request's body with this method.
    pub(crate) fn reads_body_of(&self, method: &Method) -> bool {
        matches!(self, Self::Rtc(address) if address.takes_body_of(method))
    }
}

/// Icecast's status document.
const STATUS: &str = "/status-json.xsl";
