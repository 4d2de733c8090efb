//! Titles from outside, for a publisher whose bytes carry their own.
//!
//! A container with titles of its own would contradict a title that only the server knows. So such a title waits here until
//! the publisher has written it into its bytes, and is the stream's when they say so.

use media::SongTitle;

use super::core::Core;
use super::{Phase, Stream};
use crate::gate::{Authorized, UpdateMetadata};

/// What waits for the present publisher.
#[derive(Debug, Default)]
pub(super) struct OwnTitles {
    takes: bool,
    wished: Option<SongTitle>,
}

impl Stream {
    /// Has the publisher write a title into its bytes; false if there is none that can.
    pub fn wish_title(&self, permission: &Authorized<UpdateMetadata>, song: SongTitle) -> bool {
        debug_assert_eq!(permission.action().stream, self.name);
        let mut core = self.core.lock();
        let is_taken = core.phase == Phase::Live && core.own_titles.takes;
        if is_taken {
            core.own_titles.wished = Some(song);
        }
        is_taken
    }
}

impl Core {
    /// Notes whether the publisher of a turn can write titles from here on, and returns the one that waits for it.
    pub(super) fn exchange_titles(&mut self, turn: u32, takes: bool) -> Option<SongTitle> {
        if self.turn != turn {
            return None;
        }
        self.own_titles.takes = takes;
        self.own_titles.wished.take()
    }
}
