//! Answers: statuses, headers and bodies; and the refusals, by whose fault they are.
//!
//! How long an answer may be cached follows RFC 8216bis Appendix B: what its address determines (a segment, a part, a
//! playlist that was waited for) six target durations, the present playlist half of one by shared caches, refusals a
//! short time. Playlists are for shared caches: video.js asks for the one that it has waited for until it is another
//! one, which no browser's cache would ever answer. What was incomplete when the lane opened is not cached, because another server may have all of it.

use std::io;

use bytes::Bytes;
use fanout::gate::Denied;
use fanout::{JoinRefused, LaneRefused};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::Turned;
use crate::dvr::{self, FileBody};
use crate::encoding::{Coding, Encoded};
use crate::keys::KEY_BYTES;
use crate::packaging::Packaging;
use crate::reload::Directives;
use crate::renderer::Rendered;

pub(crate) const PLAYLIST_TYPE: &str = "application/vnd.apple.mpegurl";

/// What an address determines for good.
const CACHED_LONG: Caching = Caching::Targets(6);

/// A playlist that was waited for.
const CACHED_WAITED: Caching = Caching::Shared(6);

/// The present playlist.
const CACHED_SHORT: Caching = Caching::Present;

/// A refusal that a moment may change.
const CACHED_MOMENT: Caching = Caching::Moment;

/// A refusal of what will never be: for one target duration, or four where it was waited for.
const CACHED_REFUSAL: Caching = Caching::Targets(1);
const CACHED_WAITED_REFUSAL: Caching = Caching::Targets(4);

const NOT_CACHED: Caching = Caching::Never;

/// For how long an answer is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Caching {
    /// For so many target durations.
    Targets(i64),
    /// The same by shared caches. Browsers revalidate it.
    Shared(i64),
    /// For half of one by shared caches. Browsers revalidate it, so that a page that is loaded again begins with the
    /// present.
    Present,
    Moment,
    Never,
}

impl Caching {
    /// The value of Cache-Control, where a target duration has so many seconds. `is_shared` if caches may give it to
    /// others.
    fn control(self, target: i64, is_shared: bool) -> String {
        let scope = if is_shared { "public" } else { "private" };
        match self {
            Self::Targets(count) => format!("{scope}, max-age={}", count * target),
            Self::Shared(count) if is_shared => {
                format!("public, max-age=0, s-maxage={}", count * target)
            }
            Self::Shared(_) => format!("{scope}, max-age=0"),
            Self::Present if is_shared => {
                format!("public, max-age=1, s-maxage={}", (target / 2).max(1))
            }
            Self::Present | Self::Moment => format!("{scope}, max-age=1"),
            Self::Never => "no-store".to_owned(),
        }
    }
}

/// How urgent an answer is to its client (RFC 9218); playlists before media, as Appendix B has it.
const PRIORITY: HeaderName = HeaderName::from_static("priority");
const PLAYLIST_PRIORITY: &str = "u=1";
const MEDIA_PRIORITY: &str = "u=2";

/// The realm that Icecast names; players remember passwords by it.
const CHALLENGE: &str = "Basic realm=\"Icecast2 Server\"";

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without those that all answers of the server have.
    pub headers: HeaderMap,
    /// Its body, in pieces that share the memory of the log.
    pub body: Vec<Bytes>,
    /// What follows it from a disk.
    pub rest: Option<FileBody>,
    caching: Caching,
}

impl Answer {
    fn new(status: StatusCode, content_type: &'static str, caching: Caching) -> Self {
        let mut answer = Self {
            status,
            headers: HeaderMap::with_capacity(8),
            body: Vec::new(),
            rest: None,
            caching,
        };
        answer.set(header::CONTENT_TYPE, content_type);
        answer
    }

    /// States how long it may be cached, where a target duration has so many seconds: by the client alone if it showed
    /// credentials in a header, of which an address tells nothing (RFC 9111 §3.5).
    pub(crate) fn cached_by(mut self, target: i64, headers: &HeaderMap) -> Self {
        let is_shared = !headers.contains_key(header::AUTHORIZATION);
        if let Ok(control) = HeaderValue::try_from(self.caching.control(target, is_shared)) {
            self.headers.insert(header::CACHE_CONTROL, control);
        }
        self
    }

    fn set(&mut self, name: HeaderName, value: &'static str) {
        self.headers.insert(name, HeaderValue::from_static(value));
    }

