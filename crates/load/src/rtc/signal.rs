//! Offer and answer over HTTP (RFC 9725, and the draft of WHEP).

use std::os::fd::OwnedFd;

use webrtc::client::{Answer, AnswerError};
use webrtc::ice::Credentials;

use crate::group::Reason;
use crate::reading::{Keep, Reading, ReadingError};
use crate::socket;
use crate::target::Target;

/// Bytes of an answer's body.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Why there is no answer to an offer.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignalError {
    #[error("status {0}")]
    Status(u16),
    #[error(transparent)]
    Reading(#[from] ReadingError),
    #[error(transparent)]
    Sdp(#[from] AnswerError),
}

/// The request that offers `offer` for stream `number` of `target`.
pub(super) fn post(target: &Target, number: u64, offer: &str) -> String {
    let authorization = match target.credentials() {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    };
    format!(
        "POST /{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: carillon-load\r\nContent-Type: application/sdp\r\n\
         Accept: application/sdp\r\nConnection: close\r\n{authorization}Content-Length: {}\r\n\r\n{offer}",
        target.path(number),
        target.authority(),
        offer.len()
    )
}

/// A member that asks for a session.
#[derive(Debug)]
pub(super) struct Asking {
    /// Its offer, until it is sent.
    words: Option<Vec<u8>>,
    local: Credentials,
    reader: SignalReader,
}

impl Asking {
    /// A member whose offer with `local` is in `words`.
    pub(super) fn new(words: String, local: Credentials) -> Self {
        Self {
            words: Some(words.into_bytes()),
            local,
            reader: SignalReader::default(),
        }
    }

    /// Something happened at its socket, which is watched as `place`. Returns the answer once it is complete, and the
    /// credentials of the offer.
    pub(super) fn attend(
        &mut self,
        socket: &OwnedFd,
        epoll: &OwnedFd,
        place: usize,
        buffer: &mut [u8],
    ) -> Result<Option<(Answer, Credentials)>, Reason> {
        if let Some(words) = self.words.take() {
            socket::greet(socket, &words, epoll, place)?;
            return Ok(None);
        }
        let answer = self.reader.receive(socket, buffer)?;
        Ok(answer.map(|answer| (answer, self.local.clone())))
    }
}

/// Reads an answer that comes in pieces.
#[derive(Debug)]
struct SignalReader(Reading);

impl Default for SignalReader {
    fn default() -> Self {
        Self(Reading::new(Keep::All(BODY_BYTES_MAX)))
    }
}

impl SignalReader {
    /// Takes what has come to `socket`. Returns the answer once it is complete.
    fn receive(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> Result<Option<Answer>, SignalError> {
        match socket::receive(socket, buffer) {
            Ok(Some(length)) => self.push(&buffer[..length]),
            Ok(None) => Ok(None),
            Err(_) => self.finish().map(Some),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<Option<Answer>, SignalError> {
        let pushed = self.0.push(bytes);
        match self.0.status() {
            None | Some(200 | 201) => {}
            Some(status) => return Err(SignalError::Status(status)),
        }
        pushed?;
        match self.0.is_complete() {
            true => self.read().map(Some),
            false => Ok(None),
        }
    }

    /// The server closed the connection, which ends an answer of undeclared length.
    fn finish(&mut self) -> Result<Answer, SignalError> {
        self.0.close()?;
        self.read()
    }

    fn read(&self) -> Result<Answer, SignalError> {
        let text = String::from_utf8_lossy(self.0.body());
        Ok(Answer::parse(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let mut reader = SignalReader::default();
            let (one, other) = text.as_bytes().split_at(cut);
            assert!(reader.push(one).expect("a beginning").is_none());
            let answer = reader.push(other).expect("an answer").expect("all of it");
            assert_eq!(answer.ice.ufrag(), "abcd");
        }
    }

    #[test]
    fn an_answer_without_a_length_ends_with_the_connection() {
        let text = answered("201 Created", false);
        let mut reader = SignalReader::default();
        assert!(reader.push(text.as_bytes()).expect("an answer").is_none());
        assert!(reader.finish().is_ok());
        let mut reader = SignalReader::default();
        let text = answered("201 Created", true);
        assert!(
            reader
                .push(&text.as_bytes()[..99])
                .expect("a piece")
                .is_none()
        );
        let cut = reader.finish();
        assert!(matches!(cut, Err(SignalError::Reading(ReadingError::Cut))));
    }

    #[test]
    fn a_no_is_the_reason() {
        let mut reader = SignalReader::default();
        let refused = reader.push(answered("409 Conflict", true).as_bytes());
        assert_eq!(refused.expect_err("a no").to_string(), "status 409");
        let long = format!("HTTP/1.1 201 Created\r\n\r\n{}", "x".repeat(70_000));
        let mut reader = SignalReader::default();
        let refused = reader.push(long.as_bytes());
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
