//! A group of players: for each of them its state machine and two connections.

use std::rc::Rc;

use super::client::{Answered, Connection, Link};
use super::judge::{Judge, Timing};
use super::parser::Document;
use super::player::Player;
use super::request::{Failure, Fetched};
use super::shelf::Shelf;
use super::viewer::{Channel, Viewer};
use crate::args::Playing;
use crate::group::{Behaviour, Group, Reason};
use crate::listen::role::Role;
use crate::plan::{Listening, Plan};
use crate::tally::{Progress, Tally};

/// An answer that has not come after this long will not: blocking reloads are held for three target durations.
const ANSWER_DEADLINE: u64 = 40_000_000_000;

/// Runs this process's players to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    listening: &Listening,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    let players = Players {
        authority: plan.target.authority().into(),
        playing: listening.playing,
        shelf: Shelf::default(),
    };
    Group::new(plan, listening, players)?.run(progress)
}

/// What the players of a group share.
struct Players {
    authority: Rc<str>,
    playing: Playing,
    shelf: Shelf,
}

impl Group<'_, Players> {
    /// Requests what the player at `place` wants.
    fn drive(&mut self, place: usize, now: u64) -> Result<(), Reason> {
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        for channel in Channel::ALL {
            let request = viewer.request(channel, now, &mut self.tally.hls);
            let Some((request, keep)) = request else {
                continue;
            };
            self.tally.hls.counts.requests += u64::from(self.in_window);
            let link = Link {
                addr: self.plan.target.addr(),
                number: viewer.number,
                epoll: &self.epoll,
                token: channel.token(place),
            };
            let connection = &mut viewer.connections[channel as usize];
            if let Err(failure) = connection.ask(&request, &self.own.authority, keep, link, now) {
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
    ) -> Result<(), Reason> {
        match self.members.at_mut(place) {
            Some(viewer) => Ok(viewer.miss(channel, failure, now, &mut self.tally.hls)?),
            None => Ok(()),
        }
    }

    /// Something happened at a connection of the player at `place`.
    fn look_at(&mut self, place: usize, channel: Channel, now: u64) -> Result<(), Reason> {
        let Some(viewer) = self.members.at_mut(place) else {
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
        let Some(viewer) = self.members.at_mut(place) else {
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
    fn playlist(&mut self, place: usize, answered: &Answered, now: u64) -> Result<(), Reason> {
        let Answered {
            status,
            body,
            heard,
            ..
        } = answered;
        if *status != 200 {
            return self.miss(place, Channel::Playlists, &Failure::Status(*status), now);
        }
        let record = &mut self.tally.hls;
        record.counts.playlist_bytes += body.len() as u64;
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        match self.own.shelf.read(body) {
            Ok(Document::Multivariant(uri)) => Ok(viewer.player.follow(&uri)?),
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
    fn media(&mut self, place: usize, answered: &Answered, now: u64) -> Result<(), Reason> {
        let Answered {
            status,
            body,
            arrived,
            ..
        } = answered;
        if !matches!(status, 200 | 206) {
            return self.miss(place, Channel::Media, &Failure::Status(*status), now);
        }
        // This thread may have come to it late, because it serves all players: not the server's delay.
        let wall = arrived.unwrap_or_else(|| self.clock.wall_of(now));
        let Tally { findings, hls, .. } = &mut self.tally;
        let Some(viewer) = self.members.at_mut(place) else {
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
        let timing = judge.map(|judge| judge.media(body, wall, findings));
        let Timing { sent, before } = timing.unwrap_or_default();
        if !self.in_window {
            return Ok(());
        }
        for (histogram, span) in [
            (&mut hls.fetch, listed.map(|listed| (listed, now))),
            (&mut hls.age, ends.map(|ends| (ends, wall))),
            (&mut hls.delay, sent.map(|sent| (sent, wall))),
            (&mut hls.served, before),
        ] {
            if let Some((since, until)) = span {
                histogram.record(until.saturating_sub(since));
            }
        }
        Ok(())
    }
}

impl Behaviour for Players {
    type Member = Viewer;

    const JOINS_PER_ROUND: u64 = 64;
    const ROUND_TICKS: usize = 10;
    const TAKE_BYTES: usize = 256 << 10;

    fn begin(
        group: &mut Group<'_, Self>,
        number: u64,
        role: Role,
        _: usize,
    ) -> Result<Viewer, Reason> {
        let Self {
            authority, playing, ..
        } = &group.own;
        let began = group.clock.now();
        let is_checked = role == Role::Checked;
        let path = group.plan.target.path(number % group.plan.streams);
        let player = Player::new(authority, path, *playing, is_checked);
        let judge = is_checked.then(|| Box::new(Judge::new(group.clock.wall_of(began))));
        Ok(Viewer::new(number, role, player, began, judge))
    }

    fn place_of(token: usize) -> usize {
        Channel::of_token(token).0
    }

    fn attend(group: &mut Group<'_, Self>, token: usize, _: u64) -> Result<(), Reason> {
        let (place, channel) = Channel::of_token(token);
        // Later than when the sockets were looked at: this may be the last of many.
        let now = group.clock.now();
        group.look_at(place, channel, now)
    }

    fn wake(group: &mut Group<'_, Self>, place: usize, now: u64) -> Result<(), Reason> {
        group.drive(place, now)
    }

    /// Gives up requests that have waited too long.
    fn check(group: &mut Group<'_, Self>, place: usize, now: u64) -> Result<(), Reason> {
        for channel in Channel::ALL {
            let Some(viewer) = group.members.at_mut(place) else {
                break;
            };
            let connection = &mut viewer.connections[channel as usize];
            let asked_at = connection.asked_at();
            if asked_at.is_some_and(|asked_at| now > asked_at + ANSWER_DEADLINE) {
                connection.abandon();
                let failure = Failure::Broken("no answer within 40 s".to_owned());
                group.miss(place, channel, &failure, now)?;
            }
        }
        Ok(())
    }

    /// Its connections end with it.
    fn leave(group: &mut Group<'_, Self>, mut viewer: Viewer, now: u64) {
        let tally = &mut group.tally;
        tally.enter_gap(viewer.reception.longest_waits(now), group.in_window);
        let remade = viewer.connections.iter().map(Connection::remade);
        tally.hls.counts.reconnects += remade.sum::<u64>();
        viewer.player.leave(now, &mut tally.hls);
    }
}
