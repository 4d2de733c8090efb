//! ADTS from bare AAC: a header before every access unit.

use media::codec::aac::{AdtsHeader, AudioSpecificConfig};

/// Writer of ADTS headers for one track.
#[derive(Clone, Copy, Debug)]
pub struct Writer(AdtsHeader);

impl Writer {
    /// Creates a writer for a track with this AudioSpecificConfig. `None` when the config cannot be read, or when ADTS
    /// cannot express it. High-efficiency AAC is signalled implicitly, at the core rate.
    pub fn new(config: &[u8]) -> Option<Self> {
        AdtsHeader::for_config(&AudioSpecificConfig::parse(config)?).map(Self)
    }

    /// Returns the header for an access unit of `payload_bytes`; `None` when the unit is too long for ADTS, as no
    /// audible one is.
    pub fn header(&self, payload_bytes: usize) -> Option<[u8; AdtsHeader::BYTES]> {
        self.0.to_bytes(payload_bytes)
    }
}
