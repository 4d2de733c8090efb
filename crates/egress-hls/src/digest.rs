//! Digests of texts and of initialization segments, short enough for addresses.

use sha2::{Digest, Sha256};

/// Length of a digest in characters: enough that no two of a stream's few initialization segments share one.
pub(crate) const DIGEST_CHARS: usize = 12;

/// Returns the digest of some bytes, in lower-case hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let bytes = digest[..DIGEST_CHARS / 2].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
