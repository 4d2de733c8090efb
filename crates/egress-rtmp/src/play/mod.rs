//! A player's connection, in turns: a task decides, a worker sends.

mod allowance;
mod reel;
mod session;
mod show;
mod worker;

use std::sync::Arc;

use fanout::Permit;
use net::TransportStream;
use net::rtmp::PlayRequest;

use self::session::{Act, Next, PlayerSession};
use self::worker::{Carried, carry};
use crate::Context;

/// Serves a player. Returns when a worker has its connection, or when it is over; the worker may return the
/// connection to a task of its own.
///
/// `permit` counts the player under the server's limits, and is held until its connection ends.
pub async fn serve<S: TransportStream>(
    context: &Arc<Context>,
    request: PlayRequest<S>,
    permit: Option<Permit>,
) {
    let PlayRequest {
        connection,
        request,
    } = request;
    let (socket, connection) = connection.detach();
    let player = PlayerSession::new(Arc::clone(context), connection, permit);
    let next = Next::Event(rtmp::server::Event::Play(request));
    proceed(player, socket, next).await;
}

/// Continues with `next`, until the connection ends or a worker has it.
pub(crate) async fn proceed<S: TransportStream>(
    mut player: PlayerSession,
    mut socket: S,
    mut next: Next,
) {
    loop {
        match player.turn(&mut socket, next).await {
            Ok(Act::Next(then)) => next = then,
            Ok(Act::Leave) => return player.leave(socket).await,
            // Boxed, so that tasks that wait for a live stream do not hold the memory that films need.
            Ok(Act::Show(show)) => match Box::pin(player.show(&mut socket, *show)).await {
                Ok(Some(then)) => next = then,
                Ok(None) => return player.leave(socket).await,
                Err(error) => return player.part(socket, &error).await,
            },
            Ok(Act::Carry(lane)) => match carry(player, socket, lane) {
                Carried::Away => return,
                Carried::Back(back, its_socket) => {
                    (player, socket, next) = (*back, its_socket, Next::Listen);
                }
            },
            Err(error) => return player.part(socket, &error).await,
        }
    }
}

#[cfg(test)]
mod tests;
