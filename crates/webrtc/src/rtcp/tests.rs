use proptest::prelude::*;
use rtc_rtcp::payload_feedbacks::receiver_estimated_maximum_bitrate as estimate;

use super::*;

fn only(bytes: &[u8]) -> Packet<'_> {
    let mut found: Vec<_> = packets(bytes).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn sender_report(ssrc: u32) -> SenderReport {
    SenderReport {
        ssrc,
        ntp: 0x1122_3344_5566_7788,
        rtp_timestamp: 90_000,
        packets: 7,
        octets: 8_000,
    }
}

#[test]
fn a_sender_report_reads_back() {
    let report = sender_report(0x0102_0304);
    let mut out = Vec::new();
    report.write(&mut out);
    write_sdes(&mut out, report.ssrc, "carillon");
    assert_eq!(out.len() % 4, 0);
    let Packet::SenderReport {
        report: read,
        reports,
    } = only(&out)
    else {
        panic!("not a sender report");
    };
    assert_eq!((read, reports.count()), (report, 0));
}

#[test]
fn the_reference_library_reads_what_is_written() {
    let mut out = Vec::new();
    sender_report(1).write(&mut out);
    for name in ["", "a", "ab", "abc", "abcd"] {
        write_sdes(&mut out, 1, name);
    }
    write_pli(&mut out, 1, 2);
    write_nack(&mut out, 1, 2, &[5, 6, 21, 22, 65_535, 0]);
    write_receiver_report(&mut out, 1, &[]);
    write_bye(&mut out, 1);
    let mut bytes = &out[..];
    let found = rtc_rtcp::packet::unmarshal(&mut bytes).expect("well formed");
    assert_eq!(found.len(), 10);
    let nack = found[7]
        .as_any()
        .downcast_ref::<rtc_rtcp::transport_feedbacks::transport_layer_nack::TransportLayerNack>()
        .expect("a NACK");
    let lost = nack.nacks.iter().flat_map(|pair| pair.packet_list());
    assert_eq!(lost.collect::<Vec<u16>>(), [5, 6, 21, 22, 65_535, 0]);
}

#[test]
fn the_reference_library_reads_how_much_may_be_sent() {
    for bits in [1, (1 << 18) - 1, 20_000_000, 123_456_789_012] {
        let mut out = Vec::new();
        write_remb(&mut out, 1, bits, &[7, 8]);
        let mut bytes = &out[..];
        let found = rtc_rtcp::packet::unmarshal(&mut bytes).expect("well formed");
        let remb = found[0]
            .as_any()
            .downcast_ref::<estimate::ReceiverEstimatedMaximumBitrate>()
            .expect("an estimate");
        assert_eq!((remb.sender_ssrc, &remb.ssrcs[..]), (1, &[7, 8][..]));
        let read = f64::from(remb.bitrate);
        let is_near = read <= bits as f64 && read >= bits as f64 * 0.999;
        assert!(is_near, "{bits}: {read}");
    }
}

#[test]
fn reports_carry_signed_loss_and_round_trips() {
    let report = ReportBlock {
        ssrc: 9,
        fraction_lost: 64,
        lost: -3,
        highest_sequence: 0x0001_0002,
        jitter: 44,
        last_report: 0x1_0000,
        since_last_report: 0x8000,
    };
    let with_lost = |lost| ReportBlock { lost, ..report };
    let mut out = Vec::new();
    write_receiver_report(&mut out, 1, &[report, with_lost(i32::MAX)]);
    let Packet::ReceiverReport { ssrc, reports } = only(&out) else {
        panic!("not a receiver report");
    };
    assert_eq!(ssrc, 1);
    assert!(reports.eq([report, with_lost(0x7f_ffff)]));
    assert_eq!(report.round_trip(0x2_0000), Some(0x8000));
    assert_eq!(report.round_trip(0x1_0001), None);
    let mut unreported = report;
    unreported.last_report = 0;
    assert_eq!(unreported.round_trip(0x2_0000), None);
}

#[test]
fn keyframe_requests_and_ends_are_read() {
    let mut out = Vec::new();
    write_pli(&mut out, 1, 77);
    write_bye(&mut out, 5);
    // A full intra request for two sources.
    out.extend([0x84, 206, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0]);
    out.extend([0, 0, 0, 7, 3, 0, 0, 0, 0, 0, 0, 8, 4, 0, 0, 0]);
    // Feedback about each packet is skipped.
    out.extend([0x8f, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
    let found: Vec<_> = packets(&out).collect();
    assert!(matches!(found[0], Packet::PictureLoss { media: 77 }));
    assert!(matches!(found[1], Packet::Bye { ssrc: Some(5) }));
    assert!(matches!(found[2], Packet::PictureLoss { media: 0 }));
    assert_eq!(found.len(), 3);
}

#[test]
fn what_one_nack_asks_for_is_bounded() {
    let mut out = vec![0x81, 205, 0, 0];
    out.extend([0; 8]);
    out.extend([0xff; 1_200]);
    let words = (out.len() / 4 - 1) as u16;
    out[2..4].copy_from_slice(&words.to_be_bytes());
    let Packet::Nack { lost, .. } = only(&out) else {
        panic!("not a NACK");
    };
    assert_eq!(lost.count(), NACKED_MAX);
}

#[test]
fn the_second_octet_tells_rtcp_from_rtp() {
    assert!(is_rtcp(&[0x80, 200]) && is_rtcp(&[0x81, 206]));
    assert!(!is_rtcp(&[0x80, 96]) && !is_rtcp(&[0x80, 0x80 | 96]) && !is_rtcp(&[0x80]));
}

proptest! {
    #[test]
    fn lost_packets_read_back(first in any::<u16>(), steps in prop::collection::vec(1u16..30, 0..60)) {
        let mut lost = vec![first];
        for step in steps {
            lost.push(lost[lost.len() - 1].wrapping_add(step));
        }
        let mut out = Vec::new();
        write_nack(&mut out, 1, 2, &lost);
        let Packet::Nack { media: 2, lost: found } = only(&out) else {
            panic!("not a NACK");
        };
        prop_assert_eq!(found.collect::<Vec<_>>(), lost);
    }

    #[test]
    fn any_bytes_are_walked_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(packets(&bytes).count() <= 64);
    }
}
