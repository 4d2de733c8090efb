//! haproxy, as a balancer of TCP and of HTTP.

use std::net::{SocketAddr, TcpStream};

use tempfile::TempDir;
use testkit::{Process, Tool, free_address};

use crate::support::wait_until;

/// A running haproxy, whose connections to servers come from [`SOURCE`](Self::SOURCE).
pub(crate) struct Haproxy {
    _process: Process,
    addr: SocketAddr,
    /// Folder of the configuration file.
    _folder: TempDir,
}

impl Haproxy {
    /// Source address of its connections, on the loopback, which no client has.
    pub(crate) const SOURCE: &str = "127.0.0.3";

    /// Starts a balancer that passes connections on to a server. `sends` is the option of the server's line, such as
    /// `send-proxy-v2`.
    pub(crate) fn of_tcp(server: SocketAddr, sends: &str) -> Self {
        Self::start(server, "mode tcp", sends)
    }

    /// Starts a balancer that passes requests on to a server. `says` is the option by which it names the client.
    pub(crate) fn of_http(server: SocketAddr, says: &str) -> Self {
        Self::start(server, &format!("mode http\n  {says}"), "")
    }

    fn start(server: SocketAddr, mode: &str, sends: &str) -> Self {
        let (addr, folder) = (free_address(), tempfile::tempdir().unwrap());
        let text = format!(
            "defaults\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
             listen relay\n  bind {addr}\n  {mode}\n  source {}\n  server carillon {server} {sends}\n",
            Self::SOURCE
        );
        let config = folder.path().join("haproxy.cfg");
        std::fs::write(&config, text).unwrap();
        let mut process = Tool::new("/usr/sbin/haproxy")
            .args(["-db", "-f"])
            .arg(&config)
            .start();
        wait_until("haproxy to be ready", || {
            assert!(process.is_running(), "haproxy ended: {}", process.stderr());
            TcpStream::connect(addr).is_ok()
        });
        Self {
            _process: process,
            addr,
            _folder: folder,
        }
    }

    /// Returns the address on which it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}
