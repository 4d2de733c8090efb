//! MP4 fragments for a recording, made from a stream's samples on the writing thread.
//!
//! ```text
//!  stream ─► spool ─► fmp4::Muxer ─► units: a header, and the publisher's own samples ─► file
//! ```
//!
//! No sample is copied on its way to the disk, and the publisher's thread only passes it on. A recorder receives the same items
//! as from a lane of the same fragments ([`Archived`]), so it need not know which of them it reads.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use container::fmp4::{Collected, FragmentSink, Init, Muxer, Turn, Unit};
use fanout::{Archived, Follows, LaneUnit, Lost, Spool, Spooled};
use media::{Item, Span, Timestamp};

use crate::archive::disk::{PIECES_MAX, WRITE_BYTES_MAX};

/// Duration of a fragment: its headers stay in the file, and a killed process loses no more than that.
const FRAGMENT: Span = Span::from_millis(1_000);

/// Most pieces that a file adds to one write: its opening, and a few for the headers of each fragment.
const PIECES_MORE: usize = PIECES_MAX / 2;

/// Reader of a stream's samples as fragments; call [`at_hand`](Self::at_hand) until it would wait.
#[derive(Debug)]
pub(crate) struct Fragments {
    spool: Spool,
    /// Samples taken, but not muxed yet.
    items: VecDeque<Spooled>,
    /// State of the spool after those.
    follows: Follows,
    muxer: Muxer<Init>,
    units: Units,
}

impl Fragments {
    pub(crate) fn new(spool: Spool) -> Self {
        Self {
            spool,
            items: VecDeque::new(),
            follows: Follows::More,
            muxer: Muxer::for_files(FRAGMENT),
            units: Units::default(),
        }
    }

    /// Returns the next item, as [`ArchiveReader::at_hand`](fanout::ArchiveReader::at_hand) does: `None` at the stream's end.
    ///
    /// # Errors
    /// Fails when it would wait.
    pub(crate) fn at_hand(&mut self) -> Result<Option<Archived>, Waits> {
        loop {
            if let Some(archived) = self.units.given.pop_front() {
                return Ok(Some(archived));
            }
            if self.items.is_empty() {
                self.follows = self.spool.take(&mut self.items);
            }
            if !self.items.is_empty() {
                self.mux();
                continue;
            }
            if self.follows == Follows::More {
                return Err(Waits);
            }
            self.give_rest();
            if self.units.given.is_empty() {
                return match self.follows {
                    Follows::End => Ok(None),
                    Follows::More | Follows::Pause => Err(Waits),
                };
            }
        }
    }

    /// Muxes the samples taken until there is an item to return.
    fn mux(&mut self) {
        while self.units.given.is_empty() {
            let Some(next) = self.items.pop_front() else {
                break;
            };
            match next {
                Spooled::Item(item, arrived) => self.push(&item, arrived),
                Spooled::Lost(from) => self.lose(from),
            }
        }
        if self.items.is_empty() {
            self.units.give();
        }
    }

    /// Ends the collected fragment, rather than hold it back for the next publisher.
    fn give_rest(&mut self) {
        self.muxer.finish(&mut self.units);
        if self.follows == Follows::End {
            self.units.tell_lost(self.units.newest);
        }
        self.units.give();
    }

    fn push(&mut self, item: &Item, arrived: Instant) {
        self.units.arrived = Some(arrived);
        if let Item::Sample(sample) = item {
            self.units.newest = self.units.newest.max(sample.dts);
        }
        self.muxer.push(item, &mut self.units);
        if matches!(item, Item::Epoch) {
            // The output of the muxer just now still belongs to the previous epoch.
            self.units.epochs += 1;
        }
    }

    /// Handles missing samples: ends the fragment before them, and restarts the muxer.
    fn lose(&mut self, from: Timestamp) {
        self.muxer.finish(&mut self.units);
        self.muxer = Muxer::for_files(FRAGMENT);
        self.units.lose(from);
    }
}

