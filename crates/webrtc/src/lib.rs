//! What WHIP and WHEP share, without a socket, a thread or a clock.

pub mod ice;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod srtp;
