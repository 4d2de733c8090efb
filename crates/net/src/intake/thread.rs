//! The intake thread: its turns, and the work that follows from them.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver as Inbox;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::SendFlags;

use super::entries::{self, Entries, Entry, Then};
use super::receiver::{News, Receiver};
use super::relaxed::RelaxedSockets;
use super::spacing::Spacing;
use super::{
    Attach, Board, IDLE_TURN, Next, PROMPT_APART_MAX, Pace, RELAXED_APART, RELAXED_BYTES_MAX,
    Returned, SURVEY_INTERVAL,
};
use crate::{AbortOnPanic, Slot, UsualCost, cpu, panics, time_slice};

/// Sockets of a relaxed turn that are read in a row: half a millisecond's work, so that new publishers do not
/// wait for the whole turn. Also the lowest limit on the pieces of a turn, because one socket can bring that
/// much at once.
const SLICE: usize = 16;

/// Sockets of a relaxed turn that are read in a row while there are prompt publishers, which then wait no
/// longer than a tenth of a millisecond. Checking the prompt ones so often takes as long as reading one
/// relaxed socket in ten.
const SLICE_BETWEEN: usize = 4;

/// Attempts at ending the watches before the rest is left to the kernel: a watch ends with the next visit.
const FAREWELLS_MAX: usize = 16;

/// Reader of one thread's sockets; [`run`](Self::run) reads until it is stopped.
pub(super) struct IntakeThread {
    prompt: Box<dyn Receiver>,
    relaxed: RelaxedSockets,
    arrivals: Inbox<Attach>,
    watched: Watched,
    target_utilisation: f64,
    spacing: Spacing,
    relaxed_due: Instant,
    /// Time at which the relaxed turn after the present one is due; `None` between turns.
    relaxed_next: Option<Instant>,
    survey_due: Instant,
    /// Cost of reading a prompt socket in a turn.
    cost: UsualCost,
}

/// Sockets that turns work on, and the decisions about them.
struct Watched {
    entries: Entries,
    board: Arc<Board>,
    now: Instant,
    /// Pieces received in this turn so far; prompt sockets are read first.
    received: usize,
    /// Sockets whose watch is to end, as their entries state.
    leaving: Vec<Slot>,
    /// Sockets whose watch has ended, and the reason if the end was not requested.
    left: Vec<(Slot, Option<Returned>)>,
}

impl IntakeThread {
    pub(super) fn new(
        prompt: Box<dyn Receiver>,
        relaxed: RelaxedSockets,
        arrivals: Inbox<Attach>,
        board: Arc<Board>,
        target_utilisation: f64,
    ) -> Self {
        let now = Instant::now();
        Self {
            prompt,
            relaxed,
            arrivals,
            watched: Watched {
                entries: Entries::default(),
                board,
                now,
                received: 0,
                leaving: Vec::new(),
                left: Vec::new(),
            },
            target_utilisation,
            spacing: Spacing::new(now),
            relaxed_due: now,
            relaxed_next: None,
            survey_due: now,
            cost: UsualCost::default(),
        }
    }

