//! WebM and Matroska streams, block by block.
//!
//! ```text
//! header ─ EBML, Segment, Info, Tracks │ Cluster ─ Timestamp, Block, Block, … │ Cluster …
//! ```
//!
//! The bytes before the first cluster are one [`Item::Header`]. After it, every block ends a sample, and bytes between
//! blocks go with the next one, so that the samples joined are the source's own bytes. A listener may start at a
//! cluster whose first video frame is a keyframe, or at any cluster of a stream without video. The start of a cluster
//! is therefore held back until that is known; everything else is passed on as soon as it is complete.
//!
//! Clusters may be of unknown size: their children have short identifiers, and all elements that can end them have long
//! ones, so the sizes of clusters are not read.
//!
//! Sources: RFC 8794 (EBML), RFC 9559 (Matroska).

mod ebml;
pub mod file;
mod search;
mod splice;
mod tracks;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use media::{Item, Kind, Sample, Span, Timestamp, TrackId};

use self::ebml::{Front, Head, id};
use self::tracks::Facts;
use crate::timeline::Timeline;

/// Upper bound on the bytes of a header. Attached fonts and cover art make headers large; players of live streams want
/// them small.
pub const HEADER_BYTES_MAX: usize = 1024 * 1024;

/// Upper bound on the bytes of a sample. A longer block is passed on in parts, which only delays its first byte by this
/// much.
pub const SAMPLE_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a cluster that are held back to find out whether it starts with a keyframe: audio before the first video
/// frame, and a first video frame inside a block group.
const HELD_BYTES_MAX: usize = 1024 * 1024;

/// Input bytes taken in at once.
const STEP_BYTES: usize = 16 * 1024;

/// Upper bound on the bytes held back.
pub const BUFFERED_BYTES_MAX: usize = HEADER_BYTES_MAX + STEP_BYTES;

/// Bytes of a block's own head: track number, relative timestamp, flags.
const BLOCK_HEAD_BYTES_MAX: usize = 8 + 2 + 1;

/// Bit of a SimpleBlock's flags that marks a keyframe.
const FLAG_KEYFRAME: u8 = 0x80;

/// Push demuxer for one stream, or several in a row.
#[derive(Debug, Default)]
pub struct Demuxer {
    /// Bytes that are not passed on yet.
    buffer: BytesMut,
    /// Number of bytes of `buffer` that have been parsed.
    at: usize,
    /// Bytes of the current element that have yet to pass.
    element_left: u64,
    /// The current element is a block, and ends a sample.
    ends_sample: bool,
    state: State,
    facts: Facts,
    cluster_timestamp: u64,
    /// Track of the last block; `None` before the first.
    track: Option<TrackId>,
    timeline: Timeline,
    /// Playback time of the sample that is being collected.
    sample_at: Option<Timestamp>,
    keyframe: bool,
    skipped_bytes: u64,
}

/// Position in the stream's structure of the next element.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    /// Before the beginning: everything else is garbage.
    #[default]
    Outside,
    /// Before the first cluster.
    Header,
    /// At the start of a cluster that may or may not be a join point.
    Undecided,
    /// Inside a cluster, or between two.
    Cluster,
    /// Out of step, looking for a cluster.
    Lost,
}

