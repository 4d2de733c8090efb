//! Client for one request to another server, on a connection of its own, that returns the whole reply.
//!
//! Its callers, which query (`auth`) and notify (`webhooks`, `directory`), do so rarely, and have no other business with those
//! servers. So there is no pool; the connection is closed with the reply. Nothing here has a time limit: the caller sets it.

use crate::link::{ConnectError, Connector, Link};
use crate::url::Url;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, header, request, response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

/// Reason why a request has failed.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// No connection could be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke.
    #[error("the connection failed: {0}")]
    Http(#[from] hyper::Error),
    /// The address makes no valid request.
    #[error("its address cannot be asked for: {0}")]
    Request(#[from] http::Error),
    /// The reply is too long, or breaks off.
    #[error("its answer breaks off, or is longer than {0} bytes")]
    Body(usize),
}

/// Builds the head of a request that closes its connection, with the credentials of the address.
pub fn request(method: Method, url: &Url) -> request::Builder {
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

/// Sends a request, and returns the reply. Its body is read up to `body_bytes_max`; with `None` it is not read.
///
/// # Errors
/// If there is no whole reply.
pub async fn exchange(
    connector: &Connector,
    url: &Url,
    request: Request<Full<Bytes>>,
    body_bytes_max: Option<usize>,
) -> Result<(response::Parts, Bytes), ExchangeError> {
    // Schemes of such requests have ports.
    let port = url.port().unwrap_or_default();
    let link = connector.connect(url.host(), port, url.is_secure());
    let (mut sender, connection) = http1::handshake(TokioIo::<Link>::new(link.await?)).await?;
    let asking = async {
        let answer = sender.send_request(request).await?;
        let (head, body) = answer.into_parts();
        let Some(bytes_max) = body_bytes_max else {
            return Ok((head, Bytes::new()));
        };
        let body = Limited::new(body, bytes_max).collect().await;
        let body = body.map_err(|_| ExchangeError::Body(bytes_max))?.to_bytes();
        Ok((head, body))
    };
    let mut asking = std::pin::pin!(asking);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        answer = &mut asking => answer,
        // The request itself detects how the connection ended.
        _ = &mut connection => asking.await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_credentials_of_its_address() {
        let url = "https://u:p@[::1]:99/hook?x=1".parse().expect("a URL");
        let request = request(Method::POST, &url);
        let headers = request.headers_ref().expect("a head");
        assert_eq!(request.uri_ref().expect("a target"), "/hook?x=1");
        assert_eq!(headers["host"], "[::1]:99");
        assert_eq!(headers["authorization"], "Basic dTpw");
        assert_eq!(headers["connection"], "close");
    }
}
