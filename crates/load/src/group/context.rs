//! What members act in, and what a group keeps of each.

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

/// Why a member did not join, or is lost. Reports count by its words.
pub(crate) type Reason = Box<dyn Error>;
/// Whether a member goes on, or why it is lost.
pub(crate) type Outcome = Result<(), Reason>;

/// A listener or a publisher.
#[derive(Debug)]
pub(crate) struct Member<M> {
    pub(crate) seat: Seat,
    pub(crate) own: M,
}

/// What a group keeps of each member.
#[derive(Debug)]
pub(crate) struct Seat {
    /// In the load; the member's address follows from it.
    pub(crate) number: u64,
    /// In the group; identifies the member's events.
    pub(crate) place: usize,
    pub(crate) role: Role,
    /// Of a publisher: when it began, and whether it may send its own media.
    pub(crate) reception: Reception,
}

/// What the members of a group share.
pub(crate) struct Context<B> {
    pub(crate) plan: Plan,
    pub(crate) listening: Listening,
    pub(crate) clock: Clock,
    /// Time of the load of what is done at present.
    pub(crate) now: u64,
    pub(crate) epoll: OwnedFd,
    pub(crate) in_window: bool,
    pub(crate) tally: Tally,
    pub(crate) buffer: Vec<u8>,
    pub(crate) own: B,
}

impl<B> Context<B> {
    /// Begins to connect a member to the server of the plan; what happens is an event with its place.
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

    /// `bytes` of media were moved.
    pub(crate) fn enter_bytes(&mut self, bytes: usize) {
        self.tally.bytes += bytes as u64;
        if self.in_window {
            self.tally.window_bytes += bytes as u64;
        }
    }

    /// A member joins: its first `bytes` of media have come, or it may send its own.
    pub(crate) fn enter_join(&mut self, seat: &mut Seat, bytes: usize) {
        self.tally.members.joined += 1;
        let took = self.now.saturating_sub(seat.reception.began);
        self.tally.join.record(took);
        seat.reception.begin(bytes, self.now);
    }

    /// `bytes` of media came to a listener, which joins with the first.
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

    /// What a publisher that has sent its first piece at `since` is to send by now. How late that is is recorded.
    pub(crate) fn due_pieces(&mut self, performer: &mut Performer, since: u64) -> Vec<Piece> {
        let Some(late) = self.now.checked_sub(since + performer.due()) else {
            return Vec::new();
        };
        self.tally.lateness.record(late);
        performer.perform(self.clock.wall())
    }
}
