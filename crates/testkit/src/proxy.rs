//! nginx as a reverse proxy, which puts a server below a path prefix.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::{Process, Tool, free_address, wait_until};

/// From start to the first connection that is accepted.
const READY_DEADLINE: Duration = Duration::from_secs(30);

/// A running nginx that takes a path prefix away and passes requests on.
#[derive(Debug)]
pub struct Proxy {
    _process: Process,
    addr: SocketAddr,
    prefix: String,
    /// Holds the configuration file.
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// Starts it in front of the HTTP port `upstream`, with `prefix` such as `/tv` and these
    /// directives for its location.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    #[must_use]
    pub fn start(upstream: SocketAddr, prefix: &str, directives: &str) -> Self {
        let addr = free_address();
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("temp folder: {error}"));
        let home = folder.path().display();
        let text = format!(
            "daemon off;\nuser root;\nworker_processes 1;\npid {home}/pid;\n\
             error_log stderr warn;\nevents {{ worker_connections 512; }}\n\
             http {{ access_log off; client_body_temp_path {home}/body; \
             proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi; \
             uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;\n\
             server {{ listen {addr}; location {prefix}/ {{ proxy_pass http://{upstream}/; \
             proxy_http_version 1.1; proxy_buffering off; {directives} }} }} }}\n"
        );
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, text)
            .unwrap_or_else(|error| panic!("{}: {error}", config.display()));
        let mut process = Tool::new("/usr/sbin/nginx")
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&config)
            .args(["-e", "stderr"])
            .start();
        wait_until("nginx to be ready", READY_DEADLINE, || {
            let ready = TcpStream::connect(addr).is_ok();
            assert!(ready || process.is_running(), "nginx ended");
            ready
        });
        Self {
            _process: process,
            addr,
            prefix: prefix.to_owned(),
            _folder: folder,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A path of the server, as the outside world asks for it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{}{path}", self.addr, self.prefix)
    }
}
