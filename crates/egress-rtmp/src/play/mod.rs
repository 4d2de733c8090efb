//! A player's connection, in turns: a task decides, a transport sends.

mod allowance;
mod carrier;
mod reel;
mod secure;
mod session;
mod show;
mod worker;

use std::sync::Arc;

use fanout::Permit;
use rtmp_io::PlayRequest;

pub(crate) use self::carrier::{Carried, PlayTransport};
#[cfg(test)]
pub(crate) use self::secure::follow;
pub(crate) use self::session::PlayerSession;

use self::session::{Act, Next};
use crate::Context;

/// Begins with the request that the door has read.
pub(crate) async fn begin<S: PlayTransport>(
    context: Arc<Context>,
    request: PlayRequest<S>,
    permit: Option<Permit>,
) {
    let PlayRequest {
        connection,
        request,
    } = request;
    let (socket, connection) = connection.detach();
    let player = PlayerSession::new(context, connection, permit);
    let next = Next::Event(rtmp::server::Event::Play(request));
    go_on(player, socket, next).await;
}

/// Goes on with what comes next, until the connection ends or a worker has it.
pub(crate) async fn go_on<S: PlayTransport>(
    mut player: PlayerSession,
    mut socket: S,
    mut next: Next,
) {
    loop {
        match player.turn(&mut socket, next).await {
            Ok(Act::Next(then)) => next = then,
            Ok(Act::Leave) => return player.leave(socket).await,
            // Boxed, so that tasks which wait for a live stream do not hold what films need.
            Ok(Act::Show(show)) => match Box::pin(player.show(&mut socket, *show)).await {
                Ok(Some(then)) => next = then,
                Ok(None) => return player.leave(socket).await,
                Err(error) => return player.part(socket, &error).await,
            },
            Ok(Act::Carry(lane)) => match socket.carry(player, lane).await {
                Carried::Away => return,
                Carried::Back(back, its_socket, Ok(then)) => {
                    (player, socket, next) = (*back, its_socket, then);
                }
                Carried::Back(back, its_socket, Err(error)) => {
                    return back.part(its_socket, &error).await;
                }
            },
            Err(error) => return player.part(socket, &error).await,
        }
    }
}

#[cfg(test)]
mod tests;
