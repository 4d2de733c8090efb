//! Link of a chain: the logical streams that play at the same time.

use std::sync::Arc;

use bytes::Bytes;
use media::{Framing, Kind, Span, TICKS_PER_SECOND, Timestamp, Title, Track, TrackId};

use super::mapping::Mapping;
use super::page::Page;
use super::{HEADER_BYTES_MAX, comments};
use crate::timeline::Timeline;

/// Upper bound on the logical streams in one link. A film with commentary and subtitles has four or five.
const LOGICAL_MAX: usize = 16;

/// Longest plausible first data page. If it ends later, its stream was joined midway, so its position does not give its
/// length. The longest pages in use last a few seconds.
pub(super) const FIRST_PAGE_TICKS_MAX: i64 = 5 * TICKS_PER_SECOND;

/// Link whose headers are arriving or complete.
#[derive(Debug)]
pub(super) struct Chain {
    /// Header pages so far, as they arrived, but without data after the last header; at most [`HEADER_BYTES_MAX`].
    header: Vec<u8>,
    logical: Vec<Logical>,
    /// Only first pages have arrived.
    is_opening: bool,
    /// The headers are complete and passed on.
    has_begun: bool,
}

#[derive(Debug, Default)]
struct Logical {
    serial: u32,
    mapping: Mapping,
    id: Option<TrackId>,
    /// Header packet that is being assembled, within the bound of the header pages.
    packet: Vec<u8>,
    packets: u32,
    is_complete: bool,
    title: Option<Title>,
    timeline: Timeline,
    has_data: bool,
}

/// Role of a page in a link.
pub(super) enum Meaning {
    /// A header page.
    Header,
    /// A data page; the headers are complete.
    Data,
    /// The last of a stream's header pages, and the data that followed on it.
    HeaderAndData(Page),
    /// A page that belongs to no stream of the link, or arrives too early.
    Foreign,
    /// The headers exceed their bound. The link is unusable.
    Overflow,
}

/// Playback time of a data page, and whether a listener may start with it.
pub(super) struct PageTiming {
    pub(super) track: TrackId,
    pub(super) began: Timestamp,
    pub(super) duration: Span,
    pub(super) keyframe: bool,
}

impl Chain {
    pub(super) const fn new() -> Self {
        Self {
            header: Vec::new(),
            logical: Vec::new(),
            is_opening: true,
            has_begun: false,
        }
    }

    /// Returns whether a first page with this serial number joins the link rather than beginning the next.
    pub(super) fn admits(&self, serial: u32) -> bool {
        self.is_opening
            && self.logical.len() < LOGICAL_MAX
            && self.logical.iter().all(|logical| logical.serial != serial)
    }

    /// Classifies a page, and keeps it if it is a header page. `now` is the time at which the link's media begins.
    pub(super) fn take(&mut self, page: &Page, now: Timestamp) -> Meaning {
        if page.is_first() {
            self.logical.push(Logical::new(page.serial(), now));
        } else {
            self.is_opening = false;
        }
        let mut all = self.logical.iter();
        let Some(at) = all.position(|logical| logical.serial == page.serial()) else {
            return Meaning::Foreign;
        };
        if self.has_begun {
            return Meaning::Data;
        }
        if !self.logical[at].expects_header(page) {
            return match self.logical.iter().all(Logical::is_ready) {
                true => Meaning::Data,
                false => Meaning::Foreign,
            };
        }
        if self.header.len() + page.bytes.len() > HEADER_BYTES_MAX {
            return Meaning::Overflow;
        }
        let taken = self.logical[at].take_header(page);
        // Listeners that join later need the headers without this data, which belongs to another time.
        if let Some((header, data)) = page.split(taken) {
            self.header.extend_from_slice(&header.bytes);
            return Meaning::HeaderAndData(data);
        }
        self.header.extend_from_slice(&page.bytes);
        Meaning::Header
    }

    /// Returns whether the headers can be passed on without waiting for data: every stream has stated its number of
    /// headers, and no further stream can join.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_opening && self.logical.iter().all(|logical| logical.is_complete)
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns the header bytes that were never passed on.
    pub(super) fn unused_bytes(&self) -> usize {
        self.header.len()
    }

    /// Passes on the header pages, the tracks and the title, and expects data from here on.
    pub(super) fn begin(&mut self) -> (Bytes, Vec<Arc<Track>>, Option<Title>) {
        self.has_begun = true;
        self.name_tracks();
        let tracks = self.logical.iter().filter_map(Logical::track);
        let tracks = tracks.map(Arc::new).collect();
        let mut all = self.logical.iter_mut();
        let title = all.find_map(|logical| logical.title.take());
        (std::mem::take(&mut self.header).into(), tracks, title)
    }

    /// Returns whether a page belongs to the link, once it has begun.
    pub(super) fn has(&self, page: &Page) -> bool {
        !page.is_first() && self.logical.iter().any(|it| it.serial == page.serial())
    }

    /// Returns the stream that listeners start with, and its mapping: the first video stream, or else the first audio
    /// stream.
    pub(super) fn leader(&self) -> Option<(u32, Mapping)> {
        let of = |kind| {
            let mut logical = self.logical.iter();
            logical.find(|it| it.mapping.kind() == Some(kind))
        };
        let leader = of(Kind::Video).or_else(|| of(Kind::Audio))?;
        Some((leader.serial, leader.mapping))
    }

