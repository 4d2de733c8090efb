//! The keys of tokens that an issuer publishes (a JSON Web Key Set at an address).
//!
//! One task fetches them, so there is never more than one request. It does so at the start, then every ten minutes, and when a
//! token names a key that is not known, because the issuer has changed its keys; not again within half a minute,
//! whatever tokens name. While the issuer is down the last keys go on to hold.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, header};
use http_body_util::Full;
use http_client::exchange;
use net::link::Connector;
use net::url::Url;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::jwt::KeySet;

/// How long a set is used before it is fetched again.
const FRESH: Duration = Duration::from_secs(600);

/// Least time between two requests, also where the last one has failed.
const REST: Duration = Duration::from_secs(30);

/// Longest document that is fetched: a set of keys has some kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// How long a request may take. Clients whose key is not known wait for it.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a client waits for keys: the gate itself waits no longer than ten seconds.
const PATIENCE: Duration = Duration::from_secs(6);

/// What holds at the moment; `None` until the first set has come.
pub(super) type Current = Option<Arc<KeySet>>;

/// Keys that an issuer publishes.
#[derive(Debug)]
pub(super) struct Jwks {
    current: watch::Receiver<Current>,
    /// Asks for a newer set. One order is enough for all who wait.
    orders: mpsc::Sender<()>,
}

impl Jwks {
    /// Begins to fetch. Called within the runtime.
    pub(super) fn begin(url: Url, connector: Connector) -> Self {
        let (told, current) = watch::channel(None);
        let (orders, ordered) = mpsc::channel(1);
        tokio::spawn(keep(url, connector, told, ordered));
        Self { current, orders }
    }

    /// The keys that hold.
    pub(super) fn current(&self) -> Current {
        self.current.borrow().clone()
    }

    /// The keys that hold after the issuer was asked for newer ones, unless it was just asked.
    pub(super) async fn newer(&self) -> Current {
        let mut current = self.current.clone();
        current.mark_unchanged();
        // If the order of another waits already, its answer is ours.
        self.orders.try_send(()).ok();
        let told = timeout(PATIENCE, current.changed()).await;
        // Without an answer what holds is what held.
        if told.is_err() {
            tracing::debug!("the keys of tokens have not come in time");
        }
        self.current()
    }
}

/// Fetches until nobody asks any more. Each order is answered, if only by what holds already.
async fn keep(
    url: Url,
    connector: Connector,
    told: watch::Sender<Current>,
    mut orders: mpsc::Receiver<()>,
) {
    let mut is_failing = false;
    let mut published = Published::default();
    loop {
        let fetched = fetch(&connector, &url).await;
        let now = Instant::now();
        match fetched.and_then(|document| published.read(document)) {
            Ok(keys) => {
                if is_failing || told.borrow().is_none() {
                    tracing::info!(%url, keys = keys.len(), "the keys of tokens are fetched");
                }
                is_failing = false;
                told.send_replace(Some(keys));
            }
            Err(why) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::error!(%url, %why, "the keys of tokens cannot be fetched; the last ones go on to hold");
                }
                told.send_modify(|_| {});
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
                    Some(()) => told.send_modify(|_| {}),
                },
            }
        }
    }
}

async fn fetch(connector: &Connector, url: &Url) -> Result<Bytes, String> {
    let asked = async {
        let request = http_client::request(Method::GET, url)
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

/// The last document that could be read, and its keys.
#[derive(Debug, Default)]
struct Published {
    document: Bytes,
    keys: Current,
}

impl Published {
    /// The keys of a document: the very same set if the document is, because what was verified by a set holds as long as that
    /// does.
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