    /// Bytes of its body.
    pub(crate) fn length(&self) -> u64 {
        let rest = self.rest.as_ref().map_or(0, FileBody::left);
        self.body
            .iter()
            .map(|piece| piece.len() as u64)
            .sum::<u64>()
            + rest
    }

    /// The multivariant playlist.
    pub(crate) fn multivariant(text: String, headers: &HeaderMap) -> Self {
        let mut answer = Self::new(StatusCode::OK, PLAYLIST_TYPE, CACHED_MOMENT);
        answer.set(PRIORITY, PLAYLIST_PRIORITY);
        answer.encode(&Encoded::new(text), headers);
        answer
    }

    /// A media playlist, or that the client has it already.
    pub(crate) fn playlist(
        rendered: &Rendered,
        directives: &Directives,
        headers: &HeaderMap,
    ) -> Self {
        let caching = match directives.wait_for {
            Some(_) => CACHED_WAITED,
            None => CACHED_SHORT,
        };
        let mut answer = Self::new(StatusCode::OK, PLAYLIST_TYPE, caching);
        answer.set(PRIORITY, PLAYLIST_PRIORITY);
        if let Ok(tag) = HeaderValue::from_str(&rendered.tag) {
            answer.headers.insert(header::ETAG, tag);
        }
        let known = headers.get_all(header::IF_NONE_MATCH).iter();
        let known = known.filter_map(|line| line.to_str().ok());
        if http1::has_version(known, &rendered.tag) {
            answer.status = StatusCode::NOT_MODIFIED;
            answer.set(header::VARY, "Accept-Encoding");
            answer.headers.remove(header::CONTENT_TYPE);
        } else {
            answer.encode(&rendered.text, headers);
        }
        answer
    }

    fn encode(&mut self, text: &Encoded, headers: &HeaderMap) {
        let coding = Coding::accepted(headers);
        self.set(header::VARY, "Accept-Encoding");
        if let Some(token) = coding.token() {
            self.set(header::CONTENT_ENCODING, token);
        }
        self.body.push(text.bytes(coding));
    }

    /// An initialization segment.
    pub(crate) fn init(bytes: Bytes) -> Self {
        Self::media(Packaging::Mp4, vec![bytes], true)
    }

    /// A key.
    pub(crate) fn key(key: [u8; KEY_BYTES]) -> Self {
        let mut answer = Self::new(StatusCode::OK, "application/octet-stream", NOT_CACHED);
        answer.set(PRIORITY, PLAYLIST_PRIORITY);
        answer.body.push(Bytes::copy_from_slice(&key));
        answer
    }

    /// A segment that is read from a disk; see [`media`](Self::media).
    pub(crate) fn file(mut body: FileBody, is_whole: bool) -> Self {
        let mut answer = Self::media(dvr::PACKAGING, vec![body.take_first()], is_whole);
        answer.rest = Some(body);
        answer
    }

    /// A segment or a part; not `is_whole` if the lane was opened in the middle of it.
    pub(crate) fn media(packaging: Packaging, pieces: Vec<Bytes>, is_whole: bool) -> Self {
        let caching = if is_whole { CACHED_LONG } else { NOT_CACHED };
        let mut answer = Self::new(StatusCode::OK, packaging.media_type(), caching);
        answer.set(PRIORITY, MEDIA_PRIORITY);
        answer.body = pieces;
        answer
    }
}

/// Why there is no resource, sorted by blame.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    // The client asks for what it may not have, or what there is not.
    /// The gate denied it.
    #[error("you cannot watch here: {0}")]
    Denied(Denied),
    /// An operator has removed the viewer.
    #[error("you were removed from this stream")]
    Removed,
    /// A malformed directive.
    #[error("{0}")]
    Directives(&'static str),
    /// A segment or part that no player that follows asks for.
    #[error("that is too far ahead")]
    TooFarAhead,
    /// The stream has no DVR window.
    #[error("the past of this stream is not kept")]
    NoWindow,
    /// No such segment, part or initialization segment.
    #[error("there is no such piece of the stream")]
    NoSuchPiece,
    /// What there is of the stream is encrypted.
    #[error("this stream is encrypted: only index.m3u8 and what that names can be had")]
    Encrypted,
    /// No such stream.
    #[error("there is no such stream")]
    NoSuchStream,
    /// The stream's codecs do not allow it.
    #[error("the stream has a codec that HLS does not carry")]
    NotCarried,

    // The publisher.
    /// It has not sent enough.
    #[error("the stream has not begun yet")]
    NotBegun,
    /// What was waited for did not come.
    #[error("it did not come in time")]
    NotInTime,

    // This server.
    /// A limit of the server.
    #[error("{}", .0.reason)]
    Turned(Turned),
    /// The stream has as many viewers as it may.
    #[error("the stream has as many viewers as it may")]
    Full,
    /// The stream cannot be fetched, or has no lane.
    #[error("{0}")]
    Unavailable(&'static str),
}

impl From<Turned> for Refused {
    fn from(turned: Turned) -> Self {
        Self::Turned(turned)
    }
}

impl From<io::Error> for Refused {
    /// A file of a DVR window cannot be read.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NoSuchPiece,
            _ => Self::Unavailable("the disk does not give the past of this stream"),
        }
    }
}

