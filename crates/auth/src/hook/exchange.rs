//! What is asked of another server, and how that fails.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header, response};
use http_body_util::Full;
use http_client::ExchangeError;
use net::link::Connector;
use net::url::Url;
use tokio::time::timeout;

use crate::hook::dialect::Garbled;

/// Longest document that is fetched: a set of keys has some kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// How asking has failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no whole answer.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// Its address makes no request.
    #[error("its address cannot be asked for: {0}")]
    Request(#[from] http::Error),
    /// It says that it is at fault.
    #[error("it answers {0}")]
    Status(StatusCode),
    /// The answer is none of the dialect's.
    #[error(transparent)]
    Garbled(#[from] Meaningless),
    /// It took too long.
    #[error("it has not answered in time")]
    Timeout,
}

/// An answer that is not understood.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Meaningless(pub(crate) Garbled);

/// Fetches a document that says who may do what, such as the keys of an issuer of tokens.
///
/// # Errors
/// When it cannot be had within a time, is too long, or the answer is none of success.
pub(crate) async fn fetch(
    connector: &Connector,
    url: &Url,
    within: Duration,
) -> Result<Bytes, Failure> {
    let request = http_client::request(Method::GET, url)
        .header(header::ACCEPT, "application/json")
        .body(Full::default())?;
    let fetched = exchange(connector, url, request, DOCUMENT_BYTES_MAX);
    let (head, body) = timeout(within, fetched)
        .await
        .unwrap_or(Err(Failure::Timeout))?;
    match head.status.is_success() {
        true => Ok(body),
        false => Err(Failure::Status(head.status)),
    }
}

/// Sends a request, and gives the answer unless the server says that it is at fault.
pub(crate) async fn exchange(
    connector: &Connector,
    url: &Url,
    request: Request<Full<Bytes>>,
    bytes_max: usize,
) -> Result<(response::Parts, Bytes), Failure> {
    let answer = http_client::exchange(connector, url, request, Some(bytes_max)).await;
    match answer? {
        (head, _) if head.status.is_server_error() => Err(Failure::Status(head.status)),
        answer => Ok(answer),
    }
}
