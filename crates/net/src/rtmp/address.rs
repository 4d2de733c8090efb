//! Addresses of other RTMP servers, from the URLs that name them. For pulls and pushes, which begin as
//! clients.

use crate::url::Url;
use rtmp::client::{Address, AddressError, Parts};

/// Returns the address that a URL names.
///
/// # Errors
/// A scheme other than `rtmp` and `rtmps`, or a path of fewer than two segments.
pub fn address(url: &Url) -> Result<Address, AddressError> {
    Address::new(parts(url))
}

/// Returns the address that `tc_url` of a reconnect request leads to from `from`, with the same stream.
/// `None` if it leads to none.
pub fn moved(from: &Address, tc_url: &str) -> Option<Address> {
    let server: Url = from.server().parse().ok()?;
    let there = server.join(tc_url).ok()?;
    from.moved_to(parts(&there))
}

fn parts(url: &Url) -> Parts<'_> {
    Parts {
        scheme: url.scheme(),
        host: url.host(),
        port: url.port(),
        path: url.path(),
        query: url.query().unwrap_or_default(),
        user: url.credentials(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_may_send_us_elsewhere() {
        let url: Url = "rtmps://u:p@h/live/show?key=K".parse().unwrap();
        let address = address(&url).unwrap();
        let other = "rtmps://other:4443/live/show?key=K";
        for (tc_url, expected) in [
            ("rtmps://other:4443/live", Some(other)),
            ("//other/live/", Some("rtmps://other/live/show?key=K")),
            ("/elsewhere", Some("rtmps://u:p@h/elsewhere/show?key=K")),
            ("rtmp://other/live", None),
            ("http://other/live", None),
            ("other", None),
            ("", None),
        ] {
            let expected = expected.map(|text| super::address(&text.parse().unwrap()).unwrap());
            assert_eq!(moved(&address, tc_url), expected, "{tc_url}");
        }
    }
}
