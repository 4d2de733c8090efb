//! Address under which a visitor reaches this server, as far as it can be known.
//!
//! A configured address takes precedence. X-Forwarded-… headers count only if they come from a trusted proxy. Links in the
//! pages do not need this address: they are relative, so they also work behind a proxy that sends no headers.

use config::{BaseUrl, base_url};
use http::{HeaderMap, header};

use crate::visitor::Visitor;

/// Returns the address of `/` as the visitor sees it.
pub(crate) fn base(configured: Option<&BaseUrl>, visitor: Visitor, headers: &HeaderMap) -> BaseUrl {
    if let Some(base) = configured {
        return base.clone();
    }
    let forwarded = |name| {
        let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
        // Proxies append, so the last entry is from the proxy that is connected to us.
        let last = value.rsplit(',').next()?.trim();
        visitor.is_proxied.then_some(last)
    };
    let scheme = forwarded("x-forwarded-proto").and_then(base_url::parse_scheme);
    let own_host = host(headers);
    let host = forwarded("x-forwarded-host").filter(|host| base_url::is_host(host));
    let prefix = forwarded("x-forwarded-prefix").and_then(base_url::parse_prefix);
    BaseUrl::new(
        scheme.unwrap_or(visitor.scheme),
        host.unwrap_or(&own_host),
        &prefix.unwrap_or_default(),
    )
    .unwrap_or_else(|| BaseUrl::new(visitor.scheme, NO_HOST, "").expect("a host's name"))
}

/// Host used when none is known.
const NO_HOST: &str = "localhost";

/// Returns the host by which the client reached us. Proxies send malformed hosts, so anything that cannot be part of a host is
/// cut off instead of being refused.
fn host(headers: &HeaderMap) -> String {
    let text = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let is_host = |c: &char| c.is_ascii_alphanumeric() || ".-_:[]".contains(*c);
    let host: String = text.chars().take_while(is_host).collect();
    match base_url::is_host(&host) {
        true => host,
        false => NO_HOST.to_owned(),
    }
}

/// Returns the relative path from a page to `/`: `./`, `../`, `../../`.
pub(crate) fn way_up(path: &str) -> String {
    let folders = path.matches('/').count().saturating_sub(1);
    match folders {
        0 => "./".to_owned(),
        folders => "../".repeat(folders),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let name = HeaderName::from_static;
        let pairs = all.iter();
        pairs
            .map(|(key, value)| (name(key), HeaderValue::from_static(value)))
            .collect()
    }

    fn visitor(is_proxied: bool) -> Visitor {
        Visitor {
            peer: SocketAddr::from(([192, 0, 2, 1], 5)),
            scheme: "http",
            is_proxied,
            country: None,
        }
    }

    #[test]
    fn strange_hosts_are_cut_and_not_refused() {
        for (sent, expected) in [
            ("radio.example:8000", "radio.example:8000"),
            ("[::1]:8000", "[::1]:8000"),
            ("radio.example//listen/foo", "radio.example"),
            ("\"><script>", "localhost"),
            ("a:b:c", "localhost"),
        ] {
            assert_eq!(host(&headers(&[("host", sent)])), expected);
        }
        assert_eq!(host(&HeaderMap::new()), "localhost");
    }

    #[test]
    fn only_trusted_proxies_say_where_they_are() {
        let sent = headers(&[
            ("host", "backend:8000"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "radio.example.com"),
            ("x-forwarded-prefix", "/tv/"),
        ]);
        let of = |is_proxied| base(None, visitor(is_proxied), &sent).to_string();
        assert_eq!(of(false), "http://backend:8000");
        assert_eq!(of(true), "https://radio.example.com/tv");
        let configured = "https://tv.example.com/live".parse().expect("an address");
        let known = base(Some(&configured), visitor(true), &sent);
        assert_eq!(known, configured);
    }

    #[test]
    fn what_clients_slip_to_a_proxy_is_not_believed() {
        for (name, value) in [
            ("x-forwarded-proto", "javascript"),
            ("x-forwarded-host", "\"><script>"),
            ("x-forwarded-host", "evil@radio"),
            ("x-forwarded-prefix", "//evil.example"),
            ("x-forwarded-prefix", "/a/../b"),
            ("x-forwarded-prefix", "tv"),
            // Only what the proxy itself appended counts.
            ("x-forwarded-prefix", "/evil, /"),
            ("x-forwarded-proto", "https, http"),
        ] {
            let sent = headers(&[("host", "radio"), (name, value)]);
            let known = base(None, visitor(true), &sent).to_string();
            assert_eq!(known, "http://radio", "{name}: {value}");
        }
    }

    #[test]
    fn every_page_finds_the_way_up() {
        for (path, expected) in [
            ("/", "./"),
            ("/radio.mp3/", "../"),
            ("/live/show/", "../../"),
            ("/live/show/publish", "../../"),
            ("/publish", "./"),
            ("", "./"),
        ] {
            assert_eq!(way_up(path), expected, "{path}");
        }
    }
}
