//! Publishers that the intake reads, each with a sleeping task.
//!
//! A steady publisher is served entirely on the intake's thread: its bytes are decoded, written and
//! acknowledged. The task takes the connection back when there is anything else to do: the publication or the
//! connection ends, a deadline has come, another publisher has the stream, or the server is about to leave.

use std::time::Instant;

use bytes::Buf;
use net::intake::{IntakeReader, IntakeTicket, Next, Pace, Returned};
use net::{closing, wait};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::session::PublisherSession;
use super::{Driver, Stop};
use crate::{Context, Error};

/// A connection that the intake returns.
struct Back {
    session: Box<PublisherSession>,
    socket: std::net::TcpStream,
    /// Error that ended the connection, or how its driver stops.
    result: Result<Stop, Error>,
}

/// Leaves a publisher to the intake for as long as it is steady. Afterwards the connection is over, or the
/// task continues with it.
///
/// # Errors
/// The socket is lost.
pub(super) async fn park<F: FnOnce() + Send>(
    context: &Context,
    session: PublisherSession,
    socket: TcpStream,
    driver: &mut Driver<F>,
) -> Result<(PublisherSession, TcpStream, Result<Stop, Error>), Error> {
    let (Some(intake), Some(publication)) = (&context.intake, session.publication()) else {
        driver.may_park = false;
        return Ok((session, socket, Ok(Stop::Steady)));
    };
    let watch = publication.watch();
    let (back, mut is_back) = oneshot::channel();
    let parked = Parked {
        session: Box::new(session),
        result: Ok(()),
        back,
    };
    let (mut is_leaving, mut is_lost) = (false, false);
    // A reader that the intake refuses returns everything like any other.
    let ticket = match intake.attach(Box::new(parked), socket.into_std()?) {
        Ok(ticket) => Some(ticket),
        Err((reader, socket)) => {
            driver.may_park = false;
            reader.give_back(socket, Returned::Recalled);
            None
        }
    };
    let back = tokio::select! {
        back = &mut is_back => back,
        () = watch.lost() => {
            is_lost = true;
            recall(ticket.as_ref());
            is_back.await
        }
        () = wait::change(&mut driver.leaving) => {
            is_leaving = true;
            recall(ticket.as_ref());
            is_back.await
        }
    };
    let Back {
        mut session,
        socket,
        mut result,
    } = back.map_err(std::io::Error::other)?;
    if is_lost
        && let Ok(Stop::Steady) = result
        && let Some(publication) = session.publication()
    {
        result = Err(publication.over().await);
    }
    if is_leaving {
        session.connection.ask_to_reconnect();
    }
    Ok((*session, TcpStream::from_std(socket)?, result))
}

fn recall(ticket: Option<&IntakeTicket>) {
    if let Some(ticket) = ticket {
        ticket.recall();
    }
}

/// A publisher on the intake's thread.
struct Parked {
    session: Box<PublisherSession>,
    /// First error, if there was one.
    result: Result<(), Error>,
    back: oneshot::Sender<Back>,
}

impl Parked {
    /// Whether nothing has happened that the task has to handle.
    fn is_steady(&self) -> bool {
        self.result.is_ok() && !self.session.connection.session.is_closed()
    }
}

impl IntakeReader for Parked {
    fn take(&mut self, bytes: &[u8], now: Instant) -> Next {
        if self.result.is_ok() {
            self.result = self.session.take(bytes, now);
        }
        match self.session.publication() {
            Some(publication) if self.is_steady() => Next::Go(match publication.is_awaited() {
                true => Pace::Prompt,
                false => Pace::Relaxed,
            }),
            _ => Next::Return,
        }
    }

    fn unsent(&mut self) -> &[u8] {
        self.session.connection.session.output()
    }

    fn sent(&mut self, count: usize) {
        let output = self.session.connection.session.output();
        output.advance(count);
    }

    fn due(&self) -> Option<Instant> {
        self.session.due()
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
            session: self.session,
            socket,
            result,
        };
        // A task that was ended does not wait for it, and dropping it ends the publication.
        self.back.send(back).ok();
    }
}
