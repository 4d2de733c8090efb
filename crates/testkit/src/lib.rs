//! What scenarios share: the server under test, the clients around it, and the media they carry.
//!
//! A scenario starts a [`Server`], publishes a [`Clip`] with a [`Tool`] or a socket, listens with
//! [`http::Listener`] or another tool, perhaps through a bad network ([`Impaired`]), and compares
//! [`framemd5`] lists; [`hls`] watches and judges playlists. Everything here waits for conditions under a deadline, kills what it started when it
//! is dropped, and reports by panicking with the output of the children: it is for tests only.
#![allow(
    clippy::panic,
    reason = "a harness reports by panicking in the test that called it"
)]

mod audience;
mod cache;
mod control;
mod conversation;
mod descriptors;
mod file_server;
pub mod framemd5;
pub mod hls;
pub mod http;
mod icecast;
mod impaired;
mod media;
mod mediamtx;
mod metrics;
mod nginx;
mod player;
mod proc;
mod process;
mod proxy;
mod publisher;
mod sampling;
mod server;
mod tool;
mod wait;

pub use self::audience::{Audience, Gaps};
pub use self::cache::{Cache, Cached};
pub use self::control::Hops;
pub use self::descriptors::need_descriptors;
pub use self::file_server::FileServer;
pub use self::icecast::Icecast;
pub use self::impaired::{Impaired, Impairment, Passage};
pub use self::media::Clip;
pub use self::mediamtx::MediaMtx;
pub use self::metrics::Metrics;
pub use self::nginx::Nginx;
pub use self::player::{Player, Playing, vlc};
pub use self::process::{Process, Signal};
pub use self::proxy::Proxy;
pub use self::publisher::Publisher;
pub use self::sampling::{Sampling, combining, sample};
pub use self::server::{PUBLISH_KEY, Server, ServerBuilder, build_release};
pub use self::tool::{Finished, Tool, aiortc, axe, hls_clients, icy_clients, moto, require};
pub use self::wait::{DEADLINE, wait_until};

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// Cargo's target directory of this repository.
fn target_dir() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// Other servers do not tell which port they were given, so they are given one that was free a moment ago.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.unwrap_or_else(|error| panic!("no free port: {error}"))
}