    /// Places a data page on the timeline.
    pub(super) fn place(&mut self, page: &Page) -> Option<PageTiming> {
        let is_video = |logical: &Logical| logical.mapping.kind() == Some(Kind::Video);
        let has_video = self.logical.iter().any(is_video);
        let first_track = self.logical.iter().find_map(|logical| logical.id)?;
        let mut all = self.logical.iter_mut();
        let logical = all.find(|logical| logical.serial == page.serial())?;
        let (began, ended) = logical.advance(page);
        Some(PageTiming {
            track: logical.id.unwrap_or(first_track),
            began,
            duration: ended - began,
            keyframe: is_video(logical) == has_video && may_start_at(logical.mapping, page),
        })
    }

    /// Assigns track ids: the first audio and the first video stream get their usual ids, others the next ones. A link
    /// with only unknown streams counts as audio.
    fn name_tracks(&mut self) {
        let mut next = TrackId::VIDEO.0 + 1;
        let (mut has_audio, mut has_video) = (false, false);
        for logical in &mut self.logical {
            let (taken, usual) = match logical.mapping.kind() {
                Some(Kind::Audio) => (&mut has_audio, TrackId::AUDIO),
                Some(Kind::Video) => (&mut has_video, TrackId::VIDEO),
                None => continue,
            };
            if *taken {
                logical.id = Some(TrackId(next));
                next += 1;
            } else {
                *taken = true;
                logical.id = Some(usual);
            }
        }
        if let (false, false, Some(first)) = (has_audio, has_video, self.logical.first_mut()) {
            first.id = Some(TrackId::AUDIO);
        }
    }
}

impl Logical {
    fn new(serial: u32, now: Timestamp) -> Self {
        let mut timeline = Timeline::default();
        timeline.catch_up(now);
        Self {
            serial,
            timeline,
            ..Self::default()
        }
    }

    /// Returns whether `page` continues the headers of this stream.
    fn expects_header(&self, page: &Page) -> bool {
        match self.mapping {
            Mapping::Unknown => {
                page.is_first() || page.granule().is_none_or(|granule| granule == 0)
            }
            // Audio frames begin with a sync code, which metadata blocks never do.
            Mapping::Flac { .. } if !page.is_continued() => {
                let first = page.pieces().next();
                let is_audio = first.is_some_and(|(piece, _)| piece.first() == Some(&0xFF));
                !self.is_complete && !is_audio
            }
            _ => !self.is_complete,
        }
    }

    /// Returns whether data may arrive. Unknown streams are ready whenever the others are.
    fn is_ready(&self) -> bool {
        self.is_complete || self.mapping == Mapping::Unknown
            // Its first audio frame ends the metadata blocks.
            || matches!(self.mapping, Mapping::Flac { .. })
    }

    /// Takes packets until the headers are complete; returns the number of header pieces on the page.
    fn take_header(&mut self, page: &Page) -> usize {
        let mut taken = 0;
        for (piece, ends) in page.pieces() {
            if self.is_complete {
                break;
            }
            taken += 1;
            self.packet.extend_from_slice(piece);
            if !ends {
                continue;
            }
            let packet = std::mem::take(&mut self.packet);
            self.packets += 1;
            if self.packets == 1 {
                self.mapping = Mapping::of(&packet);
            }
            let found = self.mapping.comments(self.packets, &packet);
            if let Some(title) = found.and_then(comments::title) {
                self.title = Some(title);
            }
            self.is_complete |= self.mapping.is_complete(self.packets, &packet);
        }
        taken
    }

    fn track(&self) -> Option<Track> {
        let mapping = self.mapping;
        let kind = mapping.kind().unwrap_or(Kind::Audio);
        Some(Track {
            sample_rate: mapping.sample_rate(),
            channels: mapping.channels(),
            ..Track::new(self.id?, kind, mapping.codec(), Framing::SelfFramed)
        })
    }

    /// Returns the beginning and the end of the page. A granule position is where a page *ends*.
    fn advance(&mut self, page: &Page) -> (Timestamp, Timestamp) {
        let began = self.timeline.now();
        let Some(granule) = page.granule() else {
            return (began, began);
        };
        let ticks = self.mapping.ticks(granule);
        if !self.has_data {
            self.has_data = true;
            let is_whole = ticks <= FIRST_PAGE_TICKS_MAX;
            self.timeline.restart_at(if is_whole { 0 } else { ticks });
        }
        (began, self.timeline.advance_to(ticks))
    }
}

/// Returns whether a listener of a stream may start with a page of it.
pub(super) fn may_start_at(mapping: Mapping, page: &Page) -> bool {
    if mapping.kind() == Some(Kind::Video) {
        // A keyframe that begins after the end of an older frame is sufficient: decoders drop a packet of which they
        // have only the end.
        let mut begun = page.pieces().skip(usize::from(page.is_continued()));
        return begun.any(|(packet, _)| mapping.is_keyframe(packet));
    }
    !page.is_continued() && page.pieces().next().is_some()
}
