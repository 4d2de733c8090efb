//! Where a source's body ends.

use http1::{Body, ChunkedDecoder, Error, Step};

/// Takes the framing off a body.
#[derive(Debug)]
pub(super) enum BodyReader {
    /// All there is until the peer closes.
    UntilClose,
    /// This many bytes are left.
    Length(u64),
    /// Chunks.
    Chunked(ChunkedDecoder),
}

impl BodyReader {
    pub(super) fn new(body: Body) -> Self {
        match body {
            Body::None => Self::Length(0),
            Body::Length(bytes) => Self::Length(bytes),
            Body::Chunked => Self::Chunked(ChunkedDecoder::new()),
            Body::UntilClose => Self::UntilClose,
        }
    }

    /// Finds the next piece of the body in `input` and shortens `input` by what was used.
    pub(super) fn step<'a>(&mut self, input: &mut &'a [u8]) -> Result<Step<'a>, Error> {
        let here = match self {
            Self::Chunked(decoder) => return decoder.step(input),
            Self::Length(0) => return Ok(Step::End),
            Self::Length(left) => {
                let here = input
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= here as u64;
                here
            }
            Self::UntilClose => input.len(),
        };
        let (data, rest) = input.split_at(here);
        *input = rest;
        Ok(match data {
            [] => Step::NeedMore,
            data => Step::Data(data),
        })
    }

    /// Whether a peer that closes now cuts nothing short.
    pub(super) fn may_close(&self) -> bool {
        match self {
            Self::UntilClose => true,
            Self::Length(left) => *left == 0,
            Self::Chunked(decoder) => decoder.is_done(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of `input` cut into pieces of `size` bytes, and whether the end was found.
    fn read(body: Body, input: &[u8], size: usize) -> (Vec<u8>, bool) {
        let mut reader = BodyReader::new(body);
        let mut out = Vec::new();
        for mut piece in input.chunks(size) {
            loop {
                match reader.step(&mut piece).unwrap() {
                    Step::Data(data) => out.extend_from_slice(data),
                    Step::NeedMore => break,
                    Step::End => return (out, true),
                }
            }
        }
        (out, reader.may_close())
    }

    #[test]
    fn every_framing_ends_where_it_says_however_it_is_cut() {
        for size in 1..12 {
            assert_eq!(
                read(Body::Length(5), b"media and more", size),
                (b"media".to_vec(), true)
            );
            assert_eq!(
                read(Body::Length(99), b"media", size),
                (b"media".to_vec(), false)
            );
            assert_eq!(
                read(Body::UntilClose, b"media", size),
                (b"media".to_vec(), true)
            );
            let chunks = b"3\r\nmed\r\n2\r\nia\r\n0\r\n\r\nmore";
            assert_eq!(read(Body::Chunked, chunks, size), (b"media".to_vec(), true));
            assert_eq!(
                read(Body::Chunked, b"9\r\nmedia", size),
                (b"media".to_vec(), false)
            );
        }
        assert_eq!(read(Body::None, b"x", 1), (Vec::new(), true));
    }
}
