//! What WHIP and WHEP do over HTTP (RFC 9725, draft-ietf-wish-whep).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use config::Secret;
use fanout::gate::{self, Authorized, Gate, Publish};
use fanout::{
    Choice, Info, Introduction, JoinRefused, Joined, ListenerRecord, Permit, PictureOrder,
    Presence, Waits, Wish, join,
};
use ingest::whip;
use limits::Rejected;
use limits::{Evict, Handover};
use media::{Container, Kind};
use webrtc::ice::Credentials;
use webrtc::sdp::{Fragment, FragmentError, MediaKind, Offer, OfferError, Section, write_fragment};

use super::address::{Address, Id, Resource, Way};
use super::refused::{ACCEPT_PATCH, ACCEPT_POST, Refused};
use super::request::{self, Key};
use super::service::{self, Opening};
use super::table::Entry;
use super::{Rtc, SDP, SDP_FRAGMENT};
use crate::front_door::FrontDoor;
use crate::pages;
use crate::sent::sent;
use crate::visitor::Visitor;

/// Lets pages of other origins use WHIP and WHEP, and read the answers.
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
pub async fn serve(
    front: &Arc<FrontDoor>,
    visitor: Visitor,
    handover: Handover,
    address: Address,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let asked = Asked {
        front,
        visitor,
        address,
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
    };
    let mut response = match asked.answer(body, &handover).await {
        Ok(response) => response,
        Err(refused) => {
            asked.note(&refused);
            refused.into_response(front.drain.retry_after())
        }
    };
    let headers = response.headers_mut();
    for (name, value) in CORS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

/// What a client's program says of itself. Untrusted texts.
struct Client {
    agent: String,
    referer: String,
}

/// A request without its body.
struct Asked<'a> {
    front: &'a Arc<FrontDoor>,
    visitor: Visitor,
    address: Address,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl gate::Headers for Asked<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        sent(&self.headers, name)
    }
}

