//! A single HTTP/1.1 response on a connection that carries others after it (RFC 9112 §6): its head, and the wanted part of its
//! body.

use http1::{ChunkedDecoder, Step};

use crate::answer::{Answer, AnswerError, AnswerReader};

/// Number of first bytes that identify a body.
const START_BYTES: usize = 12;

/// The part of a body that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Its first bytes.
    Start,
    /// All of it; more bytes than this are an error.
    All(usize),
}

/// Reasons why a response cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadingError {
    #[error(transparent)]
    Head(#[from] AnswerError),
    #[error("its chunks make no sense")]
    Chunks,
    #[error("its answer is too long")]
    TooLong,
    #[error("its answer is cut off")]
    Cut,
}

/// Reader of one response.
#[derive(Debug)]
pub(crate) struct Reading {
    keep: Keep,
    head: AnswerReader,
    answer: Option<Answer>,
    rest: Rest,
    body: Vec<u8>,
}

/// Remaining part of the body.
#[derive(Debug)]
enum Rest {
    Bytes(usize),
    Chunks(ChunkedDecoder),
    UntilClose,
}

impl Reading {
    pub(crate) fn new(keep: Keep) -> Self {
        Self {
            keep,
            head: AnswerReader::default(),
            answer: None,
            rest: Rest::UntilClose,
            body: Vec::new(),
        }
    }

    /// Takes received bytes. Returns the number of body bytes among them.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<usize, ReadingError> {
        if self.answer.is_some() {
            return self.push_body(bytes);
        }
        let Some((answer, body)) = self.head.push(bytes)? else {
            return Ok(0);
        };
        self.rest = match (answer.status, answer.content_length) {
            (204 | 304, _) => Rest::Bytes(0),
            _ if answer.is_chunked => Rest::Chunks(ChunkedDecoder::strict()),
            (_, Some(length)) => Rest::Bytes(length),
            (_, None) => Rest::UntilClose,
        };
        self.answer = Some(answer);
        self.push_body(&body)
    }

    /// Returns the status of the response, once its head has arrived.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    /// Returns whether the response succeeds, as far as its head has arrived.
    pub(crate) fn is_success(&self) -> bool {
        self.status()
            .is_some_and(|status| (200..300).contains(&status))
    }

    /// Returns the part of the body kept so far.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the number of next bytes that are body and need not be examined.
    pub(crate) fn skippable(&self) -> usize {
        match self.rest {
            Rest::Bytes(left) if self.answer.is_some() && self.has_start() => left,
            _ => 0,
        }
    }

    /// Returns whether all of the body is kept.
    pub(crate) fn keeps_all(&self) -> bool {
        matches!(self.keep, Keep::All(_))
    }

    /// Records that this many [skippable](Self::skippable) bytes arrived.
    pub(crate) fn skip(&mut self, bytes: usize) {
        if let Rest::Bytes(left) = &mut self.rest {
            *left = left.saturating_sub(bytes);
        }
    }

    /// Returns whether the whole response has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.answer.is_some()
            && match &self.rest {
                Rest::Bytes(left) => *left == 0,
                Rest::Chunks(decoder) => decoder.is_done(),
                Rest::UntilClose => false,
            }
    }

    /// Records the end of the connection, which ends a response of undeclared length.
    pub(crate) fn close(&mut self) -> Result<(), ReadingError> {
        match (&self.answer, &self.rest) {
            (Some(_), Rest::UntilClose) => {
                self.rest = Rest::Bytes(0);
                Ok(())
            }
            _ => Err(ReadingError::Cut),
        }
    }

    /// Returns the response, and the part of its body that was kept.
    pub(crate) fn finish(self) -> (Answer, Vec<u8>) {
        (self.answer.unwrap_or_default(), self.body)
    }

    fn has_start(&self) -> bool {
        self.keep == Keep::Start && self.body.len() >= START_BYTES
    }

    fn push_body(&mut self, bytes: &[u8]) -> Result<usize, ReadingError> {
        let mut input = bytes;
        match &mut self.rest {
            Rest::UntilClose => keep(&mut self.body, self.keep, input)?,
            Rest::Bytes(left) => {
                // Nothing was requested after this response, so the bytes that follow it are not examined.
                input = &input[..input.len().min(*left)];
                *left -= input.len();
                keep(&mut self.body, self.keep, input)?;
            }
            Rest::Chunks(decoder) => {
                let mut count = 0;
                loop {
                    match decoder.step(&mut input).map_err(|_| ReadingError::Chunks)? {
                        Step::Data(data) => {
                            count += data.len();
                            keep(&mut self.body, self.keep, data)?;
                        }
                        Step::NeedMore | Step::End => return Ok(count),
                    }
                }
            }
        }
        Ok(input.len())
    }
}

