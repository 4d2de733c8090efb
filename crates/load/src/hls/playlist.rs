//! A media playlist, and the lookups of a player in it. Spans are in nanoseconds.
//!
//! A playlist keeps its text, and its entries are positions in that text: it costs one allocation for each segment with parts,
//! and is shared by all players that received the same text.

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
    /// End of the range, exclusive.
    pub(super) end: u64,
}

/// Something that can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) uri: Words,
    pub(super) range: Option<ByteRange>,
}

/// A media segment, or the beginning of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    /// Duration; zero while the segment is incomplete.
    pub(super) duration: u64,
    /// Resource of the whole segment; `None` while it is incomplete.
    pub(super) whole: Option<Resource>,
    pub(super) parts: Vec<Part>,
    /// Map needed to decode the segment; `None` if it needs none, or if the playlist is a delta that does not repeat the map.
    pub(super) map: Option<Resource>,
    pub(super) is_discontinuous: bool,
    pub(super) is_gap: bool,
    /// Wall clock at which its first sample was made, in nanoseconds since 1970.
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

/// Position of a part in a segment; the part after the last one of a complete segment is the next segment's first.
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
    /// Number of the first segment, including skipped ones.
    pub(super) sequence: u64,
    pub(super) discontinuity: u64,
    /// Number of segments that a delta leaves out at its beginning.
    pub(super) skipped: u64,
    pub(super) is_ended: bool,
    pub(super) segments: Vec<Segment>,
    /// URI of a part that is still being made.
    pub(super) hint: Option<Words>,
    /// Flaws of the playlist by itself, and their positions.
    pub(super) flaws: Vec<(Option<Position>, Flaw)>,
}

/// A part or a segment to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) at: Position,
    /// Position after the piece.
    pub(super) next: Position,
    pub(super) resource: Resource,
    pub(super) map: Option<Resource>,
    pub(super) duration: u64,
    pub(super) is_part: bool,
    pub(super) is_gap: bool,
    /// Whether the piece is the first one after a discontinuity.
    pub(super) is_discontinuous: bool,
    /// Wall clock at which its last sample ended, in nanoseconds since 1970.
    pub(super) ends: Option<u64>,
}

/// Result of looking up a position in a playlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Piece(Piece),
    /// The position is not listed yet.
    Later,
    /// The position is no longer listed.
    Behind,
}

impl Playlist {
    /// Returns the text at `words`.
    pub(super) fn at(&self, words: Words) -> &str {
        let range = words.begin as usize..words.end as usize;
        self.text.get(range).unwrap_or_default()
    }

    /// Returns whether the playlist offers what low-latency players need.
    pub(super) fn is_low_latency(&self) -> bool {
        self.can_block && self.part_target.is_some()
    }

    /// Returns the distance from the end at which a player plays.
    pub(super) fn distance(&self, is_low_latency: bool) -> u64 {
        if is_low_latency {
            let target = self.part_target.unwrap_or_default();
            self.part_hold_back.unwrap_or(3 * target)
        } else {
            self.hold_back.unwrap_or(3 * self.target)
        }
    }

    /// Returns the number of the first listed segment.
    pub(super) fn first(&self) -> u64 {
        self.sequence + self.skipped
    }

    /// Returns the position that will be listed next.
    pub(super) fn end(&self) -> Position {
        let after = self.first() + self.segments.len() as u64;
        match self.segments.last() {
            Some(Segment {
                whole: None, parts, ..
            }) => Position::at(after - 1, parts.len() as u32),
            _ => Position::of(after),
        }
    }

    /// Returns the duration of the media listed from `position` on.
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

    /// Returns a starting position at least `distance` behind the end, and its actual distance from the end. A player of parts
    /// begins at an independent part, other players at a segment.
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
                earliest = (Position::at(number, index as u32), behind);
                if behind >= distance && part.is_independent && !part.is_gap {
                    return earliest;
                }
            }
        }
        earliest
    }

    /// Looks up `position`, for a player of parts or of segments.
    pub(super) fn find(&self, position: Position, by_parts: bool) -> Found {
        let mut at = position;
        // Two rounds at most: a complete segment's end is the beginning of the next segment.
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
                    // Its parts are no longer listed, long after they were.
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
    /// Returns the position of the beginning of a segment.
    pub(super) const fn of(segment: u64) -> Self {
        Self::at(segment, 0)
    }

    /// Returns the position of a part.
    pub(super) const fn at(segment: u64, part: u32) -> Self {
        Self { segment, part }
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
