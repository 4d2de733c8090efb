//! Ogg streams, page by page; [`OpusMuxer`] makes one from bare Opus, and [`OpusPackets`] extracts bare Opus from one.
//!
//! Every page is one sample and keeps its bytes. The header pages of a chain link go into one [`Item::Header`], because
//! a listener needs them before any data page. Sources announce titles by chaining links, each of which brings a new
//! header. A page with data after the last header (MPD writes such pages, against the codecs' specifications) becomes
//! two pages of the same number. A listener may start at any page that does not continue a packet; in a stream with
//! Theora video, only at a page on which one of its keyframes begins.
//!
//! Pages with a wrong checksum are dropped, and reading resumes at the next valid page: for a decoder, they are worse
//! than a gap.
//!
//! Sources: RFC 3533 (pages), RFC 7845 (Opus), RFC 9639 (FLAC), and the Xiph specifications.

mod chain;
mod comments;
mod describe;
pub mod file;
mod headers;
mod mapping;
mod muxer;
mod packets;
mod page;
mod retitle;
mod unchain;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use media::{Item, Sample, Timestamp};

use self::chain::{Chain, Meaning};
pub use self::describe::{Description, TheoraPicture, describe};
pub use self::muxer::OpusMuxer;
pub use self::packets::OpusPackets;
pub use self::page::PAGE_BYTES_MAX;
use self::page::{Front, Page};
pub use self::retitle::Retitler;
pub use self::unchain::Unchainer;

/// Upper bound on the bytes of a chain link's header pages. Cover art is stored in the comments and makes them large.
pub const HEADER_BYTES_MAX: usize = 1024 * 1024;

/// Input bytes taken in at once. Together with the longest page, this bounds the buffer.
const STEP_BYTES: usize = 16 * 1024;

/// Upper bound on the bytes held back: headers twice (as pages, and as the packet on them), a page, and a step of
/// input.
pub const BUFFERED_BYTES_MAX: usize = 2 * HEADER_BYTES_MAX + PAGE_BYTES_MAX + STEP_BYTES;

/// Bytes for which a wrong checksum may be computed, per byte received, in addition to `CHECKS_MIN`. In an input that
/// looks like the start of a long page every five bytes, each of them would be checked; a damaged source is far from
/// this.
const CHECKS_PER_BYTE: u64 = 2;
const CHECKS_MIN: u64 = 16 * PAGE_BYTES_MAX as u64;

/// Push demuxer for one physical Ogg stream.
#[derive(Debug, Default)]
pub struct Demuxer {
    buffer: BytesMut,
    chain: Option<Chain>,
    /// Beginning of the last page, and the latest end of any page.
    began: Timestamp,
    ended: Timestamp,
    skipped_bytes: u64,
    received_bytes: u64,
    /// Bytes whose checksum was computed and found wrong.
    checked_in_vain: u64,
}

impl Demuxer {
    /// Takes `bytes` and appends the pages that they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        for step in bytes.chunks(STEP_BYTES) {
            self.received_bytes += step.len() as u64;
            self.buffer.extend_from_slice(step);
            self.drain(out);
        }
    }

    /// Ends the input. A truncated page is dropped.
    pub fn finish(&mut self, _out: &mut Vec<Item>) {
        self.skip(self.buffer.len());
        self.drop_chain();
    }

    /// Returns the bytes so far that were not part of any page passed on.
    pub const fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    fn drain(&mut self, out: &mut Vec<Item>) {
        loop {
            match page::at_front(&self.buffer) {
                Front::Unclear => return,
                Front::Garbage => self.skip_to_capture(),
                Front::Damaged(length) => {
                    self.checked_in_vain += length as u64;
                    let may_check = CHECKS_MIN + CHECKS_PER_BYTE * self.received_bytes;
                    match self.checked_in_vain <= may_check {
                        // The damage may be in the length field, and another page may begin within it.
                        true => self.skip_to_capture(),
                        false => self.skip(length),
                    }
                }
                Front::Page(length) => {
                    let page = Page::new(self.buffer.split_to(length).freeze());
                    self.take(page, out);
                }
            }
        }
    }

    /// Skips to the next place where a page may begin.
    fn skip_to_capture(&mut self) {
        let rest = &self.buffer[1..];
        let next = rest.iter().position(|byte| *byte == page::CAPTURE[0]);
        self.skip(1 + next.unwrap_or(rest.len()));
    }

    fn take(&mut self, page: Page, out: &mut Vec<Item>) {
        let admits = |chain: &Chain| chain.admits(page.serial());
        if page.is_first() && !self.chain.as_ref().is_some_and(admits) {
            self.drop_chain();
            self.chain = Some(Chain::new());
        }
        let length = page.bytes.len() as u64;
        let Some(chain) = &mut self.chain else {
            // Joined in the middle of a link: without its headers, nothing can be decoded.
            self.skipped_bytes += length;
            return;
        };
        match chain.take(&page, self.ended) {
            Meaning::Header if chain.is_complete() => begin(chain, out),
            Meaning::Header => {}
            Meaning::HeaderAndData(data) => {
                if chain.is_complete() {
                    begin(chain, out);
                }
                self.take(data, out);
            }
            Meaning::Data => {
                if !chain.has_begun() {
                    begin(chain, out);
                }
                self.emit(page, out);
            }
            Meaning::Foreign => self.skipped_bytes += length,
            Meaning::Overflow => {
                self.skipped_bytes += length;
                self.drop_chain();
            }
        }
    }

    fn emit(&mut self, page: Page, out: &mut Vec<Item>) {
        let Some(place) = self.chain.as_mut().and_then(|chain| chain.place(&page)) else {
            return;
        };
        // Streams that play together are interleaved only roughly; the times of a log never decrease.
        self.began = self.began.max(place.began);
        self.ended = self.ended.max(place.began + place.duration);
        out.push(Item::Sample(Sample {
            keyframe: place.keyframe,
            ..Sample::frame(place.track, self.began, place.duration, page.bytes)
        }));
    }

    /// Drops the current link; header pages not yet passed on are lost.
    fn drop_chain(&mut self) {
        if let Some(chain) = self.chain.take() {
            self.skipped_bytes += chain.unused_bytes() as u64;
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.buffer.advance(bytes);
        self.skipped_bytes += bytes as u64;
    }
}

fn begin(chain: &mut Chain, out: &mut Vec<Item>) {
    let (header, tracks, title) = chain.begin();
    out.push(Item::Header(header));
    out.extend(tracks.into_iter().map(Item::Track));
    out.extend(title.map(|title| Item::Title(Arc::new(title))));
}
