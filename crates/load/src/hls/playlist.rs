//! A media playlist, and what a player finds in it. Spans are in nanoseconds.
//!
//! A playlist keeps its text, and its entries are places in it: it costs one allocation for each segment with
//! parts, and is shared by all players that were answered the same text.

use super::flaw::Flaw;

/// A run of bytes in a playlist's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) begin: u32,
    pub(super) end: u32,
}

/// A run of bytes in a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteRange {
    pub(super) begin: u64,
    /// Not part of it.
    pub(super) end: u64,
}

/// What can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) uri: Words,
    pub(super) range: Option<ByteRange>,
}

/// A media segment, or the beginning of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    /// Zero while it is not complete.
    pub(super) duration: u64,
    /// `None` while it is not complete.
    pub(super) whole: Option<Resource>,
    pub(super) parts: Vec<Part>,
    /// What it needs to be decoded; `None` if it needs nothing, or if the playlist is a delta that does not
    /// repeat it.
    pub(super) map: Option<Resource>,
    pub(super) is_discontinuous: bool,
    pub(super) is_gap: bool,
    /// When its first sample was made, wall clock since 1970.
    pub(super) date: Option<u64>,
}

/// A partial segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) duration: u64,
    pub(super) resource: Resource,
    pub(super) is_independent: bool,
    pub(super) is_gap: bool,
}

/// Which part of which segment; the part after the last one of a complete segment is the next segment's first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// Media sequence number.
    pub(super) segment: u64,
    pub(super) part: u32,
}

/// A version of a media playlist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Playlist {
    pub(super) text: Box<str>,
    pub(super) target: u64,
    pub(super) part_target: Option<u64>,
    pub(super) hold_back: Option<u64>,
    pub(super) part_hold_back: Option<u64>,
    pub(super) can_block: bool,
    pub(super) can_skip_until: Option<u64>,
    /// The number of the first segment, skipped ones included.
    pub(super) sequence: u64,
    pub(super) discontinuity: u64,
    /// Segments that a delta leaves out at its beginning.
    pub(super) skipped: u64,
    pub(super) is_ended: bool,
    pub(super) segments: Vec<Segment>,
    /// The URI of a part that is still being made.
    pub(super) hint: Option<Words>,
    /// What is wrong with it by itself, and where.
    pub(super) flaws: Vec<(Option<Position>, Flaw)>,
}

/// A part or a segment to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) at: Position,
    /// The position that follows it.
    pub(super) next: Position,
    pub(super) resource: Resource,
    pub(super) map: Option<Resource>,
    pub(super) duration: u64,
    pub(super) is_part: bool,
    pub(super) is_gap: bool,
    /// It is the first one after a discontinuity.
    pub(super) is_discontinuous: bool,
    /// When its last sample ended, wall clock since 1970.
    pub(super) ends: Option<u64>,
}

/// What a playlist has at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Piece(Piece),
    /// It is not listed yet.
    Later,
    /// It is listed no more.
    Behind,
}

impl Playlist {
    /// What stands at `words`.
    pub(super) fn at(&self, words: Words) -> &str {
        let range = words.begin as usize..words.end as usize;
        self.text.get(range).unwrap_or_default()
    }

    /// Whether it offers what low-latency players need.
    pub(super) fn is_low_latency(&self) -> bool {
        self.can_block && self.part_target.is_some()
    }

    /// How far behind the end a player plays.
    pub(super) fn distance(&self, is_low_latency: bool) -> u64 {
        if is_low_latency {
            let target = self.part_target.unwrap_or_default();
            self.part_hold_back.unwrap_or(3 * target)
        } else {
            self.hold_back.unwrap_or(3 * self.target)
        }
    }

    /// The number of the first segment that is listed.
    pub(super) fn first(&self) -> u64 {
        self.sequence + self.skipped
    }

    /// The position of what will be listed next.
    pub(super) fn end(&self) -> Position {
        let after = self.first() + self.segments.len() as u64;
        match self.segments.last() {
            Some(Segment {
                whole: None, parts, ..
            }) => Position {
                segment: after - 1,
                part: parts.len() as u32,
            },
            _ => Position {
                segment: after,
                part: 0,
            },
        }
    }

