//! The head of an HTTP response, as far as a listener or a source needs it.

use std::num::NonZeroUsize;

/// Maximum length of a head in bytes, more than any server sends.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Head of a server's response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// Number of audio bytes between two blocks of metadata.
    pub(crate) metaint: Option<NonZeroUsize>,
    pub(crate) is_chunked: bool,
    /// Length of the body in bytes, if the server declares it.
    pub(crate) content_length: Option<usize>,
    /// Whether the connection ends with this response.
    pub(crate) closes: bool,
}

/// Reasons why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error("its answer has no end")]
    Endless,
    #[error("its answer is not HTTP")]
    NotHttp,
}

/// Parser of a head that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct AnswerReader {
    bytes: Vec<u8>,
}

impl AnswerReader {
    /// Takes `bytes`. Once the head is complete, returns the response and the bytes that followed its head.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Option<(Answer, Vec<u8>)>, AnswerError> {
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            return if self.bytes.len() > HEAD_BYTES_MAX {
                Err(AnswerError::Endless)
            } else {
                Ok(None)
            };
        };
        let body = self.bytes.split_off(end + 4);
        let head = String::from_utf8_lossy(&self.bytes).into_owned();
        self.bytes.clear();
        let answer = parse(&head).ok_or(AnswerError::NotHttp)?;
        Ok(Some((answer, body)))
    }
}

fn parse(head: &str) -> Option<Answer> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split_whitespace();
    let version = words.next()?;
    if !["HTTP/", "ICY", "ICE/"]
        .iter()
        .any(|start| version.starts_with(start))
    {
        return None;
    }
    let mut answer = Answer {
        status: words.next()?.parse().ok()?,
        closes: version != "HTTP/1.1",
        ..Answer::default()
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match &name.to_ascii_lowercase()[..] {
            "content-type" => answer.content_type = value.to_ascii_lowercase(),
            "icy-metaint" => answer.metaint = value.parse().ok(),
            "content-length" => answer.content_length = value.parse().ok(),
            "transfer-encoding" => answer.is_chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => answer.closes = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] =
        b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint:16000\r\n\r\nbody";

    #[test]
    fn a_head_is_read_however_it_is_cut() {
        for cut in 0..TEXT.len() {
            let mut reader = AnswerReader::default();
            let mut read = reader.push(&TEXT[..cut]).expect("HTTP");
            let mut tail = TEXT[cut..].to_vec();
            if let Some((_, body)) = &mut read {
                body.append(&mut tail);
            } else {
                read = reader.push(&tail).expect("HTTP");
            }
            let (answer, body) = read.expect("a whole head");
            assert_eq!((answer.status, &body[..]), (200, &b"body"[..]));
            assert_eq!(answer.content_type, "audio/mpeg");
            assert_eq!(answer.metaint.map(NonZeroUsize::get), Some(16_000));
            assert!(!answer.is_chunked);
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let push = |bytes: &[u8]| AnswerReader::default().push(bytes);
        assert_eq!(push(b"SSH-2.0-x 200\r\n\r\n"), Err(AnswerError::NotHttp));
        assert_eq!(push(&[b'a'; HEAD_BYTES_MAX + 1]), Err(AnswerError::Endless));
        assert_eq!(
            push(b"ICY 401 No\r\n\r\n").map(|read| read.map(|(answer, _)| answer.status)),
            Ok(Some(401))
        );
    }
}