/// Marker that nothing more is available at present.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Waits;

/// Collects fragments into the items that a recorder receives.
#[derive(Debug, Default)]
struct Units {
    given: VecDeque<Archived>,
    /// Complete units of one epoch and one generation, to be returned together.
    units: Vec<LaneUnit>,
    bytes: Vec<Bytes>,
    /// Pieces of the open unit.
    open: Vec<Bytes>,
    /// Bytes of all completed units.
    written: u64,
    /// Arrival time of the item being muxed.
    arrived: Option<Instant>,
    /// Number of ended epochs.
    epochs: u32,
    /// Epoch and generation announced last; `None` if they must be announced again.
    reported_epoch: Option<u32>,
    reported_generation: Option<u32>,
    /// Whether a join point has been reached since the start or the last loss.
    has_begun: bool,
    /// First lost sample, until the next unit arrives.
    lost: Option<Timestamp>,
    /// Decoding time of the newest sample.
    newest: Timestamp,
}

impl Units {
    /// Queues the collected units.
    fn give(&mut self) {
        if !self.units.is_empty() {
            self.given.push_back(Archived::Media {
                units: std::mem::take(&mut self.units),
                bytes: std::mem::take(&mut self.bytes),
            });
        }
    }

    fn lose(&mut self, from: Timestamp) {
        self.lost.get_or_insert(from);
        self.has_begun = false;
        self.reported_generation = None;
    }

    /// Queues a loss before the unit after it, which begins at `to`.
    fn tell_lost(&mut self, to: Timestamp) {
        if let Some(from) = self.lost.take() {
            self.give();
            self.given.push_back(Archived::Lost(Lost {
                from,
                to,
                range: self.written..self.written,
            }));
        }
    }

    /// Announces the epoch and headers of the next unit, if changed.
    fn tell(&mut self, epoch: u32, join: Option<&Init>) {
        if self.reported_epoch != Some(epoch) {
            self.give();
            self.reported_epoch = Some(epoch);
            self.given.push_back(Archived::Epoch(epoch));
        }
        if let Some(init) = join.filter(|init| self.reported_generation != Some(init.generation)) {
            self.give();
            self.reported_generation = Some(init.generation);
            self.given.push_back(Archived::Preamble {
                bytes: init.bytes.clone(),
                generation: init.generation,
            });
        }
    }
}

impl FragmentSink for Units {
    type Preamble = Init;

    fn put(&mut self, bytes: &[u8]) {
        self.open.push(Bytes::copy_from_slice(bytes));
    }

    fn fragment(&mut self, fragment: Collected<'_>) {
        self.open.extend(fragment.into_pieces());
    }

    fn preamble(&mut self, init: &Init) -> Init {
        init.clone()
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Init>) {
        let open = std::mem::take(&mut self.open);
        self.has_begun |= join.is_some();
        let Some(arrived) = self.arrived.filter(|_| self.has_begun) else {
            // Without a join point before it, the unit is useless.
            return;
        };
        self.tell_lost(unit.at);
        let epoch = match unit.turn {
            Turn::InTime => self.epochs + 1,
            Turn::Late => self.epochs,
        };
        self.tell(epoch, join.as_ref());
        let bytes: u64 = open.iter().map(|piece| piece.len() as u64).sum();
        let range = self.written..self.written + bytes;
        let begins = self
            .units
            .first()
            .map_or(range.start, |first| first.range.start);
        let pieces = self.bytes.len() + open.len();
        if range.end - begins > WRITE_BYTES_MAX as u64 || pieces > PIECES_MAX - PIECES_MORE {
            self.give();
        }
        self.written = range.end;
        self.units.push(LaneUnit {
            range,
            at: unit.at,
            arrived,
            is_join: join.is_some(),
        });
        self.bytes.extend(open);
    }
}
