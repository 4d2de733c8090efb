//! ICY metadata: titles at fixed positions inside an audio stream.
//!
//! ```text
//! audio × metaint │ n │ 16·n bytes of text │ audio × metaint │ n │ …
//!                                          └ a listener may start here
//! ```
//!
//! All listeners of a mount share one [`Interleaver`], so a listener that starts right after a metadata block
//! counts the same positions as all others.

mod block;
mod deinterleave;
mod interleave;

pub use block::{BLOCK_BYTES_MAX, Block, title_in, title_of};
pub use deinterleave::Deinterleaver;
pub use interleave::Interleaver;

/// Piece of an ICY stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    /// Audio, as the source sent it.
    Audio(&'a [u8]),
    /// One whole metadata block, including its length byte. A listener may start right after it.
    Block(&'a [u8]),
}
