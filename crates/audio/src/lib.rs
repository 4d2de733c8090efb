//! Audio that the server decodes, encodes or measures: AAC and MP3 to Opus, the derived track, levels.
//!
//! ```text
//!  stream ──tap──► derived ──► transcode (threads) ──► the derived track of the same stream
//!         └─tap──► levels: silence and clipping ─────► events
//! ```
//!
//! [`transcode`] knows no stream: samples in, packets out, on threads of its own that contain the panics of decoders. [`derived`]
//! decides when a stream has a derived track, and bounds how many have one. [`levels`] decodes what a stream's publisher sends while
//! somebody wants to know. Callers: `server`, which assembles them; `config` and `operator` for their settings and counters.

pub mod derived;
pub mod levels;
pub mod transcode;
