//! Positions of a viewer on its lines: at the present when it joins, and again when it has fallen too far behind.

use std::time::Instant;

use fanout::{Judgement, Reason};
use media::Span;

use super::link::Flow;
use super::viewer::{Lane, Viewer};
use packagers::rtp::codes::{AUDIO, PICTURE};
use packagers::rtp::record;

/// Age of a keyframe beyond which catching up takes so long that a new keyframe is requested.
const OLD_KEYFRAME: Span = Span::from_millis(1_500);

/// Age of a keyframe up to which video on trial starts with it: some frames, which the shortest queues hold. Catching up with
/// more at three times the rate would fill the queue of a link that has only just proved to carry the stream.
const NEW_KEYFRAME: Span = Span::from_millis(250);

impl Viewer {
    /// Finds positions for lines that have none, and moves those that have fallen behind.
    pub(super) fn place(&mut self, lane: Lane<'_>, now: Instant) -> Result<(), Reason> {
        let audio = self.place_audio(lane);
        let picture = self.place_picture(lane, now)?;
        if audio || picture {
            self.is_in_step = false;
            self.books.handle.skipped();
            self.books.skipped_at = Some(now);
            self.books.handle.set_degraded(true);
        }
        Ok(())
    }

    /// Places audio, which starts at the present: a receiver plays whatever it receives, and audio from the past would remain
    /// as delay forever.
    fn place_audio(&mut self, lane: Lane<'_>) -> bool {
        let Some(line) = &mut self.lines[AUDIO] else {
            return false;
        };
        let track = &lane.tracks[line.format as usize];
        if line.is_waiting() {
            if let Some(newest) = track.newest() {
                line.go(newest);
            }
            return false;
        }
        // The lag is relative to the newest audio: video may be ahead of it by nature.
        let present = track.newest().and_then(|newest| track.get(newest));
        let lag = match track.get(line.next()) {
            Some(packet) => present.map_or(Span::ZERO, |present| present.at - packet.at),
            None if line.next() >= track.end() => return false,
            // The ring no longer has the packet.
            None => Span::from_ticks(i64::MAX),
        };
        let newest = track.newest().filter(|newest| *newest > line.next());
        let Some(newest) = newest.filter(|_| lag > lane.follower.policy().skip_after) else {
            return false;
        };
        line.go(newest);
        true
    }

    /// Places video, which starts at the newest keyframe and continues there when a viewer falls too far behind.
    fn place_picture(&mut self, lane: Lane<'_>, now: Instant) -> Result<bool, Reason> {
        if self.flow != Flow::Whole {
            self.probe(lane, now);
            return Ok(false);
        }
        let Some(line) = &mut self.lines[PICTURE] else {
            return Ok(false);
        };
        let track = &lane.tracks[line.format as usize];
        let join = track.newest_join();
        let books = &mut *self.books;
        if line.is_waiting() {
            match join.and_then(|join| Some((join, track.get(join)?))) {
                Some((join, packet)) => {
                    if lane.newest - packet.at > OLD_KEYFRAME {
                        books.ask_for_keyframe(now);
                    }
                    if books.link.is_on_trial(now) {
                        let newest = track.newest().and_then(|newest| track.get(newest));
                        if newest.is_some_and(|newest| newest.at - packet.at > NEW_KEYFRAME) {
                            return Ok(false);
                        }
                        books.link.begin_trial(now);
                    }
                    line.go(join);
                    self.pace.catch_up(packet.at, now);
                    books.start.began(now);
                }
                None => books.ask_for_keyframe(now),
            }
            return Ok(false);
        }
        let Some(packet) = track.get(line.next()) else {
            if line.next() >= track.end() {
                return Ok(false);
            }
            // The ring no longer has the packet. A listener over datagrams loses nothing by being moved, unless it has been
            // slow for longer than the log is kept.
            if let Judgement::Drop(Reason::Lag) = lane.follower.judge(0) {
                return Err(Reason::Lag);
            }
            match join {
                Some(join) => line.go(join),
                None => line.wait(),
            }
            self.pace.caught_up();
            return Ok(true);
        };
        if join.is_none_or(|join| join <= line.next())
            && lane.newest - packet.at > lane.follower.policy().skip_after
        {
            books.ask_for_keyframe(now);
        }
        // A frame that was started is finished, so that none is cut.
        let Some(join) = join.filter(|join| *join > line.next() && packet.begins) else {
            return Ok(false);
        };
        if self.pace.is_catching_up() {
            // There is a newer present to catch up with.
            line.go(join);
            if let Some(packet) = track.get(join) {
                self.pace.catch_up(packet.at, now);
            }
            return Ok(false);
        }
        if lane.newest - packet.at <= lane.follower.policy().skip_after {
            return Ok(false);
        }
        let unit = packet.offset - record::HEAD_BYTES as u64;
        match lane.follower.judge(unit) {
            Judgement::Keep => Ok(false),
            Judgement::Drop(reason) => Err(reason),
            Judgement::Skip => {
                line.go(join);
                Ok(true)
            }
        }
    }
}
