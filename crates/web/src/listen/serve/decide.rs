//! Decision about a request for a stream: from its head to a reply, or to a lane.

use std::time::{Instant, SystemTime};

use auth::Shown;
use bytes::Bytes;
use fanout::gate::{self, Denied, Remote};
use fanout::{
    Choice, Info, JoinRefused, Joined, LaneGuard, LaneRefused, ListenerRecord, Permit, Protocol,
    Waits, Wish, join,
};
use http::StatusCode;
use http1::{Head, Status};
use media::Container;
use packagers::Form;

use super::{Answer, Context};
use crate::listen::address::{self, Target};
use crate::listen::reply::Replies;

/// Header for a WebSocket client of another version (RFC 6455 §4.4).
const WEBSOCKET_VERSION: (&str, &str) = ("Sec-WebSocket-Version", http1::websocket::VERSION);

/// Range end, in bytes, below which a request is a player's probe and not a listener: AVFoundation requests the first two.
const PROBE_BYTES_MAX: u64 = 2;

/// Retry header while the publisher is about to send.
const BEGINS_SOON: (&str, &str) = ("Retry-After", "2");

const METHODS: (&str, &str) = ("Allow", "GET, HEAD, OPTIONS");

/// Challenge with the realm that Icecast names; players remember passwords by it.
const CHALLENGE: (&str, &str) = ("WWW-Authenticate", "Basic realm=\"Icecast2 Server\"");

/// Decision about a request.
#[derive(Debug)]
pub(super) enum Decision {
    /// Reply and close.
    Answer(Answer),
    /// Send the head, then the lane.
    Listen(Box<Listen>),
}

/// Everything a listener needs except a socket.
#[derive(Debug)]
pub(super) struct Listen {
    pub(super) record: ListenerRecord,
    pub(super) head: Bytes,
    /// First bytes of the body, before those of the lane.
    pub(super) intro: Bytes,
    pub(super) lane: LaneGuard,
    /// Reply in place of the head when no worker takes the listener.
    pub(super) refusal: Answer,
}

impl Listen {
    /// Whether the head is a WebSocket's, so that the body is sent in WebSocket messages.
    pub(super) fn is_websocket(&self) -> bool {
        self.record.format.protocol == Protocol::Websocket
    }
}

/// Whether players accept a form over a WebSocket: those that feed a browser's decoder do.
const fn fits_websocket(form: Form) -> bool {
    matches!(form, Form::Flv | Form::Mp4)
}

/// Answers a probe with 200 and the bytes it requested. After a 206, AVFoundation would come back without requesting titles; a
/// 200 that continues would count it twice.
fn probed(mut head: Vec<u8>, opening: &[u8]) -> Answer {
    head.extend_from_slice(opening);
    Answer::new(Status::OK, head)
}

/// Decides on a request. Opens the lane, but counts no listener before the decision is known.
pub(super) async fn decide(
    context: &Context,
    target: &Target,
    head: &Head,
    remote: Remote,
    permit: Permit,
) -> Decision {
    let replies = Replies::new(head, &context.server_header, SystemTime::now().into());
    let request = Request {
        context,
        head,
        remote,
        replies,
    };
    match request.listen(target, permit).await {
        Ok(listen) => Decision::Listen(Box::new(listen)),
        Err(answer) => Decision::Answer(answer),
    }
}

/// Reply that a request for a stream wants.
enum Wanted {
    /// The stream's page, for a browser at the bare name of an RTMP stream, which a browser cannot play.
    Page,
    /// The stream, in this form.
    Stream(Form),
}

struct Request<'a> {
    context: &'a Context,
    head: &'a Head,
    remote: Remote,
    replies: Replies<'a>,
}

/// Request headers of a listener.
#[derive(Clone, Copy)]
struct Sent<'a>(&'a Head);

impl gate::Headers for Sent<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }
}

