//! Listeners with a connection of their own, which is handed to a worker.

use std::pin::pin;

use fanout::gate::Remote;
use fanout::{NewListener, Permit};
use http1::Head;
use net::TransportStream;

use super::decide::{Decision, Listen, decide};
use super::{Context, Outcome, answer, unless_gone, websocket};
use crate::listen::Target;

/// Serves a request for a stream: answers it, or hands the connection to the fan-out, where it stays until the listener leaves.
///
/// `permit` counts the listener towards the server's limits; it is held as long as the listener stays.
pub async fn serve<S: TransportStream>(
    context: &Context,
    mut socket: S,
    target: Target,
    head: Head,
    remote: impl Into<Remote>,
    permit: Permit,
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
        // Boxed, because it is larger than the step before it, in which thousands of requests may wait.
        Decision::Listen(listen) if listen.is_websocket() => {
            websocket::follow(context, socket, *listen)
        }
        Decision::Listen(listen) => Box::pin(attach(context, socket, *listen)).await,
    }
}

async fn attach<S: TransportStream>(context: &Context, socket: S, listen: Listen) -> Outcome {
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
    let Ok(transport) = socket.into_transport() else {
        return Outcome::Gone;
    };
    let listener = NewListener {
        record,
        transport,
        head,
        lane,
        conversation: None,
        after: None,
    };
    match context.registry.fanout().attach(listener) {
        Ok(()) => Outcome::Listening(id),
        Err(refused) => match S::from_transport(refused.transport) {
            Ok(socket) => answer(socket, refusal).await,
            Err(_) => Outcome::Gone,
        },
    }
}
