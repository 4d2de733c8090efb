//! Publishers that the intake reads, each of them with a task that sleeps.
//!
//! All that a steady publisher needs is done on the intake's thread: what arrives is decoded and
//! written, and acknowledged. The task has the connection back when there is anything else to do: the
//! publication or the connection ends, the peer wants to publish something else, a deadline has come,
//! another publisher has the stream, or the server is about to leave.

use std::time::Instant;

use ::rtmp::server::RequestId;
use bytes::Buf;
use net::intake::{IntakeTicket, Next, Pace, Reader, Returned};
use net::{closing, wait};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{Connection, Stop, Visit};
use crate::{Context, Error};

/// What an intake gives back.
struct Back {
    connection: Box<Connection>,
    socket: std::net::TcpStream,
    /// How the connection has ended, or that it goes on.
    result: Result<Stop, Error>,
}

/// Leaves a connection to the intake for as long as it is steady. It is over afterwards, or else
/// the task goes on with it.
///
/// # Errors
/// When the socket is lost.
pub(super) async fn park<F: FnOnce() + Send>(
    context: &Context,
    connection: Connection,
    socket: TcpStream,
    visit: &mut Visit<F>,
) -> Result<(Connection, TcpStream, Result<Stop, Error>), Error> {
    let (Some(intake), Some(publication)) = (&context.intake, &connection.publication) else {
        visit.may_park = false;
        return Ok((connection, socket, Ok(Stop::Steady)));
    };
    let (claim, id) = (publication.claim(), publication.id());
    let (back, mut is_back) = oneshot::channel();
    let parked = Parked {
        connection: Box::new(connection),
        id,
        result: Ok(()),
        back,
    };
    let (mut is_leaving, mut is_superseded) = (false, false);
    // Refused, it gives everything back like any other.
    let ticket = match intake.attach(Box::new(parked), socket.into_std()?) {
        Ok(ticket) => Some(ticket),
        Err((reader, socket)) => {
            visit.may_park = false;
            reader.give_back(socket, Returned::Recalled);
            None
        }
    };
    let back = tokio::select! {
        back = &mut is_back => back,
        _ = claim.superseded() => {
            is_superseded = true;
            recall(ticket.as_ref());
            is_back.await
        }
        () = wait::change(&mut visit.leaving) => {
            is_leaving = true;
            recall(ticket.as_ref());
            is_back.await
        }
    };
    let Back {
        mut connection,
        socket,
        mut result,
    } = back.map_err(std::io::Error::other)?;
    if is_superseded
        && let Ok(Stop::Steady) = result
        && let Some(publication) = connection.publication.as_ref().filter(|p| p.id() == id)
    {
        result = Err(publication.over().await);
    }
    if is_leaving {
        connection.ask_to_reconnect();
    }
    Ok((*connection, TcpStream::from_std(socket)?, result))
}

fn recall(ticket: Option<&IntakeTicket>) {
    if let Some(ticket) = ticket {
        ticket.recall();
    }
}

/// A connection on the intake's thread.
struct Parked {
    connection: Box<Connection>,
    /// The publication it was left with.
    id: RequestId,
    /// What has gone wrong.
    result: Result<(), Error>,
    back: oneshot::Sender<Back>,
}

impl Parked {
    /// Nothing has happened that is for the task to deal with.
    fn is_steady(&self) -> bool {
        let publication = self.connection.publication.as_ref();
        self.result.is_ok()
            && publication.is_some_and(|publication| publication.id() == self.id)
            && !self.connection.is_held()
            && !self.connection.session.is_closed()
    }
}

impl Reader for Parked {
    fn take(&mut self, bytes: &[u8], now: Instant) -> Next {
        if self.result.is_ok() {
            self.result = self.connection.take(bytes, now);
        }
        match &self.connection.publication {
            Some(publication) if self.is_steady() => Next::Go(match publication.is_followed() {
                true => Pace::Prompt,
                false => Pace::Relaxed,
            }),
            _ => Next::Return,
        }
    }

    fn unsent(&mut self) -> &[u8] {
        self.connection.session.output()
    }

    fn sent(&mut self, count: usize) {
        self.connection.session.output().advance(count);
    }

    fn due(&self) -> Option<Instant> {
        self.connection.due()
    }

    fn give_back(self: Box<Self>, socket: std::net::TcpStream, why: Returned) {
        let result = match (self.result, why) {
            (Err(error), _) => Err(error),
            (Ok(()), Returned::HungUp) => Ok(Stop::Over),
            (Ok(()), Returned::Failed(error)) => closing::hung_up(Err(error))
                .map(|_| Stop::Over)
                .map_err(Error::from),
            (Ok(()), Returned::Asked | Returned::Recalled) => Ok(Stop::Steady),
        };
        let back = Back {
            connection: self.connection,
            socket,
            result,
        };
        // A task that was ended does not wait for it, and dropping it ends the publication.
        self.back.send(back).ok();
    }
}
