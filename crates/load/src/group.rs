//! A group of listeners in one thread: an epoll loop, who joins and leaves when, who waits too long, and how
//! members are counted at the end. What is particular to a protocol is the group's [`Behaviour`].

use std::fmt::Display;
use std::os::fd::OwnedFd;

use net::Slab;
use rustix::event::epoll;

use crate::churn::Churn;
use crate::clock::Clock;
use crate::listen::role::{Role, Roles};
use crate::muster::Muster;
use crate::plan::{Listening, Plan};
use crate::reception::Reception;
use crate::tally::Tally;
use crate::worker::Rounds;

/// Between two checks of some members.
pub(crate) const TICK: u64 = 100_000_000;
/// The longest sleep.
pub(crate) const NAP: u64 = 20_000_000;
/// A member that has no media after this long gives up.
const JOIN_DEADLINE: u64 = 30_000_000_000;

/// A listener.
pub(crate) trait Member {
    fn role(&self) -> Role;

    /// Whether its first media has come.
    fn has_media(&self) -> bool;

    fn reception(&mut self) -> &mut Reception;
}

/// How the members of a group listen.
pub(crate) trait Behaviour: Sized {
    type Member: Member;

    /// Joins begun between two looks at the sockets, so that joining does not starve reading.
    const JOINS_PER_ROUND: u64;
    /// Ticks in which every member is checked once.
    const ROUND_TICKS: usize;
    /// Bytes taken from a socket at once.
    const TAKE_BYTES: usize;

    /// Member `number` begins to join.
    ///
    /// # Errors
    /// When it cannot even begin.
    fn begin(group: &mut Group<'_, Self>, number: u64, role: Role) -> Result<(), String>;

    /// Something happened at the socket with this token.
    fn attend(group: &mut Group<'_, Self>, token: usize, now: u64);

    /// Members do what is due by their own clocks.
    fn wake(_: &mut Group<'_, Self>, _now: u64) {}

    /// The time until a member's own clock has something due.
    fn until_wake(&self, _now: u64) -> u64 {
        u64::MAX
    }

    /// What is done every [`TICK`].
    fn tick(_: &mut Group<'_, Self>, _now: u64) {}

    /// The member at `place`, which is there, has its turn to be checked.
    fn check(_: &mut Group<'_, Self>, _place: usize, _now: u64) {}

    /// The member at `place` has been taken from the group.
    fn forget(&mut self, _place: usize) {}

    /// Adds up what a member that had media received, and disconnects it.
    fn leave(group: &mut Group<'_, Self>, member: Self::Member, now: u64);

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
    /// The next place to be checked.
    cursor: usize,
    next_tick: u64,
    pub(crate) in_window: bool,
    pub(crate) tally: Tally,
    pub(crate) buffer: Vec<u8>,
    pub(crate) own: B,
}

impl<'a, B: Behaviour> Group<'a, B> {
    /// A group without members.
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
            cursor: 0,
            next_tick: 0,
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; B::TAKE_BYTES],
            own,
        })
    }

    fn begin(&mut self, number: u64, role: Role) {
        self.tally.begun += 1;
        if let Err(reason) = B::begin(self, number, role) {
            self.tally.failed.count(&reason);
        }
    }

    /// One member leaves and another one comes.
    fn replace_one(&mut self, now: u64) {
        self.tally.churned += 1;
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
        let number = self.plan.members + self.plan.global(self.tally.churned);
        self.begin(number, Role::Plain);
    }

    fn take(&mut self, place: usize) -> Option<B::Member> {
        let member = self.members.take(place)?;
        self.own.forget(place);
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

    /// Checks some members, and gives up those that have waited for media too long.
    fn check_some(&mut self, now: u64) {
        let some = self.members.places().div_ceil(B::ROUND_TICKS);
        for _ in 0..some {
            self.cursor = (self.cursor + 1) % self.members.places();
            let place = self.cursor;
            let Some(member) = self.members.at_mut(place) else {
                continue;
            };
            if !member.has_media() && now > member.reception().began + JOIN_DEADLINE {
                self.lose(place, now, &"no media within 30 s");
            } else {
                B::check(self, place, now);
            }
        }
    }
}

impl<B: Behaviour> Rounds for Group<'_, B> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn is_over(&self) -> bool {
        self.muster.is_complete() && self.members.is_empty() && self.churn.is_none()
    }

    fn begin_window(&mut self) {
        self.in_window = true;
        let members = self.members.values_mut();
        for member in members.filter(|member| member.has_media()) {
            member.reception().begin_window();
        }
    }

    fn look_after(&mut self, now: u64) {
        for _ in 0..B::JOINS_PER_ROUND {
            let Some(number) = self.muster.next(now) else {
                break;
            };
            self.begin(number, self.roles.of(number));
        }
        while self.tally.churned < self.churn.due(now) {
            self.replace_one(now);
        }
        B::wake(self, now);
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            B::tick(self, now);
            self.check_some(now);
        }
    }

    fn pause(&self, now: u64) -> u64 {
        let next = self.muster.next_at().min(self.next_tick);
        let until_wake = self.own.until_wake(now);
        next.saturating_sub(now).min(until_wake).min(NAP)
    }

    fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    fn attend(&mut self, token: usize, now: u64) {
        B::attend(self, token, now);
    }

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
            self.tally.alive += 1;
            if let Some(rate) = member.reception().rate(seconds) {
                self.tally.rate.record(rate);
            }
            B::leave(self, member, now);
        }
        B::release(self, held_back);
    }
}
