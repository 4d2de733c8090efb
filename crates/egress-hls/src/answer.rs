//! Answers (status, headers and body), and the refusals, sorted by whose fault they are.
//!
//! Cache lifetimes follow RFC 8216bis Appendix B:
//!
//! * six target durations for anything that its address determines: a segment, a part, a playlist that was waited for;
//! * half a target duration, in shared caches only, for the current playlist;
//! * a short time for refusals.
//!
//! Browsers must revalidate playlists: video.js repeats the request that it has waited for until the playlist changes,
//! and a browser's cache would return the old one forever. Media that was incomplete when the lane opened is not
//! cached, because another server may have all of it.

use std::io;
use std::task::{Context, Poll};

use base::holdings::Kind;
use bytes::Bytes;
use fanout::gate::Denied;
use fanout::{JoinRefused, LaneRefused};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use http1::OWN_QUERY_BYTES_MAX;

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

/// Caching of resources that their address determines for good.
const CACHED_LONG: Caching = Caching::Targets(6);

/// Caching of a playlist that was waited for.
const CACHED_WAITED: Caching = Caching::Shared(6);

/// Caching of a permanent refusal: one target duration, or four if the request was one that waits.
const CACHED_REFUSAL: Caching = Caching::Targets(1);
const CACHED_WAITED_REFUSAL: Caching = Caching::Targets(4);

const NOT_CACHED: Caching = Caching::Never;

/// Lifetime of an answer in caches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Caching {
    /// The given number of target durations.
    Targets(i64),
    /// The given number of target durations in shared caches. Browsers revalidate.
    Shared(i64),
    /// Half a target duration in shared caches. Browsers revalidate, so that a page that is reloaded begins with the
    /// present.
    Present,
    /// A second: the answer may be another one soon.
    Moment,
    Never,
}

impl Caching {
    /// Returns the value of Cache-Control, for a target duration of `target` seconds. Set `is_shared` if caches may
    /// give the answer to other clients.
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

/// Urgency of an answer for its client (RFC 9218); playlists come before media, as Appendix B recommends.
const PRIORITY: HeaderName = HeaderName::from_static("priority");
const PLAYLIST_PRIORITY: &str = "u=1";
const MEDIA_PRIORITY: &str = "u=2";

/// Realm that Icecast names; players remember passwords by it.
const CHALLENGE: &str = "Basic realm=\"Icecast2 Server\"";

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Headers, without those that all answers of the server have.
    pub headers: HeaderMap,
    /// Body, in pieces that share the memory of the log.
    pub body: Vec<Bytes>,
    /// Remainder of the body, after [`body`](Self::body).
    pub rest: Option<Rest>,
    caching: Caching,
}

/// Remainder of a body that is produced as the client takes it.
#[derive(Debug)]
pub enum Rest {
    /// Bytes read from a disk.
    File(FileBody),
    /// Text assembled for one viewer.
    Text(Filled),
}

impl Rest {
    /// Returns the number of bytes still to come.
    pub fn left(&self) -> u64 {
        match self {
            Self::File(file) => file.left(),
            Self::Text(text) => text.left(),
        }
    }

    /// Returns the next piece; `None` at the end.
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

    /// Sets Cache-Control, for a target duration of `target` seconds. Only the client may cache the answer unless it
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

    /// Returns the length of the body in bytes.
    pub(crate) fn length(&self) -> u64 {
        let rest = self.rest.as_ref().map_or(0, Rest::left);
        self.body
            .iter()
            .map(|piece| piece.len() as u64)
            .sum::<u64>()
            + rest
    }

    /// Returns an answer with the multivariant playlist.
    ///
    /// # Errors
    /// If answers for the client's address already use up its share of memory.
    pub(crate) fn multivariant(
        text: String,
        headers: &HeaderMap,
        share: Share<'_>,
    ) -> Result<Self, Refused> {
        let mut answer = Self::new(StatusCode::OK, PLAYLIST_TYPE, Caching::Moment);
        answer.set(PRIORITY, PLAYLIST_PRIORITY);
        let coding = answer.coding(headers);
        let text = encoding::encoded_once(text.into_bytes(), coding);
        answer.body.push(share.answer(text)?);
        Ok(answer)
    }

