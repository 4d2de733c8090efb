//! A listener on a plain socket: it becomes a worker's.

use std::pin::pin;

use fanout::gate::Remote;
use fanout::{NewListener, Permit};
use http1::Head;
use tokio::net::TcpStream;

use super::decide::{Decision, Listen, decide};
use super::{Context, Outcome, answer, unless_gone};
use crate::Target;

/// Serves a request for a stream: answers it, or hands the socket to the fan-out, where it stays until the
/// listener leaves.
///
/// `permit` counts the listener towards the server's limits; it is held as long as the listener stays.
pub async fn serve_plain(
    context: &Context,
    mut socket: TcpStream,
    target: Target,
    head: Head,
    remote: impl Into<Remote>,
    permit: Option<Permit>,
) -> Outcome {
    let decision = {
        // Pinned here: moved, it would take its memory twice in the waiting future.
        let decision = pin!(decide(context, &target, &head, remote.into(), permit));
        unless_gone(&mut socket, decision).await
    };
    let Some(decision) = decision else {
        return Outcome::Gone;
    };
    match decision {
        Decision::Answer(words) => answer(socket, words).await,
        Decision::Listen(listen) => attach(context, socket, *listen).await,
    }
}

async fn attach(context: &Context, socket: TcpStream, listen: Listen) -> Outcome {
    let Listen {
        record,
        head,
        intro,
        lane,
        refusal,
    } = listen;
    let head = match intro.is_empty() {
        true => head,
        false => [head, intro].concat().into(),
    };
    let id = record.id;
    let socket = net::tcp::prepare_listener(&socket).and_then(|()| socket.into_std());
    let Ok(socket) = socket else {
        return Outcome::Gone;
    };
    let listener = NewListener {
        record,
        socket,
        head,
        lane,
        conversation: None,
        after: None,
    };
    match context.registry.fanout().attach(listener) {
        Ok(()) => Outcome::Listening(id),
        Err(refused) => match TcpStream::from_std(refused.socket) {
            Ok(socket) => answer(socket, refusal).await,
            Err(_) => Outcome::Gone,
        },
    }
}