    /// The duration of what is listed from `position` on.
    pub(super) fn since(&self, position: Position) -> u64 {
        let from = position.segment.saturating_sub(self.first());
        let later = self
            .segments
            .iter()
            .skip(usize::try_from(from).unwrap_or(usize::MAX));
        let lengths = later.enumerate().map(|(index, segment)| {
            let is_begun = index == 0 && self.first() <= position.segment;
            let skipped = if is_begun { position.part as usize } else { 0 };
            match segment.parts.is_empty() {
                true if skipped > 0 => 0,
                true => segment.duration,
                false => segment
                    .parts
                    .iter()
                    .skip(skipped)
                    .map(|part| part.duration)
                    .sum(),
            }
        });
        lengths.sum()
    }

    pub(super) fn segment(&self, number: u64) -> Option<&Segment> {
        let index = number.checked_sub(self.first())?;
        self.segments.get(usize::try_from(index).ok()?)
    }

    /// Where to begin, at least `distance` behind the end; and how far behind the end that is. A player of parts
    /// begins at an independent one, other players at a segment.
    pub(super) fn start(&self, distance: u64, by_parts: bool) -> (Position, u64) {
        let mut behind = 0;
        let end = self.end();
        let none = if by_parts {
            end
        } else {
            Position::of(end.segment)
        };
        let mut earliest = (none, 0);
        for (index, segment) in self.segments.iter().enumerate().rev() {
            let number = self.first() + index as u64;
            if !by_parts || segment.parts.is_empty() {
                if segment.whole.is_none() {
                    continue;
                }
                behind += segment.duration;
                earliest = (Position::of(number), behind);
                if behind >= distance && !segment.is_gap {
                    return earliest;
                }
                continue;
            }
            for (index, part) in segment.parts.iter().enumerate().rev() {
                behind += part.duration;
                let part_at = Position {
                    segment: number,
                    part: index as u32,
                };
                earliest = (part_at, behind);
                if behind >= distance && part.is_independent && !part.is_gap {
                    return earliest;
                }
            }
        }
        earliest
    }

    /// What is at `position`, for a player of parts or of segments.
    pub(super) fn find(&self, position: Position, by_parts: bool) -> Found {
        let mut at = position;
        // Two rounds at the most: a complete segment's end is the beginning of the next one.
        loop {
            if at.segment < self.first() {
                return Found::Behind;
            }
            let Some(segment) = self.segment(at.segment) else {
                return Found::Later;
            };
            if !by_parts || segment.parts.is_empty() {
                return match (segment.whole, at.part) {
                    (None, _) => Found::Later,
                    (Some(whole), 0) => Found::Piece(segment.piece(at.segment, whole)),
                    // Its parts are listed no more, which is long after they were.
                    (Some(_), _) => Found::Behind,
                };
            }
            if let Some(part) = segment.parts.get(at.part as usize) {
                return Found::Piece(segment.piece_of_part(at, part));
            }
            if segment.whole.is_none() {
                return Found::Later;
            }
            at = Position::of(at.segment + 1);
        }
    }
}

impl Position {
    /// The beginning of a segment.
    pub(super) const fn of(segment: u64) -> Self {
        Self { segment, part: 0 }
    }
}

impl Segment {
    fn piece(&self, number: u64, whole: Resource) -> Piece {
        Piece {
            at: Position::of(number),
            next: Position::of(number + 1),
            resource: whole,
            map: self.map,
            duration: self.duration,
            is_part: false,
            is_gap: self.is_gap,
            is_discontinuous: self.is_discontinuous,
            ends: self.date.map(|date| date + self.duration),
        }
    }

    fn piece_of_part(&self, at: Position, part: &Part) -> Piece {
        let so_far = self.parts.iter().take(at.part as usize + 1);
        let until: u64 = so_far.map(|part| part.duration).sum();
        Piece {
            at,
            next: Position {
                part: at.part + 1,
                ..at
            },
            resource: part.resource,
            map: self.map,
            duration: part.duration,
            is_part: true,
            is_gap: part.is_gap || self.is_gap,
            is_discontinuous: self.is_discontinuous && at.part == 0,
            ends: self.date.map(|date| date + until),
        }
    }
}
