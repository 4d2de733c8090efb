//! How a lane is sent to a player.

use std::future::Future;

use fanout::LaneGuard;
use tokio::io::{AsyncRead, AsyncWrite};

use super::session::{Next, PlayerSession};
use crate::Error;

/// A connection, and the way in which a lane is sent on it.
pub(crate) trait PlayTransport:
    AsyncRead + AsyncWrite + Send + Sized + Unpin + 'static
{
    /// Sends the lane from its join point on. All output of the player's session has been sent.
    fn carry(
        self,
        player: PlayerSession,
        lane: LaneGuard,
    ) -> impl Future<Output = Carried<Self>> + Send;
}

/// Where a connection is after that.
pub(crate) enum Carried<S> {
    /// With a worker, which has a task go on with it when there is something to decide.
    Away,
    /// Here, between two messages, and what comes next.
    Back(Box<PlayerSession>, S, Result<Next, Error>),
}
