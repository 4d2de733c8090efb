//! Codec headers: what is parsed stays within what was given, and what can be written back is.

#![no_main]

use container::adts::Writer;
use libfuzzer_sys::fuzz_target;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::h264::AvcConfig;
use media::codec::mpeg_audio::{FRAME_BYTES_MAX, FrameHeader};

fuzz_target!(|data: &[u8]| {
    if let Some(header) = FrameHeader::parse(data) {
        assert!((FrameHeader::BYTES..=FRAME_BYTES_MAX).contains(&header.frame_bytes()));
        assert!(header.sample_rate > 0 && header.is_consistent_with(&header));
        header.is_info_frame(data);
    }
    if let Some(header) = AdtsHeader::parse(data) {
        assert!(header.frame_bytes > header.header_bytes);
        let payload = header.frame_bytes - header.header_bytes;
        if let Some(bytes) = header.to_bytes(payload) {
            let again = AdtsHeader::parse(&bytes).expect("what was written is a header");
            assert!(again.is_consistent_with(&header));
            assert_eq!(
                (again.frame_bytes, again.blocks),
                (payload + bytes.len(), header.blocks)
            );
        }
    }
    if let Some(config) = AudioSpecificConfig::parse(data) {
        assert!(config.sample_rate > 0);
        if let Some(bytes) = config.to_bytes() {
            let again = AudioSpecificConfig::parse(&bytes).expect("what was written is read");
            assert_eq!(again.object_type, config.object_type);
            assert_eq!(again.sample_rate, config.sample_rate);
        }
        if let Some(header) = Writer::new(data).and_then(|writer| writer.header(100)) {
            let header = AdtsHeader::parse(&header).expect("what was written is a header");
            assert_eq!(header.sample_rate, config.sample_rate);
        }
    }
    if let Some(config) = AvcConfig::parse(data) {
        let units = config.sps.iter().chain(&config.pps);
        assert!(units.map(|unit| unit.len() + 2).sum::<usize>() <= data.len());
        config.dimensions();
    }
});
