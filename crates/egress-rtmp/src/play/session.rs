//! A player without its socket: the conversation, and the stream or file that is being played.

use std::sync::Arc;
use std::time::Instant;

use ::rtmp::server::{Event, Rejection, Request, RequestId, Start};
use bytes::Buf;
use fanout::gate;
use fanout::{
    Choice, Format, Guest, Info, Introduction, JoinRefused, Joined, LaneGuard, ListenerRecord,
    Permit, Protocol, Retention, Subscription, Waits, Wish, join,
};
use media::{StreamName, Timestamp};
use net::rtmp::RtmpConnection;
use net::{closing, wait};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::watch;

use super::allowance::{Allowance, Rate};
use super::show::Show;
use crate::format::{format, is_carried};
use crate::{Context, Error, now};
use packagers::rtmp::{Rtmp, Shape};

/// Bytes per read: commands are a few hundred at the most.
const READ_BYTES: usize = 2 * 1024;

/// Query parameter that carries a key.
const KEY_PARAMETER: &str = "key";

/// Bytes that a player may send. Acknowledgements and pings are some tens of bytes every few seconds; a
/// player that sends more makes work for a worker that thousands of others share.
const CHATTER_BYTES: Rate = Rate {
    burst: 16.0 * 1024.0,
    per_second: 4.0 * 1024.0,
};

/// Number of times that media may begin to flow to a player: after a pause, another selection, another
/// stream. Each is as much work as a new listener.
const FLOWS: Rate = Rate {
    burst: 10.0,
    per_second: 0.5,
};

/// Format under which the player of a file is recorded.
const RECORDED: Format = Format {
    name: "recorded",
    protocol: Protocol::Rtmp,
    retention: Retention::Live,
};

/// Conversation with a player; call [`turn`](Self::turn) for each step.
#[derive(Debug)]
pub(crate) struct PlayerSession {
    pub(super) context: Arc<Context>,
    pub(super) connection: RtmpConnection<()>,
    /// Held until the connection ends; each time media flows, the listener of that time shares it.
    permit: Option<Permit>,
    playing: Option<Playing>,
    /// Time since which the player waits for absent streams, however many it has requested.
    waiting_since: Option<Instant>,
    chatter: Allowance,
    flows: Allowance,
    pub(super) leaving: watch::Receiver<bool>,
}

/// Accepted request.
#[derive(Debug)]
struct Playing {
    id: RequestId,
    subscription: Subscription,
    /// Time up to which the player has received media: media after an interruption is later.
    reached: Option<Timestamp>,
}

/// Next step on a connection.
#[derive(Debug)]
pub(crate) enum Next {
    /// Wait for the player's input.
    Listen,
    /// Handle this event from the player.
    Event(Event),
    /// The lane that the player followed has ended.
    Ended,
}

/// Action that follows from a step.
pub(crate) enum Act {
    Next(Next),
    /// Send this lane.
    Carry(LaneGuard),
    /// Send this file.
    Show(Box<Show>),
    /// The player has left.
    Leave,
}

/// Outcome of a conversation's wait.
pub(super) enum Heard<T> {
    Event(Event),
    Until(T),
    HungUp,
}

impl PlayerSession {
    pub(super) fn new(
        context: Arc<Context>,
        connection: RtmpConnection<()>,
        permit: Option<Permit>,
    ) -> Self {
        let now = Instant::now();
        Self {
            waiting_since: None,
            chatter: Allowance::new(CHATTER_BYTES, now),
            flows: Allowance::new(FLOWS, now),
            leaving: context.leaving.clone(),
            context,
            connection,
            permit,
            playing: None,
        }
    }

