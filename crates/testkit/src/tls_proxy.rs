//! nginx as a TLS proxy in front of a server without TLS.

use std::net::SocketAddr;

use tempfile::TempDir;

use crate::{Certificate, Process, free_address, nginx};

/// A running nginx that decrypts what clients send within TLS, and passes it on.
#[derive(Debug)]
pub struct TlsProxy {
    process: Process,
    addr: SocketAddr,
    /// Holds the configuration file.
    _folder: TempDir,
}

impl TlsProxy {
    /// Starts nginx in front of the HTTP port `upstream`, for thousands of listeners.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn start(upstream: SocketAddr, certificate: &Certificate) -> Self {
        let addr = free_address();
        let (pem, key) = (certificate.file("cert.pem"), certificate.file("cert.key"));
        let (process, folder) = nginx::start(addr, "", |home| {
            format!(
                "worker_rlimit_nofile 20000;\nevents {{ worker_connections 16384; }}\n\
                 http {{ access_log off; client_body_temp_path {home}/body; \
                 proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi; \
                 uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;\n\
                 server {{ listen {addr} ssl backlog=4096; ssl_certificate {pem}; \
                 ssl_certificate_key {key}; location / {{ proxy_pass http://{upstream}; \
                 proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout 1h; }} }} }}\n"
            )
        });
        Self {
            process,
            addr,
            _folder: folder,
        }
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the process id of the master, whose children do the work.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}
