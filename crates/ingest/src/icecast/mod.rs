//! Icecast sources: `SOURCE` and `PUT` of a live body, and the titles sent beside it.
//!
//! Replies, by client:
//!
//! * libshout sends a first request without credentials and with an empty body: 401, and it retries.
//! * `SOURCE` (DarkIce, Liquidsoap, ices): `HTTP/1.0 200 OK` at once.
//! * `PUT` expecting 100 (Liquidsoap, libshout, ffmpeg): 100 and 200 at once, as Icecast 2.4.4 does.
//! * `PUT` (butt): 200 at once; butt waits for one second only.
//! * SHOUTcast v1, which begins with its password: `OK2` before it sends headers (`shoutcast.rs`).
//!
//! The body ends as its head says: at the close, after Content-Length, or with the last chunk. It is read no
//! faster than it plays, as `pace.rs` explains. The connection ends with the body.

mod answer;
mod content;
pub(crate) mod description;
mod metadata;
mod pace;
mod patience;
mod shoutcast;

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use fanout::Source;
use fanout::gate::{Denied, Remote, Request};
use http1::{Body, BodyDecoder, Head, Step};
use media::{Container, Item, Span, StreamName, Timestamp};
use net::closing;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{sleep_until, timeout};

pub(crate) use self::content::Content;
use self::pace::Pace;
use crate::admission::{self, PublishedEpoch};
use crate::{Context, Error, Protocol, ProtocolError, Rejection, Settings, now};

pub use answer::{Prospects, answer_options, status_of};
pub use metadata::{Dialect, update_metadata};
pub use shoutcast::{ShoutcastSource, ShoutcastStreams, serve_shoutcast};

/// Bytes per read: at most four seconds of a 32 kb/s stream, so that a file sent faster than it plays does
/// not arrive in lumps.
const READ_BYTES: usize = 16 * 1024;

impl From<http1::Error> for Error {
    fn from(error: http1::Error) -> Self {
        let rejection = match http1::status_of(error) {
            http1::Status::CONTENT_TOO_LARGE | http1::Status::HEADER_FIELDS_TOO_LARGE => {
                Rejection::Oversized
            }
            _ => Rejection::Malformed,
        };
        ProtocolError::new(rejection, error).into()
    }
}

/// Runs a source's connection from its request head to its end, and closes it.
///
/// `name` is the stream that the path requests, as [`crate::name`] returns it. `early` is the part of the
/// body that the door has already read. `on_admitted` is called when the source is admitted, and never if it
/// is refused; until then the source counts as an unauthenticated connection.
///
/// # Errors
/// The reason why the connection ended, unless the source itself left. A refused source has received its
/// reply by then, and the event has been logged and counted.
pub async fn serve<S>(
    context: &Context,
    mut socket: S,
    name: Result<StreamName, Error>,
    head: Head,
    early: Bytes,
    remote: impl Into<Remote>,
    on_admitted: impl FnOnce() + Send,
) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let remote = remote.into();
    let peer = remote.peer;
    let stream = name.as_ref().ok().cloned();
    let mut early = BytesMut::from(early);
    let admitted = match name {
        Ok(name) => admit(context, &mut socket, &mut early, &name, &head, remote).await,
        Err(error) => Err(error),
    };
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(error) => {
            let stream = stream.as_ref();
            context.note_refusal(Protocol::Icecast, peer, stream, &error);
            log_refusal(stream, &head, peer, &error);
            let words = answer::refusal(&context.settings, &head, &error);
            closing::say(socket, &words).await;
            return Err(error);
        }
    };
    let Some((epoch, content)) = admitted else {
        closing::say(socket, &answer::probe(&context.settings, &head)).await;
        return Ok(());
    };
    on_admitted();
    let mut feed = Feed::new(epoch, content, head.body());
    let answer = answer::accepted(&context.settings, &head);
    let result = match closing::write(&mut socket, &answer).await {
        Ok(()) => carry(&context.settings, &mut socket, &early, &mut feed).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = &result {
        context.stats.reject(error);
    }
    feed.end(&result);
    // The head of the reply was sent long ago; its body can still name the error.
    let words = match &result {
        Err(
            error @ (Error::NotMedia(_) | Error::NoMedia(_) | Error::Silent(_) | Error::Expired),
        ) => {
            format!("{error}\r\n")
        }
        _ => String::new(),
    };
    closing::say(socket, words.as_bytes()).await;
    result
}

