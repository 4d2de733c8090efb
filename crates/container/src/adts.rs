//! ADTS from bare AAC: a header before every access unit.

use media::codec::aac::{AdtsHeader, AudioSpecificConfig};

/// Writer of ADTS headers for one track.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    header: AdtsHeader,
}

impl Writer {
    /// Creates a writer for a track with this AudioSpecificConfig. `None` when the config cannot be read, or when ADTS
    /// cannot express it. High-efficiency AAC is signalled implicitly, at the core rate.
    pub fn new(config: &[u8]) -> Option<Self> {
        let header = AdtsHeader::for_config(&AudioSpecificConfig::parse(config)?)?;
        Some(Self { header })
    }

    /// Returns the header for an access unit of `payload_bytes`; `None` when the unit is too long for ADTS, as no
    /// audible one is.
    pub fn header(&self, payload_bytes: usize) -> Option<[u8; AdtsHeader::BYTES]> {
        self.header.to_bytes(payload_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{Demuxer, Syntax};
    use crate::testing::{samples, tracks};

    #[test]
    fn what_is_written_is_demuxed_again() {
        let config = [0x11, 0x90];
        let writer = Writer::new(&config).expect("AAC-LC 48 kHz stereo");
        let mut stream = Vec::new();
        for length in [300, 6, 1_000, 41] {
            stream.extend(writer.header(length).expect("short enough"));
            stream.resize(stream.len() + length, 0xFF);
        }
        let mut items = Vec::new();
        Demuxer::new(Syntax::Adts).push(&stream, &mut items);
        let samples = samples(&items).into_iter();
        let lengths = samples.map(|it| it.data.len() - AdtsHeader::BYTES);
        assert_eq!(lengths.collect::<Vec<_>>(), [300, 6, 1_000, 41]);
        assert_eq!(tracks(&items)[0].config, config[..]);
    }

    #[test]
    fn what_adts_cannot_say_is_refused() {
        assert!(Writer::new(&[]).is_none());
        // USAC, and a channel layout without a number.
        assert!(Writer::new(&[0xF9, 0x48, 0x40, 0x00]).is_none());
        assert!(Writer::new(&[0x11, 0x80, 0x00, 0x00]).is_none());
    }
}
