//! What WHIP and WHEP share, without a socket, a thread or a clock.
//!
//! A session is agreed on by [`sdp`], finds its way by [`ice`], makes its keys by [`dtls`], and protects
//! its media by [`srtp`]; [`rtcp`] is what the peers say about it.

pub mod dtls;
pub mod ice;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod srtp;
#[cfg(test)]
mod testing;
