//! A publisher without its socket: the conversation, and the state of its request.
//!
//! The connection's task and the intake's thread drive it alike. A session waits for nothing; the one thing
//! that has to be waited for, the answer to the request, is kept ([`State::Asking`]).
//!
//! A steady publisher is [parked](park): it is served entirely on the intake's thread, where its bytes are
//! decoded, written and acknowledged, while its task sleeps. The task takes the connection back when there is
//! anything else to do: the publication or the connection ends, a deadline has come, another publisher has
//! the stream, or the server is about to leave.

use std::sync::Arc;
use std::time::Instant;

use ::rtmp::server::{Event, RequestId};
use bytes::Buf;
use net::intake::{IntakeReader, IntakeTicket, Next, Pace, Returned};
use net::rtmp::{PublishRequest, RtmpConnection};
use net::{closing, wait};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::publication::Publication;
use super::question::{Answer, Question, Refused, question};
use super::{Driver, Stop, ending};
use crate::{Context, Error};

/// One request to publish, from its arrival to the end of the publication.
pub(super) struct PublisherSession {
    context: Arc<Context>,
    pub(super) connection: RtmpConnection<()>,
    id: RequestId,
    pub(super) state: State,
    /// Whether the peer was admitted as a publisher.
    pub(super) is_admitted: bool,
    /// Stream that was requested and not obtained, as far as it may be shown.
    refused: Option<String>,
}

/// State of the request.
pub(super) enum State {
    /// Gate and registry have not answered yet.
    Asking(Question),
    /// The peer publishes.
    Publishing(Box<Publication>),
    /// The request was refused or withdrawn, or the publication has ended.
    Over,
}

/// Outcome that a session waits for, besides input from its peer.
pub(super) enum News {
    /// Gate and registry have answered.
    Answer(Answer),
    /// Another publisher has the stream, or the permission has ended.
    Lost(Error),
}

impl PublisherSession {
    /// Creates the session for a request; returns its socket as well.
    pub(super) fn new<S>(context: &Arc<Context>, request: PublishRequest<S>) -> (Self, S) {
        let PublishRequest {
            connection,
            request,
        } = request;
        let (socket, connection) = connection.detach();
        let id = request.id;
        let question = question(context, &connection, request);
        let session = Self {
            context: Arc::clone(context),
            connection,
            id,
            state: State::Asking(question),
            is_admitted: false,
            refused: None,
        };
        (session, socket)
    }

    /// Asks gate and registry, then processes the bytes behind the request: as a publisher if the answer is
    /// available at once, else as one that waits for it. These bytes were not processed before, so that a
    /// publisher that is admitted at once loses none of them.
    pub(super) fn ask(&mut self, now: Instant) -> Result<(), Error> {
        let answer = match &mut self.state {
            State::Asking(question) => wait::at_once(question),
            State::Publishing(_) | State::Over => None,
        };
        if let Some(answer) = answer {
            self.decide(answer, now)?;
        }
        let unread = std::mem::take(&mut self.connection.unread);
        self.work_off(&unread, now)
    }

    /// Carries out the answer.
    pub(super) fn decide(&mut self, answer: Answer, now: Instant) -> Result<(), Error> {
        self.state = State::Over;
        let epoch = match answer {
            Ok(epoch) => epoch,
            Err(Refused { error, stream }) => {
                self.refused = stream;
                return Err(error);
            }
        };
        self.is_admitted = true;
        if self.connection.session.accept_publish(self.id).is_ok() {
            let publication = Publication::new(epoch, &self.context, now);
            self.state = State::Publishing(Box::new(publication));
        }
        // The session has kept the codec configuration that arrived while the gate was asked.
        self.work_off(&[], now)
    }

    /// Processes received bytes; their items are written even if an error ends them.
    pub(super) fn take(&mut self, input: &[u8], now: Instant) -> Result<(), Error> {
        if let State::Publishing(publication) = &mut self.state {
            publication.epoch.received(input.len());
        }
        self.work_off(input, now)
    }

    fn work_off(&mut self, input: &[u8], now: Instant) -> Result<(), Error> {
        let handled = self.handle(input, now);
        let delivered = match &mut self.state {
            State::Publishing(publication) => publication.deliver(now),
            State::Asking(_) | State::Over => Ok(()),
        };
        handled.and(delivered)
    }

    /// Feeds the session until the request is over. Later bytes are kept unread for the doorway: the rest of
    /// one read, and what the intake reads until it has returned the socket.
    fn handle(&mut self, mut input: &[u8], now: Instant) -> Result<(), Error> {
        loop {
            if self.is_over() {
                self.connection.unread.extend_from_slice(input);
                return Ok(());
            }
            let Some(event) = self.connection.session.read(&mut input, now)? else {
                return Ok(());
            };
            match event {
                Event::Unpublish(id) if id == self.id => self.unpublish(now)?,
                media => {
                    if let State::Publishing(publication) = &mut self.state {
                        publication.media(media, now)?;
                    }
                }
            }
        }
    }

