//! What WHIP and WHEP share, without a socket, a thread or a clock.

pub mod rtp;
pub mod srtp;
