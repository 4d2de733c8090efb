//! A group of listeners or publishers in one thread: an epoll loop, who joins and leaves when, who waits too long, and
//! how members are counted at the end. What is particular to a protocol is the group's [`Behaviour`].

use std::error::Error;
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use net::Slab;
use rustix::event::epoll;

use crate::churn::Churn;
use crate::clock::Clock;
use crate::laps::{Lap, Laps};
use crate::listen::role::{Role, Roles};
use crate::muster::Muster;
use crate::plan::{Listening, Plan};
use crate::reception::Reception;
use crate::socket;
use crate::tally::{Progress, Tally};
use crate::timers::Timers;

/// Between two checks of some members.
pub(crate) const TICK: u64 = 100_000_000;
/// The longest sleep.
pub(crate) const NAP: u64 = 20_000_000;
/// Sockets looked at between two sleeps: about a millisecond's work.
const EVENTS_PER_WAIT: usize = 512;
/// A member that has no media after this long gives up.
const JOIN_DEADLINE: u64 = 30_000_000_000;

/// Why a member did not join, or is lost. Reports count by its words.
pub(crate) type Reason = Box<dyn Error>;

/// A listener or a publisher.
pub(crate) trait Member {
    fn role(&self) -> Role {
        Role::Plain
    }

    /// Whether its first media has come, or it may send its own.
    fn has_media(&self) -> bool;

    /// What a listener has received; `None` of a publisher.
    fn reception(&mut self) -> Option<&mut Reception> {
        None
    }

    /// When it has something to do by the clock, time of the load.
    fn due(&self, _: Clock) -> Option<u64> {
        None
    }
}

/// How the members of a group listen or publish.
pub(crate) trait Behaviour: Sized {
    type Member: Member;

    /// Joins begun between two looks at the sockets, so that joining does not starve reading.
    const JOINS_PER_ROUND: u64;
    /// Members woken between two looks at the sockets.
    const WAKES_PER_ROUND: usize = 256;
    /// Ticks in which every member is checked once.
    const ROUND_TICKS: usize;
    /// Bytes taken from a socket at once.
    const TAKE_BYTES: usize;

    /// Member `number` begins to join. It will be at `place`, which identifies its events.
    ///
    /// # Errors
    /// When it cannot even begin.
    fn begin(
        group: &mut Group<'_, Self>,
        number: u64,
        role: Role,
        place: usize,
    ) -> Result<Self::Member, Reason>;

    /// The place of the member whose socket has this token.
    fn place_of(token: usize) -> usize {
        token
    }

