//! Section `[http]`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::{any, require_some_time};
use crate::BaseUrl;
use crate::read::Section;
use net::Network;

/// Section `[http]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Http {
    /// Addresses to accept plain HTTP on.
    pub listen: Vec<SocketAddr>,
    /// Addresses to accept HTTPS on. Not empty only if certificate and private key are given.
    pub tls_listen: Vec<SocketAddr>,
    /// Whether a client of `listen` may upgrade the connection to TLS.
    pub tls_upgrade: bool,
    /// PEM file with the certificate chain.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key.
    pub private_key: Option<PathBuf>,
    /// Value of the `Server` header.
    pub server_header: String,
    /// Location of the server, for clients that request it as from an Icecast.
    pub location: String,
    /// Contact of the operator, for the same clients as `location`.
    pub contact: String,
    /// Longest time in which a request head may arrive; never zero.
    pub head_timeout: Duration,
    /// Peers whose X-Forwarded-… headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// Header in which they send the address of a client.
    pub client_header: ClientHeader,
    /// Header in which they send the country of a client.
    pub country_header: Option<String>,
    /// Whether connections of trusted proxies begin with a PROXY header.
    pub proxy_protocol: bool,
    /// Address of `/` for the outside world; `None` derives it from each request.
    pub base_url: Option<BaseUrl>,
}

impl Http {
    /// Whether a peer is one of the trusted proxies.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let mut proxies = self.trusted_proxies.iter();
        proxies.any(|network| network.contains(peer))
    }
}

/// Header in which proxies name the client of a forwarded request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClientHeader {
    /// `X-Forwarded-For`.
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ClientHeader {
    /// Returns the name of the header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: vec![any(8000)],
            tls_listen: Vec::new(),
            tls_upgrade: true,
            certificate: None,
            private_key: None,
            server_header: "Icecast 2.4.4 (Carillon)".to_owned(),
            location: "Earth".to_owned(),
            contact: "icemaster@localhost".to_owned(),
            head_timeout: Duration::from_secs(10),
            trusted_proxies: Vec::new(),
            client_header: ClientHeader::XForwardedFor,
            country_header: Some("cf-ipcountry".to_owned()),
            proxy_protocol: false,
            base_url: None,
        }
    }
}

impl Http {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listen", &mut self.listen);
        s.set("tls_listen", &mut self.tls_listen);
        s.set("tls_upgrade", &mut self.tls_upgrade);
        s.set("certificate", &mut self.certificate);
        s.set("private_key", &mut self.private_key);
        s.set("server_header", &mut self.server_header);
        s.set("location", &mut self.location);
        s.set("contact", &mut self.contact);
        s.set("head_timeout", &mut self.head_timeout);
        s.set("trusted_proxies", &mut self.trusted_proxies);
        s.set("client_header", &mut self.client_header);
        let mut country_header = self.country_header.take().unwrap_or_default();
        s.set("country_header", &mut country_header);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        s.require(
            "country_header",
            country_header.bytes().all(is_name),
            "is not the name of a header, such as \"cf-ipcountry\"",
        );
        self.country_header = Some(country_header).filter(|name| !name.is_empty());
        s.set("proxy_protocol", &mut self.proxy_protocol);
        s.set("base_url", &mut self.base_url);
        require_some_time(s, "head_timeout", self.head_timeout);
    }
}
