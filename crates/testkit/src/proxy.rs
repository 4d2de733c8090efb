//! nginx as a reverse proxy that puts a server below a path prefix.

use std::net::SocketAddr;

use crate::free_address;
use crate::nginx::Running;

/// A running nginx that removes a path prefix and passes requests on.
#[derive(Debug)]
pub struct Proxy {
    nginx: Running,
    prefix: String,
}

impl Proxy {
    /// Starts nginx in front of the HTTP port `upstream`, with `prefix` such as `/tv` and these directives for its location.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn start(upstream: SocketAddr, prefix: &str, directives: &str) -> Self {
        Self::to(&upstream.to_string(), "", prefix, directives)
    }

    /// Starts nginx with persistent connections to the server.
    ///
    /// # Panics
    /// Panics as [`start`](Self::start) does.
    #[must_use]
    pub fn keeping(upstream: SocketAddr, prefix: &str, directives: &str) -> Self {
        let group = format!("upstream relay {{ server {upstream}; keepalive 4; }}");
        let directives = format!("proxy_set_header Connection \"\"; {directives}");
        Self::to("relay", &group, prefix, &directives)
    }

    /// Starts nginx; `group` defines `upstream` if that is not an address.
    fn to(upstream: &str, group: &str, prefix: &str, directives: &str) -> Self {
        let addr = free_address();
        let nginx = Running::http(addr, "", 512, |_| {
            format!(
                "access_log off; {group}\n\
                 server {{ listen {addr}; location {prefix}/ {{ proxy_pass http://{upstream}/; \
                 proxy_http_version 1.1; proxy_buffering off; {directives} }} }}"
            )
        });
        let prefix = prefix.to_owned();
        Self { nginx, prefix }
    }

    /// Returns the address on which it listens.
    pub fn addr(&self) -> SocketAddr {
        self.nginx.addr
    }

    /// Returns the URL of a path of the server, as outside clients request it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{}{path}", self.addr(), self.prefix)
    }
}