    /// Something happened at the socket with this token.
    ///
    /// # Errors
    /// When its member is lost, here and in the functions below.
    fn attend(group: &mut Group<'_, Self>, token: usize, now: u64) -> Result<(), Reason>;

    /// The member at `place` does what is [due](Member::due).
    fn wake(_: &mut Group<'_, Self>, _place: usize, _now: u64) -> Result<(), Reason> {
        Ok(())
    }

    /// The member at `place`, which is there, has its turn to be checked.
    fn check(_: &mut Group<'_, Self>, _place: usize, _now: u64) -> Result<(), Reason> {
        Ok(())
    }

    /// What is done every [`TICK`].
    fn tick(_: &mut Group<'_, Self>, _now: u64) {}

    /// Adds up what a member that had media received, and says goodbye; its connections end with it.
    fn leave(_: &mut Group<'_, Self>, _member: Self::Member, _now: u64) {}

    /// At the end: the members that were held back by their roles.
    fn release(_: &mut Group<'_, Self>, _held_back: Vec<Self::Member>) {}
}

/// See the module's description.
pub(crate) struct Group<'a, B: Behaviour> {
    pub(crate) plan: &'a Plan,
    roles: Roles,
    muster: Muster<'a>,
    churn: Churn,
    pub(crate) clock: Clock,
    pub(crate) epoll: OwnedFd,
    /// By place, which identifies a member's events.
    pub(crate) members: Slab<B::Member>,
    timers: Timers,
    /// The next place to be checked.
    cursor: usize,
    next_tick: u64,
    pub(crate) in_window: bool,
    pub(crate) tally: Tally,
    pub(crate) buffer: Vec<u8>,
    pub(crate) own: B,
}

impl<'a, B: Behaviour> Group<'a, B> {
    /// A group without members. Publishers listen to nothing.
    ///
    /// # Errors
    /// When the system grants no descriptor.
    pub(crate) fn new(plan: &'a Plan, listening: &Listening, own: B) -> std::io::Result<Self> {
        let clock = Clock::new(plan.begin_at);
        let Listening {
            stalled,
            slow,
            checked,
            ..
        } = listening;
        Ok(Self {
            plan,
            roles: Roles::new(plan.members, *stalled, slow.share, *checked),
            muster: Muster::new(plan, clock),
            churn: Churn::new(plan, listening),
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            members: Slab::new(),
            timers: Timers::default(),
            cursor: 0,
            next_tick: 0,
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; B::TAKE_BYTES],
            own,
        })
    }

    fn begin(&mut self, number: u64, role: Role) {
        self.tally.members.begun += 1;
        let place = self.members.vacant().index as usize;
        match B::begin(self, number, role, place) {
            Ok(member) => {
                self.members.insert(member);
                self.schedule(place);
            }
            Err(reason) => self.tally.failed.count(&reason),
        }
    }

    /// One member leaves and another one comes.
    fn replace_one(&mut self, now: u64) {
        self.tally.members.churned += 1;
        let Self { churn, members, .. } = self;
        let may_leave = |place: usize| {
            let member = members.at(place);
            member.is_some_and(|member| member.has_media() && member.role() == Role::Plain)
        };
        if let Some(place) = churn.choose(members.places(), may_leave)
            && let Some(member) = self.take(place)
        {
            B::leave(self, member, now);
        }
        let number = self.plan.members + self.plan.global(self.tally.members.churned);
        self.begin(number, Role::Plain);
    }

    fn take(&mut self, place: usize) -> Option<B::Member> {
        let member = self.members.take(place)?;
        self.timers.clear(place);
        Some(member)
    }

    /// The member at `place` is gone.
    pub(crate) fn lose(&mut self, place: usize, now: u64, reason: &dyn Display) {
        let Some(member) = self.take(place) else {
            return;
        };
        if !member.has_media() {
            self.tally.failed.count(reason);
            return;
        }
        self.tally.lost.count(reason);
        if !member.role().is_held_back() {
            B::leave(self, member, now);
        }
    }

    /// After something happened: the member at `place` is lost, or woken when it is due.
    fn settle(&mut self, place: usize, now: u64, outcome: Result<(), Reason>) {
        match outcome {
            Ok(()) => self.schedule(place),
            Err(reason) => self.lose(place, now, &reason),
        }
    }

    fn schedule(&mut self, place: usize) {
        let member = self.members.at(place);
        if let Some(due) = member.and_then(|member| member.due(self.clock)) {
            self.timers.set(place, due);
        }
    }

    /// Checks some members, and gives up those that have waited for media too long.
    fn check_some(&mut self, now: u64) {
        let some = self.members.places().div_ceil(B::ROUND_TICKS);
        for _ in 0..some {
            self.cursor = (self.cursor + 1) % self.members.places();
            let place = self.cursor;
            let Some(member) = self.members.at_mut(place) else {
                continue;
            };
            let began = member.reception().map(|reception| reception.began);
            let is_late = began.is_some_and(|began| now > began + JOIN_DEADLINE);
            if is_late && !member.has_media() {
                self.lose(place, now, &"no media within 30 s");
            } else {
                let outcome = B::check(self, place, now);
                self.settle(place, now, outcome);
            }
        }
    }

    /// Runs rounds until the end of the plan.
    ///
    /// # Errors
    /// When the system does not watch the sockets.
    pub(crate) fn run(mut self, progress: &mut dyn FnMut(Progress)) -> std::io::Result<Tally> {
        let clock = self.clock;
        let mut laps = Laps::new(self.plan, clock);
        loop {
            let is_over =
                self.muster.is_complete() && self.members.is_empty() && self.churn.is_none();
            let told = &mut || progress(self.tally.progress());
            match laps.begin(clock.now(), is_over, told) {
                Lap::Goes => {}
                Lap::WindowBegins => self.begin_window(),
                Lap::Ends => break,
            }
            self.look_after(clock.now());
            let now = clock.now();
            let pause = self.pause(now);
            laps.end(now, pause);
            let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
            let Some(ready) = socket::ready(&self.epoll, &mut ready, pause)? else {
                continue;
            };
            let now = clock.now();
            laps.resume(now);
            for event in ready {
                let token = { event.data }.u64() as usize;
                let outcome = B::attend(&mut self, token, now);
                self.settle(B::place_of(token), now, outcome);
            }
        }
        self.end();
        laps.finish(&mut self.tally);
        Ok(self.tally)
    }

    /// Counts all present members from here on.
    fn begin_window(&mut self) {
        self.in_window = true;
        let members = self.members.values_mut();
        for member in members.filter(|member| member.has_media()) {
            if let Some(reception) = member.reception() {
                reception.begin_window();
            }
        }
    }

    /// Does what is due.
    fn look_after(&mut self, now: u64) {
        for _ in 0..B::JOINS_PER_ROUND {
            let Some(number) = self.muster.next(now) else {
                break;
            };
            self.begin(number, self.roles.of(number));
        }
        while self.tally.members.churned < self.churn.due(now) {
            self.replace_one(now);
        }
        for _ in 0..B::WAKES_PER_ROUND {
            let now = self.clock.now();
            let Some(place) = self.timers.pop(now) else {
                break;
            };
            let outcome = B::wake(self, place, now);
            self.settle(place, now, outcome);
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            B::tick(self, now);
            self.check_some(now);
        }
    }

    /// How long there is nothing to do.
    fn pause(&self, now: u64) -> u64 {
        let next = self.muster.next_at().min(self.next_tick);
        let next = next.min(self.timers.next_at());
        next.saturating_sub(now).min(NAP)
    }

    /// Counts the members present at the end, and disconnects all.
    fn end(&mut self) {
        let now = self.clock.now();
        let seconds = self.plan.window.as_secs_f64();
        let mut held_back = Vec::new();
        for mut member in std::mem::take(&mut self.members).into_values() {
            if !member.has_media() {
                self.tally.failed.count(&"not yet at the end");
                continue;
            }
            if member.role().is_held_back() {
                held_back.push(member);
                continue;
            }
            self.tally.members.alive += 1;
            let rate = member.reception().and_then(|own| own.rate(seconds));
            if let Some(rate) = rate {
                self.tally.rate.record(rate);
            }
            B::leave(self, member, now);
        }
        B::release(self, held_back);
    }
}
