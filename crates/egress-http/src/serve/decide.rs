//! From a request head to an answer, or to a lane.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fanout::gate::{self, Authorized, Denied, Play};
use fanout::{Info, LaneGuard, LaneRefused, ListenerRecord, Permit, Stream};
use http1::{Head, HttpDate, Password, Status};
use media::Container;

use super::{Answer, Context};
use crate::address::{self, Target};
use crate::reply::Replies;
use formats::{Choice, Form};

/// How long a request waits for the tracks that decide about its form. A publisher that has just
/// connected announces them with its first packets.
const TRACKS_AWAITED: Duration = Duration::from_secs(2);

/// How long a request waits for a stream that comes on demand: connecting elsewhere takes some round
/// trips.
const DEMANDED_AWAITED: Duration = Duration::from_secs(10);

/// How often it looks.
const TRACKS_POLL: Duration = Duration::from_millis(50);

/// A range that ends within this many bytes is a player's probe and not a listener: AVFoundation
/// asks for the first two.
const PROBE_BYTES_MAX: u64 = 2;

/// When to try again what the publisher is about to send.
const BEGINS_SOON: (&str, &str) = ("Retry-After", "2");

/// Bytes kept of each text that a listener says about itself: as long as it listens, it has them in
/// memory. The agents of players and the addresses of pages are shorter.
const RECORD_TEXT_BYTES_MAX: usize = 512;

const METHODS: (&str, &str) = ("Allow", "GET, HEAD, OPTIONS");

/// The realm that Icecast names; players remember passwords by it.
const CHALLENGE: (&str, &str) = ("WWW-Authenticate", "Basic realm=\"Icecast2 Server\"");

/// What to do with a request.
#[derive(Debug)]
pub(super) enum Decision {
    /// Answer and close.
    Answer(Answer),
    /// Send the head, then the lane.
    Listen(Box<Listen>),
}

/// Everything a listener needs but a socket.
#[derive(Debug)]
pub(super) struct Listen {
    pub(super) record: ListenerRecord,
    pub(super) head: Bytes,
    pub(super) lane: LaneGuard,
    /// What to say instead of the head when there is no place.
    pub(super) refusal: Answer,
}

/// Decides on a request. Opens the lane, but counts nobody before the decision is known.
pub(super) async fn decide(
    context: &Context,
    target: Target,
    head: &Head,
    peer: SocketAddr,
    permit: Option<Permit>,
) -> Decision {
    let replies = Replies::new(head, &context.server_header, now());
    let request = Request {
        context,
        head,
        peer,
        replies,
    };
    match request.listen(target, permit).await {
        Ok(listen) => Decision::Listen(Box::new(listen)),
        Err(answer) => Decision::Answer(answer),
    }
}

struct Request<'a> {
    context: &'a Context,
    head: &'a Head,
    peer: SocketAddr,
    replies: Replies<'a>,
}

