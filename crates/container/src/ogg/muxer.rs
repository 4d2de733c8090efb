//! Muxer of bare Opus packets into an Ogg stream (RFC 7845).
//!
//! ```text
//! OpusHead │ OpusTags │ page of packets │ page of packets │ …
//! └──── header ─────┘   └ a listener that has the header may start here
//! ```
//!
//! Every page holds whole packets, and its end is counted from the start of time, so a listener may start at any page:
//! decoders take the first page they receive as the beginning.

use bytes::Bytes;
use media::codec::opus;
use media::{Sample, Span, TICKS_PER_SECOND, Timestamp, Track};

use super::page::{self, FLAG_LAST, PagePosition, SEGMENTS_MAX};
use super::{comments, headers};

/// Audio on one page: a tenth of a second costs little delay, and the page header 2 % of the bytes.
const PAGE_SPAN: Span = Span::from_millis(100);

/// Largest distance of a timestamp from the end of the packets before it, in samples, that is treated as rounding to
/// milliseconds or jitter; a larger one is a gap. No missing packet is shorter.
const DRIFT_MAX: u64 = RATE / 100;

const RATE: u64 = opus::RATE as u64;
const TICKS_PER_SAMPLE: i64 = TICKS_PER_SECOND / opus::RATE as i64;

/// Upper bound on the bytes of a title for listeners. A longer one is truncated.
const TITLE_BYTES_MAX: usize = 1_024;

/// Bytes of the longest identification header: one with a mapping for 255 channels (RFC 7845 §5.1.1).
const HEAD_BYTES_MAX: usize = 21 + 255;

const VENDOR: &[u8] = b"Carillon";

/// Muxer of one logical stream.
#[derive(Debug, Default)]
pub struct OpusMuxer {
    serial: u32,
    head: Bytes,
    /// Samples that decoders drop at the start; positions include them.
    pre_skip: u64,
    /// Number of the next page; the header pages have 0 and 1.
    sequence: u32,
    /// Beginning of the next packet in samples, without the pre-skip; `None` before the first.
    next: Option<u64>,
    pending: Pending,
    /// Kept for its allocation.
    page: Vec<u8>,
}

/// Page that is being filled.
#[derive(Debug, Default)]
struct Pending {
    began: Timestamp,
    span: Span,
    table: Vec<u8>,
    body: Vec<u8>,
}

impl OpusMuxer {
    /// Creates a stream of the packets of `track`. `serial` must differ from those of the streams before.
    pub fn new(track: &Track, serial: u32) -> Self {
        let head = Self::head_of(track);
        let pre_skip = u64::from(u16::from_le_bytes([head[10], head[11]]));
        Self {
            serial,
            head,
            pre_skip,
            sequence: 2,
            ..Self::default()
        }
    }

    /// Returns the identification header of a track of bare Opus: its own, or the usual one.
    pub fn head_of(track: &Track) -> Bytes {
        let is_one = track.config.starts_with(b"OpusHead")
            && (opus::HEAD_BYTES..=HEAD_BYTES_MAX).contains(&track.config.len());
        if is_one {
            track.config.clone()
        } else {
            Bytes::copy_from_slice(&opus::head(track.channels))
        }
    }

    /// Returns the identification header.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the header pages, with the current title, if it is known.
    pub fn header(&self, title: Option<&str>) -> Vec<u8> {
        let title = title.unwrap_or_default();
        let title = &title[..title.floor_char_boundary(TITLE_BYTES_MAX)];
        let tags = comments::write(b"OpusTags", VENDOR, &[("TITLE=", title)]);
        headers::pages(&[self.head.clone(), tags.into()], self.serial).0
    }

