//! Liveness and readiness of the server, and the command that checks readiness.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;

use crate::Console;

/// Time limit for each step of the request; container platforms allow a few seconds for all steps.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of bytes read of a response.
const ANSWER_BYTES_MAX: u64 = 4 * 1024;

/// Always succeeds: a response at all shows that the control plane runs.
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// Answers whether the server is ready: every port is open, the threads behind the ports run, and the server is not draining.
pub(super) async fn readyz(State(console): State<Arc<Console>>) -> (StatusCode, String) {
    let unready = |why| (StatusCode::SERVICE_UNAVAILABLE, why);
    if console.front.drain.has_begun() {
        unready("draining\n".to_owned())
    } else if let Some(what) = console.overload.stopped() {
        unready(format!("stopped: {what}\n"))
    } else {
        (StatusCode::OK, "ok\n".to_owned())
    }
}

/// Reasons why the server is not ready.
#[derive(Debug, thiserror::Error)]
pub enum Unhealthy {
    /// The server does not answer.
    #[error("{0}: {1}")]
    Unreachable(SocketAddr, io::Error),
    /// The server answers that it is not ready.
    #[error("{0} answered: {1}")]
    NotReady(SocketAddr, String),
}

/// Requests readiness from a server on this host; `address` must be one that accepts connections.
pub fn ask_readiness(address: SocketAddr) -> Result<(), Unhealthy> {
    let answer = ask(address).map_err(|error| Unhealthy::Unreachable(address, error))?;
    let status = answer.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) == Some("200") {
        Ok(())
    } else {
        Err(Unhealthy::NotReady(address, status.to_owned()))
    }
}

fn ask(address: SocketAddr) -> io::Result<String> {
    let mut socket = TcpStream::connect_timeout(&address, TIMEOUT)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    socket.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
