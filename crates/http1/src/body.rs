//! Framing of request bodies: its detection and its removal.

use crate::{ChunkedDecoder, Error, Step, Version};

/// Framing of a request's body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body {
    /// No body.
    None,
    /// Body of this many bytes. `Length(0)` on a `SOURCE` or `PUT` is libshout's probe for the server's requirements, not a
    /// stream.
    Length(u64),
    /// Body that ends with the last chunk; see [`ChunkedDecoder`].
    Chunked,
    /// Body that ends when the peer closes the connection.
    UntilClose,
}

/// Framing headers of a head, gathered as its lines are read.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    length: Option<u64>,
    coding: Option<Coding>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Coding {
    Chunked,
    Identity,
}

impl Framing {
    /// Records one Content-Length line. A list of equal values could be read as one value (RFC 9112 §6.3); it is refused,
    /// because only intermediaries under attack produce one.
    pub(crate) fn content_length(&mut self, value: &str) -> Result<(), Error> {
        if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::ContentLengthMalformed);
        }
        let length = value.parse().map_err(|_| Error::ContentLengthMalformed)?;
        match self.length.replace(length) {
            None => Ok(()),
            Some(_) => Err(Error::ContentLengthRepeated),
        }
    }

    /// Records one Transfer-Encoding line. `identity` left the standard in 2014; old sources still send it without any meaning.
    pub(crate) fn transfer_encoding(&mut self, value: &str) -> Result<(), Error> {
        let coding = if value.eq_ignore_ascii_case("chunked") {
            Coding::Chunked
        } else if value.eq_ignore_ascii_case("identity") {
            Coding::Identity
        } else {
            return Err(Error::CodingUnsupported);
        };
        // A second line would make a list of codings; only a single `chunked` is supported.
        match self.coding.replace(coding) {
            None => Ok(()),
            Some(_) => Err(Error::CodingUnsupported),
        }
    }

    /// Returns the error for framing that only a source client may use.
    pub(crate) fn quirk(&self) -> Option<Error> {
        (self.coding == Some(Coding::Identity)).then_some(Error::CodingUnsupported)
    }

    /// Decides on the framing once the head is complete.
    ///
    /// RFC 9112 §6.3 gives a request without length an empty body. ffmpeg, libshout, butt and every `SOURCE` client send the
    /// stream in such a body and end it by closing.
    pub(crate) fn decide(&self, method: &str, version: Version) -> Result<Body, Error> {
        match (self.coding, self.length) {
            (Some(_), Some(_)) => Err(Error::LengthAndCoding),
            (Some(Coding::Chunked), None) if version != Version::Http11 => {
                Err(Error::CodingBeforeHttp11)
            }
            (Some(Coding::Chunked), None) => Ok(Body::Chunked),
            (None, Some(length)) => Ok(Body::Length(length)),
            (Some(Coding::Identity) | None, None) => Ok(match method {
                "PUT" | "SOURCE" => Body::UntilClose,
                _ => Body::None,
            }),
        }
    }
}

/// Decoder that removes the framing of a body.
///
/// ```
/// # use carillon_http1::{Body, BodyDecoder, Step};
/// let (mut decoder, mut input) = (BodyDecoder::strict(Body::Length(2)), &b"abGET /"[..]);
/// assert_eq!(decoder.step(&mut input), Ok(Step::Data(b"ab")));
/// assert_eq!((decoder.step(&mut input), input), (Ok(Step::End), &b"GET /"[..]));
/// ```
#[derive(Debug)]
pub struct BodyDecoder(Framed);

#[derive(Debug)]
enum Framed {
    /// All bytes until the peer closes.
    UntilClose,
    /// Number of bytes that are left.
    Length(u64),
    /// Chunked body.
    Chunked(ChunkedDecoder),
}

impl BodyDecoder {
    /// Creates a decoder for a source's body: see [`ChunkedDecoder::new`].
    pub const fn new(body: Body) -> Self {
        Self::of(body, ChunkedDecoder::new())
    }

    /// Creates a decoder for a body that another request may follow: see [`ChunkedDecoder::strict`].
    pub const fn strict(body: Body) -> Self {
        Self::of(body, ChunkedDecoder::strict())
    }

    const fn of(body: Body, chunks: ChunkedDecoder) -> Self {
        Self(match body {
            Body::None => Framed::Length(0),
            Body::Length(bytes) => Framed::Length(bytes),
            Body::Chunked => Framed::Chunked(chunks),
            Body::UntilClose => Framed::UntilClose,
        })
    }

    /// Finds the next piece of the body in `input` and removes the used bytes from `input`.
    ///
    /// # Errors
    /// The errors of [`ChunkedDecoder::step`].
    pub fn step<'a>(&mut self, input: &mut &'a [u8]) -> Result<Step<'a>, Error> {
        let here = match &mut self.0 {
            Framed::Chunked(decoder) => return decoder.step(input),
            Framed::Length(0) => return Ok(Step::End),
            Framed::Length(left) => {
                let here = input
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= here as u64;
                here
            }
            Framed::UntilClose => input.len(),
        };
        let (data, rest) = input.split_at(here);
        *input = rest;
        Ok(match data {
            [] => Step::NeedMore,
            data => Step::Data(data),
        })
    }

    /// Whether a peer that closes now truncates nothing.
    pub const fn may_close(&self) -> bool {
        match &self.0 {
            Framed::UntilClose => true,
            Framed::Length(left) => *left == 0,
            Framed::Chunked(decoder) => decoder.is_done(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body in `input` cut into pieces of `size` bytes, and whether the end was found.
    fn read(body: Body, input: &[u8], size: usize) -> (Vec<u8>, bool) {
        let mut decoder = BodyDecoder::new(body);
        let mut out = Vec::new();
        for mut piece in input.chunks(size) {
            loop {
                match decoder.step(&mut piece).unwrap() {
                    Step::Data(data) => out.extend_from_slice(data),
                    Step::NeedMore => break,
                    Step::End => return (out, true),
                }
            }
        }
        (out, decoder.may_close())
    }

    #[test]
    fn every_framing_ends_where_it_says_however_it_is_cut() {
        let chunks = "3\r\nmed\r\n2\r\nia\r\n0\r\n\r\nmore";
        for size in 1..12 {
            for (body, input, is_over) in [
                (Body::Length(5), "media and more", true),
                (Body::Length(99), "media", false),
                (Body::UntilClose, "media", true),
                (Body::Chunked, chunks, true),
                (Body::Chunked, "9\r\nmedia", false),
            ] {
                let found = read(body, input.as_bytes(), size);
                assert_eq!(found, (b"media".to_vec(), is_over), "{input}");
            }
        }
        assert_eq!(read(Body::None, b"x", 1), (Vec::new(), true));
    }
}
