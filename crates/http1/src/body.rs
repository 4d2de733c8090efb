//! How the body of a request is delimited.

use crate::{Error, Version};

/// How a request's body ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body {
    /// There is none.
    None,
    /// After this many bytes. `Length(0)` on a `SOURCE` or `PUT` is libshout's probe for what the
    /// server wants, not a stream.
    Length(u64),
    /// By the last chunk; see [`ChunkedDecoder`](crate::ChunkedDecoder).
    Chunked,
    /// When the peer hangs up.
    UntilClose,
}

/// What the framing headers of a head said, gathered as its lines are read.
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
    /// Notes one Content-Length line. A list of equal values is one value (RFC 9112 §6.3).
    pub(crate) fn content_length(&mut self, value: &str) -> Result<(), Error> {
        for item in value.split(',') {
            let item = item.trim_matches([' ', '\t']);
            if item.is_empty() || !item.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Error::ContentLengthMalformed);
            }
            let length = item.parse().map_err(|_| Error::ContentLengthMalformed)?;
            if self.length.is_some_and(|earlier| earlier != length) {
                return Err(Error::ContentLengthConflict);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    /// Notes one Transfer-Encoding line. `identity` left the standard in 2014; old sources still
    /// say it and mean nothing by it.
    pub(crate) fn transfer_encoding(&mut self, value: &str) -> Result<(), Error> {
        let coding = if value.eq_ignore_ascii_case("chunked") {
            Coding::Chunked
        } else if value.eq_ignore_ascii_case("identity") {
            Coding::Identity
        } else {
            return Err(Error::CodingUnsupported);
        };
        // A second line would make a list of codings, of which only `chunked` alone is read.
        match self.coding.replace(coding) {
            None => Ok(()),
            Some(_) => Err(Error::CodingUnsupported),
        }
    }

    /// Decides once the head is complete.
    ///
    /// RFC 9112 §6.3 gives a request without length an empty body. ffmpeg, libshout, butt and
    /// every `SOURCE` client send the stream there and end it by closing.
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
