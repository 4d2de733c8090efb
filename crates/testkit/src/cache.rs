//! nginx as a cache in front of a server: what a content delivery network does.

use std::net::SocketAddr;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{Process, free_address, nginx};

/// How requests are written down: the server that was asked or `-`, what the cache knew, the status, the request.
const LOG_FORMAT: &str = "'$upstream_addr|$upstream_cache_status|$status|$request_uri'";

/// A running nginx that caches what the server's `Cache-Control` allows, with the query as part of the key, and asks
/// the server once for what many request at the same time.
#[derive(Debug)]
pub struct Cache {
    _process: Process,
    addr: SocketAddr,
    log: PathBuf,
    /// Holds the configuration file, the log and the cache.
    _folder: TempDir,
}

/// A request that the cache has answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cached {
    /// Whether the server was asked.
    pub is_asked: bool,
    /// nginx's word: `HIT`, `MISS`, `EXPIRED`, `BYPASS`, …
    pub state: String,
    /// The status of the answer.
    pub status: u16,
    /// Path and query.
    pub path: String,
}

impl Cache {
    /// Starts it in front of the HTTP port `upstream`, with these directives for its location.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    #[must_use]
    pub fn start(upstream: SocketAddr, directives: &str) -> Self {
        let addr = free_address();
        let (process, folder) = nginx::start(addr, "", |home| {
            format!(
                "events {{ worker_connections 4096; }}\n\
                 http {{ log_format requests {LOG_FORMAT}; access_log {home}/requests requests; \
                 client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; \
                 fastcgi_temp_path {home}/fastcgi; uwsgi_temp_path {home}/uwsgi; \
                 scgi_temp_path {home}/scgi; keepalive_requests 1000000;\n\
                 proxy_cache_path {home}/cache keys_zone=hls:4m max_size=256m use_temp_path=off;\n\
                 upstream relay {{ server {upstream}; keepalive 64; }}\n\
                 server {{ listen {addr} backlog=1024; location / {{ proxy_pass http://relay; \
                 proxy_http_version 1.1; proxy_set_header Connection \"\"; \
                 proxy_cache hls; proxy_cache_key $uri$is_args$args; proxy_cache_lock on; \
                 proxy_cache_lock_age 30s; proxy_cache_lock_timeout 30s; {directives} }} }} }}\n"
            )
        });
        Self {
            _process: process,
            addr,
            log: folder.path().join("requests"),
            _folder: folder,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The requests so far, in the order in which they were answered.
    ///
    /// # Panics
    /// When the log cannot be read.
    #[must_use]
    pub fn requests(&self) -> Vec<Cached> {
        let text = std::fs::read_to_string(&self.log)
            .unwrap_or_else(|error| panic!("{}: {error}", self.log.display()));
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
