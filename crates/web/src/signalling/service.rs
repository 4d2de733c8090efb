//! WebRTC service: agrees on offers with streams and publishers, and hands the resulting sessions to the port.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use base::{Numbers, Published};
use config::Config;
use egress_webrtc::Viewers;
use fanout::{Fanout, Format, Info, Plane, Subscription};
use ingest::whip::{self, Agreed, Publishers};
use packagers::rtp::Tally;
use packagers::rtp::codes::CNAME;
use webrtc::dtls::{self, ServerIdentity};
use webrtc::ice::Credentials;
use webrtc::mux::NewSession;
use webrtc::port::{Counters, Port, PortConfig};
use webrtc::sdp::{Answer, Offer, Section};

use super::refused::Refused;
use super::router::{SessionRouter, SessionTicket, Task};
use super::table::SessionPermit;

/// Name of the one stream in a listener's player.
const STREAM: &str = "carillon";

/// Reason why WebRTC cannot be served although it is enabled.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The certificate for peers cannot be made.
    #[error("no certificate for WebRTC: {0}")]
    Identity(#[from] dtls::Error),
    /// The port is in use or needs a privilege, or its threads cannot be started.
    #[error("{0}")]
    Port(#[from] io::Error),
}

/// Offer, and the names of its session.
pub(super) struct Opening<'a> {
    pub(super) offer: &'a Offer,
    pub(super) local: Credentials,
    pub(super) permit: SessionPermit,
}

/// WebRTC port with its workers; open it once per server.
#[derive(Debug)]
pub struct WebrtcService {
    fanout: Arc<Fanout>,
    pub(super) port: Port<SessionTicket>,
    /// Listener counters of each worker, in addition to its books.
    workers: Vec<Arc<Published<egress_webrtc::Counters>>>,
    tally: Arc<Tally>,
}

impl WebrtcService {
    /// Format of listeners over WebRTC.
    pub(super) const FORMAT: Format = packagers::rtp::RTP;

    /// Opens the port.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        listen: SocketAddr,
        config: &Config,
        fanout: &Arc<Fanout>,
        ingest: &ingest::Context,
    ) -> Result<Self, OpenError> {
        let port_config = PortConfig {
            listen,
            public_addresses: config.webrtc.public_ips.clone(),
            workers: config.fanout.workers,
            tcp: config.webrtc.tcp,
            target_utilisation: config.fanout.target_utilisation,
        };
        let mut workers = Vec::new();
        let port = Port::start(&port_config, ServerIdentity::generate()?, |_, waker| {
            let books = fanout.open_books(Plane::Webrtc);
            let viewers = Viewers::new(waker, config.fanout.target_utilisation, books);
            workers.push(viewers.stats());
            let publishers = Publishers::new(ingest.settings.clone(), Arc::clone(&ingest.stats));
            SessionRouter::new(viewers, publishers)
        })?;
        Ok(Self {
            fanout: Arc::clone(fanout),
            port,
            workers,
            tally: Arc::default(),
        })
    }

    /// Returns the address that the port is bound to.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Returns the counters of the port.
    pub fn counters(&self) -> Counters {
        self.port.counters()
    }

    /// Returns the number of present sessions.
    pub fn sessions(&self) -> usize {
        self.port.sessions()
    }

    /// Returns the sum of all workers' listener counters.
    pub fn listeners(&self) -> egress_webrtc::Counters {
        let mut sum = egress_webrtc::Counters::default();
        for worker in &self.workers {
            sum.merge(worker.value());
        }
        sum
    }

    /// Returns the tally of frames that could not be sent to listeners unchanged.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the port, for the caller that ends it.
    pub fn port(&self) -> Port<SessionTicket> {
        self.port.clone()
    }

    /// Hands the port a listener's session with the agreed tracks. Returns the answer.
    pub(super) fn listen(
        &self,
        opening: Opening<'_>,
        agreed: egress_webrtc::Agreed,
        mut subscription: Subscription,
    ) -> Result<String, Refused> {
        let answer = self.answer(&opening, &agreed.sections())?;
        let stream = Arc::clone(subscription.stream());
        let make = || packagers::rtp::packager(stream.name(), &self.tally);
        let lane = subscription.reserve_lane(Self::FORMAT, make, Instant::now())?;
        let record = subscription.record(&lane);
        if agreed.exceeds() {
            tracing::info!(
                stream = %stream.name(),
                peer = %record.peer,
                agent = ?record.agent,
                "the video's H.264 profile is above what the player promises to decode; most show it"
            );
        }
        let handle = self.fanout.handle(record, lane);
        let ticket = egress_webrtc::ViewerTicket { agreed, handle };
        self.expect(opening, Task::Listen(ticket, stream))?;
        Ok(answer)
    }

    /// Hands the port a publisher's session. The publisher gets the stream once its media arrives, by the ticket from `admit`.
    /// Returns the answer.
    pub(super) fn publish(
        &self,
        opening: Opening<'_>,
        agreed: Agreed,
        admit: impl FnOnce(Agreed) -> Result<whip::PublisherTicket, ingest::Error>,
    ) -> Result<String, Refused> {
        let answer = self.answer(&opening, &agreed.sections())?;
        let ticket = admit(agreed)?;
        self.expect(opening, Task::Publish(ticket))?;
        Ok(answer)
    }

    fn answer(&self, opening: &Opening<'_>, sections: &[Section<'_>]) -> Result<String, Refused> {
        let session_id = getrandom::u64().map_err(|_| Refused::Randomness)?;
        let answer = Answer {
            offer: opening.offer,
            sections,
            session_id,
            ice: &opening.local,
            fingerprint: self.port.fingerprint(),
            candidates: self.port.candidates(),
            stream: STREAM,
            cname: CNAME,
        };
        Ok(answer.to_string())
    }

    /// Has the port expect a session's peer.
    fn expect(&self, opening: Opening<'_>, task: Task) -> Result<(), Refused> {
        let (offer, permit) = (opening.offer, opening.permit);
        let session = NewSession {
            local: opening.local,
            remote_ufrag: offer.ice.ufrag().into(),
            fingerprint: offer.fingerprint,
            setup: offer.setup,
        };
        Ok(self.port.expect(session, SessionTicket { task, permit })?)
    }
}

/// Agrees on the tracks of a stream for a listener: the stream's own, and the derived one that is made on demand.
///
/// # Errors
/// If the listener accepts none of them. Known facts about the audio are part of the error.
pub(super) fn agree(offer: &Offer, info: &Info) -> Result<egress_webrtc::Agreed, Refused> {
    let all = info.tracks.iter().chain(info.offer.track());
    let tracks: Vec<_> = all.map(Arc::as_ref).collect();
    egress_webrtc::agree(offer, &tracks, info.picture_order).map_err(|why| {
        Refused::Unplayable(match info.offer.words() {
            Some(words) => format!("{why}; {words}"),
            None => why.to_string(),
        })
    })
}
