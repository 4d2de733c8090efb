//! Playback of a connection's one stream: the request, the caller's decision, and the end.

use std::time::Duration;

use super::event::{RequestId, RequestState};

/// Present wishes of an accepted player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Playback {
    /// Request that was accepted.
    pub id: RequestId,
    /// Whether media must be withheld until [`Event::Resume`](super::Event::Resume).
    pub is_paused: bool,
    /// Whether audio is wanted.
    pub audio: bool,
    /// Whether video is wanted.
    pub video: bool,
}

/// Milliseconds of media in the buffer of a player that does not state its wish.
const BUFFER_UNREPORTED: u32 = 1_000;

/// State of a player's wishes. They may arrive before the caller has decided, and even before the request:
/// the selection belongs to the message stream, and is forgotten with it.
#[derive(Debug, Default)]
pub(super) struct PlaybackState {
    state: RequestState,
    is_recorded: bool,
    is_paused: bool,
    /// Whether each [`Part`] is unwanted.
    without: [bool; 2],
    /// Milliseconds of media that the player wants to buffer, if it has stated them.
    buffer: Option<u32>,
}

/// A kind of media that may be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Audio,
    Video,
}

impl PlaybackState {
    pub(super) fn id(&self) -> Option<RequestId> {
        self.state.id()
    }

    /// Returns the present wishes, once the request was accepted.
    pub(super) fn playback(&self) -> Option<Playback> {
        let RequestState::Accepted(id) = self.state else {
            return None;
        };
        Some(Playback {
            id,
            is_paused: self.is_paused,
            audio: !self.without[Part::Audio as usize],
            video: !self.without[Part::Video as usize],
        })
    }

    /// Sets a new request, which replaces any other and is not paused.
    pub(super) fn request(&mut self, id: RequestId) {
        self.state = RequestState::Pending(id);
        self.is_recorded = false;
        self.is_paused = false;
    }

    /// Makes a pending request play.
    pub(super) fn accept(&mut self, id: RequestId) -> Option<Playback> {
        if self.state != RequestState::Pending(id) {
            return None;
        }
        self.state = RequestState::Accepted(id);
        self.playback()
    }

    /// Makes a pending request play a stream that has positions.
    pub(super) fn accept_recorded(&mut self, id: RequestId) -> Option<Playback> {
        let playback = self.accept(id)?;
        self.is_recorded = true;
        Some(playback)
    }

    /// Returns the accepted request if its stream has positions.
    pub(super) fn recorded(&self) -> Option<RequestId> {
        let playback = self.playback()?;
        self.is_recorded.then_some(playback.id)
    }

    /// Returns how much media the player wants to buffer.
    pub(super) fn buffer(&self) -> Duration {
        Duration::from_millis(self.buffer.unwrap_or(BUFFER_UNREPORTED).into())
    }

    /// Records the player's buffer, in milliseconds.
    pub(super) fn set_buffer(&mut self, millis: u32) {
        self.buffer = Some(millis);
    }

    /// Ends the playing or withdraws the request.
    pub(super) fn end(&mut self) -> Option<RequestId> {
        let id = self.id();
        self.state = RequestState::Idle;
        self.is_paused = false;
        id
    }

    /// Resets the selection to all media.
    pub(super) fn select_all(&mut self) {
        self.without = [false; 2];
    }

    /// Records the wish to pause or continue; returns true if it is a new one.
    pub(super) fn pause(&mut self, is_paused: bool) -> bool {
        std::mem::replace(&mut self.is_paused, is_paused) != is_paused
    }

    /// Records whether a part is wanted; returns true if that changes anything.
    pub(super) fn select(&mut self, part: Part, is_wanted: bool) -> bool {
        let without = &mut self.without[part as usize];
        std::mem::replace(without, !is_wanted) == is_wanted
    }
}
