//! A group of players, each with its state machine and two connections.

use std::rc::Rc;

use super::client::{Answered, Connection, Link};
use super::judge::{Judge, Timing};
use super::parser::Document;
use super::player::Player;
use super::request::{Failure, Fetched};
use super::shelf::Shelf;
use super::viewer::{Channel, Viewer};
use crate::clock::Clock;
use crate::group::{Behaviour, Context, Member, Outcome, Reason, Seat};
use crate::listen::role::Role;
use crate::plan::Plan;
use crate::tally::Tally;

/// Time in nanoseconds after which a missing response will not come: blocking reloads are held for three target durations.
const ANSWER_DEADLINE: u64 = 40_000_000_000;

/// State that the players of a group share.
pub(crate) struct Players {
    authority: Rc<str>,
    shelf: Shelf,
}

impl Players {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            authority: plan.target.authority.as_str().into(),
            shelf: Shelf::default(),
        }
    }
}

impl Context<Players> {
    /// Sends the requests that a player wants.
    fn drive(&mut self, member: &mut Member<Viewer>) -> Outcome {
        let Member { seat, own: viewer } = member;
        for channel in Channel::ALL {
            let request = viewer.request(channel, self.now, &mut self.tally.hls);
            let Some((request, keep)) = request else {
                continue;
            };
            self.tally.hls.counts.requests += u64::from(self.in_window);
            let link = Link {
                addr: self.plan.target.addr,
                number: seat.number,
                epoll: &self.epoll,
                token: channel.token(seat.place),
            };
            let connection = &mut viewer.connections[channel as usize];
            let authority = &self.own.authority;
            if let Err(failure) = connection.ask(&request, authority, keep, link, self.now) {
                return self.miss(viewer, channel, &failure);
            }
        }
        Ok(())
    }

    /// Handles a player's request that has no result.
    fn miss(&mut self, viewer: &mut Viewer, channel: Channel, failure: &Failure) -> Outcome {
        let (player, now, record) = (&mut viewer.player, self.now, &mut self.tally.hls);
        let missed = match channel {
            Channel::Playlists => player.miss_playlist(failure, now, record),
            Channel::Media => player.miss_media(failure, now, record),
        };
        Ok(missed?)
    }

    /// Handles a playlist for a player, or a response without one.
    fn playlist(&mut self, viewer: &mut Viewer, answered: &Answered) -> Outcome {
        if answered.status != 200 {
            let failure = Failure::Status(answered.status);
            return self.miss(viewer, Channel::Playlists, &failure);
        }
        let record = &mut self.tally.hls;
        record.counts.playlist_bytes += answered.body.len() as u64;
        match self.own.shelf.read(&answered.body) {
            Ok(Document::Multivariant(uri)) => Ok(viewer.player.follow(&uri)?),
            Ok(Document::Media(playlist)) => {
                let player = &mut viewer.player;
                player.update(&playlist, answered.heard, self.now, record);
                Ok(())
            }
            Err(error) => {
                record.violations.count(&error);
                let failure = Failure::Broken(error.to_string());
                self.miss(viewer, Channel::Playlists, &failure)
            }
        }
    }

    /// Handles media for a player, or a response without any.
    fn media(&mut self, viewer: &mut Viewer, answered: &Answered) -> Outcome {
        if !matches!(answered.status, 200 | 206) {
            let failure = Failure::Status(answered.status);
            return self.miss(viewer, Channel::Media, &failure);
        }
        let body = &answered.body;
        // This thread may be late because it serves all players; that delay is not the server's.
        let wall = answered.arrived;
        let wall = wall.unwrap_or_else(|| self.clock.wall_of(self.now));
        let Tally { findings, hls, .. } = &mut self.tally;
        let Some(fetched) = viewer.player.take(body, self.now, hls) else {
            return Ok(());
        };
        let Timing { sent, before } = match (&mut viewer.judge, fetched) {
            (None, _) => Timing::default(),
            (Some(judge), Fetched::Map) => {
                judge.map(body);
                Timing::default()
            }
            (Some(judge), _) => judge.media(body, wall, findings),
        };
        let (Fetched::Live { listed, ends }, true) = (fetched, self.in_window) else {
            return Ok(());
        };
        for (histogram, span) in [
            (&mut hls.fetch, listed.map(|listed| (listed, self.now))),
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
    type Own = Viewer;

    const JOINS_PER_ROUND: u64 = 64;
    const ROUND_TICKS: usize = 10;
    const TAKE_BYTES: usize = 256 << 10;

    fn begin(context: &mut Context<Self>, seat: &Seat) -> Result<Viewer, Reason> {
        let Context {
            plan, listening, ..
        } = context;
        let is_checked = seat.role == Role::Checked;
        let path = plan.target.path(listening.stream(seat.number));
        let asked = context.clock.wall_of(seat.reception.began);
        Ok(Viewer {
            player: Player::new(&context.own.authority, path, listening.playing, is_checked),
            connections: Default::default(),
            judge: is_checked.then(|| Box::new(Judge::new(asked))),
        })
    }

    fn place_of(token: usize) -> usize {
        Channel::of_token(token).0
    }

    fn attend(context: &mut Context<Self>, member: &mut Member<Viewer>, token: usize) -> Outcome {
        let (_, channel) = Channel::of_token(token);
        // Later than when the sockets were polled: this may be the last of many.
        context.now = context.clock.now();
        let Member { seat, own: viewer } = member;
        let link = Link {
            addr: context.plan.target.addr,
            number: seat.number,
            epoll: &context.epoll,
            token,
        };
        let connection = &mut viewer.connections[channel as usize];
        let progress = connection.attend(link, &mut context.buffer, context.now);
        if channel == Channel::Media && progress.body > 0 {
            match seat.reception.has_media || viewer.player.is_fetching_media() {
                true => context.hear(seat, progress.body),
                // Bytes that describe the media.
                false => context.enter_bytes(progress.body),
            }
        }
        match progress.outcome {
            None => return Ok(()),
            Some(Err(failure)) => context.miss(viewer, channel, &failure)?,
            Some(Ok(answered)) => match channel {
                Channel::Playlists => context.playlist(viewer, &answered)?,
                Channel::Media => context.media(viewer, &answered)?,
            },
        }
        context.drive(member)
    }

    fn due(member: &Member<Viewer>, _: Clock) -> Option<u64> {
        Some(member.own.player.due()).filter(|due| *due != u64::MAX)
    }

    fn wake(context: &mut Context<Self>, member: &mut Member<Viewer>) -> Outcome {
        context.drive(member)
    }

    /// Gives up requests that have waited too long.
    fn check(context: &mut Context<Self>, member: &mut Member<Viewer>) -> Outcome {
        for channel in Channel::ALL {
            let connection = &mut member.own.connections[channel as usize];
            let asked_at = connection.asked_at();
            if asked_at.is_some_and(|asked_at| context.now > asked_at + ANSWER_DEADLINE) {
                connection.abandon();
                let failure = Failure::Broken("no answer within 40 s".to_owned());
                context.miss(&mut member.own, channel, &failure)?;
            }
        }
        Ok(())
    }

    fn leave(context: &mut Context<Self>, member: &mut Member<Viewer>) {
        let record = &mut context.tally.hls;
        let remade = member.own.connections.iter().map(Connection::remade);
        record.counts.reconnects += remade.sum::<u64>();
        member.own.player.leave(context.now, record);
    }
}
