//! What WHIP and WHEP share: the protocols, without a socket, a thread or a clock, and the one port
//! they are served on.
//!
//! A WebRTC session is agreed on by [`sdp`], finds its path by [`ice`], makes its keys by [`dtls`],
//! and protects its media by [`srtp`]; [`rtcp`] is what the peers report about it. [`mux`] puts
//! these together for all sessions of one worker, and [`framing`] carries datagrams over TCP.
//! [`port`] is the only module with sockets: its workers drive a [`mux`] each.
//!
//! Of the webrtc-rs family this uses the component crates: `rtc-sdp` for syntax, `rtc-stun` as a
//! codec, `rtc-dtls` for handshakes; `rtc-srtp` is the reference in tests. Agents, answers, sealing
//! and demultiplexing are here, because a relay needs them to be lite, bounded and free of
//! allocation per packet.
//!
//! This crate does not decide what media is sent: [`mux::Event::Connected`] gives the keys and the
//! path to the port's [`port::Role`], and [`srtp::Sealer`] seals one shared plaintext for each
//! listener. [`client`] is the other side, for load generators and tests.

pub mod client;
pub mod dtls;
pub mod framing;
pub mod ice;
pub mod mux;
pub mod port;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod srtp;
#[cfg(test)]
mod testing;
