//! Compression of playlists, once per version.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use base::holdings::{Holdings, Kind};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, header};

/// Quality and window of Brotli (RFC 7932): better than gzip's best at about its cost, for texts of some kilobytes.
const BROTLI_QUALITY: u32 = 5;
const BROTLI_WINDOW_BITS: u32 = 18;

/// Length in bytes from which a text, such as that of a long DVR window, is compressed quickly rather than well. Texts
/// of one viewer are too, because they are compressed for each request.
pub(crate) const LONG_TEXT: usize = 256 << 10;
const BROTLI_QUALITY_QUICK: u32 = 1;

/// Content coding of a body (RFC 9110 §8.4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Coding {
    /// No coding.
    Identity,
    Gzip,
    Brotli,
}

impl Coding {
    /// Returns the best coding that a client accepts (RFC 9110 §12.5.3).
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

    /// Returns the value of Content-Encoding, if it has one.
    pub(crate) fn token(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }
}

/// Text in all codings; each is made when it is first requested.
#[derive(Debug)]
pub(crate) struct Encoded {
    holdings: Arc<Holdings>,
    identity: Bytes,
    gzip: OnceLock<Bytes>,
    brotli: OnceLock<Bytes>,
}

impl Encoded {
    pub(crate) fn new(text: String, holdings: &Arc<Holdings>) -> Self {
        Self {
            identity: counted(holdings, text.into()),
            gzip: OnceLock::new(),
            brotli: OnceLock::new(),
            holdings: Arc::clone(holdings),
        }
    }

    pub(crate) fn identity(&self) -> Bytes {
        self.identity.clone()
    }

    pub(crate) fn bytes(&self, coding: Coding) -> Bytes {
        let text = &self.identity;
        let (gzip_level, brotli_quality) = match text.len() < LONG_TEXT {
            true => (Compression::default(), BROTLI_QUALITY),
            false => (Compression::fast(), BROTLI_QUALITY_QUICK),
        };
        let counted = |coded| counted(&self.holdings, coded);
        match coding {
            Coding::Identity => text,
            Coding::Gzip => self.gzip.get_or_init(|| counted(gzip(text, gzip_level))),
            Coding::Brotli => self
                .brotli
                .get_or_init(|| counted(brotli(text, brotli_quality))),
        }
        .clone()
    }
}

/// Encodes a text of one viewer.
pub(crate) fn encoded_once(text: Vec<u8>, coding: Coding) -> Bytes {
    match coding {
        Coding::Identity => text.into(),
        Coding::Gzip => gzip(&text, Compression::fast()),
        Coding::Brotli => brotli(&text, BROTLI_QUALITY_QUICK),
    }
}

fn counted(holdings: &Arc<Holdings>, text: Bytes) -> Bytes {
    holdings.note(Kind::Playlists, text.len()).over(text)
}

fn gzip(text: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    written.expect("a Vec takes all bytes").into()
}

fn brotli(text: &[u8], quality: u32) -> Bytes {
    let mut out = Vec::new();
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
        let holdings = Holdings::new(0);
        let encoded = Encoded::new(text.clone(), &holdings);
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
        let all = text.len() + gzip.len() + brotli.len();
        assert_eq!(holdings.bytes(Kind::Playlists), all);
        drop(encoded);
        assert_eq!(holdings.bytes(Kind::Playlists), gzip.len() + brotli.len());
        let once = encoded_once(text.into_bytes(), Coding::Gzip);
        assert!(once.len() < all / 5);
    }
}