    /// Reads until it is stopped.
    ///
    /// A reader that panics has lost its state and is given up alone. A panic of the thread's own code has
    /// cost all readers their state, and a server without the thread would accept publishers and not read
    /// them, so the process ends.
    pub(super) fn run(mut self) {
        let _guard = AbortOnPanic("a thread that reads publishers");
        time_slice::request_short();
        while !self.watched.board.is_stopping.load(Ordering::Acquire) {
            if let Err(error) = self.turn() {
                tracing::error!(%error, "publishers cannot be read any more");
                break;
            }
        }
        if let Err(error) = self.bid_farewell() {
            tracing::error!(%error, "some publishers are cut off");
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = Instant::now();
        self.watched.board.turns.add(1);
        let apart = self.apart();
        let (pause, timeout) = self.sleep(apart, now);
        self.watched.now = now;
        self.watched.received = 0;
        // Bytes that arrive meanwhile are left for the next turn, or else the sockets read first would be
        // read again and again.
        let most = self.watched.entries.prompt.max(SLICE);
        let before = cpu::thread_time();
        let mut tell = |slot, news: News<'_>| self.watched.hear(slot, news);
        self.prompt.wait(pause, timeout, most, &mut tell)?;
        if timeout != Some(Duration::ZERO) {
            self.watched.board.wakeups.add(1);
        }
        self.learn_cost(cpu::thread_time().saturating_sub(before));
        let now = Instant::now();
        self.watched.now = now;
        if self.watched.received > 0 {
            self.spacing.count(apart, now);
        }
        if !self.relaxed.is_empty() {
            self.read_relaxed(now)?;
        }
        self.obey();
        if now >= self.survey_due {
            self.watched.survey();
            self.survey_due = now + SURVEY_INTERVAL;
        }
        self.settle();
        Ok(())
    }

    /// Reads some of the relaxed sockets, if their turn is due, and those that have ended.
    fn read_relaxed(&mut self, now: Instant) -> io::Result<()> {
        let (relaxed, watched) = (&mut self.relaxed, &mut self.watched);
        relaxed.read_ended(&mut |slot, news| watched.hear(slot, news))?;
        if now >= self.relaxed_due {
            let next = *self.relaxed_next.get_or_insert_with(|| {
                relaxed.begin();
                now + RELAXED_APART
            });
            let most = match watched.entries.prompt {
                0 => SLICE,
                _ => SLICE_BETWEEN,
            };
            if relaxed.proceed(most, &mut |slot, news| watched.hear(slot, news)) {
                self.relaxed_due = next;
                self.relaxed_next = None;
            }
        }
        Ok(())
    }

    /// Returns the spacing of turns.
    fn apart(&self) -> Duration {
        let turn_cost = self.cost.get().as_secs_f64() * self.watched.entries.prompt as f64;
        Duration::try_from_secs_f64(turn_cost / self.target_utilisation)
            .map_or(PROMPT_APART_MAX, |apart| apart.min(PROMPT_APART_MAX))
    }

    /// Returns the shortest and the longest time of the next sleep, for turns that are `apart`.
    fn sleep(&self, apart: Duration, now: Instant) -> (Duration, Option<Duration>) {
        let entries = &self.watched.entries;
        if entries.len() == 0 {
            return (Duration::ZERO, Some(IDLE_TURN));
        }
        let mut due = self.survey_due;
        if entries.prompt < entries.len() {
            due = due.min(self.relaxed_due);
        }
        let timeout = due.saturating_duration_since(now);
        let pause = self.spacing.pause(apart, now);
        (pause.min(timeout), Some(timeout))
    }

    /// Takes in new sockets, and starts to release recalled ones.
    fn obey(&mut self) {
        // Read before the inbox is emptied: a recalled socket was sent before its recall.
        let has_recalls = self
            .watched
            .board
            .has_recalls
            .swap(false, Ordering::Acquire);
        while let Ok(attach) = self.arrivals.try_recv() {
            let entry = self.watched.entries.add(attach);
            let slot = entry.slot;
            if let Err(error) = self.prompt.watch(slot, &entry.socket) {
                self.watched
                    .left
                    .push((slot, Some(Returned::Failed(error))));
            }
        }
        if has_recalls {
            self.watched
                .part_where(|entry| entry.recalled.load(Ordering::Relaxed));
        }
    }

    /// Carries out the decisions of the turn.
    fn settle(&mut self) {
        let (prompt, relaxed) = (&mut self.prompt, &mut self.relaxed);
        let watched = &mut self.watched;
        for slot in watched.leaving.drain(..) {
            match watched.entries.get(slot).map(|entry| entry.pace) {
                Some(Pace::Prompt) => prompt.unwatch(slot),
                Some(Pace::Relaxed) if relaxed.unwatch(slot) => watched.left.push((slot, None)),
                Some(Pace::Relaxed) | None => {}
            }
        }
        // One at a time, because a move that fails adds an entry.
        while let Some((slot, why)) = watched.left.pop() {
            let Some(entry) = watched.entries.get(slot) else {
                continue;
            };
            let why = match (why, entry.then.take()) {
                (Some(why), _) | (None, Some(Then::Leave(why))) => why,
                (None, Some(Then::Move) | None) => {
                    let moved = match entry.pace {
                        Pace::Prompt => relaxed.watch(slot, &entry.socket),
                        Pace::Relaxed => prompt.watch(slot, &entry.socket),
                    };
                    watched.entries.change_pace(slot);
                    if let Err(error) = moved {
                        watched.left.push((slot, Some(Returned::Failed(error))));
                    }
                    continue;
                }
            };
            watched.give_back(slot, why);
        }
    }

    /// Records the cost of this turn's prompt sockets, before any relaxed one has been read: those bring a
    /// quarter of a second's media in one piece, and prompt ones would have to wait for that cost.
    fn learn_cost(&mut self, spent: Duration) {
        let received = u32::try_from(self.watched.received).unwrap_or(u32::MAX);
        if let Some(each) = spent.checked_div(received) {
            self.cost.learn(each);
        }
    }

    /// Returns all sockets.
    fn bid_farewell(mut self) -> io::Result<()> {
        self.obey();
        self.watched.part_where(|_| true);
        for _ in 0..FAREWELLS_MAX {
            self.settle();
            if self.watched.entries.len() == 0 {
                break;
            }
            let zero = Some(Duration::ZERO);
            let mut tell = |slot, news: News<'_>| self.watched.hear(slot, news);
            self.prompt.wait(Duration::ZERO, zero, SLICE, &mut tell)?;
        }
        Ok(())
    }
}

impl Watched {
    fn hear(&mut self, slot: Slot, news: News<'_>) {
        let bytes = match news {
            News::Bytes(bytes) => bytes,
            News::HungUp => return self.left.push((slot, Some(Returned::HungUp))),
            News::Failed(error) => return self.left.push((slot, Some(Returned::Failed(error)))),
            News::Unwatched => return self.left.push((slot, None)),
        };
        self.received += 1;
        // The turn may have slept since it began, and other sockets' bytes took time.
        self.now = Instant::now();
        let Some(entry) = self.entries.get(slot) else {
            return;
        };
        entry.bytes += bytes.len();
        let now = self.now;
        let taken = panics::contain(|| {
            let next = entry.reader.take(bytes, now);
            (next, flush(entry))
        });
        let taken = taken.unwrap_or_else(|panic| {
            entry.give_up(&panic);
            (Next::Return, Ok(()))
        });
        let then = match taken {
            (Next::Return, _) => Then::Leave(Returned::Asked),
            (Next::Go(_), Err(error)) => Then::Leave(Returned::Failed(error)),
            (Next::Go(wish), Ok(())) => {
                entry.wish = wish;
                let is_urgent = wish == Pace::Prompt || entry.bytes > RELAXED_BYTES_MAX;
                if entry.pace == Pace::Prompt || !is_urgent {
                    return;
                }
                Then::Move
            }
        };
        self.part(slot, then);
    }