impl From<LaneRefused> for Refused {
    fn from(refused: LaneRefused) -> Self {
        match refused {
            LaneRefused::Ended => Self::NoSuchStream,
            LaneRefused::Memory => Self::Unavailable("the server has no memory for this stream"),
            LaneRefused::Derivation | LaneRefused::TooMany => {
                Self::Unavailable("the stream has no room for this format")
            }
        }
    }
}

impl From<JoinRefused> for Refused {
    fn from(refused: JoinRefused) -> Self {
        match refused {
            JoinRefused::Denied(denied) => Self::Denied(denied),
            JoinRefused::NotFound | JoinRefused::Late => Self::NoSuchStream,
            JoinRefused::Unclear(_) => Self::NotBegun,
            JoinRefused::Impossible(_) => Self::NotCarried,
            JoinRefused::Full => Self::Full,
            JoinRefused::Unavailable => {
                Self::Unavailable("the stream cannot be fetched at the moment")
            }
            JoinRefused::Lane(refused) => refused.into(),
        }
    }
}

impl Refused {
    fn status(&self) -> (StatusCode, Caching) {
        match self {
            Self::Denied(Denied::Missing | Denied::Wrong) => (StatusCode::UNAUTHORIZED, NOT_CACHED),
            Self::Denied(Denied::TooManyAttempts) => (StatusCode::TOO_MANY_REQUESTS, NOT_CACHED),
            Self::Denied(Denied::Unavailable)
            | Self::Turned(_)
            | Self::Full
            | Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, NOT_CACHED),
            // A cache must not keep an audience from a publisher that has returned; but without any caching it would
            // pass on its whole audience, one request after the other.
            Self::NotBegun | Self::NotInTime => (StatusCode::SERVICE_UNAVAILABLE, CACHED_MOMENT),
            Self::Denied(Denied::Unfit | Denied::InUse | Denied::Excluded(_)) | Self::Removed => {
                (StatusCode::FORBIDDEN, NOT_CACHED)
            }
            Self::Directives(_) => (StatusCode::BAD_REQUEST, CACHED_WAITED_REFUSAL),
            // It is in time that decides, so a cache must not keep it.
            Self::TooFarAhead => (StatusCode::BAD_REQUEST, NOT_CACHED),
            Self::NoSuchPiece => (StatusCode::NOT_FOUND, CACHED_REFUSAL),
            Self::NoWindow | Self::Encrypted => (StatusCode::NOT_FOUND, CACHED_MOMENT),
            Self::NoSuchStream => (StatusCode::NOT_FOUND, CACHED_MOMENT),
            Self::NotCarried => (StatusCode::NOT_ACCEPTABLE, CACHED_MOMENT),
        }
    }

    /// The answer: the one place where refusals become words on the wire.
    pub(crate) fn answer(&self) -> Answer {
        let (status, caching) = self.status();
        let mut answer = Answer::new(status, "text/plain; charset=utf-8", caching);
        answer.body.push(format!("{self}\n").into());
        match self {
            Self::Denied(Denied::Missing | Denied::Wrong) => {
                answer.set(header::WWW_AUTHENTICATE, CHALLENGE)
            }
            Self::Turned(turned) => {
                answer
                    .headers
                    .insert(header::RETRY_AFTER, turned.retry_after.into());
            }
            Self::NotBegun | Self::NotInTime | Self::Unavailable(_) => {
                answer.set(header::RETRY_AFTER, "2")
            }
            _ => {}
        }
        answer
    }
}
