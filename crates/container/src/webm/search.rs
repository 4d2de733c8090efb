//! Search for the cluster at which a listener begins in order to play from a given time. The cluster begins with a
//! keyframe, like those at which the demuxer lets listeners join.

use std::ops::Range;

use bytes::Bytes;
use media::{Kind, Span};

use super::ebml::{self, Front, id};
use super::tracks::Facts;
use super::{FLAG_KEYFRAME, HEADER_BYTES_MAX};
use crate::search::{Bisection, LOOK_BYTES, LOOKS_MAX, Mark, Marks, Place, Search};

/// Search in one file; see [`Search`] for how to drive it.
#[derive(Debug)]
pub struct ClusterSearch {
    to: i64,
    end: u64,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// The part of the header that was read.
    Header(Vec<u8>),
    Clusters(Clusters, Bytes, Bisection),
    Over(Option<Place>),
}

/// Clusters as marks.
#[derive(Debug)]
struct Clusters {
    facts: Facts,
    /// Time of the first cluster.
    origin: Option<i64>,
}

/// Classification of a cluster by its first bytes.
enum Cluster {
    /// A cluster with which a listener may start, at this time.
    Join(i64),
    /// A cluster with which no listener may start, or something that is not a cluster.
    Other,
    /// Too few bytes to decide.
    Unclear,
}

impl ClusterSearch {
    /// Creates a search for the time `to` in a file of `file_bytes` bytes.
    pub fn new(to: Span, file_bytes: u64) -> Self {
        Self {
            to: to.ticks().max(0),
            end: file_bytes,
            step: Step::Header(Vec::new()),
        }
    }

    /// Takes more of the header, which ends where the first cluster begins.
    fn header(&self, mut header: Vec<u8>, bytes: &Bytes) -> Step {
        header.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            match header.get(at..).map(ebml::head) {
                Some(Front::Head(head)) if at == 0 && head.id != id::EBML => {
                    return Step::Over(None);
                }
                Some(Front::Head(head)) if head.id == id::CLUSTER => break,
                Some(Front::Head(head)) if head.id == id::SEGMENT => at += head.bytes,
                Some(Front::Head(head)) => {
                    let size = head.size.and_then(|size| usize::try_from(size).ok());
                    let Some(size) = size.filter(|size| *size <= HEADER_BYTES_MAX) else {
                        return Step::Over(None);
                    };
                    at += head.bytes + size;
                }
                Some(Front::Garbage) => return Step::Over(None),
                Some(Front::Unclear) | None => {
                    let is_all = bytes.is_empty() || header.len() as u64 >= self.end;
                    let is_long = header.len() > HEADER_BYTES_MAX + LOOK_BYTES as usize;
                    return match is_all || is_long {
                        true => Step::Over(None),
                        false => Step::Header(header),
                    };
                }
            }
        }
        header.truncate(at);
        let clusters = Clusters {
            facts: Facts::read(&header),
            origin: None,
        };
        // The first cluster is examined separately: it gives the origin of times.
        let search = Bisection::new(self.to, (at as u64, 0), self.end, LOOKS_MAX);
        Step::Clusters(clusters, header.into(), search)
    }
}

impl Search for ClusterSearch {
    fn wants(&self) -> Option<Range<u64>> {
        let at = match &self.step {
            Step::Header(header) => header.len() as u64,
            Step::Clusters(clusters, header, _) if clusters.origin.is_none() => header.len() as u64,
            Step::Clusters(_, _, search) => return search.wants(),
            Step::Over(_) => return None,
        };
        let end = self.end.min(at.saturating_add(LOOK_BYTES));
        (at < end).then_some(at..end)
    }

    fn take(&mut self, bytes: &Bytes) {
        self.step = match std::mem::replace(&mut self.step, Step::Over(None)) {
            Step::Header(header) => self.header(header, bytes),
            Step::Clusters(mut clusters, header, mut search) => {
                match clusters.origin {
                    None => clusters.origin = Some(clusters.time(bytes).unwrap_or(0)),
                    Some(_) => search.take(&mut clusters, bytes),
                }
                Step::Clusters(clusters, header, search)
            }
            over @ Step::Over(_) => over,
        };
    }

    fn place(&mut self) -> Option<Place> {
        match std::mem::replace(&mut self.step, Step::Over(None)) {
            Step::Header(_) => None,
            Step::Clusters(_, header, search) => Some(Place {
                header,
                at: search.found.0,
                began: Span::from_ticks(search.found.1),
            }),
            Step::Over(place) => place,
        }
    }
}

