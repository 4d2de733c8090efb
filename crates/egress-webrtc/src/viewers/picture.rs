//! Exceptional states of a viewer's video: lost at the start, suspended for a link that is too small, probed.

use std::time::Instant;

use super::link::Flow;
use super::viewer::{Lane, Viewer};
use packagers::rtp::codes::PICTURE;

/// Bytes a second assumed when a probe is sent from a stream that is too young for its own rate to be known.
const PROBE_RATE_UNKNOWN: u32 = 250_000;

impl Viewer {
    /// Handles a viewer's report that it cannot continue without a keyframe.
    pub(super) fn lost_picture(&mut self, lane: Lane<'_>, now: Instant) {
        if self.flow != Flow::Whole {
            // The viewer has no video because its link cannot carry it.
            return;
        }
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

    /// Suspends video because the link is too small for it.
    pub(super) fn hold_picture(&mut self, now: Instant) {
        if let Some(line) = &mut self.lines[PICTURE] {
            line.wait();
        }
        self.pace.caught_up();
        self.flow = Flow::Held;
        self.is_in_step = false;
        self.books.skipped_at = Some(now);
        self.books.handle.set_degraded(true);
    }

    /// Resumes video from the next keyframe on.
    pub(super) const fn resume_picture(&mut self) {
        self.flow = Flow::Whole;
    }

    /// Starts sending a keyframe as a probe, if one is due.
    pub(super) fn probe(&mut self, lane: Lane<'_>, now: Instant) {
        let Some(line) = &mut self.lines[PICTURE] else {
            return;
        };
        let (track, link) = (&lane.tracks[line.format as usize], &mut self.books.link);
        if self.flow == Flow::Probe {
            // The log may have lost the probe meanwhile.
            let is_there = track.get(line.next()).is_some() || line.next() == track.end();
            if !is_there {
                link.hold(now);
                line.wait();
                self.flow = Flow::Held;
            }
            return;
        }
        let Some(join) = track.newest_join().filter(|_| link.is_probe_due(now)) else {
            return;
        };
        let end = track.frame_end(join);
        let packets = (join..end).filter_map(|number| track.get(number));
        let bytes = packets.map(|packet| u32::from(packet.len)).sum();
        let rate = track.lane_rate().unwrap_or(PROBE_RATE_UNKNOWN);
        link.probe(end, (end - join) as u32, bytes, rate);
        line.go(join);
        self.flow = Flow::Probe;
    }

    /// Ends a probe that was sent. A report follows at once, so that its reply reveals the queue that the probe built.
    pub(super) fn end_probe(&mut self, now: Instant) {
        if self.flow != Flow::Probe {
            return;
        }
        let (Some(line), Some((end, _))) = (&mut self.lines[PICTURE], self.books.link.probing())
        else {
            return;
        };
        if !line.is_waiting() && line.next() >= end {
            self.books.link.probed((line.own - 1) as u16, now);
            line.wait();
            self.flow = Flow::Held;
            self.report_at = now;
        }
    }
}
