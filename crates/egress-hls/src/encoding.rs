//! Playlists compressed, once per version.

use std::io::Write;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, header};

/// Brotli's quality and window (RFC 7932): better than gzip's best, at about its cost, for texts of some kilobytes.
const BROTLI_QUALITY: u32 = 5;
const BROTLI_WINDOW_BITS: u32 = 18;

/// The same for texts from so many bytes on, those of long DVR windows: quick rather than small.
const LONG_TEXT: usize = 256 << 10;
const BROTLI_QUALITY_LONG: u32 = 1;

/// How a body is encoded (RFC 9110 §8.4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Coding {
    /// As it is.
    Identity,
    Gzip,
    Brotli,
}

impl Coding {
    /// The best of those that a client accepts (RFC 9110 §12.5.3).
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let accepts = |coding| {
            let lines = headers.get_all(header::ACCEPT_ENCODING).iter();
            http1::accepts_coding(lines.filter_map(|line| line.to_str().ok()), coding)
        };
        if accepts("br") {
            Self::Brotli
        } else if accepts("gzip") {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    /// The value of Content-Encoding, if it has one.
    pub(crate) fn token(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }
}

/// A text in all codings, each made when it is first wanted.
#[derive(Debug)]
pub(crate) struct Encoded {
    identity: Bytes,
    gzip: OnceLock<Bytes>,
    brotli: OnceLock<Bytes>,
}

impl Encoded {
    pub(crate) fn new(text: String) -> Self {
        Self {
            identity: text.into(),
            gzip: OnceLock::new(),
            brotli: OnceLock::new(),
        }
    }

    pub(crate) fn bytes(&self, coding: Coding) -> Bytes {
        match coding {
            Coding::Identity => &self.identity,
            Coding::Gzip => self.gzip.get_or_init(|| gzip(&self.identity)),
            Coding::Brotli => self.brotli.get_or_init(|| brotli(&self.identity)),
        }
        .clone()
    }
}

fn gzip(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    written.expect("a Vec takes all bytes").into()
}

fn brotli(text: &[u8]) -> Bytes {
    let mut out = Vec::new();
    let quality = match text.len() < LONG_TEXT {
        true => BROTLI_QUALITY,
        false => BROTLI_QUALITY_LONG,
    };
    let mut encoder = brotli::CompressorWriter::new(&mut out, 4_096, quality, BROTLI_WINDOW_BITS);
    encoder.write_all(text).expect("a Vec takes all bytes");
    drop(encoder);
    out.into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_best_accepted_coding_is_taken() {
        for (sent, expected) in [
            ("gzip, deflate, br, zstd", Coding::Brotli),
            ("gzip;q=1.0, br;q=0", Coding::Gzip),
            ("GZIP", Coding::Gzip),
            ("identity", Coding::Identity),
            ("", Coding::Identity),
            ("xbr", Coding::Identity),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(sent));
            assert_eq!(Coding::accepted(&headers), expected, "{sent:?}");
        }
    }

    #[test]
    fn each_coding_holds_the_same_text() {
        let text = "#EXT-X-PART:DURATION=0.50000,URI=\"41.0.m4s\"\n".repeat(100);
        let encoded = Encoded::new(text.clone());
        let mut read = String::new();
        let gzip = encoded.bytes(Coding::Gzip);
        flate2::read::GzDecoder::new(&gzip[..])
            .read_to_string(&mut read)
            .expect("gzip");
        assert_eq!(read, text);
        read.clear();
        let brotli = encoded.bytes(Coding::Brotli);
        brotli::Decompressor::new(&brotli[..], 4_096)
            .read_to_string(&mut read)
            .expect("brotli");
        assert_eq!(read, text);
        assert!(gzip.len() < text.len() / 10 && brotli.len() < text.len() / 10);
    }
}
