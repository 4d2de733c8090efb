//! Reports on lines, to viewers and from viewers.

use std::time::{Duration, Instant};

use media::Timestamp;
use webrtc::rtcp::{ReportBlock, SenderReport, write_sdes};

use super::context::GroupContext;
use super::line::Line;
use super::link::{Heard, PROBE_PATIENCE, Turn};
use super::viewer::Viewer;
use crate::out::ViewerOutbox;
use crate::stats::Counters;
use packagers::rtp::MediaClock;
use packagers::rtp::codes::{self, AUDIO, CNAME, PICTURE};

/// Interval of reports to a viewer. A receiver needs two reports of each line before it can play audio and video in sync, so
/// the first ones follow one another faster.
const REPORT_INTERVAL: Duration = Duration::from_millis(850);
const REPORT_INTERVAL_FIRST: Duration = Duration::from_millis(250);
const REPORTS_FIRST: u32 = 4;

/// Unit of the extra delay of reports, multiplied by 0 to 6 in turn, so that reports do not keep in step with keyframes and do
/// detect a queue that comes and goes with them.
const REPORT_SPREAD: Duration = Duration::from_millis(50);
const REPORT_STEPS: u32 = 7;
const REPORT_STEP: u32 = 3;

/// Round trip beyond which a clock must have been set.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(10);

/// Converts 65,536ths of a second.
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
    /// Appends a report on each line that has sent something. All reports describe the same moment, `at` on the stream's clock
    /// and `ntp` on the wall clock, so that the lines are played in sync. Audio and video alternate in coming first, because
    /// GStreamer reads only the first report of a compound.
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
            0 => [PICTURE, AUDIO],
            _ => [AUDIO, PICTURE],
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

    /// Returns the kind of the line, audio or video, whose packets have this source.
    pub(super) fn kind_of(&self, ssrc: u32) -> Option<usize> {
        let is_it = |line: &Option<Line>| {
            line.as_ref()
                .is_some_and(|line| codes::ssrc(line.format) == ssrc)
        };
        self.lines.iter().position(is_it)
    }

    /// Takes the viewer's report on one line, which arrived `now`; `ntp_middle` is the wall clock at that time.
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
        // Without video there is nothing to suspend.
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