    /// Performs one step of the conversation.
    pub(super) async fn turn<S>(&mut self, socket: &mut S, next: Next) -> Result<Act, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let event = match next {
            Next::Event(event) => event,
            Next::Ended => return self.flow(socket).await,
            Next::Listen => match self.converse(socket, self.end()).await? {
                Heard::Event(event) => event,
                Heard::HungUp => return Ok(Act::Leave),
                Heard::Until(error) => return Err(error),
            },
        };
        match event {
            Event::Play(request) => self.play(socket, &request).await,
            Event::Resume(_) | Event::Select { .. } => self.flow(socket).await,
            Event::Stop(_) => {
                self.playing = None;
                Ok(Act::Next(Next::Listen))
            }
            Event::Publish(request) => {
                let why = "This connection plays; publish on another.";
                // A request that has been withdrawn needs no reply.
                let session = &mut self.connection.session;
                session.reject(request.id, Rejection::Rejected, why).ok();
                Ok(Act::Next(Next::Listen))
            }
            _ => Ok(Act::Next(Next::Listen)),
        }
    }

    /// Waits for the event that ends a connection on which nothing flows.
    fn end(&self) -> impl Future<Output = Error> + use<> {
        let stream = self
            .playing
            .as_ref()
            .map(|playing| Arc::clone(playing.subscription.stream()));
        let mut leaving = self.context.leaving.clone();
        async move {
            match stream {
                Some(stream) => {
                    stream.over().await;
                    Error::Ended
                }
                None => left(&mut leaving).await,
            }
        }
    }

    async fn play<S>(&mut self, socket: &mut S, request: &Request) -> Result<Act, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.playing = None;
        if let Some(act) = self.play_file(socket, request).await? {
            return Ok(act);
        }
        let name = StreamName::parse(&request.path.name)?;
        let context = Arc::clone(&self.context);
        let waits = self.waits();
        let path = &request.path;
        let key = path.parameter(KEY_PARAMETER);
        let user = path.user.as_ref();
        // A copy: the session continues while the join waits.
        let agent = self.connection.agent.clone();
        let referer = self.connection.referer.clone();
        let wish = Wish {
            request: gate::Request {
                agent: &agent,
                referer: &referer,
                user: user.map(|(user, _)| user.as_str()),
                password: user.map(|(_, password)| password.as_str()),
                token: key.as_deref(),
                query: &path.query,
                ..gate::Request::new(&name, Protocol::Rtmp.label(), self.connection.peer)
            },
            introduction: self.introduction(&name),
        };
        let mut leaving = context.leaving.clone();
        let joining = async {
            tokio::select! {
                // First, so that an existing stream is joined whatever the server is about to do.
                biased;
                joined = join(&context.registry, &*context.gate, wish, waits, choose) => {
                    joined.map_err(Error::from)
                }
                error = left(&mut leaving) => Err(error),
            }
        };
        let Joined { subscription, .. } = match self.converse(socket, joining).await? {
            Heard::Event(event) => return Ok(Act::Next(Next::Event(event))),
            Heard::HungUp => return Ok(Act::Leave),
            Heard::Until(joined) => joined?,
        };
        self.waiting_since = None;
        let RtmpConnection {
            session,
            peer,
            agent,
            ..
        } = &mut self.connection;
        if session.accept_play(request.id).is_err() {
            return Ok(Act::Next(Next::Listen));
        }
        tracing::debug!(stream = %name, %peer, ?agent, "playing begins");
        self.playing = Some(Playing {
            id: request.id,
            subscription,
            reached: None,
        });
        self.flow(socket).await
    }

    /// Plays a file, if there is one of the name, and it is the one that the player requests.
    async fn play_file<S>(
        &mut self,
        socket: &mut S,
        request: &Request,
    ) -> Result<Option<Act>, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let path = &request.path;
        let name = path.file_name();
        let context = Arc::clone(&self.context);
        let Some(folder) = context.films.folder(&name) else {
            return Ok(None);
        };
        let is_live = || {
            let stream = StreamName::parse(&path.name).ok();
            stream.is_some_and(|stream| context.registry.stream(&stream).is_some())
        };
        match request.passage.start {
            Start::Live => return Ok(None),
            Start::LiveOrRecorded if is_live() => return Ok(None),
            Start::LiveOrRecorded | Start::Recorded(_) => {}
        }
        let key = path.parameter(KEY_PARAMETER);
        let user = path.user.as_ref();
        let agent = self.connection.agent.clone();
        let referer = self.connection.referer.clone();
        let asked = gate::Request {
            agent: &agent,
            referer: &referer,
            user: user.map(|(user, _)| user.as_str()),
            password: user.map(|(_, password)| password.as_str()),
            token: key.as_deref(),
            query: &path.query,
            ..gate::Request::new(&folder, Protocol::Rtmp.label(), self.connection.peer)
        };
        let opening = async {
            let permission = context.gate.play(&asked).await;
            let permission = permission.and_then(|permission| permission.only_for(&folder));
            let permission = permission.map_err(Error::Denied)?;
            let film = context.films.open(&name, path.file_kind).await;
            let Some(mut film) = film.map_err(Error::File)? else {
                return Ok(None);
            };
            if let Start::Recorded(at) = request.passage.start
                && !at.is_zero()
            {
                film.seek(at).await.map_err(Error::File)?;
            }
            Ok::<_, Error>(Some((permission, film)))
        };
        let (permission, film) = match self.converse(socket, opening).await? {
            Heard::Event(event) => return Ok(Some(Act::Next(Next::Event(event)))),
            Heard::HungUp => return Ok(Some(Act::Leave)),
            Heard::Until(opened) => match opened? {
                Some(opened) => opened,
                None => return Ok(None),
            },
        };
        let introduction = Introduction {
            request: format!("PLAY /{} RTMP/1.0", ListenerRecord::cut(&name)),
            ..self.introduction(&folder)
        };
        let listener = Guest::enter(&context.registry, &permission, RECORDED, introduction)?;
        let RtmpConnection {
            session,
            peer,
            agent,
            ..
        } = &mut self.connection;
        let Ok(playback) = session.accept_recorded(request.id) else {
            return Ok(Some(Act::Next(Next::Listen)));
        };
        tracing::debug!(file = ?name, %peer, ?agent, "a file is played");
        let show = Show::new(film, playback, request.passage, listener);
        Ok(Some(Act::Show(Box::new(show))))
    }

    /// Returns the time that the player may wait from now on. The wait is bounded over all the absent streams
    /// that it requests.
    fn waits(&mut self) -> Waits {
        let waited = self
            .waiting_since
            .get_or_insert_with(Instant::now)
            .elapsed();
        let play_wait = self.context.play_wait;
        Waits {
            absent: play_wait.saturating_sub(waited),
            coming: play_wait.max(Waits::COMING).saturating_sub(waited),
            ..Waits::default()
        }
    }

    fn introduction(&self, stream: &StreamName) -> Introduction {
        Introduction {
            peer: self.connection.peer,
            request: format!("PLAY /{stream} RTMP/1.0"),
            agent: ListenerRecord::cut(&self.connection.agent).to_owned(),
            referer: String::new(),
            permit: self.permit.clone(),
        }
    }

    /// Opens the lane that the player wants at present, if it wants any.
    async fn flow<S>(&mut self, socket: &mut S) -> Result<Act, Error>
    where
        S: AsyncWrite + Unpin,
    {
        // Input that has already arrived is decided before more is sent.
        if let Some(event) = self.next_event()? {
            return Ok(Act::Next(Next::Event(event)));
        }
        let playback = self.connection.session.playback();
        let (Some(playing), Some(playback)) = (&self.playing, playback) else {
            return Ok(Act::Next(Next::Listen));
        };
        if playback.is_paused || !(playback.audio || playback.video) {
            return Ok(Act::Next(Next::Listen));
        }
        if !is_carried(&playing.subscription.stream().info()) {
            return Err(Error::Unplayable);
        }
        if !self.flows.spend(1, Instant::now()) {
            return Err(Error::Restless);
        }
        let shape = Shape {
            message_stream: playing.id.stream(),
            audio: playback.audio,
            video: playback.video,
            wraps_metadata: false,
        };
        let format = format(shape).ok_or(Error::MessageStream)?;
        let make = || Box::new(Rtmp::new(shape)) as _;
        let lane = playing.subscription.lane(format, make, Instant::now());
        let lane = lane.map_err(JoinRefused::from)?;
        self.answer(socket).await?;
        Ok(Act::Carry(lane))
    }

    /// Returns the time up to which media has been sent.
    pub(super) fn reached(&self) -> Option<Timestamp> {
        self.playing.as_ref()?.reached
    }

    /// Records the time up to which media has been sent; `None` when there was none.
    pub(super) fn has_reached(&mut self, reached: Option<Timestamp>) {
        if let (Some(playing), Some(reached)) = (&mut self.playing, reached) {
            playing.reached = Some(reached);
        }
    }

    /// Whether the player may send this many more bytes.
    pub(super) fn may_say(&mut self, bytes: usize, now: Instant) -> bool {
        self.chatter.spend(bytes, now)
    }

    /// Returns the record of the listener that begins now.
    pub(super) fn record(&mut self, lane: &LaneGuard) -> Option<ListenerRecord> {
        let playing = self.playing.as_mut()?;
        Some(playing.subscription.record(lane))
    }

    /// Reads and answers until an event of the player has to be decided, or `other` is ready.
    pub(super) async fn converse<S, T>(
        &mut self,
        socket: &mut S,
        other: impl Future<Output = T>,
    ) -> Result<Heard<T>, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        tokio::pin!(other);
        loop {
            if let Some(event) = self.next_event()? {
                return Ok(Heard::Event(event));
            }
            self.answer(socket).await?;
            let RtmpConnection {
                session, unread, ..
            } = &mut self.connection;
            if session.is_closed() {
                return Ok(Heard::HungUp);
            }
            unread.reserve(READ_BYTES);
            tokio::select! {
                value = &mut other => return Ok(Heard::Until(value)),
                read = socket.read_buf(unread) => {
                    let count = closing::hung_up(read)?;
                    if count == 0 || !self.chatter.spend(count, Instant::now()) {
                        return Ok(Heard::HungUp);
                    }
                }
                () = wait::change(&mut self.leaving) => self.connection.ask_to_reconnect(),
                () = wait::at(session.poll_timeout()) => {
                    session.handle_timeout(now())?;
                }
            }
        }
    }

    /// Returns the next event in the bytes received so far.
    pub(super) fn next_event(&mut self) -> Result<Option<Event>, Error> {
        let RtmpConnection {
            session, unread, ..
        } = &mut self.connection;
        let mut input = &unread[..];
        let event = session.read(&mut input, now());
        let left = input.len();
        unread.advance(unread.len() - left);
        Ok(event?)
    }

    /// Sends the output of the session.
    pub(super) async fn answer<S>(&mut self, socket: &mut S) -> Result<(), Error>
    where
        S: AsyncWrite + Unpin,
    {
        let session = &mut self.connection.session;
        let output = session.output();
        if !output.is_empty() {
            let words = output.split();
            closing::write(socket, &words).await?;
        }
        session.shrink();
        Ok(())
    }

    /// Ends a connection whose player has left, or was asked to leave.
    pub(super) async fn leave<S>(self, socket: S)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.connection.attach(socket).close().await;
    }

    /// Ends a connection and sends the player the reason.
    pub(super) async fn part<S>(mut self, socket: S, error: &Error)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let playing = self.playing.as_ref();
        let stream = playing.map(|playing| playing.subscription.stream().name());
        match error {
            Error::Ended => {
                tracing::debug!(
                    stream = stream.map(tracing::field::display),
                    peer = %self.connection.peer,
                    "playing ended"
                );
            }
            error => tracing::info!(
                stream = stream.map(tracing::field::display),
                peer = %self.connection.peer,
                agent = ?self.connection.agent,
                reason = %error,
                "RTMP player refused"
            ),
        }
        // Its stream may have ended before it could be asked to reconnect.
        if *self.leaving.borrow() {
            self.connection.ask_to_reconnect();
        }
        if let Some(rejection) = error.rejection() {
            let session = &mut self.connection.session;
            session.close_with(rejection, &error.to_string());
        }
        if let (Error::Ended, Some(playing)) = (error, &self.playing) {
            let now = Instant::now();
            let session = &mut self.connection.session;
            // A player that has stopped by itself in the meantime needs no message.
            session
                .end_play(playing.id, "The stream has ended.", now)
                .ok();
        }
        self.connection.attach(socket).close().await;
    }
}

/// Accepts everything that RTMP can carry; the player selects from that while it plays.
fn choose(info: &Info) -> Choice<()> {
    match is_carried(info) {
        true => Choice::Take(()),
        false => Choice::Impossible,
    }
}

/// Waits until the server is about to leave.
async fn left(leaving: &mut watch::Receiver<bool>) -> Error {
    if leaving.wait_for(|leaving| *leaving).await.is_err() {
        // The sender was dropped, so it never turns true.
        std::future::pending::<()>().await;
    }
    Error::Leaving
}
