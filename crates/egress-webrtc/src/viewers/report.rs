//! Reports on lines, to viewers and from them.

use std::time::{Duration, Instant};

use media::Timestamp;
use webrtc::rtcp::{ReportBlock, SenderReport, write_sdes};

use super::context::GroupContext;
use super::line::Line;
use super::link::{Heard, PROBE_PATIENCE, Turn};
use super::viewer::Viewer;
use crate::out::ViewerOutbox;
use crate::stats::Counters;
use formats::rtp::MediaClock;
use formats::rtp::codes::{self, CNAME, PICTURE, SOUND};

/// How often a viewer is sent a report. A receiver needs two reports of each line before it can play sound
/// and picture in step, so the first ones come sooner.
const REPORT_INTERVAL: Duration = Duration::from_millis(850);
const REPORT_INTERVAL_FIRST: Duration = Duration::from_millis(250);
const REPORTS_FIRST: u32 = 4;

/// Reports come by so much later, times 0 to 6 in turn, that they do not keep in step with keyframes and see a queue that comes
/// and goes with these.
const REPORT_SPREAD: Duration = Duration::from_millis(50);
const REPORT_STEPS: u32 = 7;
const REPORT_STEP: u32 = 3;

/// A longer round trip means that a clock was set.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(10);

/// 65,536ths of a second.
fn duration(units: u32) -> Duration {
    Duration::from_micros((u64::from(units) * 1_000_000) >> 16)
}

/// Sends a viewer a report on its lines.
pub(super) fn send_report<O: ViewerOutbox>(
    viewer: &mut Viewer,
    clock: &MediaClock,
    context: &mut GroupContext,
    now: Instant,
    out: &mut O,
) {
    let Some(at) = clock.at(now) else {
        return;
    };
    context.compound.clear();
    viewer.report(at, context.wall.ntp(now), now, &mut context.compound);
    if !context.compound.is_empty() {
        out.rtcp(viewer.session, &context.compound);
    }
}

impl Viewer {
    /// Appends a report on each line that something was sent on: the same moment on all of them, `at` on the
    /// stream's clock and `ntp` on the wall clock, so that they are played in step. Sound and picture come first in
    /// turn: GStreamer reads only the first of a compound's reports.
    pub(super) fn report(&mut self, at: Timestamp, ntp: u64, now: Instant, compound: &mut Vec<u8>) {
        self.books.reports = self.books.reports.saturating_add(1);
        let interval = if self.books.link.awaits_answer() {
            PROBE_PATIENCE
        } else if self.books.reports < REPORTS_FIRST {
            REPORT_INTERVAL_FIRST
        } else {
            REPORT_INTERVAL
                + REPORT_SPREAD * (self.books.reports % REPORT_STEPS * REPORT_STEP % REPORT_STEPS)
        };
        self.report_at = now + interval;
        let order = match self.books.reports % 2 {
            0 => [PICTURE, SOUND],
            _ => [SOUND, PICTURE],
        };
        let sending = || {
            let lines = order.iter().filter_map(|kind| self.lines[*kind].as_ref());
            lines.filter(|line| line.packets > 0)
        };
        for line in sending() {
            let report = SenderReport {
                ssrc: codes::ssrc(line.format),
                ntp,
                rtp_timestamp: codes::sequencer(line.format).timestamp(at),
                packets: line.packets,
                octets: line.octets,
            };
            report.write(compound);
        }
        for line in sending() {
            write_sdes(compound, codes::ssrc(line.format), CNAME);
        }
    }

    /// Sound or picture, by the source of its packets.
    pub(super) fn kind_of(&self, ssrc: u32) -> Option<usize> {
        let is_it = |line: &Option<Line>| {
            line.as_ref()
                .is_some_and(|line| codes::ssrc(line.format) == ssrc)
        };
        self.lines.iter().position(is_it)
    }

    /// Takes the viewer's report on one line, which comes `now`; `ntp_middle` is the wall clock then.
    pub(super) fn heard(
        &mut self,
        report: &ReportBlock,
        now: Instant,
        ntp_middle: u32,
        counters: &mut Counters,
    ) {
        let Some(kind) = self.kind_of(report.ssrc) else {
            return;
        };
        let repair = &mut self.books.repair;
        counters.lost += repair.lost(kind, report.lost);
        let round_trip = report.round_trip(ntp_middle).map(duration);
        let round_trip = round_trip.filter(|took| *took <= ROUND_TRIP_MAX);
        if let Some(took) = round_trip {
            repair.went_round(took);
            counters.round_trips += 1;
            counters.round_trip_micros += took.as_micros() as u64;
        }
        // Without a picture there is nothing to hold.
        let picture = self.lines[PICTURE].as_ref();
        if picture.is_none_or(|line| line.packets == 0) {
            return;
        }
        let age = round_trip.map(|_| duration(ntp_middle.wrapping_sub(report.last_report)));
        let heard = Heard {
            now,
            round_trip,
            answers: age.and_then(|age| now.checked_sub(age)),
        };
        match self.books.link.heard(kind, report, heard) {
            Some(Turn::Hold) => {
                counters.held_pictures += 1;
                self.hold_picture(now);
            }
            Some(Turn::Resume) => self.resume_picture(),
            None => {}
        }
    }
}