impl Asked<'_> {
    async fn answer(&self, body: Body, handover: &Handover) -> Result<Response, Refused> {
        match (&self.method, self.address.resource) {
            (&Method::OPTIONS, _) => Ok(self.preflight()),
            (&Method::GET, Resource::Endpoint) => Ok(StatusCode::NO_CONTENT.into_response()),
            (&Method::HEAD, Resource::Endpoint) => Ok(of_type_sdp()),
            (&Method::POST, Resource::Endpoint) => {
                // The body is read first: a client that is still sending may lose the answer.
                let body = request::body(body).await;
                self.open(&body?, handover).await
            }
            (_, Resource::Endpoint) => Err(Refused::Method(ENDPOINT_METHODS)),
            (_, Resource::Beside) => Err(Refused::Beside(self.beside())),
            (&Method::GET, Resource::Session(id)) => {
                self.find(id)?;
                Ok(StatusCode::NO_CONTENT.into_response())
            }
            (&Method::HEAD, Resource::Session(id)) => {
                self.find(id)?;
                Ok(of_type_sdp())
            }
            (&Method::PATCH, Resource::Session(id)) => {
                let body = request::body(body).await;
                self.change(id, &body?).await
            }
            (&Method::DELETE, Resource::Session(id)) => self.end(id).await,
            (_, Resource::Session(_)) => Err(Refused::Method(SESSION_METHODS)),
        }
    }

    fn preflight(&self) -> Response {
        let (methods, name, value) = match self.address.resource {
            Resource::Session(_) => (SESSION_METHODS, ACCEPT_PATCH, SDP_FRAGMENT),
            _ => (ENDPOINT_METHODS, ACCEPT_POST, SDP),
        };
        let allow = (header::ALLOW, methods);
        (StatusCode::NO_CONTENT, [allow, (name, value)]).into_response()
    }

    /// The address that was probably meant, with the query, which may contain a key.
    fn beside(&self) -> String {
        self.with_query(self.outside(&self.address.endpoint()))
    }

    /// A path as the client must request it.
    fn outside(&self, path: &str) -> String {
        let configured = self.front.config.http.base_url.as_ref();
        let base = pages::base(configured, self.visitor, &self.headers);
        format!("{}{path}", base.prefix())
    }

    fn with_query(&self, path: String) -> String {
        match self.uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path,
        }
    }

    /// Opens a session.
    async fn open(&self, body: &[u8], handover: &Handover) -> Result<Response, Refused> {
        let rtc = self.rtc()?;
        self.pace(rtc)?;
        if self.front.drain.has_begun() {
            return Err(Rejected::Draining.into());
        }
        let key = Key::of(&self.headers, &self.uri);
        let opened = match self.address.way {
            Way::Out => self.listen(rtc, &key, body, handover).await?,
            Way::In => {
                // A client without permission learns nothing about its offer.
                let permission = self.may_publish(&key).await?;
                self.publish(rtc, &key, permission, body, handover)?
            }
        };
        Ok(self.created(&key, opened))
    }

    fn offer(&self, body: &[u8]) -> Result<Offer, Refused> {
        if !request::is_of_type(&self.headers, SDP) {
            return Err(Refused::ContentType(SDP));
        }
        let text = str::from_utf8(body).map_err(|_| OfferError::Syntax)?;
        if text.trim().is_empty() {
            // The SDP library accepts an empty text as a description.
            return Err(OfferError::Syntax.into());
        }
        Ok(Offer::parse(text)?)
    }

    fn created(&self, key: &Key, opened: Opened) -> Response {
        let path = self.outside(&self.address.session(opened.id));
        // A client with its key in the query presents it there again.
        let location = if key.is_in_query {
            self.with_query(path)
        } else {
            path
        };
        let headers = [
            (header::LOCATION, location),
            (header::ETAG, tag(&opened.ufrag)),
            (header::CONTENT_TYPE, SDP.to_owned()),
            (ACCEPT_PATCH, SDP_FRAGMENT.to_owned()),
        ];
        (StatusCode::CREATED, headers, opened.answer).into_response()
    }

    async fn listen(
        &self,
        rtc: &Rtc,
        key: &Key,
        body: &[u8],
        handover: &Handover,
    ) -> Result<Opened, Refused> {
        let offer = match self.offer(body) {
            Ok(offer) => offer,
            Err(refused) => {
                // A client without permission learns nothing about its offer.
                self.may_play(key).await?;
                return Err(refused);
            }
        };
        let joined = self.join(key).await;
        let Joined {
            mut subscription,
            info,
            choice: (),
        } = joined.map_err(|refused| self.not_joined(refused))?;
        let peer = self.visitor.peer.ip();
        let permit = self.front.limits.webrtc_listener(peer, Instant::now())?;
        subscription.set_permit(Permit::new(permit));
        let agreed = service::agree(&offer, &info)?;
        let session = self.session(rtc, key, &offer, &agreed.sections(), handover)?;
        let (id, ufrag, opening) = session;
        let answer = rtc.service.listen(opening, agreed, subscription)?;
        Ok(Opened { id, ufrag, answer })
    }

    async fn join(&self, key: &Key) -> Result<Joined<()>, JoinRefused> {
        let stream = &self.address.stream;
        let client = self.client();
        let wish = Wish {
            request: self.request(key, "webrtc", &client),
            introduction: Introduction {
                peer: self.visitor.peer,
                request: format!("PLAY /{stream} WHEP/1.0"),
                agent: client.agent.clone(),
                referer: self.header(&header::REFERER),
                permit: None,
            },
        };
        let waits = Waits {
            presence: Presence::Live,
            ..Waits::default()
        };
        join(&self.front.registry, &*self.front.gate, wish, waits, choose).await
    }

    /// The refusal for a listener that cannot join.
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
        key: &Key,
        permission: Authorized<Publish>,
        body: &[u8],
        handover: &Handover,
    ) -> Result<Opened, Refused> {
        let offer = self.offer(body)?;
        let agreed = whip::agree(&offer)?;
        let session = self.session(rtc, key, &offer, &agreed.sections(), handover)?;
        let (id, ufrag, opening) = session;
        let (context, peer) = (&self.front.ingest, self.visitor.peer);
        let agent = self.header(&header::USER_AGENT);
        let ticket = |agreed| whip::admit(context, permission, peer, &agent, agreed);
        let answer = rtc.service.publish(opening, agreed, ticket)?;
        Ok(Opened { id, ufrag, answer })
    }

    /// A session for an offer: our name for it, and its entry in the table.
    fn session<'o>(
        &self,
        rtc: &Rtc,
        key: &Key,
        offer: &'o Offer,
        sections: &[Section<'_>],
        handover: &Handover,
    ) -> Result<(Id, Box<str>, Opening<'o>), Refused> {
        let id = Id::new(random()?);
        let local = Credentials::generate(&random()?);
        let ufrag: Box<str> = local.ufrag().into();
        let entry = Entry {
            way: self.address.way,
            stream: self.address.stream.clone(),
            key: key.reveal().map(Secret::new),
            ufrag: ufrag.clone(),
            remote_ufrag: offer.ice.ufrag().into(),
            first: first(offer, sections),
        };
        let pending = handover.session(self.visitor.peer.ip(), self.eviction(id));
        let permit = rtc.table.enter(id, entry, Some(pending))?;
        Ok((
            id,
            ufrag,
            Opening {
                offer,
                local,
                permit,
            },
        ))
    }

    /// Ends a session that must give way to a newer one before its peer has connected.
    fn eviction(&self, id: Id) -> Evict {
        // Weak: the front door owns the session's permit, which owns this.
        let (front, peer) = (Arc::downgrade(self.front), self.visitor.peer);
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

    /// Candidates of the peer, which a lite agent ignores, or an ICE restart.
    async fn change(&self, id: Option<Id>, body: &[u8]) -> Result<Response, Refused> {
        let rtc = self.rtc()?;
        self.pace(rtc)?;
        self.may_change(id).await?;
        // Keeps other requests from restarting the session between the check and the restart.
        let _turn = rtc.restarts.lock();
        let (id, entry) = self.find(id)?;
        if !request::is_of_type(&self.headers, SDP_FRAGMENT) {
            return Err(Refused::ContentType(SDP_FRAGMENT));
        }
        let holds = request::matches(&self.headers, &entry.ufrag);
        if holds == Some(false) {
            return Err(Refused::Outdated);
        }
        let text = str::from_utf8(body).map_err(|_| FragmentError::Syntax)?;
        let fragment = Fragment::parse(text)?;
        let theirs = fragment.ice.as_ref().map(Credentials::ufrag);
        match theirs.filter(|theirs| **theirs != *entry.remote_ufrag) {
            Some(_) if holds.is_none() => Err(Refused::Unconditional),
            Some(theirs) => restart(rtc, id, &entry, theirs),
            // RFC 9725 §4.3.2 wants a condition here, too; the usual web players send none, and nothing changes.
            None => Ok(StatusCode::NO_CONTENT.into_response()),
        }
    }

    async fn end(&self, id: Option<Id>) -> Result<Response, Refused> {
        let rtc = self.rtc()?;
        self.may_change(id).await?;
        let (id, _) = self.find(id)?;
        rtc.end(id);
        Ok(StatusCode::OK.into_response())
    }

    fn find(&self, id: Option<Id>) -> Result<(Id, Entry), Refused> {
        let rtc = self.rtc()?;
        let found = id.and_then(|id| Some((id, rtc.table.get(id)?)));
        found
            .filter(|(_, entry)| {
                entry.way == self.address.way && entry.stream == self.address.stream
            })
            .ok_or(Refused::NoSession)
    }

    /// Whether the client may listen; [`join`](Self::join) asks the gate itself.
    async fn may_play(&self, key: &Key) -> Result<(), Refused> {
        let client = self.client();
        let request = self.request(key, "webrtc", &client);
        let permitted = self.front.gate.play(&request).await;
        permitted
            .map(drop)
            .map_err(|denied| Refused::Denied(denied, Way::Out))
    }

    async fn may_publish(&self, key: &Key) -> Result<Authorized<Publish>, Refused> {
        let client = self.client();
        let request = self.request(key, ingest::Protocol::Whip.label(), &client);
        Ok(whip::permit(&self.front.ingest, &request).await?)
    }

    /// What the client's program says of itself.
    fn client(&self) -> Client {
        let referer = self.header(&header::REFERER);
        Client {
            agent: self.header(&header::USER_AGENT),
            referer: match referer.is_empty() {
                true => self.header(&header::ORIGIN),
                false => referer,
            },
        }
    }

    /// The request to the gate.
    fn request<'a>(
        &'a self,
        key: &'a Key,
        protocol: &'static str,
        client: &'a Client,
    ) -> gate::Request<'a> {
        gate::Request {
            agent: &client.agent,
            referer: &client.referer,
            token: key.reveal(),
            query: self.uri.query().unwrap_or_default(),
            headers: Some(self),
            ..gate::Request::new(&self.address.stream, protocol, self.visitor.remote())
        }
    }

    /// A client that may open a session may change and end it, if it knows its name. The one that opened it presents the same again,
    /// and the authority is asked about it once.
    async fn may_change(&self, id: Option<Id>) -> Result<(), Refused> {
        let key = Key::of(&self.headers, &self.uri);
        if self
            .find(id)
            .is_ok_and(|(_, entry)| key.is(entry.key.as_ref()))
        {
            return Ok(());
        }
        match self.address.way {
            Way::Out => self.may_play(&key).await,
            Way::In => self.may_publish(&key).await.map(drop),
        }
    }

    fn rtc(&self) -> Result<&Rtc, Refused> {
        self.front.rtc.as_deref().ok_or(Refused::Off)
    }

    fn pace(&self, rtc: &Rtc) -> Result<(), Refused> {
        match rtc.may_ask(self.visitor.peer.ip(), Instant::now()) {
            true => Ok(()),
            false => Err(Refused::TooFast),
        }
    }

    /// Counts a refusal and reports it to the operator.
    fn note(&self, refused: &Refused) {
        let (peer, stream) = (self.visitor.peer, &self.address.stream);
        let status = refused.status().as_u16();
        if let Some(rtc) = &self.front.rtc {
            rtc.refusals.count(status);
        }
        if let Refused::Limit(reason) = refused {
            self.front.counts.reject(*reason, peer);
            return;
        }
        let way = self.address.way.segment();
        tracing::debug!(%stream, %peer, way, status, reason = %refused, "refused");
    }

    fn header(&self, name: &HeaderName) -> String {
        let value = self.headers.get(name).map(HeaderValue::as_bytes);
        let text = String::from_utf8_lossy(value.unwrap_or_default());
        ListenerRecord::cut(&text).to_owned()
    }
}

