//! A group of players in one thread: an epoll loop, and for each of them its state machine and two connections.

use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use net::Slab;
use rustix::event::epoll;

use super::client::{Answered, Connection, Link};
use super::judge::Judge;
use super::parser::Document;
use super::player::Player;
use super::request::{Failure, Fetched};
use super::shelf::Shelf;
use super::viewer::{Channel, Viewer};
use crate::churn::Churn;
use crate::clock::Clock;
use crate::listen::role::{Role, Roles};
use crate::muster::Muster;
use crate::plan::{Listening, Plan};
use crate::tally::{Progress, Tally};
use crate::timers::Timers;
use crate::worker::{self, Rounds};

/// Joins begun between two looks at the sockets, so that joining does not starve reading.
const JOINS_PER_ROUND: u64 = 64;
/// Players woken between two looks at the sockets.
const WAKES_PER_ROUND: usize = 256;
/// Bytes taken from a socket at once.
const TAKE_BYTES: usize = 256 << 10;
/// The longest sleep.
const NAP: u64 = 20_000_000;
/// A player that has no media after this long gives up.
const JOIN_DEADLINE: u64 = 30_000_000_000;
/// An answer that has not come after this long will not: blocking reloads are held for three target durations.
const ANSWER_DEADLINE: u64 = 40_000_000_000;
/// Between two checks of some players, and the number of checks for all of them.
const TICK: u64 = 100_000_000;
const ROUND_TICKS: usize = 10;

/// Runs this process's players to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    listening: &Listening,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    worker::run_rounds(plan, HlsGroup::new(plan, listening)?, progress)
}

struct HlsGroup<'a> {
    plan: &'a Plan,
    listening: &'a Listening,
    authority: Rc<str>,
    roles: Roles,
    muster: Muster<'a>,
    churn: Churn,
    clock: Clock,
    epoll: OwnedFd,
    /// By place, which identifies a player's events.
    viewers: Slab<Viewer>,
    /// In nanoseconds of the load.
    timers: Timers<u64>,
    shelf: Shelf,
    /// The next place to be checked.
    cursor: usize,
    next_tick: u64,
    in_window: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

