//! Offer and answer over HTTP (RFC 9725, and the draft of WHEP).

use std::os::fd::OwnedFd;

use webrtc::client::{Answer, AnswerError, ClientIdentity};
use webrtc::ice::Credentials;

use super::session::Connection;
use crate::group::{Context, Reason, Seat};
use crate::reading::{Keep, Reading, ReadingError};
use crate::socket;
use crate::target::Target;

/// Maximum length of a response's body in bytes.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Reasons why there is no answer to an offer.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignalError {
    #[error("status {0}")]
    Status(u16),
    #[error(transparent)]
    Reading(#[from] ReadingError),
    #[error(transparent)]
    Sdp(#[from] AnswerError),
}

/// Returns the HTTP request that sends `offer` for stream `number` of `target`.
pub(super) fn post(target: &Target, number: u64, offer: &str) -> String {
    let authorization = match &target.credentials[..] {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    };
    format!(
        "POST /{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: carillon-load\r\nContent-Type: application/sdp\r\n\
         Accept: application/sdp\r\nConnection: close\r\n{authorization}Content-Length: {}\r\n\r\n{offer}",
        target.path(number),
        target.authority,
        offer.len()
    )
}

/// A member that requests a session.
#[derive(Debug)]
pub(super) struct Asking {
    /// The offer's request, until it is sent.
    words: Option<Vec<u8>>,
    identity: ClientIdentity,
    local: Credentials,
    reading: Reading,
}

impl Asking {
    /// Creates a member whose offer, with this certificate and these credentials, is in `words`.
    pub(super) fn new(words: String, identity: &ClientIdentity, local: Credentials) -> Self {
        Self {
            words: Some(words.into_bytes()),
            identity: identity.clone(),
            local,
            reading: Reading::new(Keep::All(BODY_BYTES_MAX)),
        }
    }

    /// Handles an event on the member's socket. Once the answer is complete, returns it with the connection that it leads to:
    /// the socket to the server's UDP port replaces the one to the HTTP port, whose connection ends when its descriptor is
    /// closed.
    pub(super) fn attend<B>(
        &mut self,
        context: &mut Context<B>,
        seat: &Seat,
        socket: &mut OwnedFd,
    ) -> Result<Option<(Answer, Connection)>, Reason> {
        if let Some(words) = self.words.take() {
            socket::greet(socket, &words, &context.epoll, seat.place)?;
            return Ok(None);
        }
        let answer = match socket::receive(socket, &mut context.buffer) {
            Ok(Some(length)) => push(&mut self.reading, &context.buffer[..length])?,
            Ok(None) => None,
            Err(_) => Some(finish(&mut self.reading)?),
        };
        let Some(answer) = answer else {
            return Ok(None);
        };
        let own = (&answer, self.local.clone());
        let (opened, connection) = Connection::open(context, seat, &self.identity, own)?;
        *socket = opened;
        Ok(Some((answer, connection)))
    }
}

/// Takes a piece of a response. Returns the answer once it is complete.
fn push(reading: &mut Reading, bytes: &[u8]) -> Result<Option<Answer>, SignalError> {
    let pushed = reading.push(bytes);
    match reading.status() {
        None | Some(200 | 201) => {}
        Some(status) => return Err(SignalError::Status(status)),
    }
    pushed?;
    match reading.is_complete() {
        true => Ok(Some(read(reading)?)),
        false => Ok(None),
    }
}

/// Handles the end of the connection, which ends a response of undeclared length.
fn finish(reading: &mut Reading) -> Result<Answer, SignalError> {
    reading.close()?;
    read(reading)
}

fn read(reading: &Reading) -> Result<Answer, SignalError> {
    let text = String::from_utf8_lossy(reading.body());
    Ok(Answer::parse(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread() -> Reading {
        Reading::new(Keep::All(BODY_BYTES_MAX))
    }

    const SDP: &str = "v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
        a=fingerprint:sha-256 00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:\
        00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00\r\n";

    fn answered(status: &str, length: bool) -> String {
        let length = match length {
            true => format!("Content-Length: {}\r\n", SDP.len()),
            false => String::new(),
        };
        format!("HTTP/1.1 {status}\r\n{length}\r\n{SDP}")
    }

    #[test]
    fn an_answer_is_read_however_it_is_cut() {
        let text = answered("201 Created", true);
        for cut in 0..text.len() {
            let mut reading = unread();
            let (one, other) = text.as_bytes().split_at(cut);
            assert!(push(&mut reading, one).expect("a beginning").is_none());
            let answer = push(&mut reading, other)
                .expect("an answer")
                .expect("all of it");
            assert_eq!(answer.ice.ufrag(), "abcd");
        }
    }

    #[test]
    fn an_answer_without_a_length_ends_with_the_connection() {
        let text = answered("201 Created", false);
        let mut reading = unread();
        assert!(
            push(&mut reading, text.as_bytes())
                .expect("an answer")
                .is_none()
        );
        assert!(finish(&mut reading).is_ok());
        let mut reading = unread();
        let text = answered("201 Created", true);
        let piece = push(&mut reading, &text.as_bytes()[..99]);
        assert!(piece.expect("a piece").is_none());
        let cut = finish(&mut reading);
        assert!(matches!(cut, Err(SignalError::Reading(ReadingError::Cut))));
    }

    #[test]
    fn a_no_is_the_reason() {
        let mut reading = unread();
        let refused = push(&mut reading, answered("409 Conflict", true).as_bytes());
        assert_eq!(refused.expect_err("a no").to_string(), "status 409");
        let long = format!("HTTP/1.1 201 Created\r\n\r\n{}", "x".repeat(70_000));
        let mut reading = unread();
        let refused = push(&mut reading, long.as_bytes());
        assert!(matches!(
            refused,
            Err(SignalError::Reading(ReadingError::TooLong))
        ));
    }

    #[test]
    fn the_key_is_a_bearer_token() {
        let target = "whip+http://key@127.0.0.1:8000/live/show{n}/whip";
        let request = post(&target.parse().expect("an address"), 3, "v=0");
        assert!(request.starts_with("POST /live/show3/whip HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"));
        assert!(request.contains("\r\nAuthorization: Bearer key\r\n"));
        assert!(request.ends_with("\r\nContent-Length: 3\r\n\r\nv=0"));
    }
}
