//! One thread: its connections, and a turn of its loop.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use net::holdings::{Held, Kind};
use net::panics::{self, Part};
use net::{Backend, Epoll, Event, Inbound, Received, Slab, Slot};
use tokio::sync::oneshot;

use super::answers::{Answers, Verdict};
use super::connection::{Connection, Overdue, Phase};
use super::head::{Found, Profiles};
use super::sending::{self, Progress};
use super::waiting::Waits;
use super::{Carried, Command, Handle, Site};
use crate::{Context, waits};

/// How often deadlines are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// How long it is remembered what requests mean, at most: what nobody asks for any more is forgotten, and the rest is
/// parsed again.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

/// One read: a head of a player is a few hundred bytes.
const READ_BYTES: usize = 4 * 1024;

/// Commands carried out in one turn.
const COMMANDS_PER_TURN: usize = 64;

/// See the module's description.
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
    /// Counts what is unread and remembered.
    held: Held,
    next_sweep: Instant,
    next_forget: Instant,
    /// Answers to send: media before playlists, which list what comes after that media.
    media: Vec<Slot>,
    others: Vec<Slot>,
    /// Scratch, empty between uses.
    progress: Vec<(Slot, Progress)>,
}

impl RequestThread {
    /// Without connections. `handle` leads to it.
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

    /// Runs until it is stopped. What one client's bytes cause is contained; a panic elsewhere has cost all
    /// connections their state, and ends the process.
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
                tracing::error!(%error, "epoll failed; the process cannot go on without this thread");
                std::process::abort();
            }
        }
    }

    /// Takes what sockets and commands have, answers, and sends. False when the thread is to end.
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

    /// Forgets what is remembered of requests, now and then, and counts what is left.
    fn forget(&mut self, now: Instant) {
        if now >= self.next_forget {
            self.next_forget = now + REMEMBERED_FOR;
            self.answers.forget();
            self.profiles.forget();
        }
        self.held.set(self.bytes());
    }

    /// Bytes of what is unread and remembered.
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
                    // What requests have found since the part came may be older.
                    self.answers.begin_batch();
                    for slot in self.waits.end(key) {
                        self.contain(slot, |thread| thread.answer_waiting(slot, now));
                    }
                }
                Command::Stop => return false,
            }
        }
        // There may be more, and their wake-ups may be used up.
        self.thread.waker.wake();
        true
    }

    fn carry(&mut self, carried: Carried, back: oneshot::Sender<Carried>, now: Instant) {
        let Carried {
            socket,
            unread,
            peer,
            until,
        } = carried;
        let slot = self.connections.vacant();
        if let Err(error) = self.backend.attach(slot, socket, Inbound::Reported) {
            tracing::debug!(%peer, %error, "a connection was gone before it was carried");
            return;
        }
        self.connections
            .insert(Connection::new(back, peer, until, now));
        if !unread.is_empty() {
            self.take(slot, &unread, now);
        }
    }

    /// Reads what a socket has.
    fn receive(&mut self, slot: Slot, now: Instant) {
        let mut buffer = [0; READ_BYTES];
        loop {
            let count = match self.backend.receive(slot, &mut buffer) {
                Received::Bytes(count) => count,
                Received::Nothing => return,
                Received::Closed => return self.end(slot),
            };
            self.take(slot, &buffer[..count], now);
            // A socket with less than was asked for is empty: what comes later is told again (epoll(7)).
            if count < buffer.len() {
                return;
            }
        }
    }

    /// Takes what has arrived on a connection.
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

    /// Serves what a connection has sent behind its last request.
    fn serve_unread(&mut self, slot: Slot, now: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let unread = std::mem::take(&mut connection.unread);
        if !unread.is_empty() {
            self.contain(slot, |thread| thread.serve(slot, &unread, now));
        }
    }

    /// Gives a connection up whose bytes cause a panic.
    fn contain(&mut self, slot: Slot, serve: impl FnOnce(&mut Self)) {
        if let Err(panic) = panics::contain(|| serve(self)) {
            panic.report(Part::Connection, &"a request for a piece");
            self.end(slot);
        }
    }

    /// Serves the request that an idle connection's bytes begin with, and keeps the rest.
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

    /// Begins to send, or to wait until then, or gives a connection back.
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

    /// Answers a request whose part has come.
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
            // The one who began the wait has waited for as long as it may; others came later.
            Verdict::Awaits(..) if now >= until => self.refuse(slot, now),
            verdict => self.act_on(slot, verdict, until, now),
        }
    }

    /// Tells a client that what it waited for did not come.
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

    /// Sends all that is to be sent, and serves what clients have requested behind it.
    fn send_all(&mut self, now: Instant) {
        let mut progress = std::mem::take(&mut self.progress);
        loop {
            let media = std::mem::take(&mut self.media);
            let others = std::mem::take(&mut self.others);
            if media.is_empty() && others.is_empty() {
                break;
            }
            for slots in [media, others] {
                sending::send(
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

    /// A connection's answer is sent.
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

    /// Returns a connection to its task, with the request that is not answered.
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