/// Decides whether to admit a source. Returns `None` for one that only checks whether it may publish.
async fn admit<S>(
    context: &Context,
    socket: &mut S,
    early: &mut BytesMut,
    name: &StreamName,
    head: &Head,
    remote: Remote,
) -> Result<Option<(PublishedEpoch, Content)>, Error>
where
    S: AsyncRead + Unpin,
{
    let credentials = Credentials::of(head);
    let request = credentials.request(name, head, remote);
    if matches!(head.body(), Body::None | Body::Length(0)) {
        context.gate.publish(&request).await?;
        return Ok(None);
    }
    let content_type = description::content_type(head);
    let charset = context.registry.settings(name).charset;
    let source = Source {
        protocol: Protocol::Icecast.label(),
        peer: Some(remote.peer),
        agent: description::agent(head).to_owned(),
        container: Container::Unknown,
        content_type: content_type.to_owned(),
        headers: description::headers(head.headers_by(|bytes| charset.decode(bytes))),
    };
    let admitted = admission::admit(context, &request, Protocol::Icecast, &source);
    let epoch = patience::wait_for(socket, early, admitted).await??;
    Ok(Some((epoch, Content::new(content_type))))
}

fn log_refusal(stream: Option<&StreamName>, head: &Head, peer: SocketAddr, error: &Error) {
    // libshout always begins with this request; it is not worth an event.
    if !matches!(error, Error::Denied(Denied::Missing)) {
        let agent = description::agent(head);
        let stream = stream.map(tracing::field::display);
        tracing::info!(stream, %peer, ?agent, reason = %error, "source refused");
    }
}

/// Credential of a request.
struct Credentials {
    user: Option<String>,
    password: Option<http1::Password>,
    token: Option<http1::Password>,
}

impl Credentials {
    fn of(head: &Head) -> Self {
        let in_header = || {
            let password = head.header(description::PASSWORD)?;
            Some(http1::Password::new(password.to_owned()))
        };
        match head.basic_auth() {
            Some(basic) => Self {
                user: Some(basic.user),
                password: Some(basic.password),
                token: None,
            },
            None => Self {
                user: None,
                password: in_header(),
                token: head.bearer_token(),
            },
        }
    }

    fn are_missing(&self) -> bool {
        self.password.is_none() && self.token.is_none()
    }

    fn request<'a>(
        &'a self,
        stream: &'a StreamName,
        head: &'a Head,
        remote: Remote,
    ) -> Request<'a> {
        Request {
            agent: description::agent(head),
            referer: head.referer(),
            user: self.user.as_deref(),
            password: self.password.as_ref().map(http1::Password::reveal),
            token: self.token.as_ref().map(http1::Password::reveal),
            query: str::from_utf8(head.query().as_bytes()).unwrap_or_default(),
            ..Request::new(stream, Protocol::Icecast.label(), remote)
        }
    }
}

/// Passes the body to the stream until it ends.
async fn carry<S>(
    settings: &Settings,
    socket: &mut S,
    early: &[u8],
    feed: &mut Feed,
) -> Result<(), Error>
where
    S: AsyncRead + Unpin,
{
    let mut buffer = BytesMut::with_capacity(READ_BYTES);
    let mut is_over = !early.is_empty() && feed.take(early, now())?;
    while !is_over {
        buffer.clear();
        let read = tokio::select! {
            error = feed.epoch.over() => return Err(error),
            read = timeout(settings.source_timeout, socket.read_buf(&mut buffer)) => read,
        };
        let silent = |_| Error::Silent(settings.source_timeout);
        if closing::hung_up(read.map_err(silent)?)? == 0 {
            return feed.close(now());
        }
        // Reads before it waits, so that a source that leaves or goes silent while it is ahead is noticed.
        if let Some(resume_at) = feed.pace.resume_at(now()) {
            tokio::select! {
                error = feed.epoch.over() => return Err(error),
                () = sleep_until(resume_at.into()) => {}
            }
        }
        is_over = feed.take(&buffer, now())?;
        feed.check(settings.source_timeout, now())?;
    }
    Ok(())
}