/// The answer to `HEAD`: the media type of endpoints and sessions.
fn of_type_sdp() -> Response {
    [(header::CONTENT_TYPE, SDP)].into_response()
}

/// An opened session.
struct Opened {
    id: Id,
    ufrag: Box<str>,
    answer: String,
}

/// The kind and the name of the first section in use: all share its transport.
fn first(offer: &Offer, sections: &[Section<'_>]) -> (&'static str, Box<str>) {
    let mut both = offer.media.iter().zip(sections);
    let used = both.find(|(_, section)| !matches!(section, Section::Rejected));
    match used {
        Some((media, _)) if media.kind == MediaKind::Video => ("video", media.mid.clone()),
        Some((media, _)) => ("audio", media.mid.clone()),
        None => ("audio", "".into()),
    }
}

fn restart(rtc: &Rtc, id: Id, entry: &Entry, theirs: &str) -> Result<Response, Refused> {
    let local = Credentials::generate(&random()?);
    let (kind, mid) = &entry.first;
    let fragment = write_fragment(&local, kind, mid, rtc.service.candidates());
    let ufrag: Box<str> = local.ufrag().into();
    let is_there =
        rtc.service.restart(&entry.ufrag, local, theirs) && rtc.table.rename(id, &ufrag, theirs);
    if !is_there {
        return Err(Refused::NoSession);
    }
    let headers = [
        (header::ETAG, tag(&ufrag)),
        (header::CONTENT_TYPE, SDP_FRAGMENT.to_owned()),
    ];
    Ok((StatusCode::OK, headers, fragment).into_response())
}

/// The entity tag of an ICE session: its ufrag, which its datagrams reveal anyway.
fn tag(ufrag: &str) -> String {
    format!("\"{ufrag}\"")
}

/// An answer fixes what a session carries, so a listener that joined before the video track was announced would
/// never see it. A publisher of tracks announces audio and video one after the other, and is given a while after
/// the first to do so, and to show in which order its frames come.
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
