//! One request thread: its connections, and the turns of its loop.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use base::holdings::{Held, Kind};
use net::panics::{self, Part};
use net::{Backend, Epoll, Event, Inbound, Received, Slab, Slot};
use tokio::sync::oneshot;

use super::answers::{self, Answers, Progress, Verdict};
use super::connection::{Connection, Overdue, Phase};
use super::head::{Found, Profiles};
use super::waiting::Waits;
use super::{Carried, Command, Handle, Site};
use crate::{Context, waits};

/// Interval of checks for deadlines.
const SWEEP: Duration = Duration::from_secs(1);

/// Longest time for which parsed requests are remembered. It drops those that nobody sends any more; the others are
/// parsed again.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

/// Bytes of one read: a player's head has a few hundred bytes.
const READ_BYTES: usize = 4 * 1024;

/// Most commands carried out in one turn.
const COMMANDS_PER_TURN: usize = 64;

/// Owner of the connections of one thread; [`run`](Self::run) is its loop.
pub(super) struct RequestThread {
    site: Arc<dyn Site>,
    patience: Duration,
    backend: Epoll,
    commands: Receiver<Command>,
    thread: Handle,
    connections: Slab<Connection>,
    profiles: Profiles,
    answers: Answers,
    waits: Waits,
    /// Account of the bytes that are unread or remembered.
    held: Held,
    next_sweep: Instant,
    next_forget: Instant,
    /// Connections with answers to send: media before playlists, which list what follows that media.
    media: Vec<Slot>,
    others: Vec<Slot>,
    /// Buffer for results; empty between uses.
    progress: Vec<(Slot, Progress)>,
}

impl RequestThread {
    /// Makes a thread without connections. Commands to `thread` reach it.
    pub(super) fn new(
        (context, site): (Arc<Context>, Arc<dyn Site>),
        backend: Epoll,
        (thread, commands): (Handle, Receiver<Command>),
    ) -> Self {
        Self {
            patience: waits::patience(&context.segmentation),
            held: context.holdings.note(Kind::Threads, 0),
            answers: Answers::new(context, Arc::clone(&site)),
            site,
            backend,
            commands,
            waits: Waits::new(thread.clone()),
            thread,
            connections: Slab::new(),
            profiles: Profiles::default(),
            next_sweep: Instant::now() + SWEEP,
            next_forget: Instant::now() + REMEMBERED_FOR,
            media: Vec::new(),
            others: Vec::new(),
            progress: Vec::new(),
        }
    }

    /// Runs until it is stopped. A panic caused by one client's bytes is contained; a panic elsewhere has destroyed the
    /// state of all connections, and ends the process.
    pub(super) fn run(mut self) {
        let _guard = net::AbortOnPanic("a request thread");
        let mut events = Vec::new();
        loop {
            let now = Instant::now();
            if !self.turn(&mut events, now) {
                return;
            }
            let is_blank = self.connections.is_empty() && self.held.bytes() == 0;
            let timeout = match is_blank && self.bytes() == 0 {
                true => None,
                false => Some(self.next_sweep.saturating_duration_since(Instant::now())),
            };
            if let Err(error) = self.backend.wait(timeout, &mut events) {
                tracing::error!(%error, "epoll failed; the process cannot continue without this thread");
                std::process::abort();
            }
        }
    }

