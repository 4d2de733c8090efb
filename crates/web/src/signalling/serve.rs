//! HTTP behaviour of WHIP and WHEP (RFC 9725, draft-ietf-wish-whep).

use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::{Fields, Secret};
use fanout::gate::{Authorized, Gate, Publish};
use fanout::{
    Choice, Info, JoinRefused, Joined, ListenerRecord, Permit, PictureOrder, Presence, Waits, Wish,
    join,
};
use http::{HeaderName, Method, StatusCode, header};
use ingest::whip;
use limits::{Evict, Rejected, Transport};
use media::{Container, Kind};
use webrtc::ice::Credentials;
use webrtc::sdp::{Fragment, FragmentError, MediaKind, Offer, OfferError, Section, write_fragment};

use super::address::{Address, Id, Resource, Way};
use super::refused::{ACCEPT_PATCH, ACCEPT_POST, Refused};
use super::request;
use super::rtc::Rtc;
use super::service::{self, Opening};
use super::table::Entry;
use super::{SDP, SDP_FRAGMENT};
use crate::reply::Reply;
use crate::request::Request;

/// Headers that let pages of other origins use WHIP and WHEP, and read the replies.
const CORS: [(&str, &str); 5] = [
    ("access-control-allow-origin", "*"),
    (
        "access-control-allow-methods",
        "OPTIONS, GET, HEAD, POST, PATCH, DELETE",
    ),
    (
        "access-control-allow-headers",
        "Authorization, Content-Type, If-Match",
    ),
    (
        "access-control-expose-headers",
        "Location, ETag, Link, Accept-Patch, Retry-After",
    ),
    ("access-control-max-age", "86400"),
];

const ENDPOINT_METHODS: &str = "OPTIONS, GET, HEAD, POST";
const SESSION_METHODS: &str = "OPTIONS, GET, HEAD, PATCH, DELETE";

/// Answers a request to an address of WHIP or WHEP.
pub(crate) async fn serve(request: &Request<'_>, address: &Address) -> Reply {
    let asked = Asked { request, address };
    let mut reply = match asked.answer().await {
        Ok(reply) => reply,
        Err(refused) => {
            asked.note(&refused);
            refused.answer(request.front.drain.retry_after())
        }
    };
    for (name, value) in CORS {
        reply = reply.with(HeaderName::from_static(name), value);
    }
    reply
}

/// Credentials that a client presents: a token, or nothing.
type Shown<'a> = auth::Shown<'a, Fields<'a>>;

/// Request, and its parsed path.
struct Asked<'a> {
    request: &'a Request<'a>,
    address: &'a Address,
}

