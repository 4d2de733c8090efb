//! Index of a lane's log for its viewers: positions of packets by format, and the relation of media time to local time.

use std::time::{Duration, Instant};

use fanout::{Follower, LaneGuard};
use media::{Kind, Timestamp};

use super::track::{Packet, Track};
use super::viewer::Lane;
use packagers::rtp::MediaClock;
use packagers::rtp::codes::{self, FORMATS};
use packagers::rtp::record::{HEAD_BYTES, PEEK_BYTES, Record};

/// Index of a lane's log; call [`absorb`](Self::absorb) to add packets that arrived.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) follower: Follower,
    /// Indexed by format.
    tracks: [Track; FORMATS],
    /// Position up to which the log is indexed.
    absorbed: u64,
    /// Time of the newest unit.
    newest: Timestamp,
    /// Formats of the newest audio and video packets, by kind.
    pub(super) formats: [Option<usize>; 2],
    pub(super) clock: MediaClock,
    /// Start of the microseconds in which arrivals are given.
    epoch: Instant,
}

/// Kinds of packets found in the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    pub(super) has_picture: bool,
    pub(super) has_any: bool,
}

impl Feed {
    /// Creates the index of a lane and reads its log as it is now.
    pub(super) fn new(guard: &LaneGuard, now: Instant) -> Self {
        let follower = Follower::new(guard);
        let mut feed = Self {
            absorbed: follower.start(),
            follower,
            tracks: std::array::from_fn(|_| Track::default()),
            newest: Timestamp::ZERO,
            formats: [None; 2],
            clock: MediaClock::default(),
            epoch: now,
        };
        feed.absorb();
        feed
    }

    /// Returns the view of the lane that a visit needs.
    pub(super) fn lane(&self) -> Lane<'_> {
        Lane {
            follower: &self.follower,
            tracks: &self.tracks,
            newest: self.newest,
        }
    }

    /// Whether the lane has ended, and all of it is indexed.
    pub(super) fn is_over(&self) -> bool {
        self.follower.has_ended() && self.absorbed >= self.follower.end()
    }

    /// Returns the time since a packet [arrived](Packet::arrived).
    pub(super) fn age(&self, arrived: u32, now: Instant) -> Duration {
        let age = micros(self.epoch, now).wrapping_sub(arrived);
        Duration::from_micros(age.into())
    }

    /// Indexes the log's new packets.
    pub(super) fn absorb(&mut self) -> News {
        self.follower.refresh();
        let mut news = News::default();
        // The start exceeds `absorbed` if this thread slept through the whole log.
        self.absorbed = self.absorbed.max(self.follower.start());
        if self.absorbed == self.follower.end() {
            return news;
        }
        let mut scratch = [0; PEEK_BYTES];
        for unit in self.follower.units(self.absorbed) {
            let mut at = unit.range.start;
            let arrived = micros(self.epoch, unit.arrived);
            while at < unit.range.end {
                let peeked = self.follower.bytes(at, PEEK_BYTES, &mut scratch);
                let Some(record) = Record::peek(peeked) else {
                    break;
                };
                let begins = at == unit.range.start;
                let packet = Packet {
                    offset: at + HEAD_BYTES as u64,
                    at: unit.at,
                    len: record.len,
                    begins,
                    arrived,
                };
                let kind = record.format.kind();
                self.tracks[record.format as usize].push(
                    record.sequence,
                    packet,
                    begins && unit.is_join,
                );
                self.formats[codes::place(kind)] = Some(record.format as usize);
                news.has_picture |= kind == Kind::Video;
                news.has_any = true;
                at = packet.offset + u64::from(record.len);
            }
            self.absorbed = unit.range.end;
            self.newest = self.newest.max(unit.at);
            self.clock.saw(unit.at, unit.arrived);
        }
        let start = self.follower.start();
        for track in &mut self.tracks {
            track.forget_before(start);
        }
        news
    }
}

/// Returns the microseconds from `epoch` to `at`, modulo 2^32. They repeat after 71 minutes; no log reaches back that far.
fn micros(epoch: Instant, at: Instant) -> u32 {
    at.saturating_duration_since(epoch).as_micros() as u32
}
