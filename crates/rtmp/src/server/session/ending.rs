//! Ends of a session, and the messages that the peer receives.

use super::{Phase, Session};
use crate::{
    Error, command,
    server::event::{Rejection, RequestId, Withdrawn},
};

impl Session {
    /// Rejects a request and closes the session. `description` is shown to the broadcaster.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request no longer exists; the session then continues.
    pub fn reject(
        &mut self,
        id: RequestId,
        rejection: Rejection,
        description: &str,
    ) -> Result<(), Withdrawn> {
        if self.is_closed() || self.current() != Some(id) {
            return Err(Withdrawn);
        }
        self.say(rejection, description);
        self.close();
        Ok(())
    }

    /// Ends the session in any state: [`Rejection::BadName`] when another publisher takes over,
    /// [`Rejection::Failed`] when the server stops.
    pub fn close_with(&mut self, rejection: Rejection, description: &str) {
        if self.is_closed() {
            return;
        }
        // Before `connect` the peer knows no status messages.
        if self.connection.is_some() {
            self.say(rejection, description);
        }
        self.close();
    }

    /// Asks the peer to reconnect, to another server or a fresh process, and stays open until it does. Sends
    /// nothing, and returns `false`, for a peer that does not support it (Enhanced RTMP v2, "Reconnect
    /// Request").
    pub fn request_reconnect(&mut self, description: &str) -> bool {
        let can = !self.is_closed() && self.connection.as_ref().is_some_and(|c| c.reconnects);
        if can {
            let code = "NetConnection.Connect.ReconnectRequest";
            self.replies.status(0, code, description);
        }
        can
    }

    pub(super) fn fail(&mut self, error: &Error) {
        let in_handshake = matches!(self.phase, Phase::Handshake(_));
        if let Some(code) = error.reply().filter(|_| !in_handshake) {
            let description = error.to_string();
            match self.connection {
                Some(_) => {
                    let stream = self.current().map_or(0, |id| id.stream);
                    self.replies.error(stream, code, &description);
                }
                // The only reply that a client waits for is the one to `connect`, transaction 1.
                None => self.replies.command("_error", 1.0, |e| {
                    command::information(e.null(), "error", code, &description);
                }),
            }
        }
        self.close();
    }

    pub(super) fn close(&mut self) {
        self.phase = Phase::Closed;
        self.clock.deadline = None;
        self.player.end();
        self.publication.end();
    }

    /// Returns the request that is undecided or active.
    fn current(&self) -> Option<RequestId> {
        self.publication.id().or_else(|| self.player.id())
    }

    /// Sends the peer the reason of its refusal, in the terms of its request.
    fn say(&mut self, rejection: Rejection, description: &str) {
        let code = match self.player.id() {
            Some(_) => rejection.play_code(),
            None => rejection.code(),
        };
        let stream = self.current().map_or(0, |id| id.stream);
        self.replies.error(stream, code, description);
    }
}
