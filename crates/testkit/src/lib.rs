//! Shared parts of scenarios: the server under test, the clients around it, and the media they carry.
//!
//! A scenario starts a [`Server`], publishes a [`Clip`] with a [`Tool`] or a socket, listens with [`http::Listener`] or another
//! tool, perhaps through a bad network ([`Impaired`]), and compares [`framemd5`] lists; [`hls`] watches and judges playlists.
//! Everything here waits for conditions under a deadline, kills what it started when it is dropped, and reports by panicking
//! with the output of the children: it is for tests only.
#![allow(
    clippy::panic,
    reason = "a harness reports by panicking in the test that called it"
)]

mod audience;
mod cache;
mod certificate;
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
mod ogg;
mod player;
mod proc;
mod process;
mod proxy;
mod publisher;
mod relay;
mod sampling;
mod server;
mod tls_proxy;
mod tool;
mod volume;
mod wait;
mod wiretap;

pub use self::audience::{Audience, Gaps};
pub use self::cache::{Cache, Cached};
pub use self::certificate::Certificate;
pub use self::control::{Hops, paced};
pub use self::descriptors::need_descriptors;
pub use self::file_server::FileServer;
pub use self::icecast::Icecast;
pub use self::impaired::{Impaired, Impairment, Passage};
pub use self::media::Clip;
pub use self::mediamtx::MediaMtx;
pub use self::metrics::Metrics;
pub use self::nginx::Nginx;
pub use self::ogg::OggPage;
pub use self::player::{Player, Playing, vlc};
pub use self::process::{Process, Signal};
pub use self::proxy::Proxy;
pub use self::publisher::Publisher;
pub use self::sampling::{Sampling, combining, sample};
pub use self::server::{ADMIN_PASSWORD, PUBLISH_KEY, Server, ServerBuilder, binary, build_release};
pub use self::tls_proxy::TlsProxy;
pub use self::tool::{
    Finished, Tool, aiortc, axe, hls_clients, icy_clients, moto, mp4_readers, pion_viewer, pyjwt,
    require, tls_listener, webhooks, whep_elements,
};
pub use self::volume::{Frozen, Volume};
pub use self::wait::{DEADLINE, wait_until};
pub use self::wiretap::{Overheard, Wiretap};

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns cargo's target directory of this repository.
fn target_dir() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// Creates a folder that is removed with its contents on drop.
fn temp_folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|error| panic!("temp folder: {error}"))
}

/// Writes a text to a file of this name in a folder. Returns the file's path.
fn write_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// Ports for servers that do not accept port 0: below those that the system gives to connections and to sockets that request
/// none (`net.ipv4.ip_local_port_range`); any connection may take one of those, even if it was free a moment ago.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Returns an address with a free port, each only once, for other servers, which do not report the port they were given.
pub fn free_address() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Processes that test at the same time begin at different places.
    let first = std::process::id().wrapping_mul(389);
    let count = u32::from(PORTS.end - PORTS.start);
    let mut candidates = (0..count).map(|_| {
        let offset = first.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % count;
        SocketAddr::from(([127, 0, 0, 1], PORTS.start + offset as u16))
    });
    let free = candidates.find(|address| TcpListener::bind(address).is_ok());
    free.unwrap_or_else(|| panic!("no port of {PORTS:?} is free"))
}
