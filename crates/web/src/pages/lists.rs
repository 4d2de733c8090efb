//! Lists of all streams, made anew for each client: with a thousand streams, a list is some milliseconds of work and half a
//! megabyte, for a request of sixty bytes.
//!
//! So each address has a rate of lists that are made for it. Beyond that rate it gets a list that was made for somebody else
//! within [`FRESH_FOR`], if it is the same list.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use base::{Bounded, Lock};
use bytes::Bytes;
use config::BaseUrl;
use http::{HeaderMap, StatusCode, Uri, header};
use http_body_util::BodyExt;
use limits::Allowances;

use crate::address::network;
use crate::reply::Reply;
use crate::visitor::Visitor;

/// Maximum age of a list that was made for somebody else.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Maximum number of lists kept: one per public name, and a few for other names and queries. Each is half a megabyte at most.
const KEPT_MAX: usize = 16;

/// Burst of lists made for one address, and the time until one more is allowed. At ten a second they take a twentieth of a
/// core.
const AT_ONCE: u32 = 20;
const REFILL: Duration = Duration::from_millis(100);

/// Lists that were made recently.
#[derive(Debug)]
pub(super) struct Lists {
    kept: Lock<Bounded<Which, List>>,
    makes: Allowances<IpAddr>,
}

/// Key of a list: everything in which lists differ.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Which {
    page: &'static str,
    query: String,
    base: BaseUrl,
}

#[derive(Clone, Debug)]
struct List {
    made: Instant,
    status: StatusCode,
    headers: HeaderMap,
    text: Bytes,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            kept: Lock::new(Bounded::new(KEPT_MAX)),
            makes: Allowances::new(AT_ONCE, REFILL),
        }
    }
}

impl Which {
    /// Creates the key of the list at a path, on a server that is reached at `base`.
    pub(super) fn new(page: &'static str, uri: &Uri, base: BaseUrl) -> Self {
        Self {
            page,
            query: uri.query().unwrap_or_default().to_owned(),
            base,
        }
    }
}

impl Lists {
    /// Whether another list may be made for an address.
    pub(super) fn may_make(&self, address: IpAddr, now: Instant) -> bool {
        self.makes.take(network(address), now)
    }

    /// Returns the reply of `make`, or one that was made before.
    pub(super) async fn answer(
        &self,
        which: Which,
        visitor: Visitor,
        make: impl Future<Output = Reply>,
    ) -> Reply {
        let now = Instant::now();
        if !self.may_make(visitor.peer.ip(), now) {
            return match self.find(&which, now) {
                Some(list) => list.answer(),
                None => too_many(),
            };
        }
        let made = make.await;
        // The body is in memory, so collecting it cannot fail by itself.
        let Ok(text) = made.body.collect().await else {
            return Reply::new(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let list = List {
            made: now,
            status: made.status,
            headers: made.headers,
            text: text.to_bytes(),
        };
        self.kept.lock().insert(which, list.clone());
        list.answer()
    }

    fn find(&self, which: &Which, now: Instant) -> Option<List> {
        let kept = self.kept.lock();
        let list = kept.get(which)?;
        (now.saturating_duration_since(list.made) < FRESH_FOR).then(|| list.clone())
    }
}

impl List {
    fn answer(self) -> Reply {
        Reply {
            headers: self.headers,
            ..Reply::full(self.status, "", self.text)
        }
    }
}

/// Builds the reply to a client that requests more lists than are made for it.
pub(super) fn too_many() -> Reply {
    let words = "Too many lists for your address; ask again in a second.\n";
    Reply::text(StatusCode::TOO_MANY_REQUESTS, words).with(header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::net::SocketAddr;

    use super::*;

    fn visitor(address: [u8; 4]) -> Visitor {
        Visitor {
            peer: SocketAddr::from((address, 5)),
            scheme: "http",
            is_proxied: false,
            country: None,
        }
    }

    fn which(host: &str) -> Which {
        let base = BaseUrl::new("http", host, "").expect("a host");
        Which::new("/", &Uri::from_static("/?q=a"), base)
    }

    #[tokio::test]
    async fn an_address_has_lists_made_at_a_rate_and_else_gets_those_of_others() {
        let lists = Lists::default();
        let (greedy, other) = (visitor([192, 0, 2, 1]), visitor([198, 51, 100, 1]));
        let mut made = 0;
        let mut ask = async |host: &str, visitor| {
            let make = async {
                made += 1;
                Reply::text(StatusCode::OK, made.to_string())
            };
            lists.answer(which(host), visitor, make).await.status
        };
        for number in 0..3 * AT_ONCE {
            // Each list has a name of its own, which nobody else has requested.
            let status = ask(&format!("h{number}"), greedy).await;
            let expected = match number {
                // The clock advances meanwhile.
                0..AT_ONCE => StatusCode::OK,
                _ if status == StatusCode::OK => continue,
                _ => StatusCode::TOO_MANY_REQUESTS,
            };
            assert_eq!(status, expected, "{number}");
        }
        assert_eq!(ask("radio", other).await, StatusCode::OK);
        assert_eq!(ask("radio", greedy).await, StatusCode::OK, "it is there");
        assert!(made < 3 * AT_ONCE, "{made}");
        assert_eq!(lists.kept.lock().len(), KEPT_MAX);
    }

    #[tokio::test]
    async fn a_list_is_given_as_it_was_made() {
        let lists = Lists::default();
        let made = || Reply::full(StatusCode::OK, "text/html", "words");
        let answer = lists
            .answer(which("h"), visitor([192, 0, 2, 1]), ready(made()))
            .await;
        let again = lists
            .find(&which("h"), Instant::now())
            .expect("kept")
            .answer();
        for response in [answer, again] {
            assert_eq!(response.headers[header::CONTENT_TYPE], "text/html");
            let text = response.body.collect().await.expect("a text");
            assert_eq!(&text.to_bytes()[..], b"words");
        }
    }
}