    /// Returns an answer with a media playlist, including the parts that are the viewer's own, or 304 if the client has
    /// this version.
    ///
    /// # Errors
    /// If answers for the client's address already use up its share of memory.
    pub(crate) fn playlist(
        rendered: &Rendered,
        own: &Own,
        directives: &Directives,
        (headers, share): (&HeaderMap, Share<'_>),
    ) -> Result<Self, Refused> {
        let caching = match directives.wait_for {
            Some(_) => CACHED_WAITED,
            None => Caching::Present,
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
            // All viewers have a short text in common, and the next version replaces it soon. A long one that its
            // client does not take stays in memory after it is replaced, so it is charged.
            answer.body.push(match text.len() > LONG_TEXT {
                true => share.answer(text)?,
                false => text,
            });
        } else {
            answer.fill(rendered.text.filled(own), headers, share)?;
        }
        Ok(answer)
    }

    /// Adds the text of one viewer: compressed, unless that would cost more than it saves; otherwise produced as it is
    /// sent.
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
            // As for a viewer with nothing of its own: a text that all have in common is charged to nobody if it is
            // short.
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

    /// Moves the remainder of the body into memory, unless it is long or comes from a disk.
    ///
    /// # Errors
    /// If answers for the client's address already use up its share of memory.
    pub(crate) fn in_memory(mut self, share: Share<'_>) -> Result<Self, Refused> {
        match self.rest.take() {
            Some(Rest::Text(text)) if text.left() <= LONG_TEXT as u64 => {
                self.body.push(share.answer(text.whole().into())?);
            }
            rest => self.rest = rest,
        }
        Ok(self)
    }

    /// Chooses a coding and sets the headers that state it.
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

    /// Returns an answer with an initialization segment.
    pub(crate) fn init(bytes: Bytes) -> Self {
        Self::media(Packaging::Mp4, vec![bytes], true)
    }

    /// Returns an answer with a key.
    pub(crate) fn key(key: [u8; KEY_BYTES]) -> Self {
        let mut answer = Self::new(StatusCode::OK, "application/octet-stream", NOT_CACHED);
        answer.set(PRIORITY, PLAYLIST_PRIORITY);
        answer.body.push(Bytes::copy_from_slice(&key));
        answer
    }

    /// Returns an answer with a segment that is read from a disk; see [`media`](Self::media).
    pub(crate) fn file(mut body: FileBody, is_whole: bool) -> Self {
        let mut answer = Self::media(dvr::PACKAGING, vec![body.take_first()], is_whole);
        answer.rest = Some(Rest::File(body));
        answer
    }

    /// Returns an answer with a segment or a part. `is_whole` is false if the lane was opened in the middle of it.
    pub(crate) fn media(packaging: Packaging, pieces: Vec<Bytes>, is_whole: bool) -> Self {
        let caching = if is_whole { CACHED_LONG } else { NOT_CACHED };
        let mut answer = Self::new(StatusCode::OK, packaging.media_type(), caching);
        answer.set(PRIORITY, MEDIA_PRIORITY);
        answer.body = pieces;
        answer
    }
}

/// Reasons for refusing a request, sorted by whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    // Fault of the client: it requests something it may not have, or that does not exist.
    /// Denied by the gate.
    #[error("you cannot watch here: {0}")]
    Denied(Denied),
    /// Removed by an operator.
    #[error("you were removed from this stream")]
    Removed,
    /// Malformed directive.
    #[error("{0}")]
    Directives(&'static str),
    /// Query too long for playlists to repeat in each address.
    #[error("the query is longer than {OWN_QUERY_BYTES_MAX} bytes")]
    QueryTooLong,
    /// Segment or part further ahead than any player that follows the playlist would request.
    #[error("that is too far ahead")]
    TooFarAhead,
    /// Stream without a DVR window.
    #[error("the past of this stream is not kept")]
    NoWindow,
    /// Missing segment, part or initialization segment.
    #[error("there is no such piece of the stream")]
    NoSuchPiece,
    /// Clear packaging of a stream that is encrypted.
    #[error("this stream is encrypted: only index.m3u8 and what that names can be had")]
    Encrypted,
    /// Unknown stream.
    #[error("there is no such stream")]
    NoSuchStream,
    /// Stream with a codec that HLS does not carry.
    #[error("the stream has a codec that HLS does not carry")]
    NotCarried,

    // Fault of the publisher.
    /// Publisher has not sent enough yet.
    #[error("the stream has not begun yet")]
    NotBegun,
    /// Awaited part or segment did not arrive in time.
    #[error("it did not come in time")]
    NotInTime,

    // Fault of this server.
    /// Refused by a limit of the server.
    #[error(transparent)]
    Turned(#[from] Turned),
    /// Answers made for the client's address, and not yet read, use up its share of memory.
    #[error("answers for your address wait to be read; no more are made meanwhile")]
    HoldsEnough,
    /// Stream at its limit of viewers.
    #[error("the stream has as many viewers as it may")]
    Full,
    /// Stream that cannot be fetched, or has no lane.
    #[error("{0}")]
    Unavailable(&'static str),
}

impl From<io::Error> for Refused {
    /// Converts the failure to read a file of a DVR window.
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
            // A cache must not keep viewers from a publisher that has returned. But without any caching, the cache
            // would forward the requests of all its viewers, one after another.
            Self::NotBegun | Self::NotInTime => (StatusCode::SERVICE_UNAVAILABLE, Caching::Moment),
            Self::Removed => (StatusCode::FORBIDDEN, NOT_CACHED),
            Self::Directives(_) => (StatusCode::BAD_REQUEST, CACHED_WAITED_REFUSAL),
            Self::QueryTooLong => (StatusCode::URI_TOO_LONG, NOT_CACHED),
            // Whether the request is too far ahead depends on when it arrives, so a cache must not keep the refusal.
            Self::TooFarAhead => (StatusCode::BAD_REQUEST, NOT_CACHED),
            Self::NoSuchPiece => (StatusCode::NOT_FOUND, CACHED_REFUSAL),
            Self::NoWindow | Self::Encrypted => (StatusCode::NOT_FOUND, Caching::Moment),
            Self::NoSuchStream => (StatusCode::NOT_FOUND, Caching::Moment),
            Self::NotCarried => (StatusCode::NOT_ACCEPTABLE, Caching::Moment),
        }
    }

    /// Returns the answer that states this refusal: the one place where refusals become text on the wire.
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
