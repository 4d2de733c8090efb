//! Wire formats of listeners.
//!
//! ```text
//!  item ─► Packager ─► units of final bytes, preambles for joiners ─► a lane's log (fanout)
//! ```
//!
//! * Each format is one packager without side effects: items go in, units with their entries come out. An egress crate gives it
//!   to [`fanout::Stream::lane`], and never inspects its bytes.
//! * [`Form`] is the table of what HTTP listeners can receive of a stream: addresses, packagers, media types and codecs.
//! * [`Mp4::segmented`] is the lane that HLS reads by ranges; [`Ts::segmented`] and [`PackedAudio::segmented`] have the same
//!   segments in other containers.
//! * [`rtmp`] contains the lanes of RTMP players, [`rtp`] those of WebRTC viewers.
//!
//! A lane that opens in the middle of a stream is first given the tracks, the header, the metadata, the title and the recent
//! samples, in that order, and then new items as they arrive. Everything before the first sample therefore belongs into
//! preambles, and is never also written to the log, since a joiner would receive it twice.

mod elementary;
mod events;
mod flv;
mod form;
mod icy;
mod mp4;
mod opus;
mod packed_audio;
mod raw;
pub mod rtmp;
pub mod rtp;
mod segmenter;
mod segments;
#[cfg(test)]
mod testing;
mod titles;
mod ts;

pub use elementary::Elementary;
pub use flv::Flv;
pub use form::{Extension, Form};
pub use icy::{Icy, METAINT};
pub use mp4::Mp4;
pub use opus::Opus;
pub use packed_audio::PackedAudio;
pub use raw::Raw;
pub use ts::{SegmentCipher, Ts, TsSegments};