    /// Ends the publication, or withdraws the request, which then needs no answer, because the peer did.
    fn unpublish(&mut self, now: Instant) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Publishing(mut publication) => {
                let delivered = publication.deliver(now);
                publication.epoch.end(&"the publisher ended it");
                delivered
            }
            State::Asking(_) | State::Over => Ok(()),
        }
    }

    /// Whether the request is finished.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Returns the current publication.
    pub(super) fn publication(&self) -> Option<&Publication> {
        match &self.state {
            State::Publishing(publication) => Some(publication),
            State::Asking(_) | State::Over => None,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let media = self.publication().map(Publication::due);
        [self.connection.session.poll_timeout(), media]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        self.connection.session.handle_timeout(now)?;
        match self.publication() {
            Some(publication) => publication.handle_timeout(now),
            None => Ok(()),
        }
    }

    /// Logs and counts the end, and leaves the last words in the connection's output.
    pub(super) fn end(self, result: &Result<(), Error>) -> RtmpConnection<()> {
        let Self {
            context,
            mut connection,
            state,
            refused,
            ..
        } = self;
        // The stream may have ended before the peer could be asked to reconnect.
        if *context.leaving.borrow() {
            connection.ask_to_reconnect();
        }
        match (state, result) {
            (State::Publishing(publication), Ok(())) => {
                publication.epoch.end(&"the publisher hung up");
            }
            (State::Publishing(publication), Err(error)) => {
                context.stats.reject(error);
                ending::say_why(&mut connection, error);
                publication.epoch.end(error);
            }
            (State::Asking(_) | State::Over, Err(error)) => {
                ending::turn_away(&context, &mut connection, refused.as_deref(), error);
            }
            (State::Asking(_) | State::Over, Ok(())) => {}
        }
        connection
    }
}

impl State {
    /// Waits for the answer, or for the loss of the stream.
    pub(super) async fn news(&mut self) -> News {
        match self {
            Self::Asking(question) => News::Answer(question.await),
            Self::Publishing(publication) => News::Lost(publication.epoch.over().await),
            Self::Over => std::future::pending().await,
        }
    }
}

/// A connection that the intake returns.
struct Back {
    session: Box<PublisherSession>,
    socket: std::net::TcpStream,
    /// Error that ended the connection, or how its driver stops.
    result: Result<Stop, Error>,
}

/// Leaves a publisher to the intake for as long as it is steady. Afterwards the connection is over, or the
/// task continues with it.
///
/// # Errors
/// The socket is lost.
pub(super) async fn park<F: FnOnce() + Send>(
    context: &Context,
    session: PublisherSession,
    socket: TcpStream,
    driver: &mut Driver<F>,
) -> Result<(PublisherSession, TcpStream, Result<Stop, Error>), Error> {
    let (Some(intake), Some(publication)) = (&context.intake, session.publication()) else {
        driver.may_park = false;
        return Ok((session, socket, Ok(Stop::Steady)));
    };
    let watch = publication.epoch.watch();
    let (back, mut is_back) = oneshot::channel();
    let parked = Parked {
        session: Box::new(session),
        result: Ok(()),
        back,
    };
    let (mut is_leaving, mut is_lost) = (false, false);
    // A reader that the intake refuses returns everything like any other.
    let ticket = match intake.attach(Box::new(parked), socket.into_std()?) {
        Ok(ticket) => Some(ticket),
        Err((reader, socket)) => {
            driver.may_park = false;
            reader.give_back(socket, Returned::Recalled);
            None
        }
    };
    let back = tokio::select! {
        back = &mut is_back => back,
        () = watch.lost() => {
            is_lost = true;
            recall(ticket.as_ref());
            is_back.await
        }
        () = wait::change(&mut driver.leaving) => {
            is_leaving = true;
            recall(ticket.as_ref());
            is_back.await
        }
    };
    let Back {
        mut session,
        socket,
        mut result,
    } = back.map_err(std::io::Error::other)?;
    if is_lost
        && let Ok(Stop::Steady) = result
        && let Some(publication) = session.publication()
    {
        result = Err(publication.epoch.over().await);
    }
    if is_leaving {
        session.connection.ask_to_reconnect();
    }
    Ok((*session, TcpStream::from_std(socket)?, result))
}

fn recall(ticket: Option<&IntakeTicket>) {
    if let Some(ticket) = ticket {
        ticket.recall();
    }
}

/// A publisher on the intake's thread.
struct Parked {
    session: Box<PublisherSession>,
    /// First error, if there was one.
    result: Result<(), Error>,
    back: oneshot::Sender<Back>,
}

impl Parked {
    /// Whether nothing has happened that the task has to handle.
    fn is_steady(&self) -> bool {
        self.result.is_ok() && !self.session.connection.session.is_closed()
    }
}

impl IntakeReader for Parked {
    fn take(&mut self, bytes: &[u8], now: Instant) -> Next {
        if self.result.is_ok() {
            self.result = self.session.take(bytes, now);
        }
        match self.session.publication() {
            Some(publication) if self.is_steady() => {
                Next::Go(match publication.epoch.publisher.is_awaited() {
                    true => Pace::Prompt,
                    false => Pace::Relaxed,
                })
            }
            _ => Next::Return,
        }
    }

    fn unsent(&mut self) -> &[u8] {
        self.session.connection.session.output()
    }

    fn sent(&mut self, count: usize) {
        let output = self.session.connection.session.output();
        output.advance(count);
    }

    fn due(&self) -> Option<Instant> {
        self.session.due()
    }

    fn give_back(self: Box<Self>, socket: std::net::TcpStream, why: Returned) {
        let result = match (self.result, why) {
            (Err(error), _) => Err(error),
            (Ok(()), Returned::HungUp) => Ok(Stop::Over),
            (Ok(()), Returned::Failed(error)) => closing::hung_up(Err(error))
                .map(|_| Stop::Over)
                .map_err(Error::from),
            (Ok(()), Returned::Asked | Returned::Recalled) => Ok(Stop::Steady),
        };
        let back = Back {
            session: self.session,
            socket,
            result,
        };
        // A task that was ended does not wait for it, and dropping it ends the publication.
        self.back.send(back).ok();
    }
}
