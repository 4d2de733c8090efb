//! WebRTC foundation shared by WHIP and WHEP: the protocols, without a socket, a thread or a clock, and the port that serves
//! them.
//!
//! [`sdp`] negotiates a session, [`ice`] finds its path, [`dtls`] creates its keys, and [`srtp`] protects its media; [`rtcp`]
//! carries the peers' reports about it. [`mux`] combines these for all sessions of one worker, and [`framing`] carries
//! datagrams over TCP. [`port`] is the only module with sockets: each of its workers drives a [`mux`].
//!
//! From the webrtc-rs family this crate uses the components: `rtc-sdp` for syntax, `rtc-stun` as a codec, `rtc-dtls` for
//! handshakes; `rtc-srtp` is the reference in tests. Agents, answers, sealing and demultiplexing are implemented here, because
//! a relay needs them to be lite, bounded and free of allocation per packet.
//!
//! This crate does not decide what media is sent: [`mux::Event::Connected`] gives the keys and the path to the port's
//! [`port::Role`], and [`srtp::Sealer`] seals one shared plaintext for each listener. [`client`] is the client's side, for load
//! generators and tests.

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
