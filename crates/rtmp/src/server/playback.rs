//! The one stream a connection plays: the request, the caller's decision, and the end.

use std::time::Duration;

use super::event::{RequestId, RequestState};

/// What an accepted player wants at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Playback {
    /// The request that was accepted.
    pub id: RequestId,
    /// Whether media must be withheld until [`Event::Resume`](super::Event::Resume).
    pub is_paused: bool,
    /// Whether audio is wanted.
    pub audio: bool,
    /// Whether video is wanted.
    pub video: bool,
}

/// Milliseconds of media that a player wants in hand which does not say it.
const BUFFER_UNTOLD: u32 = 1_000;

/// Follows a player's wishes. They may arrive before the caller has decided, and even before the
/// request: the selection belongs to the message stream, and is forgotten with it.
#[derive(Debug, Default)]
pub(super) struct PlaybackState {
    state: RequestState,
    is_recorded: bool,
    is_paused: bool,
    without: Without,
    /// Milliseconds of media that it wants in hand, if it has told.
    buffer: Option<u32>,
}

/// The media that is not wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Without {
    audio: bool,
    video: bool,
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

    /// What is wanted, once the request was accepted.
    pub(super) fn playback(&self) -> Option<Playback> {
        let RequestState::Accepted(id) = self.state else {
            return None;
        };
        Some(Playback {
            id,
            is_paused: self.is_paused,
            audio: !self.without.audio,
            video: !self.without.video,
        })
    }

    /// A new request replaces any other and is not paused.
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

    /// The same with a stream that has positions.
    pub(super) fn accept_recorded(&mut self, id: RequestId) -> Option<Playback> {
        let playback = self.accept(id)?;
        self.is_recorded = true;
        Some(playback)
    }

    /// What is played, if it is accepted and has positions.
    pub(super) fn recorded(&self) -> Option<RequestId> {
        let playback = self.playback()?;
        self.is_recorded.then_some(playback.id)
    }

    /// How much media the player wants to have in hand.
    pub(super) fn buffer(&self) -> Duration {
        Duration::from_millis(self.buffer.unwrap_or(BUFFER_UNTOLD).into())
    }

    /// Records that, in milliseconds.
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

    /// Forgets what was selected.
    pub(super) fn select_all(&mut self) {
        self.without = Without::default();
    }

    /// Records the wish to pause or continue; true if it is a new one.
    pub(super) fn pause(&mut self, is_paused: bool) -> bool {
        std::mem::replace(&mut self.is_paused, is_paused) != is_paused
    }

    /// Records whether a part is wanted; true if that changes anything.
    pub(super) fn select(&mut self, part: Part, is_wanted: bool) -> bool {
        let without = match part {
            Part::Audio => &mut self.without.audio,
            Part::Video => &mut self.without.video,
        };
        std::mem::replace(without, !is_wanted) == is_wanted
    }
}
