//! WebRTC viewers and publishers, each with a session of its own.
//!
//! ```text
//! TCP: POST offer ─► 201 answer ─► UDP: checks, handshake ─► sealed packets
//!                                      (webrtc::client)      counted, or opened and looked at
//! ```
//!
//! A viewer is a UDP socket that exchanges datagrams only with the server, from an address of its own. Most viewers only count
//! what they receive, by the numbers in its headers, and report losses; checked viewers decrypt everything, request missing
//! packets and reassemble frames, as players do.

pub(crate) mod audience;
mod follower;
mod lines;
mod offer;
pub(crate) mod packets;
pub(crate) mod publishers;
mod receiver;
mod sender;
mod session;
mod signal;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod viewer;

use webrtc::client::ClientIdentity;
use webrtc::ice::{Credentials, RANDOM_LEN};
use webrtc::srtp::Profile;

/// Generates the identity of a process's members in their handshakes.
fn identity() -> std::io::Result<ClientIdentity> {
    let identity = ClientIdentity::generate(&[Profile::Aes128Gcm, Profile::Aes128CmSha1_80]);
    identity.map_err(std::io::Error::other)
}

/// Generates a name and a password for one session.
fn credentials() -> Result<Credentials, getrandom::Error> {
    let mut bytes = [0; RANDOM_LEN];
    getrandom::fill(&mut bytes)?;
    Ok(Credentials::generate(&bytes))
}