fn keep(body: &mut Vec<u8>, keep: Keep, bytes: &[u8]) -> Result<(), ReadingError> {
    let bytes = match keep {
        Keep::All(max) if body.len() + bytes.len() > max => return Err(ReadingError::TooLong),
        Keep::All(_) => bytes,
        Keep::Start => &bytes[..bytes.len().min(START_BYTES - body.len())],
    };
    body.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "a body of twenty-six bytes";

    fn text(is_chunked: bool) -> String {
        if is_chunked {
            let (one, other) = BODY.split_at(9);
            return format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 9\r\n{one}\r\n11\r\n{other}\r\n0\r\n\r\n"
            );
        }
        let length = BODY.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{BODY}")
    }

    #[test]
    fn an_answer_is_read_however_it_is_cut() {
        for is_chunked in [false, true] {
            let text = text(is_chunked);
            for cut in 0..text.len() {
                let mut reading = Reading::new(Keep::All(26));
                let mut count = reading.push(&text.as_bytes()[..cut]).expect("a beginning");
                assert!(!reading.is_complete(), "{cut}");
                count += reading.push(&text.as_bytes()[cut..]).expect("the rest");
                assert!(reading.is_complete() && count == BODY.len(), "{cut}");
                let (answer, body) = reading.finish();
                assert_eq!((answer.status, answer.closes), (200, !is_chunked));
                assert_eq!(body, BODY.as_bytes());
            }
        }
    }

    #[test]
    fn what_is_not_wanted_may_be_skipped() {
        let text = text(false).into_bytes();
        let mut reading = Reading::new(Keep::Start);
        let head = text.len() - BODY.len();
        reading.push(&text[..head + 5]).expect("HTTP");
        assert_eq!(reading.skippable(), 0);
        reading.push(&text[head + 5..head + 15]).expect("HTTP");
        assert_eq!(reading.skippable(), 11);
        reading.skip(10);
        assert!(!reading.is_complete() && reading.is_success());
        reading.skip(1);
        assert!(reading.is_complete());
        assert_eq!(reading.finish().1, &BODY.as_bytes()[..START_BYTES]);
    }

    #[test]
    fn an_answer_without_a_length_ends_with_the_connection() {
        let mut reading = Reading::new(Keep::All(100));
        let text = format!("HTTP/1.0 404 No\r\n\r\n{BODY}");
        reading.push(text.as_bytes()).expect("HTTP");
        assert!(!reading.is_complete() && !reading.is_success());
        assert_eq!(reading.close(), Ok(()));
        assert!(reading.is_complete());
        let (answer, body) = reading.finish();
        assert_eq!((answer.status, answer.closes, body.len()), (404, true, 26));
    }

    #[test]
    fn what_is_no_whole_answer_is_an_error() {
        let text = text(false).into_bytes();
        let mut reading = Reading::new(Keep::All(25));
        assert_eq!(reading.push(&text), Err(ReadingError::TooLong));
        let mut reading = Reading::new(Keep::Start);
        reading.push(&text[..60]).expect("a beginning");
        assert_eq!(reading.close(), Err(ReadingError::Cut));
        let mut reading = Reading::new(Keep::Start);
        let broken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
        assert_eq!(reading.push(broken.as_bytes()), Err(ReadingError::Chunks));
    }
}