impl<'a> HlsGroup<'a> {
    fn new(plan: &'a Plan, listening: &'a Listening) -> std::io::Result<Self> {
        let clock = Clock::new(plan.begin_at);
        Ok(Self {
            plan,
            listening,
            authority: plan.target.authority().into(),
            muster: Muster::new(plan, clock),
            churn: Churn::new(plan, listening),
            roles: Roles::new(plan.members, 0.0, 0.0, listening.checked),
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            viewers: Slab::new(),
            timers: Timers::default(),
            shelf: Shelf::default(),
            cursor: 0,
            next_tick: 0,
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; TAKE_BYTES],
        })
    }

    /// One player leaves and another one comes.
    fn replace_one(&mut self, now: u64) {
        self.tally.churned += 1;
        let Self { churn, viewers, .. } = self;
        let may_leave = |place: usize| {
            let viewer = viewers.at(place);
            viewer.is_some_and(|viewer| viewer.has_media && viewer.role == Role::Plain)
        };
        if let Some(place) = churn.choose(viewers.places(), may_leave)
            && let Some(viewer) = self.take(place)
        {
            self.leave(viewer, now);
        }
        let number = self.plan.members + self.plan.global(self.tally.churned);
        self.begin(number, Role::Plain);
    }

    fn begin(&mut self, number: u64, role: Role) {
        self.tally.begun += 1;
        let began = self.clock.now();
        let is_checked = role == Role::Checked;
        let path = self.plan.target.path(number % self.plan.streams);
        let player = Player::new(&self.authority, path, self.listening.playing, is_checked);
        let judge = is_checked.then(|| Box::new(Judge::new(self.clock.wall_of(began))));
        let viewer = Viewer::new(number, role, player, began, judge);
        let place = self.viewers.insert(viewer).index as usize;
        let outcome = self.drive(place, began);
        self.settle(place, began, outcome);
    }

    /// Requests what the player at `place` wants.
    fn drive(&mut self, place: usize, now: u64) -> Result<(), String> {
        let Some(viewer) = self.viewers.at_mut(place) else {
            return Ok(());
        };
        for channel in Channel::ALL {
            let request = viewer.request(channel, now, &mut self.tally.hls);
            let Some((request, keep)) = request else {
                continue;
            };
            let link = Link {
                addr: self.plan.target.addr(),
                number: viewer.number,
                epoll: &self.epoll,
                token: channel.token(place),
            };
            let connection = &mut viewer.connections[channel as usize];
            if let Err(failure) = connection.ask(&request, &self.authority, keep, link, now) {
                self.miss(place, channel, &failure, now)?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// A request of the player at `place` has no result.
    fn miss(
        &mut self,
        place: usize,
        channel: Channel,
        failure: &Failure,
        now: u64,
    ) -> Result<(), String> {
        match self.viewers.at_mut(place) {
            Some(viewer) => viewer.miss(channel, failure, now, &mut self.tally.hls),
            None => Ok(()),
        }
    }

    /// Something happened at a connection of the player at `place`.
    fn look_at(&mut self, place: usize, channel: Channel, now: u64) -> Result<(), String> {
        let Some(viewer) = self.viewers.at_mut(place) else {
            return Ok(());
        };
        let link = Link {
            addr: self.plan.target.addr(),
            number: viewer.number,
            epoll: &self.epoll,
            token: channel.token(place),
        };
        let connection = &mut viewer.connections[channel as usize];
        let progress = connection.attend(link, &mut self.buffer, now);
        if channel == Channel::Media && progress.body > 0 {
            self.hear(place, progress.body, now);
        }
        match progress.outcome {
            None => return Ok(()),
            Some(Err(failure)) => self.miss(place, channel, &failure, now)?,
            Some(Ok(answered)) => match channel {
                Channel::Playlists => self.playlist(place, &answered, now)?,
                Channel::Media => self.media(place, &answered, now)?,
            },
        }
        self.drive(place, now)
    }

    /// `bytes` of media, or of what describes it, came to the player at `place`.
    fn hear(&mut self, place: usize, bytes: usize, now: u64) {
        let Some(viewer) = self.viewers.at_mut(place) else {
            return;
        };
        self.tally.enter_bytes(bytes, self.in_window);
        if viewer.has_media {
            let wait = viewer.reception.hear(bytes, now);
            self.tally.enter_wait(wait, self.in_window);
        } else if viewer.player.is_fetching_media() {
            self.tally.enter_join(viewer.reception.began, now);
            self.tally.checked += u64::from(viewer.role == Role::Checked);
            viewer.reception.begin(bytes, now);
            viewer.has_media = true;
        }
    }

    /// A playlist came to the player at `place`, or an answer that is none.
    fn playlist(&mut self, place: usize, answered: &Answered, now: u64) -> Result<(), String> {
        let Answered {
            status,
            body,
            heard,
        } = answered;
        if *status != 200 {
            return self.miss(place, Channel::Playlists, &Failure::Status(*status), now);
        }
        let record = &mut self.tally.hls;
        record.playlist_bytes += body.len() as u64;
        let Some(viewer) = self.viewers.at_mut(place) else {
            return Ok(());
        };
        match self.shelf.read(body) {
            Ok(Document::Multivariant(uri)) => viewer.player.follow(&uri),
            Ok(Document::Media(playlist)) => {
                viewer.player.update(&playlist, *heard, now, record);
                Ok(())
            }
            Err(error) => {
                record.violations.count(&error);
                let failure = Failure::Broken(error.to_string());
                self.miss(place, Channel::Playlists, &failure, now)
            }
        }
    }

    /// Media came to the player at `place`, or an answer that is none.
    fn media(&mut self, place: usize, answered: &Answered, now: u64) -> Result<(), String> {
        let Answered { status, body, .. } = answered;
        if !matches!(status, 200 | 206) {
            return self.miss(place, Channel::Media, &Failure::Status(*status), now);
        }
        let wall = self.clock.wall_of(now);
        let Tally { findings, hls, .. } = &mut self.tally;
        let Some(viewer) = self.viewers.at_mut(place) else {
            return Ok(());
        };
        let fetched = viewer.player.take(body, now, hls);
        let judge = viewer.judge.as_deref_mut();
        let (listed, ends) = match fetched {
            None => return Ok(()),
            Some(Fetched::Map) => {
                if let Some(judge) = judge {
                    judge.map(body);
                }
                return Ok(());
            }
            Some(Fetched::Past) => {
                if let Some(judge) = judge {
                    judge.media(body, wall, findings);
                }
                return Ok(());
            }
            Some(Fetched::Live { listed, ends }) => (listed, ends),
        };
        let sent = judge.and_then(|judge| judge.media(body, wall, findings));
        if !self.in_window {
            return Ok(());
        }
        for (histogram, since, until) in [
            (&mut hls.fetch, listed, now),
            (&mut hls.age, ends, wall),
            (&mut hls.delay, sent, wall),
        ] {
            if let Some(since) = since {
                histogram.record(until.saturating_sub(since));
            }
        }
        Ok(())
    }

    /// After something happened: the player at `place` is lost, or woken when it is due.
    fn settle(&mut self, place: usize, now: u64, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                let due = self.viewers.at(place).map(|viewer| viewer.player.due());
                if let Some(due) = due.filter(|due| *due != u64::MAX) {
                    self.timers.set(place, due);
                }
            }
            Err(reason) => self.lose(place, now, &reason),
        }
    }

    fn take(&mut self, place: usize) -> Option<Viewer> {
        let viewer = self.viewers.take(place)?;
        self.timers.clear(place);
        Some(viewer)
    }

    /// The player at `place` is gone.
    fn lose(&mut self, place: usize, now: u64, reason: &dyn Display) {
        let Some(viewer) = self.take(place) else {
            return;
        };
        if viewer.has_media {
            self.tally.lost.count(reason);
            self.leave(viewer, now);
        } else {
            self.tally.failed.count(reason);
        }
    }

    /// Adds up what a player received. Its connections end with it.
    fn leave(&mut self, mut viewer: Viewer, now: u64) {
        self.tally
            .enter_gap(viewer.reception.longest_waits(now), self.in_window);
        let remade = viewer.connections.iter().map(Connection::remade);
        self.tally.hls.reconnects += remade.sum::<u64>();
        viewer.player.leave(now, &mut self.tally.hls);
    }

    /// Gives up players, and requests, that have waited too long.
    fn give_up_some(&mut self, now: u64) {
        let some = self.viewers.places().div_ceil(ROUND_TICKS);
        for _ in 0..some {
            self.cursor = (self.cursor + 1) % self.viewers.places();
            let place = self.cursor;
            let Some(viewer) = self.viewers.at_mut(place) else {
                continue;
            };
            if !viewer.has_media && now > viewer.reception.began + JOIN_DEADLINE {
                self.lose(place, now, &"no media within 30 s");
                continue;
            }
            for channel in Channel::ALL {
                let Some(viewer) = self.viewers.at_mut(place) else {
                    break;
                };
                let connection = &mut viewer.connections[channel as usize];
                let asked_at = connection.asked_at();
                if asked_at.is_some_and(|asked_at| now > asked_at + ANSWER_DEADLINE) {
                    connection.abandon();
                    let failure = Failure::Broken("no answer within 40 s".to_owned());
                    let outcome = self.miss(place, channel, &failure, now);
                    self.settle(place, now, outcome);
                }
            }
        }
    }
}