    /// Ends the watch of a socket, to be followed by `then`. A later `Leave` replaces a `Move`, never the
    /// reverse.
    fn part(&mut self, slot: Slot, then: Then) {
        let Some(entry) = self.entries.get(slot) else {
            return;
        };
        match (&entry.then, &then) {
            (None, _) => {
                entry.then = Some(then);
                self.leaving.push(slot);
            }
            (Some(Then::Move), Then::Leave(_)) => entry.then = Some(then),
            (Some(_), _) => {}
        }
    }

    /// Starts to return the sockets that match.
    fn part_where(&mut self, is_meant: impl Fn(&Entry) -> bool) {
        let entries = self.entries.iter_mut();
        let slots: Vec<_> = entries
            .filter(|entry| is_meant(entry))
            .map(|entry| entry.slot)
            .collect();
        for slot in slots {
            self.part(slot, Then::Leave(Returned::Recalled));
        }
    }

    fn survey(&mut self) {
        let mut parting = Vec::new();
        for entry in self.entries.iter_mut() {
            let bytes = std::mem::take(&mut entry.bytes);
            let now = self.now;
            let looked = panics::contain(|| {
                let is_due = entry.reader.due().is_some_and(|due| due <= now);
                (is_due, if is_due { Ok(()) } else { flush(entry) })
            });
            let (is_over, sent) = looked.unwrap_or_else(|panic| {
                entry.give_up(&panic);
                (true, Ok(()))
            });
            let then = if is_over {
                Then::Leave(Returned::Asked)
            } else if let Err(error) = sent {
                Then::Leave(Returned::Failed(error))
            } else if entry.pace == Pace::Prompt
                && entry.wish == Pace::Relaxed
                && bytes <= RELAXED_BYTES_MAX
            {
                Then::Move
            } else {
                continue;
            };
            parting.push((entry.slot, then));
        }
        for (slot, then) in parting {
            self.part(slot, then);
        }
    }

    fn give_back(&mut self, slot: Slot, why: Returned) {
        let Some(entry) = self.entries.remove(slot) else {
            return;
        };
        self.board.sockets.fetch_sub(1, Ordering::Relaxed);
        let Entry { reader, socket, .. } = entry;
        // The receiver no longer holds the socket, so this is the only reference.
        match Arc::try_unwrap(socket).or_else(|shared| shared.try_clone()) {
            Ok(socket) => {
                if let Err(panic) = panics::contain(|| reader.give_back(socket, why)) {
                    entries::report(&panic, None);
                }
            }
            Err(error) => tracing::error!(%error, "a publisher's socket is lost"),
        }
    }
}

/// Sends as many of the unsent bytes as fit.
fn flush(entry: &mut Entry) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let socket: &TcpStream = &entry.socket;
    loop {
        let unsent = entry.reader.unsent();
        if unsent.is_empty() {
            return Ok(());
        }
        match rustix::net::send(socket, unsent, flags) {
            Ok(count) => entry.reader.sent(count),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