impl Demuxer {
    /// Takes `bytes` and appends the samples that they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        for step in bytes.chunks(STEP_BYTES) {
            self.buffer.extend_from_slice(step);
            while self.step(out) {}
        }
    }

    /// Ends the input. Complete elements that wait for a block are passed on; truncated ones are dropped.
    pub fn finish(&mut self, out: &mut Vec<Item>) {
        if matches!(self.state, State::Cluster | State::Undecided) && self.element_left == 0 {
            self.emit(out);
        }
        self.skip(self.buffer.len());
        let skipped_bytes = self.skipped_bytes;
        *self = Self {
            skipped_bytes,
            timeline: std::mem::take(&mut self.timeline),
            ..Self::default()
        };
    }

    /// Returns the bytes so far that were not passed on.
    pub const fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Makes one step of progress; returns `false` when more bytes are needed.
    fn step(&mut self, out: &mut Vec<Item>) -> bool {
        if matches!(self.state, State::Outside | State::Lost) {
            return self.search();
        }
        if self.element_left > 0 {
            return self.pass(out);
        }
        match ebml::head(&self.buffer[self.at..]) {
            Front::Unclear => false,
            Front::Garbage => {
                self.lose(out);
                true
            }
            Front::Head(head) if head.id == id::EBML && !self.is_at_start() => {
                self.restart(out);
                true
            }
            Front::Head(head) if self.state == State::Header => {
                self.enter_header_element(head, out)
            }
            Front::Head(head) => self.enter_element(head, out),
        }
    }

    /// Returns whether the parser is at the first byte of a header.
    fn is_at_start(&self) -> bool {
        self.state == State::Header && self.at == 0
    }

    /// Drops bytes up to an element at which the stream can be resumed.
    fn search(&mut self) -> bool {
        let wanted: &[u32] = if self.state == State::Outside {
            &[id::EBML]
        } else {
            &[id::EBML, id::CLUSTER]
        };
        let found = self.buffer.windows(4).position(|window| {
            let window = window.iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
            wanted.contains(&window)
        });
        let Some(found) = found else {
            self.skip(self.buffer.len().saturating_sub(3));
            return false;
        };
        self.skip(found);
        let is_cluster = self.buffer.starts_with(&id::CLUSTER.to_be_bytes());
        self.state = if is_cluster {
            State::Cluster
        } else {
            State::Header
        };
        true
    }

    /// Passes the current element's bytes as they arrive.
    fn pass(&mut self, out: &mut Vec<Item>) -> bool {
        let limit = self.limit();
        let room = limit.saturating_sub(self.at);
        let available = self.buffer.len() - self.at;
        let left = usize::try_from(self.element_left).unwrap_or(usize::MAX);
        let passed = left.min(room).min(available);
        self.at += passed;
        self.element_left -= passed as u64;
        if self.element_left == 0 {
            if std::mem::take(&mut self.ends_sample) && self.state == State::Cluster {
                self.emit(out);
            }
        } else if self.at >= limit {
            if self.state == State::Header {
                self.give_up();
            } else {
                self.state = State::Cluster;
                self.emit(out);
            }
        } else {
            return false;
        }
        true
    }

    fn enter_header_element(&mut self, head: Head, out: &mut Vec<Item>) -> bool {
        match (head.id, head.size) {
            (id::CLUSTER, _) => self.begin(out),
            // The header consists of the segment's children.
            (id::SEGMENT, _) => self.at += head.bytes,
            (_, Some(size)) if size <= HEADER_BYTES_MAX as u64 => {
                self.at += head.bytes;
                self.element_left = size;
            }
            _ => self.give_up(),
        }
        if self.at > HEADER_BYTES_MAX {
            self.give_up();
        }
        true
    }

    /// Emits the header, up to the cluster at the front of the buffer.
    fn begin(&mut self, out: &mut Vec<Item>) {
        let header = self.buffer.split_to(self.at).freeze();
        self.at = 0;
        self.facts = Facts::read(&header);
        self.track = self.facts.tracks.first().map(|(_, track)| track.id);
        out.push(Item::Header(header));
        let tracks = self.facts.tracks.iter().map(|(_, track)| track.clone());
        out.extend(tracks.map(|track| Item::Track(Arc::new(track))));
        self.state = State::Cluster;
    }

    fn enter_element(&mut self, head: Head, out: &mut Vec<Item>) -> bool {
        match (head.id, head.size) {
            (id::CLUSTER, _) => {
                // A listener that starts at this cluster has no use for the bytes before it.
                self.emit(out);
                self.state = State::Undecided;
                self.at += head.bytes;
            }
            (id::SEGMENT, _) => self.at += head.bytes,
            (id::TIMESTAMP, Some(size @ 0..=8)) => {
                let end = self.at + head.bytes + size as usize;
                let Some(body) = self.buffer.get(self.at + head.bytes..end) else {
                    return false;
                };
                self.cluster_timestamp = ebml::unsigned(body).unwrap_or_default();
                self.at = end;
            }
            (id::SIMPLE_BLOCK, Some(size)) => {
                if !self.enter_block(head, head.bytes, size, true) {
                    return false;
                }
            }
            (id::BLOCK_GROUP, Some(size)) => {
                if !self.enter_group(head, size) {
                    return false;
                }
            }
            (_, Some(size)) => {
                self.at += head.bytes;
                self.element_left = size;
            }
            (_, None) => self.lose(out),
        }
        self.limit_glue(out);
        true
    }

    /// Returns the number of bytes that are held back before they are passed on.
    fn limit(&self) -> usize {
        match self.state {
            State::Header => HEADER_BYTES_MAX,
            State::Undecided => HELD_BYTES_MAX,
            _ => SAMPLE_BYTES_MAX,
        }
    }

    /// Limits the empty elements held back: they pass without input, so a flood of them must not accumulate either.
    fn limit_glue(&mut self, out: &mut Vec<Item>) {
        if self.at >= self.limit() {
            self.state = State::Cluster;
            self.emit(out);
        }
    }

    /// Enters an element of `size` bytes whose block begins `offset` bytes from here.
    fn enter_block(&mut self, head: Head, offset: usize, size: u64, is_simple: bool) -> bool {
        let block = &self.buffer[(self.at + offset).min(self.buffer.len())..];
        let inside = usize::try_from(size)
            .unwrap_or(usize::MAX)
            .saturating_add(head.bytes);
        let wanted = BLOCK_HEAD_BYTES_MAX.min(inside.saturating_sub(offset));
        let Some(block) = block.get(..wanted) else {
            return false;
        };
        if let Some((Some(number), number_bytes)) = ebml::number(block)
            && let Some([high, low, flags]) =
                block.get(number_bytes..).and_then(<[u8]>::first_chunk)
        {
            self.take_block(
                number,
                i16::from_be_bytes([*high, *low]),
                is_simple.then_some(*flags),
            );
        }
        self.enter_sample(head, size);
        true
    }

    /// Enters a block group, whose block is a keyframe if nothing in the group refers to another. While the cluster is
    /// undecided, the whole group must be waited for.
    fn enter_group(&mut self, head: Head, size: u64) -> bool {
        let whole = usize::try_from(size).ok().filter(|size| {
            self.state == State::Undecided
                && self.at.saturating_add(*size) < HELD_BYTES_MAX - ebml::HEAD_BYTES_MAX
        });
        let Some(whole) = whole else {
            // Too long to wait for, or no need to: its block, which comes first, has the time.
            let inner = &self.buffer[(self.at + head.bytes).min(self.buffer.len())..];
            match ebml::head(inner) {
                _ if size < 2 => {}
                Front::Unclear => return false,
                Front::Head(inner) if inner.id == id::BLOCK => {
                    return self.enter_block(head, head.bytes + inner.bytes, size, false);
                }
                Front::Head(_) | Front::Garbage => {}
            }
            self.enter_sample(head, size);
            return true;
        };
        let start = self.at + head.bytes;
        let Some(body) = self.buffer.get(start..start + whole) else {
            return false;
        };
        let is_delta = ebml::children(body).any(|(id, _)| id == id::REFERENCE_BLOCK);
        let block = ebml::children(body).find(|(id, _)| *id == id::BLOCK);
        let parsed = block.and_then(|(_, block)| {
            let (number, number_bytes) = ebml::number(block)?;
            let [high, low] = *block.get(number_bytes..)?.first_chunk()?;
            Some((number?, i16::from_be_bytes([high, low])))
        });
        if let Some((number, relative)) = parsed {
            self.take_block(
                number,
                relative,
                Some(if is_delta { 0 } else { FLAG_KEYFRAME }),
            );
        }
        self.enter_sample(head, size);
        true
    }

    /// Records the playback time of a block, and decides about the cluster if the block can. `flags` are those of a
    /// SimpleBlock, or `None` when they could not be waited for.
    fn take_block(&mut self, number: u64, relative: i16, flags: Option<u8>) {
        let ticks = self
            .cluster_timestamp
            .saturating_add_signed(relative.into());
        let at = self.timeline.advance_to(self.facts.ticks(ticks));
        self.sample_at.get_or_insert(at);
        let track = self.facts.track(number);
        let is_video = track.is_some_and(|track| track.kind == Kind::Video);
        self.track = track.map(|track| track.id).or(self.track);
        if self.state == State::Undecided && (is_video || !self.facts.has_video()) {
            let is_key = flags.is_some_and(|flags| flags & FLAG_KEYFRAME != 0);
            self.keyframe = is_key || !is_video;
            self.state = State::Cluster;
        }
    }

    /// Enters an element that ends a sample; an element without bytes ends nothing.
    fn enter_sample(&mut self, head: Head, size: u64) {
        self.at += head.bytes;
        self.element_left = size;
        self.ends_sample = size > 0;
    }

    /// Passes on the bytes read so far, as one sample.
    fn emit(&mut self, out: &mut Vec<Item>) {
        let data = self.buffer.split_to(self.at).freeze();
        self.at = 0;
        let at = self.sample_at.take().unwrap_or_else(|| self.timeline.now());
        let keyframe = std::mem::take(&mut self.keyframe);
        if data.is_empty() {
            return;
        }
        let track = self.track.unwrap_or(TrackId::AUDIO);
        out.push(Item::Sample(Sample {
            keyframe,
            ..Sample::frame(track, at, Span::ZERO, data)
        }));
    }

    /// Restarts the demuxer, because another stream begins here.
    fn restart(&mut self, out: &mut Vec<Item>) {
        if self.state == State::Header {
            self.skip(self.at);
        } else {
            self.emit(out);
        }
        self.state = State::Header;
    }

    /// Leaves the current structure, which is invalid from here on.
    fn lose(&mut self, out: &mut Vec<Item>) {
        if self.state == State::Header {
            return self.give_up();
        }
        self.emit(out);
        self.skip(1);
        self.state = State::Lost;
    }

    /// Abandons an invalid header. Its first byte is dropped, so that the search continues after it.
    fn give_up(&mut self) {
        self.skip(1);
        self.state = State::Outside;
    }

    /// Drops bytes from the front, and resets the parsing of the rest.
    fn skip(&mut self, bytes: usize) {
        self.buffer.advance(bytes);
        self.skipped_bytes += bytes as u64;
        self.at = 0;
        self.element_left = 0;
        self.ends_sample = false;
    }
}
