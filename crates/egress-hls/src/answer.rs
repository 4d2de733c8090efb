//! Answers: statuses, headers and bodies; and the refusals, by whose fault they are.
//!
//! How long an answer may be cached follows RFC 8216bis Appendix B: what its address determines (a segment, a part, a
//! playlist that was waited for) six target durations, the present playlist half of one by shared caches, refusals a
//! short time. Playlists are for shared caches: video.js asks for the one that it has waited for until it is another
//! one, which no browser's cache would ever answer. What was incomplete when the lane opened is not cached, because another server may have all of it.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use fanout::gate::Denied;
use fanout::{JoinRefused, LaneRefused};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use http1::OWN_QUERY_BYTES_MAX;
use net::holdings::Kind;

use crate::Turned;
use crate::dvr::{self, FileBody};
use crate::encoding::{self, Coding, LONG_TEXT};
use crate::keys::KEY_BYTES;
use crate::packaging::Packaging;
use crate::reload::Directives;
use crate::renderer::Rendered;
use crate::share::Share;
use crate::template::{self, Filled, Own};

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
    /// What follows it.
    pub rest: Option<Rest>,
    caching: Caching,
}

/// What of a body is made as its client takes it.
#[derive(Debug)]
pub enum Rest {
    /// It is read from a disk.
    File(FileBody),
    /// It is put together for one viewer.
    Text(Filled),
}

impl Rest {
    /// Bytes that are still to come.
    pub fn left(&self) -> u64 {
        match self {
            Self::File(file) => file.left(),
            Self::Text(text) => text.left(),
        }
    }

    /// The next piece; `None` at the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            Self::File(file) => file.poll_next(cx),
            Self::Text(text) => Poll::Ready(text.next_piece().map(Ok)),
        }
    }
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

    /// States how long it may be cached, where a target duration has so many seconds: by the client alone unless it
    /// `is_shared`.
    pub(crate) fn cached_by(mut self, target: i64, is_shared: bool) -> Self {
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
        let rest = self.rest.as_ref().map_or(0, Rest::left);
        self.body
            .iter()
            .map(|piece| piece.len() as u64)
            .sum::<u64>()
            + rest
    }

    /// The multivariant playlist.
    ///
    /// # Errors
    /// When the client's address has its share.
    pub(crate) fn multivariant(
        text: String,
        headers: &HeaderMap,
        share: Share<'_>,
    ) -> Result<Self, Refused> {
        let mut answer = Self::new(StatusCode::OK, PLAYLIST_TYPE, CACHED_MOMENT);
        answer.set(PRIORITY, PLAYLIST_PRIORITY);
        let coding = answer.coding(headers);
        let text = encoding::encoded_once(text.into_bytes(), coding);
        answer.body.push(share.answer(text)?);
        Ok(answer)
    }

    /// A media playlist with what is the viewer's own, or that the client has it already.
    ///
    /// # Errors
    /// When the client's address has its share.
    pub(crate) fn playlist(
        rendered: &Rendered,
        own: &Own,
        directives: &Directives,
        (headers, share): (&HeaderMap, Share<'_>),
    ) -> Result<Self, Refused> {
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
        } else if own.is_empty() {
            let coding = answer.coding(headers);
            let text = rendered.text.plain.bytes(coding);
            // All viewers have a short one in common, and soon the next. A long one that is not taken is kept from being
            // replaced.
            answer.body.push(match text.len() > LONG_TEXT {
                true => share.answer(text)?,
                false => text,
            });
        } else {
            answer.fill(rendered.text.filled(own), headers, share)?;
        }
        Ok(answer)
    }

    /// The text of one viewer: compressed, unless that would cost more than it saves, or made as it is sent.
    fn fill(
        &mut self,
        mut text: Filled,
        headers: &HeaderMap,
        share: Share<'_>,
    ) -> Result<(), Refused> {
        let is_long = text.left() > LONG_TEXT as u64;
        let coding = match is_long {
            true => self.coding_of(Coding::Identity),
            false => self.coding(headers),
        };
        if coding == Coding::Identity {
            // As where a viewer has nothing of its own: what all have in common is nobody's if it is short.
            let shared = Some(text.shared()).filter(|bytes| *bytes > LONG_TEXT);
            let bytes = shared.unwrap_or_default() + template::PIECE_BYTES;
            let held = share.take(Kind::Answers, bytes)?;
            text.hold(held);
            self.rest = Some(Rest::Text(text));
        } else {
            let text = encoding::encoded_once(text.whole(), coding);
            self.body.push(share.answer(text)?);
        }
        Ok(())
    }

    /// The same without what is made as its client takes it, unless that is long or comes from a disk.
    ///
    /// # Errors
    /// When the client's address has its share.
    pub(crate) fn in_memory(mut self, share: Share<'_>) -> Result<Self, Refused> {
        match self.rest.take() {
            Some(Rest::Text(text)) if text.left() <= LONG_TEXT as u64 => {
                self.body.push(share.answer(text.whole().into())?);
            }
            rest => self.rest = rest,
        }
        Ok(self)
    }

    /// Chooses a coding, and says so.
    fn coding(&mut self, headers: &HeaderMap) -> Coding {
        self.coding_of(Coding::accepted(headers))
    }

    fn coding_of(&mut self, coding: Coding) -> Coding {
        self.set(header::VARY, "Accept-Encoding");
        if let Some(token) = coding.token() {
            self.set(header::CONTENT_ENCODING, token);
        }
        coding
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
        answer.rest = Some(Rest::File(body));
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
    /// A query that playlists would have to repeat in each address.
    #[error("the query is longer than {OWN_QUERY_BYTES_MAX} bytes")]
    QueryTooLong,
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
    /// What was made for the client's address, and it has not taken, is its share.
    #[error("answers for your address wait to be read; no more are made meanwhile")]
    HoldsEnough,
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
            Self::Denied(denied) => (auth::status_of(*denied), NOT_CACHED),
            Self::Turned(_) | Self::Full | Self::HoldsEnough | Self::Unavailable(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, NOT_CACHED)
            }
            // A cache must not keep an audience from a publisher that has returned; but without any caching it would
            // pass on its whole audience, one request after the other.
            Self::NotBegun | Self::NotInTime => (StatusCode::SERVICE_UNAVAILABLE, CACHED_MOMENT),
            Self::Removed => (StatusCode::FORBIDDEN, NOT_CACHED),
            Self::Directives(_) => (StatusCode::BAD_REQUEST, CACHED_WAITED_REFUSAL),
            Self::QueryTooLong => (StatusCode::URI_TOO_LONG, NOT_CACHED),
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
            Self::NotBegun | Self::NotInTime | Self::HoldsEnough | Self::Unavailable(_) => {
                answer.set(header::RETRY_AFTER, "2")
            }
            _ => {}
        }
        answer
    }
}
