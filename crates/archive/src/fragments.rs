//! Fragments of MP4 for a recording, made of a stream's samples by the thread that writes them.
//!
//! ```text
//!  stream ─► spool ─► fmp4::Muxer ─► units: a header, and the publisher's own samples ─► file
//! ```
//!
//! No sample is copied on its way to the disk, and the publisher's thread does nothing but pass it on. What a recorder is
//! given is what a lane of the same fragments would give it ([`Archived`]), so it need not know which of them it reads.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use container::fmp4::{Collected, Fragmentation, Init, Muxer, Sink, Turn, Unit};
use fanout::{Archived, Follows, LaneUnit, Lost, Spool, Spooled};
use media::{Item, Span, Timestamp};

use crate::disk::{PIECES_MAX, WRITE_BYTES_MAX};

/// How long a fragment is: its headers stay in the file, and what a killed process loses is no longer than that.
const FRAGMENTATION: Fragmentation = Fragmentation {
    span: Span::from_millis(1_000),
};

/// Pieces that a file adds to those of one write at most: its beginning, and a few of each fragment's headers.
const PIECES_MORE: usize = PIECES_MAX / 2;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Fragments {
    spool: Spool,
    /// Taken, and not muxed yet.
    items: VecDeque<Spooled>,
    /// What follows those.
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
            muxer: Muxer::for_files(FRAGMENTATION),
            units: Units::default(),
        }
    }

    /// What comes next, as [`ArchiveReader::at_hand`](fanout::ArchiveReader::at_hand): `None` at the stream's end.
    ///
    /// # Errors
    /// When it would wait.
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

    /// Muxes what was taken, until something of it is to be given.
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

    /// What was collected is whole: it is not held back for the next publisher.
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
            // What the muxer has just written still belongs to the epoch that is over.
            self.units.epochs += 1;
        }
    }

    /// Samples are missing: what was collected before them is whole, and what follows begins anew.
    fn lose(&mut self, from: Timestamp) {
        self.muxer.finish(&mut self.units);
        self.muxer = Muxer::for_files(FRAGMENTATION);
        self.units.lose(from);
    }
}

/// There is nothing more at present.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Waits;

/// Puts fragments together to what a recorder is given.
#[derive(Debug, Default)]
struct Units {
    given: VecDeque<Archived>,
    /// Whole units of one epoch and one generation, to be given together.
    units: Vec<LaneUnit>,
    bytes: Vec<Bytes>,
    /// The unit that is open.
    open: Vec<Bytes>,
    /// Bytes of all units that have ended.
    written: u64,
    /// When the item that is muxed arrived.
    arrived: Option<Instant>,
    /// Epochs that are over.
    epochs: u32,
    /// The epoch and generation that were told last; `None` if they are to be told again.
    told_epoch: Option<u32>,
    told_generation: Option<u32>,
    /// It is at a join point, or behind one.
    has_begun: bool,
    /// The first sample that is lost, if what follows is not there yet.
    lost: Option<Timestamp>,
    /// The newest sample.
    newest: Timestamp,
}

impl Units {
    /// Gives the units there are.
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
        self.told_generation = None;
    }

    /// What is lost is told before what follows, which begins at `to`.
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

    /// Tells of which epoch and with which headers the next unit is.
    fn tell(&mut self, epoch: u32, join: Option<&Init>) {
        if self.told_epoch != Some(epoch) {
            self.give();
            self.told_epoch = Some(epoch);
            self.given.push_back(Archived::Epoch(epoch));
        }
        if let Some(init) = join.filter(|init| self.told_generation != Some(init.generation)) {
            self.give();
            self.told_generation = Some(init.generation);
            self.given.push_back(Archived::Preamble {
                bytes: init.bytes.clone(),
                generation: init.generation,
            });
        }
    }
}

impl Sink for Units {
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
            // Without a join point before it, it is of no use.
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