impl Rounds for HlsGroup<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Whether all players have come and gone.
    fn is_over(&self) -> bool {
        self.muster.is_complete() && self.viewers.is_empty() && self.churn.is_none()
    }

    fn begin_window(&mut self) {
        self.in_window = true;
        let viewers = self.viewers.values_mut();
        for viewer in viewers.filter(|viewer| viewer.has_media) {
            viewer.reception.begin_window();
        }
    }

    /// Does what is due by the clock.
    fn look_after(&mut self, now: u64) {
        for _ in 0..JOINS_PER_ROUND {
            let Some(number) = self.muster.next(now) else {
                break;
            };
            self.begin(number, self.roles.of(number));
        }
        while self.tally.churned < self.churn.due(now) {
            self.replace_one(now);
        }
        for _ in 0..WAKES_PER_ROUND {
            let Some(place) = self.timers.pop(now) else {
                break;
            };
            let outcome = self.drive(place, now);
            self.settle(place, now, outcome);
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.give_up_some(now);
        }
    }

    /// The time until something is due.
    fn pause(&self, now: u64) -> u64 {
        let next_member = self.muster.next_at();
        let timer = self.timers.next().unwrap_or(u64::MAX);
        let next = next_member.min(self.next_tick).min(timer);
        next.saturating_sub(now).min(NAP)
    }

    fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    fn attend(&mut self, token: usize, _: u64) {
        let (place, channel) = Channel::of_token(token);
        // Later than when the sockets were looked at: this may be the last of many.
        let now = self.clock.now();
        let outcome = self.look_at(place, channel, now);
        self.settle(place, now, outcome);
    }

    /// All players disconnect.
    fn end(&mut self) {
        let now = self.clock.now();
        let seconds = self.plan.window.as_secs_f64();
        for viewer in std::mem::take(&mut self.viewers).into_values() {
            if !viewer.has_media {
                self.tally.failed.count(&"not yet at the end");
                continue;
            }
            self.tally.alive += 1;
            if let Some(rate) = viewer.reception.rate(seconds) {
                self.tally.rate.record(rate);
            }
            self.leave(viewer, now);
        }
    }
}
