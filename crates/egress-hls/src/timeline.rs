//! Timelines: sets of streams with the same timestamps, which players of several qualities need to know.
//!
//! RFC 8216bis §6.2.4 requires equal timestamps and equal discontinuity sequence numbers in all variants. Streams of
//! one publisher have both. Streams that are published separately have neither: the time of a new one begins at the
//! present time of the others (`fanout::Settings::group`), which is exact only to the delay of its first sample, and
//! after an interruption it is late by as much. Players map timestamps to the playlist's time once for each
//! discontinuity sequence number; across numbers they align playlists by their program times. So each such stream has
//! its own numbers. Without them hls.js shows a quality early or late by the error of its timestamps.

use fanout::{Registry, Stream};
use media::StreamName;
use sha2::{Digest, Sha256};

use crate::Variants;

/// Discontinuities of one timeline: more than the publishers that follow one another between two restarts.
const DISCONTINUITIES: u64 = 1 << 16;

/// Number of timelines, chosen so that discontinuity sequence numbers stay positive in 32 bits, as players hold them.
/// The first are those of groups, which the configuration numbers.
const TIMELINES: u64 = 1 << 15;
const TIMELINES_OF_GROUPS: u64 = 20_000;

/// Returns the number that is added to a stream's discontinuity sequence numbers. It depends on the configuration, on
/// the stream's name, and on whether the stream shares its publisher with the stream that it is a rendition of.
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