    /// Reads sockets and commands, answers, and sends. Returns false if the thread is to end.
    pub(super) fn turn(&mut self, events: &mut Vec<Event>, now: Instant) -> bool {
        self.answers.begin_batch();
        for event in events.drain(..) {
            match event {
                Event::Readable(slot) => self.receive(slot, now),
                Event::Writable(slot) => {
                    let connection = self.connections.get_mut(slot);
                    if connection.is_some_and(Connection::has_room) {
                        self.media.push(slot);
                    }
                }
                Event::Closed(slot) => self.end(slot),
            }
        }
        if !self.take_commands(now) {
            return false;
        }
        self.send_all(now);
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.sweep(now);
            self.send_all(now);
            self.forget(now);
        }
        self.answers.end_batch();
        true
    }

    /// Forgets remembered requests from time to time, and counts the bytes that remain.
    fn forget(&mut self, now: Instant) {
        if now >= self.next_forget {
            self.next_forget = now + REMEMBERED_FOR;
            self.answers.forget();
            self.profiles.forget();
        }
        self.held.set(self.bytes());
    }

    /// Returns the number of bytes that are unread or remembered.
    fn bytes(&self) -> usize {
        let connections = self.connections.iter();
        let unread = connections.map(|(_, connection)| connection.unread.capacity());
        unread.sum::<usize>() + self.answers.bytes() + self.profiles.bytes()
    }

    fn take_commands(&mut self, now: Instant) -> bool {
        for _ in 0..COMMANDS_PER_TURN {
            let Ok(command) = self.commands.try_recv() else {
                return true;
            };
            match command {
                Command::Carry(carried, back) => self.carry(carried, back, now),
                Command::Came(key) => {
                    // Answers found in this batch before the part arrived may be outdated.
                    self.answers.begin_batch();
                    for slot in self.waits.end(key) {
                        self.contain(slot, |thread| thread.answer_waiting(slot, now));
                    }
                }
                Command::Stop => return false,
            }
        }
        // There may be more commands, and their wake-ups may be used up.
        self.thread.waker.wake();
        true
    }

    fn carry(&mut self, carried: Carried, back: oneshot::Sender<Carried>, now: Instant) {
        let peer = carried.peer;
        let slot = self.connections.vacant();
        if let Err(error) = self.backend.attach(slot, carried.socket, Inbound::Reported) {
            tracing::debug!(%peer, %error, "a connection was gone before it was carried");
            return;
        }
        self.connections
            .insert(Connection::new(back, peer, carried.until, now));
        if !carried.unread.is_empty() {
            self.take(slot, &carried.unread, now);
        }
    }

    /// Reads from a socket.
    fn receive(&mut self, slot: Slot, now: Instant) {
        let mut buffer = [0; READ_BYTES];
        loop {
            let count = match self.backend.receive(slot, &mut buffer) {
                Received::Bytes(count) => count,
                Received::Nothing => return,
                Received::Closed => return self.end(slot),
            };
            self.take(slot, &buffer[..count], now);
            // A read that returns less than the buffer has emptied the socket: epoll reports later bytes again
            // (epoll(7)).
            if count < buffer.len() {
                return;
            }
        }
    }

    /// Processes bytes that have arrived on a connection.
    fn take(&mut self, slot: Slot, bytes: &[u8], now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        if connection.is_idle() && connection.unread.is_empty() {
            return self.contain(slot, |thread| thread.serve(slot, bytes, now));
        }
        if !connection.keep(bytes) {
            return self.end(slot);
        }
        if connection.is_idle() {
            self.serve_unread(slot, now);
        }
    }

    /// Serves the bytes that a connection has sent after its last request.
    fn serve_unread(&mut self, slot: Slot, now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let unread = std::mem::take(&mut connection.unread);
        if !unread.is_empty() {
            self.contain(slot, |thread| thread.serve(slot, &unread, now));
        }
    }

    /// Runs `serve`, and closes the connection if its bytes cause a panic.
    fn contain(&mut self, slot: Slot, serve: impl FnOnce(&mut Self)) {
        if let Err(panic) = panics::contain(|| serve(self)) {
            panic.report(Part::Connection, &"a request for a piece");
            self.end(slot);
        }
    }

    /// Serves the request at the beginning of an idle connection's bytes, and keeps the rest.
    fn serve(&mut self, slot: Slot, bytes: &[u8], now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let found = self.profiles.take(bytes, connection.profile.as_ref());
        let (verdict, rest) = match found {
            Found::Incomplete => {
                connection.unread = bytes.to_vec();
                return;
            }
            Found::Other => (Verdict::Elsewhere, bytes),
            Found::Request {
                target,
                profile,
                len,
            } => match self.answers.find(connection, target, &profile, now) {
                Verdict::Elsewhere => (Verdict::Elsewhere, bytes),
                verdict => (verdict, &bytes[len..]),
            },
        };
        connection.unread = rest.to_vec();
        self.act_on(slot, verdict, now + self.patience, now);
    }

    /// Carries out a decision: begins to send, waits until `until`, or gives the connection back.
    fn act_on(&mut self, slot: Slot, verdict: Verdict, until: Instant, now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        match verdict {
            Verdict::Answer(prepared, target) => {
                connection.send(prepared, now);
                match target.resource.is_media() {
                    true => self.media.push(slot),
                    false => self.others.push(slot),
                }
            }
            Verdict::Awaits(channel, part, target) => {
                let key = self.waits.begin(&channel, part, slot);
                connection.phase = Phase::Waiting { target, key, until };
            }
            Verdict::Elsewhere => self.give_back(slot),
        }
    }

    /// Answers a request whose part has arrived.
    fn answer_waiting(&mut self, slot: Slot, now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let (Phase::Waiting { target, until, .. }, Some(profile)) =
            (&connection.phase, connection.profile.clone())
        else {
            return;
        };
        let (target, until) = (Arc::clone(target), *until);
        let text = target.text.as_bytes();
        match self.answers.find(connection, text, &profile, now) {
            // The request that began the wait has reached its time limit; others began to wait later.
            Verdict::Awaits(..) if now >= until => self.refuse(slot, now),
            verdict => self.act_on(slot, verdict, until, now),
        }
    }

    /// Refuses a request because the awaited part did not arrive.
    fn refuse(&mut self, slot: Slot, now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let profile = connection.profile.as_deref();
        match profile.and_then(|profile| self.answers.not_in_time(profile)) {
            Some(prepared) => {
                connection.send(prepared, now);
                self.others.push(slot);
            }
            None => self.end(slot),
        }
    }

    /// Sends all pending answers, and serves the requests that clients have sent after them.
    fn send_all(&mut self, now: Instant) {
        let mut progress = std::mem::take(&mut self.progress);
        loop {
            let media = std::mem::take(&mut self.media);
            let others = std::mem::take(&mut self.others);
            if media.is_empty() && others.is_empty() {
                break;
            }
            for slots in [media, others] {
                answers::send(
                    &mut self.backend,
                    &mut self.connections,
                    &slots,
                    &mut progress,
                );
            }
            for (slot, progress) in progress.drain(..) {
                match progress {
                    Progress::Done => self.rest(slot, now),
                    Progress::More => self.media.push(slot),
                    Progress::Full => {}
                    Progress::Gone => self.end(slot),
                }
            }
        }
        self.progress = progress;
    }

    /// Marks a connection as idle after its answer is sent, and serves its unread bytes.
    fn rest(&mut self, slot: Slot, now: Instant) {
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.phase = Phase::Idle { since: now };
            self.serve_unread(slot, now);
        }
    }

    fn sweep(&mut self, now: Instant) {
        let is_leaving = self.site.is_leaving();
        let overdue = |connection: &Connection| match connection.overdue(now) {
            None if is_leaving && !matches!(connection.phase, Phase::Sending { .. }) => {
                Some(Overdue::GiveBack)
            }
            overdue => overdue,
        };
        let all = self.connections.iter();
        let due: Vec<_> = all
            .filter_map(|(slot, connection)| Some((slot, overdue(connection)?)))
            .collect();
        for (slot, overdue) in due {
            match overdue {
                Overdue::GiveBack => self.give_back(slot),
                Overdue::Refuse => {
                    self.stop_waiting(slot);
                    self.refuse(slot, now);
                }
                Overdue::End => self.end(slot),
            }
        }
    }

    /// Returns a connection to its task, with the unanswered request.
    fn give_back(&mut self, slot: Slot) {
        self.stop_waiting(slot);
        let connection = self.connections.remove(slot);
        if let (Some(connection), Some(socket)) = (connection, self.backend.release(slot)) {
            connection.give_back(socket);
        }
    }

    /// Closes a connection.
    fn end(&mut self, slot: Slot) {
        self.stop_waiting(slot);
        self.connections.remove(slot);
        self.backend.detach(slot);
    }

    fn stop_waiting(&mut self, slot: Slot) {
        if let Some(Phase::Waiting { key, .. }) = self
            .connections
            .get(slot)
            .map(|connection| &connection.phase)
        {
            self.waits.leave(*key, slot);
        }
    }
}
