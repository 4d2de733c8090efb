//! A group of listeners or publishers in one thread: an epoll loop that lets members join and leave on schedule, gives up
//! members that wait too long, and counts members at the end. The group's [`Behaviour`] supplies everything specific to a
//! protocol.

mod context;

use std::fmt::Display;
use std::mem::MaybeUninit;

use net::Slab;
use rustix::event::epoll;

use crate::args::Listening;
use crate::churn::Churn;
use crate::clock::Clock;
use crate::laps::{Lap, Laps};
use crate::listen::role::{Role, Roles};
use crate::muster::Muster;
use crate::plan::{Plan, Work};
use crate::reception::Reception;
use crate::socket;
use crate::tally::{Progress, Tally};
use crate::timers::Timers;

pub(crate) use self::context::{Context, Member, Outcome, Reason, Seat};

/// Interval between two checks of some members, in nanoseconds.
pub(crate) const TICK: u64 = 100_000_000;
/// Longest sleep, in nanoseconds.
pub(crate) const NAP: u64 = 20_000_000;
/// Maximum number of socket events between two sleeps: about a millisecond's work.
const EVENTS_PER_WAIT: usize = 512;
/// Time in nanoseconds after which a listener without media gives up.
const JOIN_DEADLINE: u64 = 30_000_000_000;

/// Protocol-specific part of a group: joining, receiving and sending.
pub(crate) trait Behaviour: Sized {
    /// State of each member.
    type Own;

    /// Maximum number of joins begun between two polls of the sockets, so that joining does not starve reading.
    const JOINS_PER_ROUND: u64;
    /// Maximum number of members woken between two polls of the sockets.
    const WAKES_PER_ROUND: usize = 256;
    /// Number of ticks in which every member is checked once.
    const ROUND_TICKS: usize;
    /// Number of bytes taken from a socket at once.
    const TAKE_BYTES: usize;

    /// Begins to join a member.
    ///
    /// # Errors
    /// Returns an error if the member cannot even begin.
    fn begin(context: &mut Context<Self>, seat: &Seat) -> Result<Self::Own, Reason>;

    /// Returns the place of the member whose socket has this token.
    fn place_of(token: usize) -> usize {
        token
    }

    /// Handles an event on the socket with this token.
    ///
    /// # Errors
    /// Returns an error if the member is lost, here and in the functions below.
    fn attend(context: &mut Context<Self>, member: &mut Member<Self::Own>, token: usize)
    -> Outcome;

    /// Returns the time of the load at which a member has something to do by the clock.
    fn due(_: &Member<Self::Own>, _: Clock) -> Option<u64> {
        None
    }

    /// Lets a member do what is [due](Self::due).
    fn wake(_: &mut Context<Self>, _: &mut Member<Self::Own>) -> Outcome {
        Ok(())
    }

    /// Checks a member, when its turn comes.
    fn check(_: &mut Context<Self>, _: &mut Member<Self::Own>) -> Outcome {
        Ok(())
    }

    /// Runs every [`TICK`].
    fn tick(_: &mut Group<Self>) {}

    /// Says goodbye for a member that had media; its connections end with it.
    fn leave(_: &mut Context<Self>, _: &mut Member<Self::Own>) {}

    /// Releases, at the end, the members that were held back by their roles.
    fn release(_: &mut Context<Self>, _held_back: Vec<Member<Self::Own>>) {}
}

/// A group of members and its loop; call [`run`](Self::run), which returns at the end of the plan.
pub(crate) struct Group<B: Behaviour> {
    pub(crate) context: Context<B>,
    /// Members by place.
    pub(crate) members: Slab<Member<B::Own>>,
    roles: Roles,
    muster: Muster,
    churn: Churn,
    timers: Timers,
    /// Place of the next member to be checked.
    cursor: usize,
    next_tick: u64,
}

