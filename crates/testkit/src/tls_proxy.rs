//! nginx as a TLS proxy in front of a server without TLS.

use std::net::SocketAddr;

use crate::nginx::Running;
use crate::{Certificate, free_address};

/// A running nginx that decrypts what clients send within TLS, and passes it on.
#[derive(Debug)]
pub struct TlsProxy {
    nginx: Running,
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
        let nginx = Running::http(addr, "worker_rlimit_nofile 20000;", 16_384, |_| {
            format!(
                "access_log off;\n\
                 server {{ listen {addr} ssl backlog=4096; ssl_certificate {pem}; \
                 ssl_certificate_key {key}; location / {{ proxy_pass http://{upstream}; \
                 proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout 1h; }} }}"
            )
        });
        Self { nginx }
    }

    /// Returns the address on which it listens.
    pub fn addr(&self) -> SocketAddr {
        self.nginx.addr
    }

    /// Returns the process id of the master, whose children do the work.
    pub fn pid(&self) -> u32 {
        self.nginx.process.pid()
    }
}
