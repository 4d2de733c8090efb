//! One request to another server, on a connection of its own, and the answer in whole.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header, request, response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use net::link::{ConnectError, Connector, Link};
use net::url::Url;
use tokio::time::timeout;

use crate::dialect::Garbled;

/// Longest document that is fetched: a set of keys has some kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// How asking has failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke.
    #[error("the connection failed: {0}")]
    Http(#[from] hyper::Error),
    /// Its address makes no request.
    #[error("its address cannot be asked for: {0}")]
    Request(#[from] http::Error),
    /// It says that it is at fault.
    #[error("it answers {0}")]
    Status(StatusCode),
    /// The answer is too long, or breaks off.
    #[error("its answer breaks off, or is longer than {0} bytes")]
    Body(usize),
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
pub async fn fetch(connector: &Connector, url: &Url, within: Duration) -> Result<Bytes, Failure> {
    let request = request(Method::GET, url)
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

/// The head of a request that closes its connection, with the credentials of the address.
pub(crate) fn request(method: Method, url: &Url) -> request::Builder {
    let request = Request::builder()
        .method(method)
        .uri(url.target())
        .header(header::HOST, url.authority())
        .header(header::USER_AGENT, "Carillon")
        .header(header::CONNECTION, "close");
    match url.credentials() {
        Some((user, password)) => {
            let credentials = STANDARD.encode(format!("{user}:{password}"));
            request.header(header::AUTHORIZATION, format!("Basic {credentials}"))
        }
        None => request,
    }
}

/// Sends a request, and gives the answer unless the server says that it is at fault.
pub(crate) async fn exchange(
    connector: &Connector,
    url: &Url,
    request: Request<Full<Bytes>>,
    bytes_max: usize,
) -> Result<(response::Parts, Bytes), Failure> {
    // Schemes of hooks have ports.
    let port = url.port().unwrap_or_default();
    let link = connector.connect(url.host(), port, url.is_secure());
    let (mut sender, connection) = http1::handshake(TokioIo::<Link>::new(link.await?)).await?;
    let asking = async {
        let answer = sender.send_request(request).await?;
        let (head, body) = answer.into_parts();
        if head.status.is_server_error() {
            return Err(Failure::Status(head.status));
        }
        let body = Limited::new(body, bytes_max).collect().await;
        let body = body.map_err(|_| Failure::Body(bytes_max))?.to_bytes();
        Ok((head, body))
    };
    let mut asking = std::pin::pin!(asking);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        answer = &mut asking => answer,
        // The request itself finds out how the connection ended.
        _ = &mut connection => asking.await,
    }
}