impl Clusters {
    /// Returns the time of the cluster at the start of `bytes`.
    fn time(&self, bytes: &[u8]) -> Option<i64> {
        let (timestamp, _) = timestamp(bytes)?;
        Some(self.facts.ticks(timestamp))
    }

    fn cluster(&self, bytes: &[u8]) -> Cluster {
        let Some(time) = self.time(bytes) else {
            let is_cut = bytes.len() < TIMESTAMP_BYTES_MAX;
            return if is_cut {
                Cluster::Unclear
            } else {
                Cluster::Other
            };
        };
        let ticks = time.saturating_sub(self.origin.unwrap_or(0));
        if !self.facts.has_video() {
            return Cluster::Join(ticks);
        }
        let Front::Head(head) = ebml::head(bytes) else {
            return Cluster::Other;
        };
        let mut rest = &bytes[head.bytes..];
        loop {
            let head = match ebml::head(rest) {
                Front::Unclear => return Cluster::Unclear,
                Front::Head(head) if head.id != id::CLUSTER => head,
                Front::Garbage | Front::Head(_) => return Cluster::Other,
            };
            let body = &rest[head.bytes..];
            let Some(size) = head.size.and_then(|size| usize::try_from(size).ok()) else {
                return Cluster::Other;
            };
            let body = &body[..body.len().min(size)];
            if let Some((number, is_key)) = block(head.id, body)
                && self
                    .facts
                    .track(number)
                    .is_some_and(|it| it.kind == Kind::Video)
            {
                return if is_key {
                    Cluster::Join(ticks)
                } else {
                    Cluster::Other
                };
            }
            match rest.get(head.bytes.saturating_add(size)..) {
                Some(behind) => rest = behind,
                None => return Cluster::Unclear,
            }
        }
    }
}

impl Marks for Clusters {
    fn first(&mut self, bytes: &Bytes) -> Mark {
        const CLUSTER: [u8; 4] = id::CLUSTER.to_be_bytes();
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(found) = rest.windows(CLUSTER.len()).position(|it| it == CLUSTER) else {
                return Mark::None(bytes.len().saturating_sub(CLUSTER.len() - 1).max(at));
            };
            let offset = at + found;
            at = offset + CLUSTER.len();
            match self.cluster(&bytes[offset..]) {
                Cluster::Join(ticks) => {
                    return Mark::At {
                        offset,
                        behind: at,
                        ticks,
                    };
                }
                Cluster::Unclear if offset > 0 => return Mark::None(offset),
                Cluster::Unclear | Cluster::Other => {}
            }
        }
    }
}

/// Upper bound on the bytes from a cluster's beginning to the end of its timestamp, where that is one of the first
/// elements.
const TIMESTAMP_BYTES_MAX: usize = 64;

/// Reads the timestamp of the cluster at the start of `bytes`, and returns it with its end offset.
pub(super) fn timestamp(bytes: &[u8]) -> Option<(u64, usize)> {
    let Front::Head(cluster) = ebml::head(bytes) else {
        return None;
    };
    let mut at = cluster.bytes;
    while cluster.id == id::CLUSTER && at < TIMESTAMP_BYTES_MAX {
        let Front::Head(head) = ebml::head(bytes.get(at..)?) else {
            return None;
        };
        let begin = at + head.bytes;
        let end = begin.checked_add(usize::try_from(head.size?).ok()?)?;
        match head.id {
            id::TIMESTAMP => return Some((ebml::unsigned(bytes.get(begin..end)?)?, end)),
            id::CRC | id::VOID => at = end,
            _ => return None,
        }
    }
    None
}

/// Returns the track of a block, or of a group with one, and whether the block is a keyframe. The keyframe flag is
/// not reliable for a group that is not whole.
fn block(kind: u32, body: &[u8]) -> Option<(u64, bool)> {
    match kind {
        id::SIMPLE_BLOCK => {
            let (number, bytes) = ebml::number(body)?;
            let flags = body.get(bytes + 2)?;
            Some((number?, flags & FLAG_KEYFRAME != 0))
        }
        id::BLOCK_GROUP => {
            let mut is_key = true;
            let mut number = None;
            for (kind, child) in ebml::children(body) {
                is_key &= kind != id::REFERENCE_BLOCK;
                if kind == id::BLOCK {
                    number = ebml::number(child).and_then(|(number, _)| number);
                }
            }
            Some((number?, is_key))
        }
        _ => None,
    }
}
