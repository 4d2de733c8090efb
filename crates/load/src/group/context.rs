//! State that the members of a group share, and the state that a group keeps for each member.

use std::error::Error;
use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;

use crate::args::Listening;
use crate::clock::Clock;
use crate::listen::role::Role;
use crate::plan::Plan;
use crate::publish::piece::{Performer, Piece};
use crate::reception::Reception;
use crate::socket;
use crate::tally::Tally;

/// Reason why a member did not join or was lost. Reports count by its words.
pub(crate) type Reason = Box<dyn Error>;
/// Success, or the reason why a member is lost.
pub(crate) type Outcome = Result<(), Reason>;

/// A listener or a publisher.
#[derive(Debug)]
pub(crate) struct Member<M> {
    pub(crate) seat: Seat,
    pub(crate) own: M,
}

/// State that a group keeps for each member.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Number of the member in the load; its address follows from this number.
    pub(crate) number: u64,
    /// Index of the member in the group; identifies the member's events.
    pub(crate) place: usize,
    pub(crate) role: Role,
    /// Media received; for a publisher, its starting time and whether it may send its own media.
    pub(crate) reception: Reception,
}

/// State that the members of a group share.
pub(crate) struct Context<B> {
    pub(crate) plan: Plan,
    pub(crate) listening: Listening,
    pub(crate) clock: Clock,
    /// Time of the load for the work in progress.
    pub(crate) now: u64,
    pub(crate) epoll: OwnedFd,
    pub(crate) in_window: bool,
    pub(crate) tally: Tally,
    pub(crate) buffer: Vec<u8>,
    pub(crate) own: B,
}

impl<B> Context<B> {
    /// Begins to connect a member to the server of the plan; its events carry the member's place.
    pub(crate) fn connect(
        &self,
        seat: &Seat,
        flags: EventFlags,
        receive_buffer: Option<usize>,
    ) -> Result<OwnedFd, String> {
        let socket = socket::connect(self.plan.target.addr, seat.number, receive_buffer)?;
        socket::watch(&self.epoll, &socket, seat.place, flags)?;
        Ok(socket)
    }

    /// Records that `bytes` of media were transferred.
    pub(crate) fn enter_bytes(&mut self, bytes: usize) {
        self.tally.bytes += bytes as u64;
        if self.in_window {
            self.tally.window_bytes += bytes as u64;
        }
    }

    /// Records that a member joins: its first `bytes` of media have arrived, or it may send its own.
    pub(crate) fn enter_join(&mut self, seat: &mut Seat, bytes: usize) {
        self.tally.members.joined += 1;
        let took = self.now.saturating_sub(seat.reception.began);
        self.tally.join.record(took);
        seat.reception.begin(bytes, self.now);
    }

    /// Records that `bytes` of media arrived at a listener, which joins with the first of them.
    pub(crate) fn hear(&mut self, seat: &mut Seat, bytes: usize) {
        self.enter_bytes(bytes);
        if !seat.reception.has_media {
            self.enter_join(seat, bytes);
            self.tally.checked += u64::from(seat.role == Role::Checked);
            return;
        }
        let wait = seat.reception.hear(bytes, self.now);
        if self.in_window {
            self.tally.waits.record(wait);
        }
    }

    /// Returns the pieces that are due from a publisher that sent its first piece at `since`, and records their lateness.
    pub(crate) fn due_pieces(&mut self, performer: &mut Performer, since: u64) -> Vec<Piece> {
        let Some(late) = self.now.checked_sub(since + performer.due()) else {
            return Vec::new();
        };
        self.tally.lateness.record(late);
        performer.perform(self.clock.wall())
    }
}