/// Epoch of a source, with the state for decoding its body.
pub(crate) struct Feed {
    pub(crate) epoch: PublishedEpoch,
    body: BodyDecoder,
    content: Content,
    /// Items that are not delivered yet; titles may be added.
    pub(crate) items: Vec<Item>,
    pub(crate) pace: Pace,
    /// Time since which the body has contained no media.
    fruitless_since: Option<Instant>,
    began: Instant,
    /// Description of how the body ended.
    ending: &'static str,
}

impl Feed {
    pub(crate) fn new(epoch: PublishedEpoch, content: Content, body: Body) -> Self {
        let began = now();
        Self {
            epoch,
            body: BodyDecoder::new(body),
            content,
            items: Vec::new(),
            pace: Pace::new(began),
            fruitless_since: None,
            began,
            ending: "",
        }
    }

    /// Processes received bytes; returns true when the body is over. The items that they contained are
    /// written even if the bytes end in an error.
    pub(crate) fn take(&mut self, mut input: &[u8], now: Instant) -> Result<bool, Error> {
        self.epoch.received(input.len());
        let is_over = loop {
            match self.body.step(&mut input) {
                Ok(Step::Data(data)) => {
                    if let Err(error) = self.content.push(data, &mut self.epoch, &mut self.items) {
                        break Err(error);
                    }
                }
                Ok(Step::NeedMore) => break Ok(false),
                Ok(Step::End) => break Ok(true),
                Err(error) => break Err(error.into()),
            }
        };
        if let Ok(true) = is_over {
            self.ending = "the source sent all of it";
            self.content.finish(&mut self.epoch, &mut self.items)?;
        }
        self.deliver(now)?;
        is_over
    }

    /// Handles the close of the connection by the peer.
    pub(crate) fn close(&mut self, now: Instant) -> Result<(), Error> {
        self.ending = if self.body.may_close() {
            "the source hung up"
        } else {
            "the source hung up before the announced end"
        };
        self.content.finish(&mut self.epoch, &mut self.items)?;
        self.deliver(now)
    }

    /// Returns an error for a source that sends bytes, but nothing that can be played.
    pub(crate) fn check(&self, timeout: Duration, now: Instant) -> Result<(), Error> {
        match self.fruitless_since {
            Some(since) if now.saturating_duration_since(since) >= timeout => {
                Err(self.content.missing(timeout))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn deliver(&mut self, now: Instant) -> Result<(), Error> {
        if self.content.container() == Container::Other {
            self.stamp(now);
        }
        let is_media = |item: &Item| matches!(item, Item::Sample(_));
        self.fruitless_since = if self.items.iter().any(is_media) {
            None
        } else {
            self.fruitless_since.or(Some(now))
        };
        self.pace.observe(&self.items, now);
        let written = self.epoch.publisher.write(&mut self.items, now);
        if self.epoch.publisher.is_unheard() {
            self.content.interrupt();
        }
        Ok(written?)
    }

    /// Stamps the samples of formats without a clock of their own with their time of arrival.
    fn stamp(&mut self, now: Instant) {
        let since = Span::from(now.saturating_duration_since(self.began));
        for item in &mut self.items {
            if let Item::Sample(sample) = item {
                sample.dts = Timestamp::ZERO + since;
                sample.pts = sample.dts;
            }
        }
    }

    fn end(self, result: &Result<(), Error>) {
        let ending = self.ending;
        match result {
            Ok(()) => self.end_for(&ending),
            Err(error) => self.end_for(error),
        }
    }

    /// Ends the epoch and logs the reason.
    pub(crate) fn end_for(self, reason: &dyn Display) {
        let skipped_bytes = self.content.skipped_bytes();
        if skipped_bytes > 0 {
            tracing::debug!(skipped_bytes, "parts of the body were not media");
        }
        self.epoch.end(reason);
    }
}

#[cfg(test)]
mod tests;
