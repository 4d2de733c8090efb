//! Whatever an admitted publisher sends, nothing breaks and nothing grows.

use std::sync::LazyLock;

use proptest::prelude::*;
use webrtc::rtcp::SenderReport;

use super::*;

/// Something that a peer may do.
#[derive(Clone, Debug)]
enum Deed {
    Media { header: Header, payload: Vec<u8> },
    Report { ssrc: u32, ntp: u64, timestamp: u32 },
    Rubbish { bytes: Vec<u8>, is_media: bool },
}

fn deeds() -> impl Strategy<Value = Deed> {
    let payload_type = prop_oneof![Just(96), Just(97), Just(111), 0..128u8];
    let ssrc = prop_oneof![Just(5u32), Just(6), Just(7), any::<u32>()];
    let sequence = prop_oneof![0..40u16, any::<u16>()];
    let timestamp = prop_oneof![0..90_000u32, any::<u32>()];
    let bytes = proptest::collection::vec(any::<u8>(), 0..60);
    let header = (
        any::<bool>(),
        payload_type,
        sequence,
        timestamp.clone(),
        ssrc.clone(),
    );
    let header = header.prop_map(|(marker, payload_type, sequence, timestamp, ssrc)| Header {
        marker,
        payload_type,
        sequence,
        timestamp,
        ssrc,
    });
    prop_oneof![
        8 => (header, bytes.clone()).prop_map(|(header, payload)| Deed::Media { header, payload }),
        1 => (ssrc, any::<u64>(), timestamp)
            .prop_map(|(ssrc, ntp, timestamp)| Deed::Report { ssrc, ntp, timestamp }),
        1 => (bytes, any::<bool>()).prop_map(|(bytes, is_media)| Deed::Rubbish { bytes, is_media }),
    ]
}

static HOUSE: LazyLock<Arc<Context>> = LazyLock::new(|| test_context(Takeover::SameCredential, 1));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_breaks(
        format in proptest::sample::select(PayloadFormat::ALL[..5].to_vec()),
        deeds in proptest::collection::vec((deeds(), 0..300u64), 0..200),
    ) {
        let context = &*HOUSE;
        let agreed = agreed(&[audio(), picture(format, FEEDBACK)]).expect("usable");
        let mut publishers = Publishers::new(Settings::default(), Arc::clone(&context.stats));
        let (mut now, mut said) = (Instant::now(), Said::default());
        let ticket = ticket(context, agreed);
        publishers.connected(handle(0), ticket, now);
        for (deed, passed) in deeds {
            now += Duration::from_millis(passed);
            let began = said.compounds.len();
            match deed {
                Deed::Media { header, payload } => {
                    let packet = [&header.to_bytes()[..], &payload].concat();
                    publishers.rtp(handle(0), &packet, now, &mut said);
                }
                Deed::Report { ssrc, ntp, timestamp } => {
                    let mut report = Vec::new();
                    let (packets, octets, rtp_timestamp) = (0, 0, timestamp);
                    SenderReport { ssrc, ntp, rtp_timestamp, packets, octets }.write(&mut report);
                    publishers.rtcp(handle(0), &report, now, &mut said);
                }
                Deed::Rubbish { bytes, is_media: true } => {
                    publishers.rtp(handle(0), &bytes, now, &mut said);
                }
                Deed::Rubbish { bytes, is_media: false } => {
                    publishers.rtcp(handle(0), &bytes, now, &mut said);
                }
            }
            // What is due is done in a few turns, and is then no longer due.
            for turn in 0.. {
                if publishers.turn(now, &mut said).is_none_or(|due| due > now) {
                    break;
                }
                prop_assert!(turn < 3, "it wants to be called again and again");
            }
            // Requests and a report.
            prop_assert!(said.compounds.len() <= began + 4);
            let longest = said.compounds.iter().map(|(_, compound)| compound.len()).max();
            prop_assert!(longest.is_none_or(|longest| longest <= 1_200));
        }
        // Only by silence, which the steps of time may add up to.
        prop_assert!(said.closed.len() <= 1);
    }
}