impl Request<'_> {
    /// The way of a listener; every other way ends in an answer.
    async fn listen(&self, target: Target, permit: Option<Permit>) -> Result<Listen, Answer> {
        let requested = Instant::now();
        self.check_method()?;
        let permission = self.authorize(&target).await?;
        let stream = self.stream(&target).await?;
        let (info, form) = self.form(&stream, &target).await?;
        let head = self.stream_head(&info, form);
        if self.replies.is_head {
            return Err(Answer {
                status: Status::OK,
                bytes: head,
            });
        }
        if self.is_probe() {
            return Err(self.probed(head, form.opening(info.source.container)));
        }
        let lane = self.lane(&stream, &permission, form, &info)?;
        let record = ListenerRecord {
            id: self.context.registry.fanout().next_id(),
            stream: target.name,
            format: form.format(),
            peer: self.peer,
            // Without the query, which may hold a key.
            request: format!(
                "{} {} {}",
                self.head.method(),
                cut(&self.head.path()),
                self.version()
            ),
            agent: self.header("user-agent"),
            referer: self.header("referer"),
            since: SystemTime::now(),
            requested,
            permit,
        };
        Ok(Listen {
            record,
            head: head.into(),
            lane,
            refusal: self.busy("Too many listeners are joining at once.\n"),
        })
    }

    fn check_method(&self) -> Result<(), Answer> {
        match self.head.method() {
            "GET" | "HEAD" => Ok(()),
            "OPTIONS" => Err(Answer {
                status: Status::NO_CONTENT,
                bytes: self.replies.empty(Status::NO_CONTENT, &[METHODS]),
            }),
            _ => Err(self.text(
                Status::METHOD_NOT_ALLOWED,
                &[METHODS],
                "A stream can only be listened to.\n",
            )),
        }
    }

    async fn authorize(&self, target: &Target) -> Result<Authorized<Play>, Answer> {
        let basic = self.head.basic_auth();
        let bearer = self.head.bearer_token();
        // A password in its place goes before a key in the address.
        let key = self.head.query().get("key").filter(|_| basic.is_none());
        let request = gate::Request {
            agent: self.head.header("user-agent").unwrap_or_default(),
            user: basic.as_ref().map(|credentials| &credentials.user[..]),
            password: basic
                .as_ref()
                .map(|credentials| credentials.password.reveal()),
            token: bearer.as_ref().map(Password::reveal).or(key.as_deref()),
            query: str::from_utf8(self.head.query().as_bytes()).unwrap_or_default(),
            ..gate::Request::new(&target.name, fanout::Protocol::Http.label(), self.peer)
        };
        let denied = match self.context.gate.play(&request).await {
            Ok(permission) => return Ok(permission),
            Err(denied) => denied,
        };
        let words = format!("You cannot listen here: {denied}.\n");
        Err(match denied {
            Denied::Missing | Denied::Wrong => {
                self.text(Status::UNAUTHORIZED, &[CHALLENGE], &words)
            }
            Denied::TooManyAttempts => self.later(Status::TOO_MANY_REQUESTS, &words),
            Denied::Unavailable => self.later(Status::SERVICE_UNAVAILABLE, &words),
        })
    }

    /// The stream, which is waited for if it comes on demand.
    async fn stream(&self, target: &Target) -> Result<Arc<Stream>, Answer> {
        if let Some(stream) = &target.stream {
            return Ok(Arc::clone(stream));
        }
        let registry = &self.context.registry;
        if registry.demand(&target.name) {
            let appearance = registry.appearance(&target.name);
            if let Ok(stream) = tokio::time::timeout(DEMANDED_AWAITED, appearance).await {
                return Ok(stream);
            }
        }
        Err(self.not_found(&format!("There is no stream {}.\n", target.name)))
    }

    /// The form to send, as soon as the stream's tracks tell it.
    async fn form(&self, stream: &Stream, target: &Target) -> Result<(Info, Form), Answer> {
        let deadline = tokio::time::Instant::now() + TRACKS_AWAITED;
        loop {
            let info = stream.info();
            if target.extension.is_none() && self.wants_page(&info) {
                return Err(self.to_page(&info));
            }
            match Form::choose(&info, target.extension, self.head.wants_icy()) {
                Choice::Take(form) => return Ok((info, form)),
                Choice::Unclear if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(TRACKS_POLL).await;
                }
                Choice::Unclear if info.tracks.is_empty() => {
                    let words = "The stream has not begun yet.\n";
                    return Err(self.text(Status::SERVICE_UNAVAILABLE, &[BEGINS_SOON], words));
                }
                Choice::Unclear | Choice::Impossible => {
                    let words = target
                        .extension
                        .map(|extension| address::refusal(&info, extension));
                    return Err(self.text(Status::NOT_ACCEPTABLE, &[], &words.unwrap_or_default()));
                }
            }
        }
    }

    /// Whether a person opened the bare name of an RTMP stream in a browser, which cannot play it.
    fn wants_page(&self, info: &Info) -> bool {
        let accepts_html = self
            .head
            .header("accept")
            .is_some_and(|accept| accept.contains("text/html"));
        accepts_html && info.source.container == Container::Tracks
    }

    fn to_page(&self, info: &Info) -> Answer {
        let query = self.head.query();
        let query = String::from_utf8_lossy(query.as_bytes());
        let mark = if query.is_empty() { "" } else { "?" };
        // Relative to the stream's own address, so that it holds behind a proxy's path prefix, too.
        let (_, last) = info
            .name
            .as_str()
            .rsplit_once('/')
            .unwrap_or(("", info.name.as_str()));
        let location = format!("{last}/{mark}{query}");
        Answer {
            status: Status::FOUND,
            bytes: self
                .replies
                .empty(Status::FOUND, &[("Location", &location)]),
        }
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
        self.head
            .byte_range()
            .is_some_and(|range| range.last.is_some_and(|last| last < PROBE_BYTES_MAX))
    }

    /// A probe gets 200 and the bytes it asked for. 206 would make AVFoundation come back without
    /// asking for titles; a 200 that goes on would count it twice.
    fn probed(&self, mut head: Vec<u8>, opening: &[u8]) -> Answer {
        head.extend_from_slice(opening);
        Answer {
            status: Status::OK,
            bytes: head,
        }
    }

    fn lane(
        &self,
        stream: &Arc<Stream>,
        permission: &Authorized<Play>,
        form: Form,
        info: &Info,
    ) -> Result<LaneGuard, Answer> {
        let make = || form.packager(info.source.container);
        stream
            .lane(permission, form.format(), make, Instant::now())
            .map_err(|refused| match refused {
                LaneRefused::Ended => self.not_found("The stream has ended.\n"),
                LaneRefused::Memory => self.busy("The server has no memory for this stream.\n"),
                LaneRefused::Derivation => self
                    .busy("The server makes Opus of as many streams as it may. Try again later.\n"),
                LaneRefused::TooMany => self.busy("The stream has no room for this format.\n"),
            })
    }

    fn not_found(&self, words: &str) -> Answer {
        self.text(Status::NOT_FOUND, &[], words)
    }

    fn busy(&self, words: &str) -> Answer {
        self.later(Status::SERVICE_UNAVAILABLE, words)
    }

    /// What does not go now, and may go later.
    fn later(&self, status: Status, words: &str) -> Answer {
        let seconds = http1::retry_after(self.context.jitter.random()).to_string();
        self.text(status, &[("Retry-After", &seconds)], words)
    }

    fn text(&self, status: Status, extra: &[(&str, &str)], words: &str) -> Answer {
        Answer {
            status,
            bytes: self.replies.text(status, extra, words),
        }
    }

    fn header(&self, name: &str) -> String {
        cut(self.head.header(name).unwrap_or_default()).to_owned()
    }

    fn version(&self) -> &'static str {
        match self.head.version() {
            http1::Version::Http11 => "HTTP/1.1",
            http1::Version::Http10 => "HTTP/1.0",
            http1::Version::Ice10 | http1::Version::XAudiocast => "ICE/1.0",
        }
    }
}

/// The front of a text for the record.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(RECORD_TEXT_BYTES_MAX)]
}

fn now() -> HttpDate {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    HttpDate(since_epoch.map_or(0, |since| since.as_secs()))
}
