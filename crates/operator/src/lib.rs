//! The operator's port: metrics, health, the API, the event stream and the page of recordings.
//!
//! It demands the password (Basic, any user) whenever one is configured, and always when it is bound to an address beyond this
//! host. On loopback without a configured password, it is open to local programs, and only to them: a request must name a
//! loopback host, so that a web page whose host name resolves to 127.0.0.1 cannot use a browser to get in. `/livez` and
//! `/readyz` answer every client; they reveal only whether to send work. Connections are always accepted: one too many closes
//! the oldest connection of the address that has the most.

mod announce;
mod api;
mod connections;
mod console;
mod events;
mod fallbacks;
mod file;
mod health;
pub mod metrics;
pub mod overload;
mod recordings;
mod routes;
mod snapshot;
mod stations;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::{self, HeaderMap, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use hyper::server::conn::http1 as hyper_http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use net::accept::{EXHAUSTED_BACKOFF, Failure, classify};
use tokio::net::TcpListener;

pub use self::console::{Console, DEMO, Encoder};
pub use self::events::EVENT_STREAMS_MAX;
pub use self::health::{Unhealthy, ask_readiness};
pub use self::metrics::METRICS;
pub use self::routes::ENDPOINTS;

use self::announce::Operator;
use self::connections::Connections;
use self::events::EventStreams;
use net::accept::AcceptWarning;
use web::pages::assets::{self, Asset};
use web::pages::operator;
use web::reply::Reply;
use web::routes::Demand;
use web::{operators, refusal};

/// Time limit for a request's head to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the port until it is dropped.
pub async fn serve(listener: TcpListener, console: Arc<Console>) {
    let router = router(&console);
    let connections = Connections::default();
    let mut warning = AcceptWarning::default();
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) if classify(&error) == Failure::Connection => continue,
            Err(error) => {
                warning.warn(&error, Instant::now());
                tokio::time::sleep(EXHAUSTED_BACKOFF).await;
                continue;
            }
        };
        let (lease, expiry) = connections.enter(peer.ip());
        let router = router.clone().layer(Extension(Peer(peer)));
        let service = TowerToHyperService::new(router.layer(Extension(lease.clone())));
        tokio::spawn(async move {
            let served = hyper_http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .keep_alive(false)
                .serve_connection(TokioIo::new(socket), service);
            tokio::select! {
                served = served => if let Err(error) = served {
                    tracing::debug!(%peer, %error, "a connection to the operator's port failed");
                },
                reason = expiry.reached() => {
                    tracing::debug!(%peer, reason, "a connection to the operator's port is ended");
                }
            }
            drop(lease);
        });
    }
}

/// Peer address of a request.
#[derive(Clone, Copy, Debug)]
struct Peer(SocketAddr);

fn router(console: &Arc<Console>) -> Router {
    let metrics = metrics::page(Arc::clone(console));
    let streams = EventStreams::new(console.front.registry.fanout().events());
    let files = file::Files::of(console);
    let mut open: Router<Arc<Console>> = Router::new();
    let mut guarded: Router<Arc<Console>> = Router::new();
    for endpoint in ENDPOINTS {
        let method = Method::from_bytes(endpoint.method.as_bytes());
        let filter = method.ok().and_then(|method| method.try_into().ok());
        let filter: MethodFilter = filter.expect("the table holds common methods");
        let route = match (endpoint.method, endpoint.path) {
            (_, "/livez") => on(filter, health::livez),
            (_, "/readyz") => on(filter, health::readyz),
            (_, "/metrics") => {
                let metrics = Arc::clone(&metrics);
                on(filter, move || metrics::scrape(metrics))
            }
            (_, "/api/v1/streams") => on(filter, api::streams),
            ("DELETE", "/api/v1/streams/{*name}") => on(filter, api::end_stream),
            ("GET", "/api/v1/streams/{*name}") => on(filter, snapshot::newest),
            ("POST", "/api/v1/streams/{*name}") => on(filter, announce::announce),
            (_, "/api/v1/listeners") => on(filter, api::listeners),
            (_, "/api/v1/listeners/{id}") => on(filter, api::kick),
            (_, "/api/v1/events") => {
                let streams = streams.clone();
                on(filter, move |ask: events::Ask| streams.answer(ask))
            }
            (_, "/api/v1/recordings") => on(filter, recordings::list),
            ("GET", "/api/v1/recordings/{id}") => on(filter, recordings::one),
            (_, "/api/v1/recordings/{id}/file") => on(filter, file::file).with_state(files.clone()),
            (_, "/recordings") => on(filter, || async { response(operator::recordings()) }),
            (_, "/_/operator.js") => on_asset(filter, &assets::OPERATOR),
            (_, "/_/style.css") => on_asset(filter, &assets::STYLE),
            (_, "/_/icon.svg") => on_asset(filter, &assets::ICON),
            (_, "/api/v1/recordings/{id}/link") => on(filter, recordings::link),
            ("PATCH", "/api/v1/recordings/{id}") => on(filter, recordings::pin),
            ("DELETE", "/api/v1/recordings/{id}") => on(filter, recordings::remove),
            (_, "/api/v1/push") => on(filter, api::pushes),
            (_, "/api/v1/pull") => on(filter, api::pulls),
            (_, "/api/v1/fallbacks") => on(filter, fallbacks::list),
            (_, "/api/v1/stations") => on(filter, stations::list),
            (_, "/api/v1/stations/{*name}") => on(filter, stations::command),
            _ => unreachable!("{endpoint:?} has an answer"),
        };
        match endpoint.demand {
            Demand::Nothing => open = open.route(endpoint.path, route),
            _ => guarded = guarded.route(endpoint.path, route),
        }
    }
    let guard = middleware::from_fn_with_state(Arc::clone(console), guard);
    let all = open.merge(guarded.route_layer(guard));
    all.with_state(Arc::clone(console))
}

/// Passes on the requests of operators only.
async fn guard(
    State(console): State<Arc<Console>>,
    Extension(Peer(peer)): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let password = operators::password(request.headers());
    let gate = &console.front.gate;
    let permitted = if console.password_demanded {
        gate.administer(peer.ip(), password.as_deref()).await
    } else if names_this_host(request.headers()) {
        Ok(gate.administer_unasked())
    } else {
        let text = "without a password this port answers to loopback names only\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    };
    match permitted {
        Ok(permission) => {
            let operator = Operator(Arc::new(permission));
            request.extensions_mut().insert(operator);
            next.run(request).await
        }
        Err(denied) => response(refusal::not_the_operator(denied)),
    }
}

/// Converts a reply of the front door for the router.
fn response(reply: Reply) -> Response {
    http::Response::from(reply).into_response()
}

fn on_asset(filter: MethodFilter, asset: &'static Asset) -> MethodRouter<Arc<Console>> {
    on(filter, move |headers: HeaderMap| async move {
        response(asset.answer(&headers))
    })
}

fn names_this_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else {
        return true;
    };
    let host = host.to_str().unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => host,
    };
    let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_loopback_names_open_the_unguarded_port() {
        for (host, expected) in [
            ("127.0.0.1:9600", true),
            ("localhost:9600", true),
            ("LOCALHOST", true),
            ("[::1]:9600", true),
            ("[::1]", true),
            ("rebound.example:9600", false),
            ("127.0.0.1.example", false),
            ("192.0.2.1:9600", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            assert_eq!(names_this_host(&headers), expected, "{host}");
        }
        assert!(names_this_host(&HeaderMap::new()), "HTTP/1.0 names none");
    }
}