    /// Takes one packet. Passes the page that it completes, or that had to end before it, to `out`, with the time at
    /// which that page began. Anything but a packet is left out.
    pub fn push(&mut self, sample: &Sample, mut out: impl FnMut(Timestamp, &[u8])) {
        let Some(duration) = opus::duration(&sample.data) else {
            return;
        };
        let segments = sample.data.len() / 255 + 1;
        if segments > SEGMENTS_MAX {
            return;
        }
        let at = (sample.pts.ticks().max(0) / TICKS_PER_SAMPLE) as u64;
        let is_gap = self
            .next
            .is_none_or(|next| at.saturating_sub(next) > DRIFT_MAX);
        if is_gap || self.pending.table.len() + segments > SEGMENTS_MAX {
            self.flush(&mut out);
        }
        // A clock that stands still or steps back is ignored.
        let begins = self.next.filter(|_| !is_gap).unwrap_or(at);
        self.next = Some(begins + (duration.ticks() / TICKS_PER_SAMPLE) as u64);
        let pending = &mut self.pending;
        if pending.table.is_empty() {
            pending.began = sample.dts;
        }
        pending.span = pending.span + duration;
        page::lace(&mut pending.table, sample.data.len());
        pending.body.extend_from_slice(&sample.data);
        if pending.span >= PAGE_SPAN {
            self.flush(&mut out);
        }
    }

    /// Passes the page that is being filled to `out`, unless it is empty.
    pub fn flush(&mut self, mut out: impl FnMut(Timestamp, &[u8])) {
        if !self.pending.table.is_empty() {
            self.write(0);
            out(self.pending.began, &self.page);
            self.pending.clear();
        }
    }

    /// Passes the page that is being filled to `out`, marked as the last. Another stream may follow.
    pub fn end(&mut self, mut out: impl FnMut(Timestamp, &[u8])) {
        self.write(FLAG_LAST);
        out(self.pending.began, &self.page);
        self.pending.clear();
    }

    fn write(&mut self, flags: u8) {
        let place = PagePosition {
            flags,
            granule: Some(self.next.map_or(0, |next| next + self.pre_skip)),
            serial: self.serial,
            sequence: self.sequence,
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.page.clear();
        page::write(
            &mut self.page,
            place,
            &self.pending.table,
            &self.pending.body,
        );
    }
}

impl Pending {
    fn clear(&mut self) {
        self.span = Span::ZERO;
        self.table.clear();
        self.body.clear();
    }
}

#[cfg(test)]
mod tests {
    use media::{Codec, Item, TrackId};

    use super::*;
    use crate::ogg::Demuxer;
    use crate::testing;

    const PRE_SKIP: i64 = 312;

    fn track(config: &'static [u8]) -> Track {
        Track {
            id: TrackId::DERIVED,
            sample_rate: 48_000,
            channels: 2,
            ..testing::track(Codec::Opus, config)
        }
    }

    /// A packet of 20 ms (CELT, stereo, one frame).
    fn packet(millis: i64, len: usize) -> Sample {
        let at = Timestamp::from_millis(millis);
        let mut data = vec![0x55; len];
        data[0] = 0xFC;
        Sample::frame(TrackId::DERIVED, at, Span::from_millis(20), data.into())
    }

    /// The pages of some packets: when each began, where it ends in samples, and its bytes.
    fn pages(muxer: &mut OpusMuxer, packets: &[Sample]) -> Vec<(i64, u64, Vec<u8>)> {
        let mut pages = Vec::new();
        let mut note = |at: Timestamp, page: &[u8]| {
            assert_eq!(page::at_front(page), page::Front::Page(page.len()));
            let granule = u64::from_le_bytes(page[6..14].try_into().expect("eight bytes"));
            pages.push((at.millis(), granule, page.to_vec()));
        };
        for sample in packets {
            muxer.push(sample, &mut note);
        }
        muxer.flush(&mut note);
        pages
    }

    #[test]
    fn a_page_has_a_tenth_of_a_second_and_counts_from_the_start_of_time() {
        let mut muxer = OpusMuxer::new(&track(b""), 1);
        let packets: Vec<_> = (0..12).map(|n| packet(1_000 + n * 20, 300)).collect();
        let pages = pages(&mut muxer, &packets);
        let shape: Vec<_> = pages.iter().map(|page| (page.0, page.1)).collect();
        let page = |begin, end: i64| (begin, (end * 48 + PRE_SKIP) as u64);
        let expected = [page(1_000, 1_100), page(1_100, 1_200), page(1_200, 1_240)];
        assert_eq!(shape, expected);
        let sequence: Vec<_> = pages.iter().map(|page| page.2[18]).collect();
        assert_eq!(sequence, [2, 3, 4]);
    }

