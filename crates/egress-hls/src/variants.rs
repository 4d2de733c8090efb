//! Mapping from a name to the streams that are its qualities; no other code knows it.
//!
//! * The name of a configured group stands for the streams of the group. It is not a stream itself.
//! * Any other name stands for the stream of that name and its renditions that are present ([`StreamName::rendition`]).
//!   For most streams that is the stream alone.
//!
//! Qualities are ordered best first: by height, then by bits per second. A quality whose publisher is away is omitted
//! while another is live.

use std::cmp::Reverse;
use std::collections::HashMap;

use fanout::{Expected, Info, Phase, Registry};
use media::{Description, Kind, StreamName};

/// Most qualities of a name: more than any ladder has. If there are more renditions, the first by name are taken.
pub const QUALITIES_MAX: usize = 16;

/// Groups of the configuration, and lookups of qualities.
#[derive(Debug, Default)]
pub struct Variants {
    groups: HashMap<StreamName, Vec<StreamName>>,
    /// Groups that each stream is in, by the stream's name.
    memberships: HashMap<StreamName, Vec<StreamName>>,
    /// Numbers of the streams that are in a group, from 1.
    numbers: HashMap<StreamName, u64>,
}

impl Variants {
    /// Makes the mapping for groups of streams, given by the groups' names.
    pub fn new(groups: impl IntoIterator<Item = (StreamName, Vec<StreamName>)>) -> Self {
        let mut variants = Self::default();
        for (name, streams) in groups {
            for stream in &streams {
                let memberships = variants.memberships.entry(stream.clone());
                memberships.or_default().push(name.clone());
                let number = variants.numbers.len() as u64 + 1;
                variants.numbers.entry(stream.clone()).or_insert(number);
            }
            variants.groups.insert(name, streams);
        }
        variants
    }

    /// Returns whether a name is that of a group.
    pub fn is_group(&self, name: &StreamName) -> bool {
        self.groups.contains_key(name)
    }

    /// Returns a number that no other stream of a group has; `None` for a stream that is in no group.
    pub(crate) fn number(&self, stream: &StreamName) -> Option<u64> {
        self.numbers.get(stream).copied()
    }

    /// Returns the streams that a name stands for: all streams of a group, whether present or not; otherwise the stream
    /// itself and its renditions that are present. At least one, and at most [`QUALITIES_MAX`].
    pub fn streams(&self, registry: &Registry, name: &StreamName) -> Vec<StreamName> {
        if let Some(streams) = self.groups.get(name) {
            return streams.iter().take(QUALITIES_MAX).cloned().collect();
        }
        let renditions = registry.renditions(name, QUALITIES_MAX - 1);
        let renditions = renditions.iter().map(|stream| stream.name().clone());
        std::iter::once(name.clone()).chain(renditions).collect()
    }

    /// Returns the stream for a player of a single stream that requests the name of a group: the best quality, or if
    /// none is present, the first stream that may be fetched from elsewhere. `None` if there is neither, for other
    /// names, and if a stream is published under the group's name.
    pub fn single(&self, registry: &Registry, name: &StreamName) -> Option<StreamName> {
        let streams = self.groups.get(name)?;
        if registry.stream(name).is_some() {
            return None;
        }
        let best = self.qualities(registry, name).into_iter().next();
        best.map(|best| best.info.name).or_else(|| {
            let is_expected = |name: &&StreamName| registry.expects(name) != Expected::No;
            streams.iter().find(is_expected).cloned()
        })
    }

    /// Returns the qualities of a name that are present, best first.
    pub fn qualities(&self, registry: &Registry, name: &StreamName) -> Vec<Quality> {
        let streams = self.streams(registry, name);
        let present = streams.iter().filter_map(|name| registry.stream(name));
        best_first(present.map(|stream| stream.info()).collect())
    }

    /// Returns the other streams that a player may switch to from this one: those of its groups, its renditions, and if
    /// it is a rendition, its stream and that stream's renditions. At most [`QUALITIES_MAX`]; empty for most streams.
    pub(crate) fn others(&self, registry: &Registry, stream: &StreamName) -> Vec<StreamName> {
        let groups = self.memberships.get(stream).into_iter().flatten();
        let parent = stream.parent();
        let presentations = groups.chain(parent.as_ref()).chain([stream]);
        let mut others = Vec::new();
        for other in presentations.flat_map(|name| self.streams(registry, name)) {
            if other != *stream && !others.contains(&other) && others.len() < QUALITIES_MAX {
                others.push(other);
            }
        }
        others
    }
}

/// Stream as one of several qualities.
#[derive(Clone, Debug)]
pub struct Quality {
    /// Description of the stream.
    pub info: Info,
    /// Width and height of its video; `None` without video, or if they are not known.
    pub dimensions: Option<(u32, u32)>,
    /// Bit rate of all its tracks together; `None` before it has been measured.
    pub bits_per_second: Option<u64>,
}

impl Quality {
    /// Makes the quality of a stream.
    pub fn of(info: Info) -> Self {
        let mut pictures = info.tracks.iter().filter(|track| track.kind == Kind::Video);
        let dimensions = pictures
            .next()
            .and_then(|track| Description::of(track).dimensions);
        let bits_per_second = bits_per_second(&info);
        Self {
            info,
            dimensions,
            bits_per_second,
        }
    }

    /// Returns the height of its video; 0 without video.
    pub fn height(&self) -> u32 {
        self.dimensions.map_or(0, |(_, height)| height)
    }
}

/// Returns the sum of the bit rates of a stream's tracks, once all of them have been measured.
pub(crate) fn bits_per_second(info: &Info) -> Option<u64> {
    let rates = info.rates.iter();
    let rates: Option<Vec<u64>> = rates
        .map(|rate| rate.map(|rate| rate.bits_per_second))
        .collect();
    let measured = rates.map(|rates| rates.iter().sum::<u64>());
    let has_pictures = info.tracks.iter().any(|track| track.kind == Kind::Video);
    let declared = info.bitrate.filter(|_| !has_pictures).map(u64::from);
    measured.filter(|sum| *sum > 0).or(declared)
}

/// Converts streams to qualities, best first. Streams whose publisher is away are omitted while another is live.
pub(crate) fn best_first(streams: Vec<Info>) -> Vec<Quality> {
    let is_live = |info: &Info| info.phase == Phase::Live;
    let is_any_live = streams.iter().any(is_live);
    let shown = streams
        .into_iter()
        .filter(|info| is_live(info) || !is_any_live && info.phase != Phase::Ended);
    let mut qualities: Vec<_> = shown.map(Quality::of).collect();
    let by = |one: &Quality| (Reverse(one.height()), Reverse(one.bits_per_second));
    qualities.sort_by(|a, b| {
        by(a)
            .cmp(&by(b))
            .then_with(|| a.info.name.cmp(&b.info.name))
    });
    qualities
}
