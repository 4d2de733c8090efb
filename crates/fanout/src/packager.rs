//! Conversion of media items into a lane's bytes.

use std::time::{Duration, Instant};

use log::{Entry, Writer};
use media::{Item, Timestamp};

use crate::index::{Mark, Part, Segmentation};

/// Turns items into one wire format, once per stream, however many listeners there are.
///
/// A packager is pure: it reads no clock and does no I/O. It is called under the stream's lock, so
/// it must not take long; a microsecond per sample is the aim.
pub trait Packager: Send {
    /// Appends the bytes of `item` in this format. An item without a meaning in this format appends nothing.
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>);

    /// Ends the input: no item follows. Appends everything held back.
    fn end(&mut self, _sink: &mut LaneSink<'_>) {}

    /// Handles the departure of the publisher. Another publisher may come, and everything held back until its first
    /// sample would be late by that wait. A packager whose readers cannot wait appends it now.
    fn pause(&mut self, _sink: &mut LaneSink<'_>) {}

    /// Whether the packager can use [`TrackId::DERIVED`](media::TrackId::DERIVED). If it cannot, its lane never
    /// receives that track; if it can, the track is produced for as long as the lane has listeners. Prefer the
    /// publisher's own audio where it will do: a derived track may outlive its need a little.
    fn takes_derived(&self) -> bool {
        false
    }

    /// Bounds of the parts and segments that the packager marks with [`LaneSink::end_part`]; `None` if it marks none. They
    /// never change.
    fn segmentation(&self) -> Option<Segmentation> {
        None
    }
}

/// Destination of a packager's output: the open unit of its lane.
#[derive(Debug)]
pub struct LaneSink<'a> {
    writer: &'a mut Writer,
    marks: &'a mut Vec<Mark>,
    arrived: Instant,
    window: Duration,
}

impl<'a> LaneSink<'a> {
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

    /// Returns the arrival time of the item being packaged; the present on a lane that opens with the past.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Returns the longest time span to combine into one unit: the time between two visits to the lane's listeners, as
    /// far as they can take that much in one piece. Zero while the audience is small, and when no reader has declared
    /// it ([`Follower::declare`](crate::Follower::declare)).
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Returns the number of the stream's current epoch; the first is 1.
    pub fn epoch(&self) -> u32 {
        self.writer.epoch()
    }

    /// Appends to the open unit; readers see none of it until the unit ends.
    pub fn put(&mut self, bytes: &[u8]) {
        self.writer.put(bytes);
    }

    /// Ends the open unit: the smallest run of bytes that makes sense alone. It lasts until the next one begins.
    pub fn end_unit(&mut self, at: Timestamp, entry: Entry) {
        self.writer.end_unit(at, self.arrived, entry);
    }

    /// Ends the open unit, whose first sample arrived at `arrived`, some time ago.
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

    /// Declares the part that has just ended the last of its segment: the next part begins another. A packager that
    /// knows this calls it, so that readers need not wait for the next part to learn it.
    pub fn end_segment(&mut self) {
        if let Some(mark) = self.marks.last_mut() {
            mark.ends_segment = true;
        }
    }

    /// Writes the remaining output of the previous epoch, after [`Item::Epoch`].
    pub fn of_last_epoch(&mut self, write: impl FnOnce(&mut Self)) {
        let epoch = self.writer.epoch();
        self.writer.set_epoch(epoch.saturating_sub(1));
        write(self);
        self.writer.set_epoch(epoch);
    }
}