    #[test]
    fn another_reader_understands_it() {
        let mut muxer = OpusMuxer::new(&track(b""), 7);
        let packets: Vec<_> = (0..10).map(|n| packet(n * 20, 100 + n as usize)).collect();
        let header = muxer.header(Some("Bach – Toccata"));
        let pages = pages(&mut muxer, &packets);
        let parts = pages.iter().map(|page| &page.2[..]);
        let mut stream = [&header[..], &parts.collect::<Vec<_>>().concat()].concat();
        muxer.end(|_, page| stream.extend(page));
        let (mut demuxer, mut items) = (Demuxer::default(), Vec::new());
        demuxer.push(&stream, &mut items);
        demuxer.finish(&mut items);
        assert_eq!(demuxer.skipped_bytes(), 0);
        let [
            Item::Header(head),
            Item::Track(track),
            Item::Title(title),
            ..,
        ] = &items[..]
        else {
            panic!("{items:?}");
        };
        assert_eq!(
            (&head[..], &title.text[..]),
            (&header[..], "Bach – Toccata")
        );
        assert_eq!((track.codec, track.channels), (Codec::Opus, 2));
        let samples = testing::samples(&items);
        assert_eq!(samples.len(), items.len() - 3);
        let sent = samples.iter().filter(|it| it.data[5] & FLAG_LAST == 0);
        assert_eq!(sent.count(), pages.len());
        let spans = samples.iter().map(|it| it.duration);
        let spans = spans.fold(Span::ZERO, |sum, span| sum + span);
        // Positions count the pre-skip, which the first page has moved as well.
        assert_eq!(spans.millis(), 200 + PRE_SKIP / 48);
    }

    #[test]
    fn a_gap_moves_the_position_and_rounded_stamps_do_not() {
        let mut muxer = OpusMuxer::new(&track(b""), 1);
        let stamps = [0, 21, 39, 61, 80, 100, 118, 500, 520, 300, 560];
        let packets: Vec<_> = stamps.map(|at| packet(at, 10)).into();
        let pages = pages(&mut muxer, &packets).into_iter();
        let ends = pages.map(|page| (page.0, (page.1 as i64 - PRE_SKIP) / 48));
        let ends: Vec<_> = ends.collect();
        // The one that steps back follows those before it.
        assert_eq!(ends, [(0, 100), (100, 140), (500, 580)]);
    }

    #[test]
    fn what_does_not_fit_is_left_out_or_continues_the_next_page() {
        let mut muxer = OpusMuxer::new(&track(b""), 1);
        let mut cut = packet(0, 1);
        cut.data = Bytes::new();
        let [first, second] = [0, 20].map(|millis| packet(millis, 40_000));
        let packets = [cut, packet(0, 70_000), first, second];
        let pages = pages(&mut muxer, &packets).into_iter();
        let lengths: Vec<_> = pages.map(|page| page.2.len()).collect();
        assert_eq!(lengths, [27 + 157 + 40_000; 2]);
    }

    #[test]
    fn the_header_says_what_the_track_says() {
        let own = b"OpusHead\x01\x01\x00\x0F\x80\xBB\0\0\0\0\0";
        let muxer = OpusMuxer::new(&track(own), 1);
        assert_eq!((muxer.head(), muxer.pre_skip), (&own[..], 0xF00));
        assert!(muxer.header(None).windows(own.len()).any(|w| w == own));
        let odd = OpusMuxer::new(&track(b"OpusHead"), 1);
        assert_eq!(odd.head(), opus::head(2));
        let long = "ö".repeat(5_000);
        let header = odd.header(Some(&long));
        assert!(header.len() < 2 * TITLE_BYTES_MAX);
    }
}