impl<B: Behaviour> Group<B> {
    /// Creates a group without members.
    ///
    /// # Errors
    /// Returns an error if the system grants no descriptor.
    pub(crate) fn new(plan: &Plan, listening: &Listening, own: B) -> std::io::Result<Self> {
        let slow = listening.slow.unwrap_or_default();
        Ok(Self {
            context: Context {
                plan: plan.clone(),
                listening: listening.clone(),
                clock: Clock::new(plan.begin_at),
                now: 0,
                epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
                in_window: false,
                tally: Tally::default(),
                buffer: vec![0; B::TAKE_BYTES],
                own,
            },
            members: Slab::new(),
            roles: Roles::new(
                plan.members,
                listening.stalled,
                slow.share,
                listening.checked,
            ),
            muster: Muster::default(),
            churn: Churn::new(plan, listening),
            timers: Timers::default(),
            cursor: 0,
            next_tick: 0,
        })
    }

    fn begin(&mut self, number: u64, role: Role) {
        self.context.tally.members.begun += 1;
        let place = self.members.vacant().index as usize;
        let seat = Seat {
            number,
            place,
            role,
            reception: Reception::new(self.context.clock.now()),
        };
        match B::begin(&mut self.context, &seat) {
            Ok(own) => {
                self.members.insert(Member { seat, own });
                self.schedule(place);
            }
            Err(reason) => self.context.tally.failed.count(&reason),
        }
    }

    /// Lets one member leave and begins another.
    fn replace_one(&mut self) {
        self.context.tally.members.churned += 1;
        let Self { churn, members, .. } = self;
        let may_leave = |place: usize| {
            let seat = members.at(place).map(|member| &member.seat);
            seat.is_some_and(|seat| seat.reception.has_media && seat.role == Role::Plain)
        };
        if let Some(place) = churn.choose(members.places(), may_leave)
            && let Some(member) = self.take(place)
        {
            self.leave(member);
        }
        let plan = &self.context.plan;
        let number = plan.members + plan.global(self.context.tally.members.churned);
        self.begin(number, Role::Plain);
    }

    fn take(&mut self, place: usize) -> Option<Member<B::Own>> {
        let member = self.members.take(place)?;
        self.timers.clear(place);
        Some(member)
    }

    fn is_listening(&self) -> bool {
        matches!(self.context.plan.work, Work::Listen(_))
    }

    /// Adds up what a member that had media has received.
    fn leave(&mut self, mut member: Member<B::Own>) {
        if self.is_listening() {
            let Context {
                now,
                in_window,
                tally,
                ..
            } = &mut self.context;
            let (longest, lately) = member.seat.reception.longest_waits(*now);
            tally.gap.record(longest);
            if *in_window {
                tally.window_gap.record(lately);
                if let Some(wait) = member.seat.reception.longest_picture_wait(*now) {
                    tally.picture_gap.record(wait);
                }
            }
        }
        B::leave(&mut self.context, &mut member);
    }

    /// Counts the member at `place` as failed or lost, and removes it.
    pub(crate) fn lose(&mut self, place: usize, reason: &dyn Display) {
        let Some(member) = self.take(place) else {
            return;
        };
        let tally = &mut self.context.tally;
        if !member.seat.reception.has_media {
            tally.failed.count(reason);
            return;
        }
        tally.lost.count(reason);
        if !member.seat.role.is_held_back() {
            self.leave(member);
        }
    }

