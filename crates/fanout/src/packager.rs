//! How items become a lane's bytes.

use std::time::{Duration, Instant};

use log::{Entry, Writer};
use media::{Item, Timestamp};

use crate::index::{Mark, Part, Segmentation};

/// Turns items into one wire format, once per stream, however many listeners there are.
///
/// A packager is pure: it reads no clock and does no I/O. It is called under the stream's lock, so
/// it must not take long; a microsecond per sample is the aim.
pub trait Packager: Send {
    /// Appends what `item` means in this format. An item that means nothing appends nothing.
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>);

    /// Nothing more comes. What it held back, pending what follows, is to be appended.
    fn end(&mut self, _sink: &mut Sink<'_>) {}

    /// The publisher has left; another one may come, and what is held back until its first sample would be late by as
    /// long. A packager whose readers cannot wait for that appends it now.
    fn pause(&mut self, _sink: &mut Sink<'_>) {}

    /// Whether it can use [`TrackId::DERIVED`](media::TrackId::DERIVED). A lane of a packager that cannot never
    /// receives that track; one of a packager that can has it made, for as long as the lane has listeners.
    /// Where the publisher's own audio will do as well, that is to be preferred: a derived track may outlive
    /// its need a little.
    fn takes_derived(&self) -> bool {
        false
    }

    /// The bounds of the parts and segments that it marks with [`Sink::end_part`]; `None` if it marks
    /// none. They never change.
    fn segmentation(&self) -> Option<Segmentation> {
        None
    }
}

/// Where a packager writes.
#[derive(Debug)]
pub struct Sink<'a> {
    writer: &'a mut Writer,
    marks: &'a mut Vec<Mark>,
    arrived: Instant,
    window: Duration,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(
        writer: &'a mut Writer,
        marks: &'a mut Vec<Mark>,
        arrived: Instant,
        window: Duration,
    ) -> Self {
        Self {
            writer,
            marks,
            arrived,
            window,
        }
    }

    /// When the item that is being packaged arrived: now, on a lane that opens with the past.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    /// What may be combined into one unit: the time that the lane's listeners wait between two visits, as far as
    /// they can take that much in one piece. Zero while the audience is small, and where no reader has declared
    /// it ([`Follower::declare`](crate::Follower::declare)).
    pub fn window(&self) -> Duration {
        self.window
    }

    /// The number of the stream's present epoch; the first has 1.
    pub fn epoch(&self) -> u32 {
        self.writer.epoch()
    }

    /// Appends to the open unit; readers see nothing of it before the unit has ended.
    pub fn put(&mut self, bytes: &[u8]) {
        self.writer.put(bytes);
    }

    /// Ends the open unit: the smallest run of bytes that makes sense alone. It lasts until the next one
    /// begins.
    pub fn end_unit(&mut self, at: Timestamp, entry: Entry) {
        self.writer.end_unit(at, self.arrived, entry);
    }

    /// Ends the open unit, whose first sample arrived some time ago.
    pub fn end_unit_since(&mut self, at: Timestamp, arrived: Instant, entry: Entry) {
        self.writer.end_unit(at, arrived, entry);
    }

    /// Ends the open unit, which is a part of a segment and lasts as long as `part` says.
    pub fn end_part(&mut self, at: Timestamp, entry: Entry, part: Part) {
        if let Some(range) = self.writer.open_range() {
            self.marks.push(Mark {
                range,
                at,
                epoch: self.writer.epoch(),
                part,
                ends_segment: false,
            });
        }
        self.end_unit(at, entry);
    }

    /// The part that has just ended was the last of its segment: what follows begins another one. A packager that
    /// knows it says so, and readers need not wait for the next part to learn it.
    pub fn end_segment(&mut self) {
        if let Some(mark) = self.marks.last_mut() {
            mark.ends_segment = true;
        }
    }

    /// Writes what a packager still had of the previous epoch, after [`Item::Epoch`].
    pub fn of_last_epoch(&mut self, write: impl FnOnce(&mut Self)) {
        let epoch = self.writer.epoch();
        self.writer.set_epoch(epoch.saturating_sub(1));
        write(self);
        self.writer.set_epoch(epoch);
    }
}
