//! A downloaded source: FLV over HTTP, or the stream of an Icecast or SHOUTcast server.

use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use container::flv::{ReadError, Reader};
use http::{Request, Response, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use net::link::Connector;
use net::wait;
use tokio::time::timeout;

use super::feed::Feed;
use super::icy_answer::IcyAnswer;
use super::source::HttpAddress;
use super::{End, Failure, radio};

/// Most redirects that are followed; delivery networks use one or two.
const REDIRECTIONS_MAX: usize = 3;

/// Longest time from the request to the head of the reply.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Longest content type that is kept, for the log and the API.
const CONTENT_TYPE_BYTES_MAX: usize = 64;

/// Downloads from `address`, or from the address that it redirects to.
pub(super) async fn fetch(
    connector: &Connector,
    address: &HttpAddress,
    feed: &mut Feed<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    let mut address = address.clone();
    // Address of the server that redirected here.
    let mut sent_by = None;
    for _ in 0..=REDIRECTIONS_MAX {
        let asking = ask(connector, &address, sent_by, feed, stop.as_mut());
        match asking.await? {
            Went::To(end) => return Ok(end),
            Went::Elsewhere { location, by } => {
                let next = address.redirected(&location);
                address = next.ok_or(Failure::Redirection)?;
                sent_by = Some(by);
            }
        }
    }
    Err(Failure::Redirection)
}

/// Outcome of one connection.
enum Went {
    To(End),
    Elsewhere {
        location: String,
        /// Address of the redirecting server.
        by: IpAddr,
    },
}

/// Whether a server at `from` may redirect to `to`. A server on the internet may not redirect to an address
/// that this host or its network reserves for itself, where services meant for neighbours accept requests
/// from them.
fn may_lead(from: IpAddr, to: IpAddr) -> bool {
    is_of_network(from) || !is_of_network(to)
}

/// Whether an address is outside the internet's.
fn is_of_network(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            // Addresses of providers' networks (RFC 6598).
            let is_shared = first == 100 && second & 0xc0 == 64;
            // This host (RFC 1122): 0.0.0.0/8.
            let is_this = first == 0;
            is_shared || is_this || ip.is_private() || ip.is_loopback() || ip.is_link_local()
        }
        IpAddr::V6(ip) => {
            let is_own = ip.is_loopback() || ip.is_unspecified();
            is_own || ip.is_unique_local() || ip.is_unicast_link_local()
        }
    }
}

async fn ask(
    connector: &Connector,
    address: &HttpAddress,
    sent_by: Option<IpAddr>,
    feed: &mut Feed<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Went, Failure> {
    let url = &address.url;
    let connecting = connector.connect(url.host(), address.port, url.is_secure());
    let link = tokio::select! {
        link = connecting => link?,
        () = &mut stop => return Ok(Went::To(End::Stop)),
    };
    let peer = link.socket().peer_addr()?;
    if !sent_by.is_none_or(|by| may_lead(by, peer.ip())) {
        return Err(Failure::Inwards);
    }
    feed.connected(peer);
    let link = IcyAnswer::new(link);
    let (mut sender, connection) = http1::handshake(TokioIo::new(link)).await?;
    let mut connection = std::pin::pin!(connection);
    let exchange = async {
        let asking = timeout(ANSWER_TIMEOUT, sender.send_request(request(address)?));
        let answer = tokio::select! {
            answer = asking => answer.map_err(|_| Failure::NoAnswer)??,
            () = &mut stop => return Ok(Went::To(End::Stop)),
        };
        if answer.status().is_redirection() {
            let location = answer.headers().get(header::LOCATION);
            let location = location.and_then(|value| value.to_str().ok());
            let location = location.ok_or(Failure::Redirection)?;
            return Ok(Went::Elsewhere {
                location: location.to_owned(),
                by: peer.ip(),
            });
        }
        if !answer.status().is_success() {
            return Err(Failure::Status(answer.status()));
        }
        let ended = match kind(&content_type(&answer)) {
            Kind::Flv => download(answer, feed, stop).await,
            Kind::Radio => radio::relay(answer, feed, stop).await,
            Kind::Text(content_type) => Err(Failure::NotMedia(content_type)),
        };
        ended.map(Went::To)
    };
    let mut exchange = std::pin::pin!(exchange);
    tokio::select! {
        went = &mut exchange => went,
        // The exchange itself finds out how the connection ended and which bytes were still unread.
        _ = &mut connection => exchange.await,
    }
}

/// Kind of the source that its content type announces.
enum Kind {
    Flv,
    /// Format that the first bytes determine.
    Radio,
    /// A page, or a playlist.
    Text(String),
}

fn kind(content_type: &str) -> Kind {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    let is_playlist = ["mpegurl", "scpls", "xspf", "json", "xml"]
        .iter()
        .any(|playlist| media_type.contains(playlist));
    match &*media_type {
        _ if media_type.contains("flv") => Kind::Flv,
        _ if is_playlist || media_type.starts_with("text/") => Kind::Text(media_type),
        _ => Kind::Radio,
    }
}

fn request(address: &HttpAddress) -> Result<Request<Empty<Bytes>>, Failure> {
    let mut request = Request::get(&*address.target)
        .header(header::HOST, address.url.authority())
        .header(header::USER_AGENT, "Carillon")
        .header("icy-metadata", "1")
        .header(header::ACCEPT, "*/*");
    if let Some(authorization) = &address.authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    let request = request.body(Empty::new());
    Ok(request.map_err(std::io::Error::other)?)
}

async fn download(
    answer: Response<Incoming>,
    feed: &mut Feed<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    let content_type = content_type(&answer);
    let mut body = answer.into_body();
    let mut reader = Reader::default();
    loop {
        let due = Some(feed.due());
        let frame = tokio::select! {
            frame = body.frame() => frame,
            over = feed.over() => return Err(over),
            () = &mut stop => return Ok(End::Stop),
            () = wait::at(due) => {
                feed.handle_timeout()?;
                continue;
            }
        };
        let Some(frame) = frame else {
            return Err(Failure::HungUp);
        };
        let Ok(bytes) = frame?.into_data() else {
            continue;
        };
        feed.received(bytes.len());
        let read = reader.push(&bytes, &mut feed.items);
        // Media that arrived before a defect is passed on.
        feed.deliver()?;
        read.map_err(|error| match error {
            ReadError::NotFlv => Failure::NotFlv(content_type.clone()),
            other => other.into(),
        })?;
    }
}

/// Returns the content type that the source declares, cut to the bound.
pub(super) fn content_type(answer: &Response<Incoming>) -> String {
    let value = answer.headers().get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    let text = text.unwrap_or_default();
    text[..text.floor_char_boundary(CONTENT_TYPE_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_of_the_internet_redirects_into_the_network() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let public = "192.0.2.1 8.8.8.8 100.128.0.1 2001:db8::1".split(' ');
        let own = "127.0.0.1 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 \
            ::1 :: ::ffff:127.0.0.1 fd00::1 fe80::1"
            .split(' ');
        for from in public.clone().map(address) {
            for to in public.clone().map(address) {
                assert!(may_lead(from, to), "{from} {to}");
            }
            for to in own.clone().map(address) {
                assert!(!may_lead(from, to), "{from} {to}");
                assert!(may_lead(to, from) && may_lead(to, to), "{from} {to}");
            }
        }
    }
}
