//! Section `[http]`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{any, require_some_time};
use crate::read::Section;
use crate::{BaseUrl, Network};

/// Section `[http]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Http {
    /// Addresses to accept plain HTTP on.
    pub listen: Vec<SocketAddr>,
    /// Addresses to accept HTTPS on. Not empty only if certificate and private key are given.
    pub tls_listen: Vec<SocketAddr>,
    /// PEM file with the certificate chain.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key.
    pub private_key: Option<PathBuf>,
    /// The Server header.
    pub server_header: String,
    /// How long a request head may take to arrive; never zero.
    pub head_timeout: Duration,
    /// Peers whose X-Forwarded-… headers are believed.
    pub trusted_proxies: Vec<Network>,
    /// The address of `/` for the outside world; `None` goes by each request.
    pub base_url: Option<BaseUrl>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: vec![any(8000)],
            tls_listen: Vec::new(),
            certificate: None,
            private_key: None,
            server_header: "Icecast 2.4.4 (Carillon)".to_owned(),
            head_timeout: Duration::from_secs(10),
            trusted_proxies: Vec::new(),
            base_url: None,
        }
    }
}

impl Http {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listen", &mut self.listen);
        s.set("tls_listen", &mut self.tls_listen);
        s.set("certificate", &mut self.certificate);
        s.set("private_key", &mut self.private_key);
        s.set("server_header", &mut self.server_header);
        s.set("head_timeout", &mut self.head_timeout);
        s.set("trusted_proxies", &mut self.trusted_proxies);
        s.set("base_url", &mut self.base_url);
        require_some_time(s, "head_timeout", self.head_timeout);
    }
}
