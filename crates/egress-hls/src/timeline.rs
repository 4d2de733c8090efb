//! Which streams have the same timestamps, as players of several qualities have to know.
//!
//! RFC 8216bis §6.2.4 has equal timestamps and equal discontinuity sequence numbers in all variants. Streams that one
//! publisher sends have both. Streams that are published by themselves have neither: the time of a new one begins where
//! the others are (`fanout::Settings::group`), which is exact to the delay of its first sample, and after an interruption
//! it is late by as much. Players map timestamps to the playlist's time once for each discontinuity sequence number, and
//! across numbers they align playlists by their program times. So each such stream has numbers of its own: without them
//! hls.js shows a quality as much too early or late as its timestamps are.

use fanout::{Registry, Stream};
use media::StreamName;
use sha2::{Digest, Sha256};

use crate::Variants;

/// Discontinuities of one timeline: more publishers than follow one another between two restarts.
const DISCONTINUITIES: u64 = 1 << 16;

/// Timelines, so that their discontinuity sequence numbers are positive in 32 bits, in which players hold them. The
/// first are those of groups, which the configuration numbers.
const TIMELINES: u64 = 1 << 15;
const TIMELINES_OF_GROUPS: u64 = 20_000;

/// What is added to the discontinuity sequence numbers of a stream. It depends on the configuration, on the stream's
/// name, and on whether it has its publisher in common with the stream that it is a rendition of.
pub(crate) fn discontinuity_base(variants: &Variants, registry: &Registry, stream: &Stream) -> u64 {
    number(variants, registry, stream) * DISCONTINUITIES
}

fn number(variants: &Variants, registry: &Registry, stream: &Stream) -> u64 {
    let name = stream.name();
    if let Some(number) = variants.number(name) {
        return number.min(TIMELINES_OF_GROUPS);
    }
    let Some(parent) = name.parent() else {
        return 0;
    };
    match registry.stream(&parent) {
        Some(parent) if has_same_publisher(&parent, stream) => number(variants, registry, &parent),
        _ => TIMELINES_OF_GROUPS + 1 + hash(name) % (TIMELINES - TIMELINES_OF_GROUPS - 1),
    }
}

fn has_same_publisher(one: &Stream, other: &Stream) -> bool {
    one.info().source.shares_connection(&other.info().source)
}

fn hash(name: &StreamName) -> u64 {
    let digest = Sha256::digest(name.as_str());
    digest[..4]
        .iter()
        .fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}
