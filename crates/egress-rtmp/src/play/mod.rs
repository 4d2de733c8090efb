//! A player's connection, in turns: a task decides, a carrier sends.

mod allowance;
mod carrier;
mod party;
mod secure;
mod worker;

use std::sync::Arc;

use fanout::Permit;

pub(crate) use self::carrier::{Carried, Carrier};
pub(crate) use self::party::Party;
#[cfg(test)]
pub(crate) use self::secure::follow;

use self::party::{Act, Next};
use crate::{Context, Guest};

/// Begins with the request that the door has read.
pub(crate) async fn begin<S: Carrier>(
    context: Arc<Context>,
    guest: Guest<S>,
    permit: Option<Permit>,
) {
    let Guest {
        socket,
        session,
        request,
        input,
        agent,
        peer,
    } = guest;
    let party = Party::new(context, session, &input, peer, agent, permit);
    go_on(
        party,
        socket,
        Next::Event(rtmp::server::Event::Play(request)),
    )
    .await;
}

/// Goes on with what comes next, until the connection ends or a worker has it.
pub(crate) async fn go_on<S: Carrier>(mut party: Party, mut socket: S, mut next: Next) {
    loop {
        match party.turn(&mut socket, next).await {
            Ok(Act::Next(then)) => next = then,
            Ok(Act::Leave) => return party.leave(socket).await,
            Ok(Act::Carry(lane)) => match socket.carry(party, lane).await {
                Carried::Away => return,
                Carried::Back(back, its_socket, Ok(then)) => {
                    (party, socket, next) = (*back, its_socket, then);
                }
                Carried::Back(back, its_socket, Err(error)) => {
                    return back.part(its_socket, &error).await;
                }
            },
            Err(error) => return party.part(socket, &error).await,
        }
    }
}

#[cfg(test)]
mod tests;
