//! Search for the packets at which a listener begins in order to play from a given time. They are those at which a
//! [`Muxer`](super::Muxer) lets listeners join: tables followed by a keyframe, or by any frame of a stream with only
//! audio.

use std::ops::Range;

use bytes::Bytes;
use media::Span;

use super::clock::{STAMP_MODULUS, TICKS_PER_90K};
use super::packet::{PACKET_BYTES, Pid, SYNC, View};
use super::{pes, tables};
use crate::search::{Bisection, LOOK_BYTES, LOOKS_MAX, Mark, Marks, Place, Search};

/// Consecutive packets that are checked to find where packets begin.
const SYNC_PACKETS: usize = 5;

/// Search in one file; see [`Search`] for how to drive it.
#[derive(Debug)]
pub struct PacketSearch {
    to: i64,
    end: u64,
    joins: Joins,
    /// Bisection; `None` before the beginning has been examined.
    search: Option<Bisection>,
    is_empty: bool,
}

/// Join points as marks.
#[derive(Debug, Default)]
struct Joins {
    /// Timestamp of the first join point.
    origin: Option<u64>,
}

impl PacketSearch {
    /// Creates a search for the time `to` in a file of `file_bytes` bytes.
    pub fn new(to: Span, file_bytes: u64) -> Self {
        Self {
            to: to.ticks().max(0),
            end: file_bytes,
            joins: Joins::default(),
            search: None,
            is_empty: false,
        }
    }
}

impl Search for PacketSearch {
    fn wants(&self) -> Option<Range<u64>> {
        match &self.search {
            None => (self.end > 0 && !self.is_empty).then_some(0..self.end.min(LOOK_BYTES)),
            Some(search) => search.wants(),
        }
    }

    fn take(&mut self, bytes: &Bytes) {
        if let Some(search) = &mut self.search {
            return search.take(&mut self.joins, bytes);
        }
        match self.joins.first(bytes) {
            Mark::At { offset, .. } => {
                let found = (offset as u64, 0);
                self.search = Some(Bisection::new(self.to, found, self.end, LOOKS_MAX));
            }
            _ => self.is_empty = true,
        }
    }

    fn place(&mut self) -> Option<Place> {
        let (at, ticks) = self.search.take()?.found;
        Some(Place {
            header: Bytes::new(),
            at,
            began: Span::from_ticks(ticks),
        })
    }
}

impl Marks for Joins {
    fn first(&mut self, bytes: &Bytes) -> Mark {
        let mut at = 0;
        // Offset of a unit's tables, and whether its map has video, if the map is in one packet.
        let mut tables_at = None;
        let mut has_pictures = None;
        while let Some(packet) = bytes.get(at..at + PACKET_BYTES) {
            let Some(view) = View::of(packet).filter(|_| at > 0 || is_in_step(bytes)) else {
                (at, tables_at) = (at + 1 + to_sync(&bytes[at + 1..]), None);
                continue;
            };
            let begin = at;
            at += PACKET_BYTES;
            if view.payload.is_empty() {
                continue;
            }
            if view.pid == Pid::PAT && view.starts {
                tables_at = Some(begin);
            } else if let Some(entries) = tables::entries(view.payload).filter(|_| view.starts) {
                has_pictures = Some(entries.iter().any(tables::Entry::is_picture));
            } else if let Some(offset) = tables_at.filter(|_| view.starts) {
                let is_picture = pes::is_picture(view.payload);
                let is_join = view.random_access && has_pictures.is_none_or(|it| it == is_picture);
                if let Some((_, dts, _)) = pes::stamps(view.payload).filter(|_| is_join) {
                    let origin = *self.origin.get_or_insert(dts);
                    let since = (dts as i64)
                        .wrapping_sub(origin as i64)
                        .rem_euclid(STAMP_MODULUS);
                    return Mark::At {
                        offset,
                        behind: at,
                        ticks: since * TICKS_PER_90K,
                    };
                }
                tables_at = None;
            }
        }
        Mark::None(
            tables_at
                .filter(|at| *at > 0)
                .unwrap_or_else(|| at.min(bytes.len())),
        )
    }
}

/// Returns whether packets follow one another from the first byte on.
fn is_in_step(bytes: &[u8]) -> bool {
    let mut first = bytes.chunks(PACKET_BYTES).take(SYNC_PACKETS);
    first.all(|packet| packet[0] == SYNC)
}

/// Returns the distance to the first place where packets follow one another.
fn to_sync(bytes: &[u8]) -> usize {
    let found = (0..bytes.len()).find(|at| is_in_step(&bytes[*at..]));
    found.unwrap_or(bytes.len())
}
