//! A viewer's picture where it does not just go on: lost at the start.

use std::time::Instant;

use super::viewer::{Lane, Viewer};
use formats::rtp::codes::PICTURE;

impl Viewer {
    /// It cannot go on without a keyframe.
    pub(super) fn lost_picture(&mut self, lane: Lane<'_>, now: Instant) {
        let books = &mut *self.books;
        books.handle.request_keyframe();
        let is_start = books.start.asked(now);
        let Some(line) = self.lines[PICTURE].as_mut().filter(|_| is_start) else {
            return;
        };
        let track = &lane.tracks[line.format as usize];
        let join = track.newest_join().filter(|join| *join < line.next());
        if let Some((join, packet)) = join.and_then(|join| Some((join, track.get(join)?))) {
            line.go(join);
            self.pace.catch_up(packet.at, now);
        }
    }
}
