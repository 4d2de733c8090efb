//! Codec headers: parsed values stay within the input, and values that can be written are written back.

#![no_main]

use container::adts::Writer;
use libfuzzer_sys::fuzz_target;
use media::Span;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::h264::AvcConfig;
use media::codec::hevc::{self, HevcConfig};
use media::codec::mpeg_audio::{FRAME_BYTES_MAX, FrameHeader};
use media::codec::nal::{self, Packing};
use media::codec::{av1, opus, vp8, vp9};

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
        if let Some(record) = AvcConfig::write(&config.sps, &config.pps) {
            let again = AvcConfig::parse(&record).expect("what was written is read");
            assert_eq!((again.sps, again.pps), (config.sps, config.pps));
        }
    }
    if let Some(config) = HevcConfig::parse(data) {
        config.dimensions();
        if let Some(record) = HevcConfig::write(&config.vps, &config.sps, &config.pps) {
            let again = HevcConfig::parse(&record).expect("what was written is read");
            assert_eq!(again.dimensions(), config.dimensions());
            assert_eq!((again.vps, again.sps), (config.vps, config.sps));
            assert_eq!(again.pps, config.pps);
        }
    }
    for packing in [
        Packing::StartCodes,
        Packing::Lengths(2),
        Packing::Lengths(4),
    ] {
        let units = nal::units(data, packing);
        assert!(units.clone().map(<[u8]>::len).sum::<usize>() <= data.len());
        for unit in units {
            assert!(!unit.is_empty());
            hevc::parameter_set_id(unit);
        }
    }
    let mut written = Vec::new();
    for unit in av1::obus(data) {
        unit.write(&mut written);
        if let Some(header) = av1::SequenceHeader::parse(unit.payload) {
            assert!((1..=65_536).contains(&header.width) && (1..=65_536).contains(&header.height));
            assert!(av1::record_units(&header.record(&unit)).is_some());
        }
    }
    assert!(av1::obus(&written).eq(av1::obus(data)));
    vp8::FrameHeader::parse(data);
    if let Some(vp9::FrameHeader::Key(key)) = vp9::FrameHeader::parse(data) {
        assert!(key.width > 0 && key.height > 0 && key.record()[1] > 0);
    }
    let longest = Span::from_millis(120);
    assert!(opus::duration(data).is_none_or(|span| span > Span::ZERO && span <= longest));
});
