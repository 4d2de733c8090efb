//! Keys of encrypted segments, and the encryption of segments with them (RFC 8216bis §4.4.4.4, §5.2).
//!
//! * A key is derived (HKDF, RFC 5869) from the server's secret, the stream's name and the key's number; the number
//!   follows from the segment's number. So nodes that share the secret have the same keys, and no key is stored.
//! * A segment is encrypted as a whole, by AES-128 in CBC mode with PKCS #7 padding. Its initialization vector is its
//!   number (§5.2), so playlists name none.
//! * Neither the secret nor a key is ever shown: the [`Debug`] implementations omit both.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::cipher::{AES_128, EncryptionContext, StreamingEncryptingKey, UnboundCipherKey};
use aws_lc_rs::hkdf::{self, HKDF_SHA256};
use fanout::Segmentation;
use media::{Span, StreamName};
use packagers::SegmentCipher;

/// Length of a key, and of a block, in bytes.
pub(crate) const KEY_BYTES: usize = 16;

/// Salt that separates these keys from anything else derived from the same secret.
const SALT: &[u8] = b"carillon hls aes-128";

const INFALLIBLE: &str = "lengths are right";

/// The keys of all streams.
pub(crate) struct Keys {
    secret: hkdf::Prk,
    segments_per_key: NonZeroU64,
}

impl Keys {
    /// Makes the keys from the secret. Each key serves as many segments as begin in `period`, and at least one.
    pub(crate) fn new(secret: &[u8], period: Duration, bounds: &Segmentation) -> Self {
        let segments = Span::from(period).ticks() / bounds.segment.ticks().max(1);
        Self {
            secret: hkdf::Salt::new(HKDF_SHA256, SALT).extract(secret),
            segments_per_key: NonZeroU64::new(segments.max(1).unsigned_abs())
                .unwrap_or(NonZeroU64::MIN),
        }
    }

    /// Returns the number of a segment's key.
    pub(crate) fn number(&self, segment: u64) -> u64 {
        segment / self.segments_per_key
    }

    /// Returns a stream's key with this number.
    pub(crate) fn key(&self, stream: &StreamName, number: u64) -> [u8; KEY_BYTES] {
        let number = number.to_be_bytes();
        // No name contains the byte 0, so no two streams have the same information.
        let info = [stream.as_str().as_bytes(), &[0], &number];
        let mut key = [0; KEY_BYTES];
        let derived = self.secret.expand(&info, KeyLength);
        derived
            .and_then(|derived| derived.fill(&mut key))
            .expect(INFALLIBLE);
        key
    }
}

base::debug!(Keys {});

/// Length of the derived key, in the form that HKDF takes.
struct KeyLength;

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

/// Encryptor of the segments of one stream.
pub(crate) struct SegmentEncryptor {
    keys: Arc<Keys>,
    stream: StreamName,
    segment: u64,
    /// Cipher of the open segment; `None` before its first byte.
    open: Option<StreamingEncryptingKey>,
    /// Buffer for ciphertext; empty between calls.
    out: Vec<u8>,
}

impl SegmentEncryptor {
    pub(crate) fn new(keys: Arc<Keys>, stream: StreamName) -> Self {
        Self {
            keys,
            stream,
            segment: 0,
            open: None,
            out: Vec::new(),
        }
    }

    fn cipher(&self) -> StreamingEncryptingKey {
        let number = self.keys.number(self.segment);
        let key = self.keys.key(&self.stream, number);
        let iv = u128::from(self.segment).to_be_bytes();
        let cipher = UnboundCipherKey::new(&AES_128, &key).and_then(|key| {
            StreamingEncryptingKey::less_safe_cbc_pkcs7(key, EncryptionContext::Iv128(iv.into()))
        });
        cipher.expect(INFALLIBLE)
    }
}

impl SegmentCipher for SegmentEncryptor {
    fn begin(&mut self, number: u64) {
        self.segment = number;
        self.open = None;
    }

    fn update(&mut self, plain: &[u8], put: &mut dyn FnMut(&[u8])) {
        if plain.is_empty() {
            return;
        }
        let mut open = self.open.take().unwrap_or_else(|| self.cipher());
        self.out.resize(plain.len() + KEY_BYTES, 0);
        let written = open.update(plain, &mut self.out).expect(INFALLIBLE);
        put(written.written());
        self.open = Some(open);
        self.out.clear();
    }

    fn finish(&mut self, put: &mut dyn FnMut(&[u8])) {
        if let Some(open) = self.open.take() {
            let mut last = [0; KEY_BYTES];
            let (_, written) = open.finish(&mut last).expect(INFALLIBLE);
            put(written.written());
        }
    }
}

base::debug!(SegmentEncryptor { stream });

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    fn keys(secret: &str, seconds: u64) -> Arc<Keys> {
        let period = Duration::from_secs(seconds);
        let keys = Keys::new(secret.as_bytes(), period, &Segmentation::DEFAULT);
        Arc::new(keys)
    }

    fn encrypted(keys: &Arc<Keys>, segment: u64, pieces: &[&[u8]]) -> Vec<u8> {
        let mut cipher = SegmentEncryptor::new(Arc::clone(keys), name("live/show"));
        let mut out = Vec::new();
        cipher.begin(segment);
        for piece in pieces {
            cipher.update(piece, &mut |bytes| out.extend_from_slice(bytes));
        }
        cipher.finish(&mut |bytes| out.extend_from_slice(bytes));
        cipher.finish(&mut |_| panic!("it has ended"));
        out
    }

    #[test]
    fn a_key_is_for_a_period_of_a_stream_and_of_a_secret() {
        let (one, other) = (keys("one secret", 600), keys("another", 600));
        assert_eq!((one.number(199), one.number(200)), (0, 1));
        assert_eq!(keys("", 1).number(7), 7, "each segment has its own");
        let show = name("live/show");
        let key = one.key(&show, 1);
        assert_eq!(key, keys("one secret", 600).key(&show, 1), "on any node");
        assert_ne!(key, one.key(&show, 2));
        assert_ne!(key, one.key(&name("live/shoW"), 1));
        assert_ne!(key, other.key(&show, 1));
    }

    #[test]
    fn the_pieces_of_a_segment_are_one_ciphertext() {
        let keys = keys("one secret", 600);
        let plain: Vec<u8> = (0..1_000_u32).map(|byte| byte as u8).collect();
        let whole = encrypted(&keys, 41, &[&plain]);
        assert_eq!(whole.len(), 1_008, "padded to whole blocks");
        let (first, rest) = plain.split_at(5);
        let (second, third) = rest.split_at(500);
        assert_eq!(encrypted(&keys, 41, &[first, &[], second, third]), whole);
        assert_ne!(encrypted(&keys, 42, &[&plain]), whole, "another vector");
        assert_eq!(encrypted(&keys, 41, &[&plain[..992]]).len(), 1_008);
        assert!(encrypted(&keys, 41, &[]).is_empty(), "of nothing nothing");
    }

    #[test]
    fn nothing_of_it_is_shown() {
        let keys = keys("one secret", 600);
        let cipher = SegmentEncryptor::new(Arc::clone(&keys), name("live/show"));
        let shown = format!("{keys:?} {cipher:?}");
        let expected = "Keys { .. } SegmentEncryptor { stream: \"live/show\", .. }";
        assert_eq!(shown, expected);
    }
}
