//! nginx as a cache in front of a server, like a content delivery network.

use std::net::SocketAddr;

use crate::free_address;
use crate::nginx::Running;

/// Format of logged requests: the server that was contacted or `-`, the state of the cache, the status, the request.
const LOG_FORMAT: &str = "'$upstream_addr|$upstream_cache_status|$status|$request_uri'";

/// A running nginx that caches what the server's `Cache-Control` allows, with the query as part of the key, and sends the
/// server one request for what many request at the same time.
#[derive(Debug)]
pub struct Cache {
    nginx: Running,
}

/// A request that the cache has answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cached {
    /// Whether the cache contacted the server.
    pub is_asked: bool,
    /// nginx's cache state: `HIT`, `MISS`, `EXPIRED`, `BYPASS`, …
    pub state: String,
    /// Status of the response.
    pub status: u16,
    /// Path and query.
    pub path: String,
}

impl Cache {
    /// Starts nginx in front of the HTTP port `upstream`, with these directives for its location.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn start(upstream: SocketAddr, directives: &str) -> Self {
        let addr = free_address();
        let nginx = Running::http(addr, "", 4_096, |home| {
            format!(
                "log_format requests {LOG_FORMAT}; access_log {home}/requests requests; \
                 keepalive_requests 1000000;\n\
                 proxy_cache_path {home}/cache keys_zone=hls:4m max_size=256m use_temp_path=off;\n\
                 upstream relay {{ server {upstream}; keepalive 64; }}\n\
                 server {{ listen {addr} backlog=1024; location / {{ proxy_pass http://relay; \
                 proxy_http_version 1.1; proxy_set_header Connection \"\"; \
                 proxy_cache hls; proxy_cache_key $uri$is_args$args; proxy_cache_lock on; \
                 proxy_cache_lock_age 30s; proxy_cache_lock_timeout 30s; {directives} }} }}"
            )
        });
        Self { nginx }
    }

    /// Returns the address on which the cache listens.
    pub fn addr(&self) -> SocketAddr {
        self.nginx.addr
    }

    /// Returns the requests so far, in the order of their responses.
    ///
    /// # Panics
    /// Panics if the log cannot be read.
    pub fn requests(&self) -> Vec<Cached> {
        let log = self.nginx.path("requests");
        let text = std::fs::read_to_string(&log)
            .unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        text.lines().filter_map(Cached::parse).collect()
    }
}

impl Cached {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(4, '|');
        let (upstream, state) = (fields.next()?, fields.next()?);
        Some(Self {
            is_asked: upstream != "-",
            state: state.to_owned(),
            status: fields.next()?.parse().ok()?,
            path: fields.next()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_answered() {
        let asked = Cached::parse("127.0.0.1:8000|MISS|200|/a?b=|").expect("a line");
        assert_eq!((asked.is_asked, &asked.path[..]), (true, "/a?b=|"));
        let hit = Cached::parse("-|HIT|200|/a").expect("a line");
        assert_eq!(
            (hit.is_asked, &hit.state[..], hit.status),
            (false, "HIT", 200)
        );
        assert_eq!(Cached::parse("-|HIT"), None);
    }
}
