//! Offer and answer over HTTP (RFC 9725, and the draft of WHEP).

use webrtc::client::{self, AnswerError};

use crate::answer::{self, Answer, AnswerReader};
use crate::target::Target;

/// Bytes of an answer's body.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Why there is no answer to an offer.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignalError {
    #[error("status {0}")]
    Status(u16),
    #[error(transparent)]
    Head(#[from] answer::AnswerError),
    #[error(transparent)]
    Sdp(#[from] AnswerError),
    #[error("its answer is too long")]
    TooLong,
    #[error("its answer is cut off")]
    Cut,
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

/// Reads an answer that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct SignalReader {
    head: AnswerReader,
    answer: Option<Answer>,
    body: Vec<u8>,
}

impl SignalReader {
    /// Takes `bytes`. Returns the answer once it is complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<client::Answer>, SignalError> {
        if self.answer.is_some() {
            self.body.extend_from_slice(bytes);
        } else if let Some((answer, body)) = self.head.push(bytes)? {
            if !matches!(answer.status, 200 | 201) {
                return Err(SignalError::Status(answer.status));
            }
            self.answer = Some(answer);
            self.body = body;
        }
        if self.body.len() > BODY_BYTES_MAX {
            return Err(SignalError::TooLong);
        }
        let length = self.answer.as_ref().and_then(|head| head.content_length);
        match length {
            Some(length) if self.body.len() >= length => self.read(length).map(Some),
            _ => Ok(None),
        }
    }

    /// The server closed the connection, which ends an answer of undeclared length.
    pub(super) fn finish(&self) -> Result<client::Answer, SignalError> {
        match &self.answer {
            Some(Answer {
                content_length: None,
                ..
            }) => self.read(self.body.len()),
            _ => Err(SignalError::Cut),
        }
    }

    fn read(&self, length: usize) -> Result<client::Answer, SignalError> {
        let text = String::from_utf8_lossy(&self.body[..length]);
        Ok(client::Answer::parse(&text)?)
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
        assert!(matches!(reader.finish(), Err(SignalError::Cut)));
    }

    #[test]
    fn a_no_is_the_reason() {
        let mut reader = SignalReader::default();
        let refused = reader.push(answered("409 Conflict", true).as_bytes());
        assert_eq!(refused.expect_err("a no").to_string(), "status 409");
        let long = format!("HTTP/1.1 201 Created\r\n\r\n{}", "x".repeat(70_000));
        let mut reader = SignalReader::default();
        let refused = reader.push(long.as_bytes());
        assert!(matches!(refused, Err(SignalError::TooLong)));
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
