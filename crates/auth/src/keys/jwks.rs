//! Keys of tokens, fetched from an issuer that publishes a JSON Web Key Set.
//!
//! One task fetches them, so there is never more than one request. It fetches at start, then every ten minutes, and when a
//! token names an unknown key, because the issuer may have changed its keys; but at most once in half a minute, whatever tokens
//! name. While the issuer is down, the last keys stay in effect.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, header};
use http_body_util::Full;
use net::http_client::exchange;
use net::link::Connector;
use net::url::Url;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::jwt::KeySet;

/// Time a set is used before it is fetched again.
const FRESH: Duration = Duration::from_secs(600);

/// Shortest time between two requests, also after a failure.
const REST: Duration = Duration::from_secs(30);

/// Largest document fetched, in bytes; a set of keys has some kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// Longest time of a request. Clients with an unknown key wait for it.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time a client waits for keys; the gate itself waits at most ten seconds.
const PATIENCE: Duration = Duration::from_secs(6);

/// Current set; `None` until the first one has arrived.
pub(super) type Current = Option<Arc<KeySet>>;

/// Keys that an issuer publishes.
#[derive(Debug)]
pub(super) struct Jwks {
    current: watch::Receiver<Current>,
    /// Requests for a newer set. One pending request is enough for all who wait.
    orders: mpsc::Sender<()>,
}

impl Jwks {
    /// Starts the fetching task. Must be called within the runtime.
    pub(super) fn begin(url: Url, connector: Connector) -> Self {
        let (reported, current) = watch::channel(None);
        let (orders, ordered) = mpsc::channel(1);
        tokio::spawn(keep(url, connector, reported, ordered));
        Self { current, orders }
    }

    /// Returns the current keys.
    pub(super) fn current(&self) -> Current {
        self.current.borrow().clone()
    }

    /// Requests newer keys from the issuer, unless just requested, and returns the resulting ones.
    pub(super) async fn newer(&self) -> Current {
        let mut current = self.current.clone();
        current.mark_unchanged();
        // If another request is already pending, its result serves this caller too.
        self.orders.try_send(()).ok();
        let reported = timeout(PATIENCE, current.changed()).await;
        // Without an answer the previous keys stay in effect.
        if reported.is_err() {
            tracing::debug!("the keys of tokens have not come in time");
        }
        self.current()
    }
}

/// Fetches until no receiver is left. Each request is answered, if only by the present keys.
async fn keep(
    url: Url,
    connector: Connector,
    reported: watch::Sender<Current>,
    mut orders: mpsc::Receiver<()>,
) {
    let mut is_failing = false;
    let mut published = Published::default();
    loop {
        let fetched = fetch(&connector, &url).await;
        let now = Instant::now();
        match fetched.and_then(|document| published.read(document)) {
            Ok(keys) => {
                if is_failing || reported.borrow().is_none() {
                    tracing::info!(%url, keys = keys.len(), "the keys of tokens are fetched");
                }
                is_failing = false;
                reported.send_replace(Some(keys));
            }
            Err(why) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::error!(%url, %why, "the keys of tokens cannot be fetched; the last ones remain valid");
                }
                reported.send_modify(|_| {});
            }
        }
        let (rested, stale) = match is_failing {
            true => (now + REST, now + REST),
            false => (now + REST, now + FRESH),
        };
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(stale) => break,
                order = orders.recv() => match order {
                    None => return,
                    Some(()) if Instant::now() >= rested => break,
                    Some(()) => reported.send_modify(|_| {}),
                },
            }
        }
    }
}

async fn fetch(connector: &Connector, url: &Url) -> Result<Bytes, String> {
    let asked = async {
        let request = net::http_client::request(Method::GET, url)
            .header(header::ACCEPT, "application/json")
            .body(Full::default())?;
        exchange(connector, url, request, Some(DOCUMENT_BYTES_MAX)).await
    };
    let fetched = timeout(FETCH_TIMEOUT, asked).await;
    let fetched = fetched.map_err(|_| "it has not answered in time")?;
    match fetched.map_err(|error| error.to_string())? {
        (head, document) if head.status.is_success() => Ok(document),
        (head, _) => Err(format!("it answers {}", head.status)),
    }
}

/// Last document that could be read, and its keys.
#[derive(Debug, Default)]
struct Published {
    document: Bytes,
    keys: Current,
}

impl Published {
    /// Returns the keys of a document. For an unchanged document it is the same `Arc`, because cached verifications are valid
    /// only as long as that set is in use.
    fn read(&mut self, document: Bytes) -> Result<Arc<KeySet>, String> {
        if let Some(keys) = self.keys.as_ref().filter(|_| self.document == document) {
            return Ok(Arc::clone(keys));
        }
        let keys = KeySet::parse(&document).map_err(|error| error.to_string())?;
        let keys = Arc::new(keys);
        self.keys = Some(Arc::clone(&keys));
        self.document = document;
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8037 appendix A.2, with this name.
    fn document(name: &str) -> Bytes {
        let text = format!(
            r#"{{"keys": [{{"kty": "OKP", "crv": "Ed25519", "kid": "{name}",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}]}}"#
        );
        text.into()
    }

    #[test]
    fn the_same_document_is_the_same_set() {
        let mut published = Published::default();
        let first = published.read(document("a")).expect("keys");
        assert!(published.read(Bytes::from_static(b"{}")).is_err());
        let again = published.read(document("a")).expect("keys");
        assert!(Arc::ptr_eq(&first, &again));
        let other = published.read(document("b")).expect("keys");
        assert!(!Arc::ptr_eq(&first, &other));
    }
}