impl Asked<'_> {
    async fn answer(&self) -> Result<Reply, Refused> {
        let request = self.request;
        match (&request.method, self.address.resource) {
            (&Method::OPTIONS, _) => Ok(self.preflight()),
            (&Method::GET, Resource::Endpoint) => Ok(Reply::new(StatusCode::NO_CONTENT)),
            (&Method::HEAD, Resource::Endpoint) => Ok(of_type_sdp()),
            (&Method::POST, Resource::Endpoint) => self.open(request::body(request)?).await,
            (_, Resource::Endpoint) => Err(Refused::Method(ENDPOINT_METHODS)),
            (_, Resource::Beside) => Err(Refused::Beside(self.beside())),
            (&Method::GET, Resource::Session(id)) => {
                self.find(id)?;
                Ok(Reply::new(StatusCode::NO_CONTENT))
            }
            (&Method::HEAD, Resource::Session(id)) => self.find(id).map(|_| of_type_sdp()),
            (&Method::PATCH, Resource::Session(id)) => {
                self.change(id, request::body(request)?).await
            }
            (&Method::DELETE, Resource::Session(id)) => self.end(id).await,
            (_, Resource::Session(_)) => Err(Refused::Method(SESSION_METHODS)),
        }
    }

    fn shown(&self) -> Shown<'_> {
        self.request.shown().tokens_alone()
    }

    fn preflight(&self) -> Reply {
        let (methods, name, value) = match self.address.resource {
            Resource::Session(_) => (SESSION_METHODS, ACCEPT_PATCH, SDP_FRAGMENT),
            _ => (ENDPOINT_METHODS, ACCEPT_POST, SDP),
        };
        Reply::new(StatusCode::NO_CONTENT)
            .with(header::ALLOW, methods)
            .with(name, value)
    }

    /// Returns the address that was probably meant, with the query, which may contain a key.
    fn beside(&self) -> String {
        self.with_query(self.outside(&self.address.endpoint()))
    }

    /// Returns a path as the client must request it.
    fn outside(&self, path: &str) -> String {
        format!("{}{path}", self.request.base().prefix())
    }

    fn with_query(&self, path: String) -> String {
        match self.request.uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path,
        }
    }

    /// Opens a session.
    async fn open(&self, body: &[u8]) -> Result<Reply, Refused> {
        let rtc = self.rtc()?;
        self.pace(rtc)?;
        if self.request.front.drain.has_begun() {
            return Err(Rejected::Draining.into());
        }
        let shown = self.shown();
        let opened = match self.address.way {
            Way::Out => self.listen(rtc, &shown, body).await?,
            Way::In => {
                // A client without permission learns nothing about its offer.
                let permission = self.may_publish(&shown).await?;
                self.publish(rtc, &shown, permission, body)?
            }
        };
        Ok(self.created(&shown, opened))
    }

    fn offer(&self, body: &[u8]) -> Result<Offer, Refused> {
        if !request::is_of_type(&self.request.headers, SDP) {
            return Err(Refused::ContentType(SDP));
        }
        let text = str::from_utf8(body).map_err(|_| OfferError::Syntax)?;
        if text.trim().is_empty() {
            // The SDP library accepts an empty text as a description.
            return Err(OfferError::Syntax.into());
        }
        Ok(Offer::parse(text)?)
    }

    fn created(&self, shown: &Shown<'_>, opened: Opened) -> Reply {
        let path = self.outside(&self.address.session(opened.id));
        // A client with its key in the query presents it there again.
        let location = match shown.is_in_address() {
            true => self.with_query(path),
            false => path,
        };
        Reply::full(StatusCode::CREATED, SDP, opened.answer)
            .with(header::LOCATION, location)
            .with(header::ETAG, tag(&opened.ufrag))
            .with(ACCEPT_PATCH, SDP_FRAGMENT)
    }

    async fn listen(&self, rtc: &Rtc, shown: &Shown<'_>, body: &[u8]) -> Result<Opened, Refused> {
        let offer = match self.offer(body) {
            Ok(offer) => offer,
            Err(refused) => {
                // A client without permission learns nothing about its offer.
                self.may_play(shown).await?;
                return Err(refused);
            }
        };
        let joined = self.join(shown).await;
        let Joined {
            mut subscription,
            info,
            choice: (),
        } = joined.map_err(|refused| self.not_joined(refused))?;
        let (limits, peer) = (&self.request.front.limits, self.request.visitor.peer.ip());
        let permit = limits.listener_by(Transport::Webrtc, peer, Instant::now())?;
        subscription.set_permit(Permit::new(permit));
        let agreed = service::agree(&offer, &info)?;
        let (id, ufrag, opening) = self.session(rtc, shown, &offer, &agreed.sections())?;
        let answer = rtc.service.listen(opening, agreed, subscription)?;
        Ok(Opened { id, ufrag, answer })
    }

    async fn join(&self, shown: &Shown<'_>) -> Result<Joined<()>, JoinRefused> {
        let stream = &self.address.stream;
        let remote = self.request.visitor.remote();
        let line = format!("PLAY /{stream} WHEP/1.0");
        let wish = Wish {
            request: shown.request(stream, "webrtc", remote),
            introduction: shown.introduction(remote, line, None),
        };
        let waits = Waits {
            presence: Presence::Live,
            ..Waits::default()
        };
        let front = self.request.front;
        join(&front.registry, &*front.gate, wish, waits, choose).await
    }

    /// Returns the refusal for a listener that cannot join.
    fn not_joined(&self, refused: JoinRefused) -> Refused {
        let name = &self.address.stream;
        match refused {
            JoinRefused::Denied(denied) => Refused::Denied(denied, Way::Out),
            JoinRefused::NotFound | JoinRefused::Late => Refused::NotLive(name.clone()),
            JoinRefused::Unclear(_) | JoinRefused::Impossible(_) => Refused::NoTracks(name.clone()),
            JoinRefused::Full => Refused::NoPlace(name.clone()),
            JoinRefused::Unavailable => Refused::Unavailable(name.clone()),
            JoinRefused::Lane(refused) => refused.into(),
        }
    }

    fn publish(
        &self,
        rtc: &Rtc,
        shown: &Shown<'_>,
        permission: Authorized<Publish>,
        body: &[u8],
    ) -> Result<Opened, Refused> {
        let offer = self.offer(body)?;
        let agreed = whip::agree(&offer)?;
        let (id, ufrag, opening) = self.session(rtc, shown, &offer, &agreed.sections())?;
        let (context, peer) = (&self.request.front.ingest, self.request.visitor.peer);
        let agent = ListenerRecord::cut(shown.agent()).to_owned();
        let ticket = |agreed| whip::admit(context, permission, peer, &agent, agreed);
        let answer = rtc.service.publish(opening, agreed, ticket)?;
        Ok(Opened { id, ufrag, answer })
    }

    /// Creates a session for an offer: our name for it, and its entry in the table.
    fn session<'o>(
        &self,
        rtc: &Rtc,
        shown: &Shown<'_>,
        offer: &'o Offer,
        sections: &[Section<'_>],
    ) -> Result<(Id, Box<str>, Opening<'o>), Refused> {
        let id = Id::new(random()?);
        let local = Credentials::generate(&random()?);
        let ufrag: Box<str> = local.ufrag().into();
        let entry = Entry {
            way: self.address.way,
            stream: self.address.stream.clone(),
            key: shown.token().map(Secret::new),
            ufrag: ufrag.clone(),
            remote_ufrag: offer.ice.ufrag().into(),
            first: first(offer, sections),
        };
        let peer = self.request.visitor.peer.ip();
        let pending = self.request.handover.session(peer, self.eviction(id));
        let permit = rtc.table.enter(id, entry, Some(pending));
        let opening = Opening {
            offer,
            local,
            permit: permit.ok_or(Refused::Full)?,
        };
        Ok((id, ufrag, opening))
    }

    /// Returns the callback that ends a session which must give way to a newer one before its peer has connected.
    fn eviction(&self, id: Id) -> Evict {
        // Weak: the front door owns the session's permit, which owns this callback.
        let front = Arc::downgrade(self.request.front);
        let peer = self.request.visitor.peer;
        Box::new(move |reason| {
            let Some(front) = front.upgrade() else { return };
            if let Some(reason) = reason {
                front.counts.reject(reason, peer);
            }
            if let Some(rtc) = &front.rtc {
                rtc.end(id);
            }
        })
    }

    /// Handles candidates of the peer, which a lite agent ignores, or an ICE restart.
    async fn change(&self, id: Option<Id>, body: &[u8]) -> Result<Reply, Refused> {
        let rtc = self.rtc()?;
        self.pace(rtc)?;
        self.may_change(id).await?;
        // Keeps other requests from restarting the session between the check and the restart.
        let _turn = rtc.restarts.lock();
        let (id, entry) = self.find(id)?;
        if !request::is_of_type(&self.request.headers, SDP_FRAGMENT) {
            return Err(Refused::ContentType(SDP_FRAGMENT));
        }
        let holds = request::matches(&self.request.headers, &entry.ufrag);
        if holds == Some(false) {
            return Err(Refused::Outdated);
        }
        let text = str::from_utf8(body).map_err(|_| FragmentError::Syntax)?;
        let fragment = Fragment::parse(text)?;
        let theirs = fragment.ice.as_ref().map(Credentials::ufrag);
        match theirs.filter(|theirs| **theirs != *entry.remote_ufrag) {
            Some(_) if holds.is_none() => Err(Refused::Unconditional),
            Some(theirs) => restart(rtc, id, &entry, theirs),
            // RFC 9725 §4.3.2 requires a condition here, too; the usual web players send none, and nothing changes.
            None => Ok(Reply::new(StatusCode::NO_CONTENT)),
        }
    }

    async fn end(&self, id: Option<Id>) -> Result<Reply, Refused> {
        let rtc = self.rtc()?;
        self.may_change(id).await?;
        let (id, _) = self.find(id)?;
        rtc.end(id);
        Ok(Reply::new(StatusCode::OK))
    }

    fn find(&self, id: Option<Id>) -> Result<(Id, Entry), Refused> {
        let rtc = self.rtc()?;
        let (way, stream) = (self.address.way, &self.address.stream);
        let found = id.and_then(|id| Some((id, rtc.table.get(id)?)));
        let own = found.filter(|(_, entry)| entry.way == way && entry.stream == *stream);
        own.ok_or(Refused::NoSession)
    }

    /// Checks that the client may listen; [`join`](Self::join) queries the gate itself.
    async fn may_play(&self, shown: &Shown<'_>) -> Result<(), Refused> {
        let remote = self.request.visitor.remote();
        let asked = shown.request(&self.address.stream, "webrtc", remote);
        let permitted = self.request.front.gate.play(&asked).await.map(drop);
        permitted.map_err(|denied| Refused::Denied(denied, Way::Out))
    }

    async fn may_publish(&self, shown: &Shown<'_>) -> Result<Authorized<Publish>, Refused> {
        let (protocol, remote) = (ingest::Protocol::Whip, self.request.visitor.remote());
        let asked = shown.request(&self.address.stream, protocol.label(), remote);
        Ok(whip::permit(&self.request.front.ingest, &asked).await?)
    }

    /// Checks that the client may change and end a session: a client that may open one may do so if it knows the session's
    /// name. The client that opened it presents the same credential again, so the authority is queried only once.
    async fn may_change(&self, id: Option<Id>) -> Result<(), Refused> {
        let shown = self.shown();
        let opened_it = |entry: &Entry| match (shown.token(), &entry.key) {
            (Some(token), Some(presented)) => presented.matches(token),
            (None, None) => true,
            _ => false,
        };
        if self.find(id).is_ok_and(|(_, entry)| opened_it(&entry)) {
            return Ok(());
        }
        match self.address.way {
            Way::Out => self.may_play(&shown).await,
            Way::In => self.may_publish(&shown).await.map(drop),
        }
    }

    fn rtc(&self) -> Result<&Rtc, Refused> {
        self.request.front.rtc.as_deref().ok_or(Refused::Off)
    }

    fn pace(&self, rtc: &Rtc) -> Result<(), Refused> {
        let may_ask = rtc.may_ask(self.request.visitor.peer.ip(), Instant::now());
        may_ask.then_some(()).ok_or(Refused::TooFast)
    }

    /// Counts a refusal and reports it to the operator.
    fn note(&self, refused: &Refused) {
        let (peer, stream) = (self.request.visitor.peer, &self.address.stream);
        let status = refused.status().as_u16();
        let front = self.request.front;
        if let Some(rtc) = &front.rtc {
            rtc.refusals.count(status);
        }
        if let Refused::Limit(reason) = refused {
            front.counts.reject(*reason, peer);
            return;
        }
        let way = self.address.way.segment();
        tracing::debug!(%stream, %peer, way, status, reason = %refused, "refused");
    }
}

