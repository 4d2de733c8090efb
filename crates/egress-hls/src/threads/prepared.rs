//! Answer in the form in which it is sent to all who request the same.

use std::io::IoSlice;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http1::{ResponseHead, Status, Version};
use net::SendOp;

use crate::answer::Answer;

/// Head and body of an answer.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Pieces to send, of which the first is the head. None is empty.
    pieces: Vec<Bytes>,
    /// Bytes of all pieces.
    pub(super) len: usize,
    /// Bytes of the body.
    pub(super) body_len: u64,
}

impl Prepared {
    /// Prepares a complete answer, with those headers of `common` that it does not have; `None` if threads do not send
    /// such answers.
    pub(super) fn new(answer: Answer, common: &HeaderMap, now: SystemTime) -> Option<Self> {
        let status = match answer.status {
            StatusCode::OK => Status::OK,
            StatusCode::SERVICE_UNAVAILABLE => Status::SERVICE_UNAVAILABLE,
            _ => return None,
        };
        if answer.rest.is_some() {
            return None;
        }
        let body_len = answer.length();
        let mut head = ResponseHead::new(Version::Http11, status)
            .date(now.into())
            .content_length(body_len);
        let more = common
            .iter()
            .filter(|(name, _)| !answer.headers.contains_key(*name));
        for (name, value) in answer.headers.iter().chain(more) {
            head = head.header(name.as_str(), value.to_str().ok()?);
        }
        let body = answer.body.into_iter().filter(|piece| !piece.is_empty());
        let pieces: Vec<_> = std::iter::once(Bytes::from(head.finish()))
            .chain(body)
            .collect();
        Some(Self {
            len: pieces.iter().map(Bytes::len).sum(),
            body_len,
            pieces,
        })
    }

    /// Fills `into` with the slices from `offset`, as many as one send may carry, and returns their number.
    pub(super) fn slices<'a>(
        &'a self,
        mut offset: usize,
        into: &mut [IoSlice<'a>; SendOp::SLICES_MAX],
    ) -> usize {
        let mut count = 0;
        for piece in &self.pieces {
            if offset >= piece.len() {
                offset -= piece.len();
                continue;
            }
            into[count] = IoSlice::new(&piece[offset..]);
            offset = 0;
            count += 1;
            if count == into.len() {
                break;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packaging::Packaging;

    #[test]
    fn it_is_sent_from_any_offset() {
        let pieces = (0..12_u8)
            .map(|number| Bytes::from(vec![number; 3]))
            .collect();
        let answer = Answer::media(Packaging::Mp4, pieces, true);
        let mut common = HeaderMap::new();
        common.insert("x-common", http::HeaderValue::from_static("1"));
        common.insert("content-type", http::HeaderValue::from_static("not/this"));
        let prepared = Prepared::new(answer, &common, SystemTime::UNIX_EPOCH).expect("an answer");
        assert_eq!(prepared.body_len, 36);
        let mut whole = Vec::new();
        while whole.len() < prepared.len {
            let mut slices = [IoSlice::new(&[]); SendOp::SLICES_MAX];
            let count = prepared.slices(whole.len(), &mut slices);
            assert!(count > 0 && slices[..count].iter().all(|slice| !slice.is_empty()));
            // Simulates a socket that takes five bytes at a time.
            let all: Vec<u8> = slices[..count]
                .iter()
                .flat_map(|slice| slice.to_vec())
                .collect();
            whole.extend_from_slice(&all[..all.len().min(5)]);
        }
        let text = String::from_utf8_lossy(&whole);
        assert!(text.starts_with(
            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 36\r\n"
        ));
        assert!(
            text.contains("x-common: 1\r\n") && !text.contains("not/this"),
            "{text}"
        );
        assert!(whole.ends_with(&[10, 10, 10, 11, 11, 11]));
    }
}
