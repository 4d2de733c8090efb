//! What a connection is, wherever its socket is read: the session, and what it wants or does.
//!
//! The task of the connection and the intake's thread drive it alike. Nothing here waits; what has to be
//! waited for is kept (`question`, `wish`) and ends a turn of the intake.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use ::rtmp::server::{Asked, Config, Event, Request, Session, TurnedAway};
use bytes::BytesMut;
use media::StreamName;

use super::publication::Publication;
use super::question::{Answer, Question, Refused as RefusedPublish};
use super::{Player, words};
use crate::refusal::Refused;
use crate::stats::Protocol;
use crate::{Context, Error, now};

/// What peers are told when the server wants them to connect again.
const LEAVING: &str = "The server is about to leave. Please connect again.";

/// One connection, without its socket.
pub(super) struct Connection {
    context: Arc<Context>,
    peer: SocketAddr,
    pub(super) session: Session,
    /// What the publishing program calls itself.
    agent: String,
    pub(super) publication: Option<Publication>,
    /// It has been let in as a publisher.
    pub(super) is_admitted: bool,
    /// It was asked to connect again.
    is_asked: bool,
    /// What the peer wants to play.
    pub(super) wish: Option<Box<Request>>,
    /// What the peer wants to publish, as long as that is not decided.
    pub(super) question: Option<Question>,
    /// Received and not yet read by the session; see [`is_held`](Self::is_held).
    unread: Vec<u8>,
    /// The last stream asked for and not obtained, as far as it may be shown.
    refused: Option<String>,
}

impl Connection {
    pub(super) fn new(context: &Arc<Context>, peer: SocketAddr) -> Result<Self, Error> {
        let config = Config {
            handshake_timeout: context.settings.handshake_timeout,
            request_timeout: context.settings.publish_timeout,
            challenge: context.challenge.clone(),
            ..Config::default()
        };
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
        Ok(Self {
            context: Arc::clone(context),
            peer,
            session: Session::new(config, seed, now()),
            agent: String::new(),
            publication: None,
            is_admitted: false,
            is_asked: false,
            wish: None,
            question: None,
            unread: Vec::new(),
            refused: None,
        })
    }

    /// The player that it is from now on.
    pub(super) fn into_player<S>(self, socket: S, request: Box<Request>) -> Player<S> {
        Player {
            socket,
            session: self.session,
            request,
            input: self.unread.into(),
            agent: self.agent,
        }
    }