/// Builds the reply to `HEAD`: the media type of endpoints and sessions.
fn of_type_sdp() -> Reply {
    Reply::full(StatusCode::OK, SDP, "")
}

/// Opened session.
struct Opened {
    id: Id,
    ufrag: Box<str>,
    answer: String,
}

/// Returns the kind and the name of the first section in use: all share its transport.
fn first(offer: &Offer, sections: &[Section<'_>]) -> (&'static str, Box<str>) {
    let mut both = offer.media.iter().zip(sections);
    let used = both.find(|(_, section)| !matches!(section, Section::Rejected));
    match used {
        Some((media, _)) if media.kind == MediaKind::Video => ("video", media.mid.clone()),
        Some((media, _)) => ("audio", media.mid.clone()),
        None => ("audio", "".into()),
    }
}

fn restart(rtc: &Rtc, id: Id, entry: &Entry, theirs: &str) -> Result<Reply, Refused> {
    let local = Credentials::generate(&random()?);
    let (kind, mid) = &entry.first;
    let fragment = write_fragment(&local, kind, mid, rtc.service.port.candidates());
    let ufrag: Box<str> = local.ufrag().into();
    let is_at_port = rtc.service.port.restart(&entry.ufrag, local, theirs);
    if !is_at_port || !rtc.table.rename(id, &ufrag, theirs) {
        return Err(Refused::NoSession);
    }
    Ok(Reply::full(StatusCode::OK, SDP_FRAGMENT, fragment).with(header::ETAG, tag(&ufrag)))
}

/// Returns the entity tag of an ICE session: its ufrag, which its datagrams reveal anyway.
fn tag(ufrag: &str) -> String {
    format!("\"{ufrag}\"")
}

/// Chooses when to answer. An answer fixes the tracks of a session, so a listener that joined before the video track was
/// announced would never receive it. A publisher of tracks announces audio and video one after the other, and is given a while
/// after the first to do so, and to reveal the order of its frames.
fn choose(info: &Info) -> Choice<()> {
    if info.tracks.is_empty() {
        return Choice::Unclear;
    }
    let has = |kind| info.tracks.iter().any(|track| track.kind == kind);
    let has_shown = info.picture_order != PictureOrder::Unknown;
    let is_complete = has(Kind::Audio) && has(Kind::Video) && has_shown;
    let age = info.since.elapsed().unwrap_or(Duration::MAX);
    match info.source.container {
        Container::Tracks if !is_complete => Choice::Settle((), Waits::TRACKS.saturating_sub(age)),
        _ => Choice::Take(()),
    }
}

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Refused> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(|_| Refused::Randomness)?;
    Ok(bytes)
}