impl Request<'_> {
    /// Handles a request that becomes a listener; every other request ends in a reply.
    async fn listen(&self, target: &Target, permit: Permit) -> Result<Listen, Answer> {
        self.check_method()?;
        let accept = self.websocket_accept()?;
        let Joined {
            mut subscription,
            info,
            choice,
        } = self.find(target, permit).await?;
        let form = match choice {
            Wanted::Stream(form) => form,
            Wanted::Page => return Err(self.to_page(&info)),
        };
        if accept.is_some() && !fits_websocket(form) {
            return Err(self.not_by_websocket(&info));
        }
        let head = match &accept {
            Some(accept) => self.replies.websocket(accept),
            None => self.stream_head(&info, form),
        };
        if self.replies.is_head {
            return Err(Answer::new(Status::OK, head));
        }
        if accept.is_none() && self.is_probe() {
            return Err(probed(head, form.opening(info.source.container)));
        }
        let make = || form.packager(info.source.container, info.settings.charset);
        let lane = subscription
            .lane(form.format(), make, Instant::now())
            .map_err(|refused| self.refuse(target, refused.into()))?;
        let intro = (self.context.intros)(&info.name);
        let mut record = subscription.record(&lane);
        if accept.is_some() {
            record.format.protocol = Protocol::Websocket;
        }
        Ok(Listen {
            intro: intro.map_or_else(Bytes::new, |intro| intro.of(&info, form)),
            record,
            head: head.into(),
            lane,
            refusal: self.busy("Too many listeners are joining at once.\n"),
        })
    }

    /// Joins the stream. If the stream does not exist, joins the one that the path means otherwise; if it is full, joins the
    /// one that takes its overflow.
    async fn find(&self, target: &Target, permit: Permit) -> Result<Joined<Wanted>, Answer> {
        let refused = match self.join(target, permit.clone()).await {
            Ok(joined) => return Ok(joined),
            Err(refused) => refused,
        };
        let of = |name| target.clone().of(name);
        let other = match refused {
            JoinRefused::Full => (self.context.overflow)(target.name()).map(of),
            JoinRefused::NotFound => target.otherwise(),
            _ => None,
        };
        let Some(other) = other else {
            return Err(self.refuse(target, refused));
        };
        let joined = Box::pin(self.join(&other, permit)).await;
        joined.map_err(|refused| match refused {
            JoinRefused::NotFound => self.refuse(target, refused),
            _ => self.refuse(&other, refused),
        })
    }

    async fn join(&self, target: &Target, permit: Permit) -> Result<Joined<Wanted>, JoinRefused> {
        let query = str::from_utf8(self.head.query().as_bytes()).unwrap_or_default();
        let shown = Shown::by(Sent(self.head), query).password_first();
        let Context { registry, gate, .. } = self.context;
        let choose = |info: &Info| self.choose(info, target);
        // Built in place: a moved value would take its memory twice in the waiting future.
        join(
            registry,
            &**gate,
            Wish {
                request: shown.request(&target.name, Protocol::Http.label(), self.remote),
                introduction: shown.introduction(self.remote, self.request_line(), Some(permit)),
            },
            Waits::default(),
            choose,
        )
        .await
    }

    /// Returns the request line without the query, which may hold a key.
    fn request_line(&self) -> String {
        let (method, path) = (self.head.method(), self.head.path());
        let version = self.head.version().label();
        format!("{method} {} {version}", ListenerRecord::cut(&path))
    }

    fn choose(&self, info: &Info, target: &Target) -> Choice<Wanted> {
        if target.extension.is_none() && self.wants_page(info) {
            return Choice::Take(Wanted::Page);
        }
        let form = Form::choose(info, target.extension, self.head.wants_icy());
        form.map(Wanted::Stream)
    }

    /// Builds the reply to a listener that cannot join.
    fn refuse(&self, target: &Target, refused: JoinRefused) -> Answer {
        match refused {
            JoinRefused::Denied(denied) => self.denied(denied),
            JoinRefused::NotFound | JoinRefused::Late => {
                self.not_found(&format!("There is no stream {}.\n", target.name))
            }
            JoinRefused::Full => self.busy("The stream has as many listeners as it may.\n"),
            JoinRefused::Unavailable => self.busy("The stream cannot be fetched at the moment.\n"),
            JoinRefused::Unclear(info) if info.tracks.is_empty() => {
                let words = "The stream has not begun yet.\n";
                self.text(Status::SERVICE_UNAVAILABLE, &[BEGINS_SOON], words)
            }
            JoinRefused::Unclear(info) | JoinRefused::Impossible(info) => {
                let words = target
                    .extension
                    .map(|extension| address::refusal(&info, extension));
                self.text(Status::NOT_ACCEPTABLE, &[], &words.unwrap_or_default())
            }
            JoinRefused::Lane(LaneRefused::Ended) => self.not_found("The stream has ended.\n"),
            JoinRefused::Lane(LaneRefused::Memory) => {
                self.busy("The server has no memory for this stream.\n")
            }
            JoinRefused::Lane(LaneRefused::Derivation) => {
                self.busy("The server makes Opus of as many streams as it may. Try again later.\n")
            }
            JoinRefused::Lane(LaneRefused::TooMany) => {
                self.busy("The stream has no room for this format.\n")
            }
        }
    }

    fn denied(&self, denied: Denied) -> Answer {
        let words = format!("You cannot listen here: {denied}.\n");
        match auth::status_of(denied) {
            StatusCode::UNAUTHORIZED => self.text(Status::UNAUTHORIZED, &[CHALLENGE], &words),
            StatusCode::FORBIDDEN => self.text(Status::FORBIDDEN, &[], &words),
            StatusCode::TOO_MANY_REQUESTS => self.later(Status::TOO_MANY_REQUESTS, &words),
            _ => self.later(Status::SERVICE_UNAVAILABLE, &words),
        }
    }

    fn check_method(&self) -> Result<(), Answer> {
        match self.head.method() {
            "GET" | "HEAD" => Ok(()),
            "OPTIONS" => Err(self.empty(Status::NO_CONTENT, METHODS)),
            _ => Err(self.text(
                Status::METHOD_NOT_ALLOWED,
                &[METHODS],
                "A stream can only be listened to.\n",
            )),
        }
    }

    /// Returns the accept value for the key of a client that requests a WebSocket; `None` for any other client.
    fn websocket_accept(&self) -> Result<Option<String>, Answer> {
        if !self.head.upgrades_to_websocket() {
            return Ok(None);
        }
        if self.head.header("sec-websocket-version") != Some(http1::websocket::VERSION) {
            let words = "This server speaks version 13 of WebSocket.\n";
            return Err(self.text(Status::UPGRADE_REQUIRED, &[WEBSOCKET_VERSION], words));
        }
        let key = self.head.header("sec-websocket-key");
        let accept = key.and_then(http1::websocket::accept);
        let words = "Sec-WebSocket-Key is missing or malformed.\n";
        let refused = || self.text(Status::BAD_REQUEST, &[], words);
        accept.ok_or_else(refused).map(Some)
    }

    fn not_by_websocket(&self, info: &Info) -> Answer {
        let words = format!(
            "{} can be had over WebSocket as .flv or .mp4 alone.\n",
            info.name
        );
        self.text(Status::NOT_ACCEPTABLE, &[], &words)
    }

    /// Whether a page is wanted, and the stream has no bytes of its own to send at its name.
    fn wants_page(&self, info: &Info) -> bool {
        let accept = self.head.header("accept").unwrap_or_default();
        accept.contains("text/html") && info.source.container == Container::Tracks
    }

    fn to_page(&self, info: &Info) -> Answer {
        let query = self.head.query();
        let query = String::from_utf8_lossy(query.as_bytes());
        let mark = if query.is_empty() { "" } else { "?" };
        // Relative to the stream's own address, so that it also works behind a proxy's path prefix.
        let last = info.name.as_str().rsplit('/').next().unwrap_or_default();
        let location = format!("{last}/{mark}{query}");
        self.empty(Status::FOUND, ("Location", &location))
    }

    fn stream_head(&self, info: &Info, form: Form) -> Vec<u8> {
        self.replies.stream(
            &form.media_type(info),
            &info.source.headers,
            form.has_titles(),
            info.keyframes.filter(|_| form == Form::Flv),
        )
    }

    fn is_probe(&self) -> bool {
        let last = self.head.byte_range().and_then(|range| range.last);
        last.is_some_and(|last| last < PROBE_BYTES_MAX)
    }

    fn not_found(&self, words: &str) -> Answer {
        self.text(Status::NOT_FOUND, &[], words)
    }

    fn busy(&self, words: &str) -> Answer {
        self.later(Status::SERVICE_UNAVAILABLE, words)
    }

    /// Builds a reply to a request that fails now and may succeed later.
    fn later(&self, status: Status, words: &str) -> Answer {
        let seconds = http1::retry_after(self.context.jitter.random()).to_string();
        self.text(status, &[("Retry-After", &seconds)], words)
    }

    fn text(&self, status: Status, extra: &[(&str, &str)], words: &str) -> Answer {
        Answer::new(status, self.replies.text(status, extra, words))
    }

    fn empty(&self, status: Status, extra: (&str, &str)) -> Answer {
        Answer::new(status, self.replies.empty(status, &[extra]))
    }
}