    /// Asks the peer to connect again, as the server is about to leave, unless it was asked before. One that
    /// does not know the request is not told.
    pub(super) fn ask_to_reconnect(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            self.session.request_reconnect(LEAVING);
        }
    }

    /// Logs and counts the end, and gives the last words.
    pub(super) fn finish(mut self, result: &Result<(), Error>) -> BytesMut {
        // The stream may have ended before the peer could be asked.
        if *self.context.leaving.borrow() {
            self.ask_to_reconnect();
        }
        if let Err(error) = result {
            self.note_end(error);
            if let Some((rejection, description)) = words::of(error) {
                self.session.close_with(rejection, &description);
            }
            if self.publication.is_none() {
                tracing::info!(
                    stream = self.refused.as_ref().map(tracing::field::display),
                    peer = %self.peer,
                    agent = ?self.agent,
                    reason = %error,
                    "RTMP connection refused"
                );
            }
        }
        if let Some(publication) = self.publication.take() {
            match result {
                Ok(()) => publication.end(&"the publisher hung up"),
                Err(error) => publication.end(error),
            }
        }
        std::mem::take(self.session.output())
    }

    /// Counts an end for which the peer is to blame, and tells of it if it was never let in.
    fn note_end(&self, error: &Error) {
        let Context {
            registry, stats, ..
        } = &*self.context;
        if self.publication.is_some() {
            return stats.reject(error);
        }
        let shown = self.refused.as_deref();
        let stream = shown.and_then(|name| StreamName::parse(name).ok());
        let refused = Refused {
            protocol: Protocol::Rtmp,
            peer: Some(self.peer),
            stream: stream.as_ref(),
        };
        refused.note(registry, stats, error);
    }

    /// Takes received bytes; what they brought is written even if they end badly.
    pub(super) fn take(&mut self, input: &[u8], now: Instant) -> Result<(), Error> {
        if let Some(publication) = &mut self.publication {
            publication.received(input.len());
        }
        self.work_off(input, now)
    }

    /// Whether what arrives is kept unread: until a question has been asked, or for who serves the player.
    /// It is what stands behind the request in one read, and what the intake reads until it has given the
    /// socket back.
    pub(super) fn is_held(&self) -> bool {
        let is_unasked = |question: &Question| !question.is_asked();
        self.wish.is_some() || self.question.as_ref().is_some_and(is_unasked)
    }

    fn work_off(&mut self, input: &[u8], now: Instant) -> Result<(), Error> {
        let handled = self.handle(input, now);
        let delivered = self.publication.as_mut().map_or(Ok(()), |p| p.deliver(now));
        handled.and(delivered)
    }

    fn handle(&mut self, mut input: &[u8], now: Instant) -> Result<(), Error> {
        loop {
            if self.is_held() {
                self.unread.extend_from_slice(input);
                return Ok(());
            }
            let Some(event) = self.session.read(&mut input, now)? else {
                return Ok(());
            };
            match event {
                Event::Connect(connect) => self.agent = connect.flash_version,
                Event::TurnedAway(client) => self.tell_turned_away(&client),
                Event::Publish(request) => {
                    let (context, agent) = (&self.context, &self.agent);
                    self.question = Some(Question::new(context, self.peer, agent, request));
                }
                Event::Play(request) => self.wish = Some(request),
                Event::Unpublish(id) => {
                    // A request that is taken back needs no answer.
                    self.question.take_if(|question| question.id() == id);
                    if let Some(mut publication) = self.publication.take_if(|p| p.id() == id) {
                        let delivered = publication.deliver(now);
                        publication.end(&"the publisher ended it");
                        delivered?;
                    }
                }
                media => {
                    if let Some(publication) = &mut self.publication {
                        publication.media(media, now)?;
                    }
                }
            }
        }
    }

    /// Most clients that are asked come again with an answer; one that has its key in the stream's name
    /// knows none, and this is all that is ever heard of it.
    fn tell_turned_away(&self, client: &TurnedAway) {
        let (peer, app, agent) = (self.peer, &client.app, &client.flash_version);
        match client.why {
            Asked::Password => tracing::info!(
                %peer,
                ?app,
                ?agent,
                "an RTMP client is asked for user and password (rtmp.challenge); one that has its key in \
                 the stream's name cannot answer"
            ),
            Asked::Again => tracing::info!(
                %peer,
                ?app,
                ?agent,
                "RTMP connection refused: its answer to the challenge is of no use"
            ),
            Asked::Proof => {}
        }
    }

    /// Asks what is to be asked, and goes on with what stood behind the request: as a publisher if the answer
    /// is there at once, else as one that waits for it.
    pub(super) fn ask_at_once(&mut self, now: Instant) -> Result<(), Error> {
        let answer = self.question.as_mut().and_then(Question::ask);
        if let Some(answer) = answer {
            self.decide(answer, now)?;
        }
        let unread = std::mem::take(&mut self.unread);
        self.work_off(&unread, now)
    }

    /// Acts on the answer to the question.
    pub(super) fn decide(&mut self, answer: Answer, now: Instant) -> Result<(), Error> {
        let Some(question) = self.question.take() else {
            return Ok(());
        };
        let turn = match answer {
            Ok(turn) => turn,
            Err(RefusedPublish { error, stream }) => {
                self.refused = stream;
                return Err(error);
            }
        };
        self.is_admitted = true;
        let id = question.id();
        if self.session.accept_publish(id).is_ok() {
            let settings = &self.context.settings;
            self.publication = Some(Publication::new(id, turn, settings, now));
        }
        // The session has kept the codec configuration that came while the gate was asked.
        self.work_off(&[], now)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let media = self.publication.as_ref().map(Publication::due);
        [self.session.poll_timeout(), media]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        self.session.handle_timeout(now)?;
        match &self.publication {
            Some(publication) => publication.handle_timeout(now),
            None => Ok(()),
        }
    }
}