    /// Lets the member at `place` act, if there is one; then counts it as lost, or schedules its next wake-up.
    fn act(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut Context<B>, &mut Member<B::Own>) -> Outcome,
    ) {
        let Some(member) = self.members.at_mut(place) else {
            return;
        };
        match act(&mut self.context, member) {
            Ok(()) => self.schedule(place),
            Err(reason) => self.lose(place, &reason),
        }
    }

    fn schedule(&mut self, place: usize) {
        let member = self.members.at(place);
        if let Some(due) = member.and_then(|member| B::due(member, self.context.clock)) {
            self.timers.set(place, due);
        }
    }

    /// Checks some members, and gives up listeners that have waited too long for media.
    fn check_some(&mut self) {
        let some = self.members.places().div_ceil(B::ROUND_TICKS);
        for _ in 0..some {
            self.cursor = (self.cursor + 1) % self.members.places();
            let place = self.cursor;
            let Some(member) = self.members.at(place) else {
                continue;
            };
            let Reception {
                began, has_media, ..
            } = member.seat.reception;
            let is_late = self.context.now > began + JOIN_DEADLINE && self.is_listening();
            if is_late && !has_media {
                self.lose(place, &"no media within 30 s");
            } else {
                self.act(place, B::check);
            }
        }
    }

    /// Runs rounds until the end of the plan.
    ///
    /// # Errors
    /// Returns an error if the system does not watch the sockets.
    pub(crate) fn run(mut self, progress: &mut dyn FnMut(Progress)) -> std::io::Result<Tally> {
        let clock = self.context.clock;
        let mut laps = Laps::new(&self.context.plan, clock);
        loop {
            let has_begun = self.muster.is_complete(&self.context.plan);
            let is_over = has_begun && self.members.is_empty() && self.churn.is_none();
            let reported = &mut || progress(self.context.tally.progress());
            match laps.begin(clock.now(), is_over, reported) {
                Lap::Goes => {}
                Lap::WindowBegins => self.begin_window(),
                Lap::Ends => break,
            }
            self.look_after();
            let now = clock.now();
            let pause = self.pause(now);
            laps.end(now, pause);
            let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
            let Some(ready) = socket::ready(&self.context.epoll, &mut ready, pause)? else {
                continue;
            };
            self.context.now = clock.now();
            laps.resume(self.context.now);
            for event in ready {
                let token = { event.data }.u64() as usize;
                self.act(B::place_of(token), |context, member| {
                    B::attend(context, member, token)
                });
            }
        }
        self.end();
        laps.finish(&mut self.context.tally);
        Ok(self.context.tally)
    }

    /// Begins the window: counts all members present from here on.
    fn begin_window(&mut self) {
        self.context.in_window = true;
        let members = self.members.values_mut();
        let receptions = members.map(|member| &mut member.seat.reception);
        let present = receptions.filter(|reception| reception.has_media);
        present.for_each(Reception::begin_window);
    }

    /// Does everything that is due.
    fn look_after(&mut self) {
        let clock = self.context.clock;
        self.context.now = clock.now();
        for _ in 0..B::JOINS_PER_ROUND {
            let Some(number) = self.muster.next(&self.context.plan, clock) else {
                break;
            };
            self.begin(number, self.roles.of(number));
        }
        while self.context.tally.members.churned < self.churn.due(self.context.now) {
            self.replace_one();
        }
        for _ in 0..B::WAKES_PER_ROUND {
            self.context.now = clock.now();
            let Some(place) = self.timers.pop(self.context.now) else {
                break;
            };
            self.act(place, B::wake);
        }
        if self.context.now >= self.next_tick {
            self.next_tick = self.context.now + TICK;
            B::tick(self);
            self.check_some();
        }
    }

    /// Returns the time until the next thing to do, in nanoseconds.
    fn pause(&self, now: u64) -> u64 {
        let next = self.muster.next_at(&self.context.plan, self.context.clock);
        let next = next.min(self.next_tick).min(self.timers.next_at());
        next.saturating_sub(now).min(NAP)
    }

    /// Counts the members present at the end, and disconnects all.
    fn end(&mut self) {
        self.context.now = self.context.clock.now();
        let seconds = self.context.plan.window.as_secs_f64();
        let mut held_back = Vec::new();
        for member in std::mem::take(&mut self.members).into_values() {
            let Seat {
                role, reception, ..
            } = &member.seat;
            if !reception.has_media {
                self.context.tally.failed.count(&"not yet at the end");
                continue;
            }
            if role.is_held_back() {
                held_back.push(member);
                continue;
            }
            self.context.tally.members.alive += 1;
            let rate = reception.rate(seconds).filter(|_| self.is_listening());
            if let Some(rate) = rate {
                self.context.tally.rate.record(rate);
            }
            self.leave(member);
        }
        B::release(&mut self.context, held_back);
    }
}
