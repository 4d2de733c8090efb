//! Lists of all streams, each made anew for whoever asks: a thousand streams are some milliseconds of work, and half a
//! megabyte, for a request of sixty bytes.
//!
//! So an address has a rate of lists that are made for it. Beyond that it is given what was made for somebody within
//! [`FRESH_FOR`], if that was the same list.

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

/// How old a list may be that was made for somebody else.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Lists that are kept: of one public name each, and a few of other names and queries. Half a megabyte at most each.
const KEPT_MAX: usize = 16;

/// Lists that are made for one address at once, and how long until one more. At ten a second they are a twentieth of a core.
const AT_ONCE: u32 = 20;
const REFILL: Duration = Duration::from_millis(100);

/// The lists that were made of late.
#[derive(Debug)]
pub(super) struct Lists {
    kept: Lock<Bounded<Which, List>>,
    makes: Allowances<IpAddr>,
}

/// Which list: what is different in it.
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
    /// The list at a path, at a server that is reached at `base`.
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

    /// The answer that `make` gives, or one that was made before.
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
        // It is in memory: it fails for no reason of its own.
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

/// The answer to whoever asks for more lists than are made.
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
            // Each has a name of its own, which nobody else has asked by.
            let status = ask(&format!("h{number}"), greedy).await;
            let expected = match number {
                // The clock goes on meanwhile.
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
