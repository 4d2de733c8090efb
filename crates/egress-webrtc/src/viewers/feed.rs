//! The log of a lane as its viewers see it: where its packets are, by format, and how its times go with ours.

use std::time::{Duration, Instant};

use fanout::{Follower, LaneGuard};
use media::{Kind, Timestamp};

use super::track::{Packet, Track};
use super::viewer::Lane;
use formats::rtp::MediaClock;
use formats::rtp::codes::{self, FORMATS};
use formats::rtp::record::{HEAD_BYTES, PEEK_BYTES, Record};

/// See the module's description.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) follower: Follower,
    /// By format.
    tracks: [Track; FORMATS],
    /// The log is known up to here.
    absorbed: u64,
    /// The time of the newest unit.
    newest: Timestamp,
    /// The format of the newest sound and picture.
    pub(super) formats: [Option<usize>; 2],
    pub(super) clock: MediaClock,
    /// Arrivals are given in microseconds after this.
    epoch: Instant,
}

/// What was found in the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    pub(super) has_picture: bool,
    pub(super) has_any: bool,
}

impl Feed {
    /// Of a lane whose log is known as it is now.
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

    /// What a visit needs of it.
    pub(super) fn lane(&self) -> Lane<'_> {
        Lane {
            follower: &self.follower,
            tracks: &self.tracks,
            newest: self.newest,
        }
    }

    /// Whether the lane has ended, and all of it is known.
    pub(super) fn is_over(&self) -> bool {
        self.follower.has_ended() && self.absorbed >= self.follower.end()
    }

    /// How long ago a packet [arrived](Packet::arrived).
    pub(super) fn age(&self, arrived: u32, now: Instant) -> Duration {
        let age = micros(self.epoch, now).wrapping_sub(arrived);
        Duration::from_micros(age.into())
    }

    /// Learns where the log's new packets are.
    pub(super) fn absorb(&mut self) -> News {
        self.follower.refresh();
        let mut news = News::default();
        // Otherwise this thread slept through the whole log.
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

/// Microseconds from `epoch` to `at`, modulo 2^32: no log reaches back the 71 minutes after which they
/// repeat.
fn micros(epoch: Instant, at: Instant) -> u32 {
    at.saturating_duration_since(epoch).as_micros() as u32
}
