//! Reports to viewers and from them.

use webrtc::rtcp::{
    Packet as Item, ReportBlock, SenderReport, packets as items, write_receiver_report,
};

use super::*;
use packagers::rtp::codes::CNAME;

/// The sender reports of a compound, in its order.
fn in_order(compound: &[u8]) -> Vec<SenderReport> {
    let found = items(compound).filter_map(|item| match item {
        Item::SenderReport { report, .. } => Some(report),
        _ => None,
    });
    found.collect()
}

/// The sender reports of a compound, that of the audio first.
fn reports(compound: &[u8]) -> Vec<SenderReport> {
    let mut reports = in_order(compound);
    reports.sort_by_key(|report| report.ssrc != codes::ssrc(Opus));
    reports
}

/// Seconds of two clocks' distance.
fn seconds(ticks: u32, before: u32, rate: f64) -> f64 {
    f64::from(ticks.wrapping_sub(before) as i32) / rate
}

#[test]
fn reports_tie_audio_to_picture() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let _keeps_open = worker.server.lane("show", worker.now);
    worker.film(&mut camera, 130);
    let began = worker.now;
    let mut viewer = worker.join("show", &BOTH);
    assert_eq!(worker.wire.compounds.len(), 1, "one at once");
    worker.film(&mut camera, 250);
    let compounds = &worker.wire.compounds;
    // Four in the first second, then one in each.
    assert!((7..=9).contains(&compounds.len()), "{}", compounds.len());
    let origin = |format| codes::sequencer(format).timestamp(media::Timestamp::ZERO);
    let first_ntp = reports(&compounds[0].1)[0].ntp;
    for (number, (session, compound)) in compounds.iter().enumerate() {
        assert_eq!(*session, viewer.session);
        let first = [Opus, H264][number % 2];
        assert_eq!(
            in_order(compound)[0].ssrc,
            codes::ssrc(first),
            "each in turn"
        );
        let [audio, picture] = reports(compound)[..] else {
            panic!("a report on each line");
        };
        assert_eq!(audio.ssrc, codes::ssrc(Opus));
        assert_eq!(picture.ssrc, codes::ssrc(H264));
        assert_eq!(audio.ntp, picture.ntp, "one moment for both");
        let heard = seconds(audio.rtp_timestamp, origin(Opus), 48_000.0);
        let seen = seconds(picture.rtp_timestamp, origin(H264), 90_000.0);
        assert!((heard - seen).abs() < 0.000_1, "{heard} and {seen}");
        // The stream's clock was at 2.6 s when the viewer came, less what the last sample is old.
        let passed = (audio.ntp - first_ntp) as f64 / f64::from(1u32 << 31) / 2.0;
        assert!((seen - 2.6 - passed).abs() < 0.07, "{seen} after {passed}");
        let names = compound.windows(CNAME.len());
        let named = names.filter(|bytes| *bytes == CNAME.as_bytes()).count();
        assert_eq!(named, 2);
    }
    let got = worker.take(&mut viewer);
    let last = reports(&compounds[compounds.len() - 1].1);
    let heard = of(&got, Opus).len();
    let reported = last[0].packets as usize;
    let is_near = reported <= heard && heard - reported <= 50;
    assert!(is_near, "{reported} of {heard} packets");
    let passed = worker.now.duration_since(began);
    assert_eq!(passed, Duration::from_secs(5));
}

/// A receiver compares timestamps with its own clock: a gap in one has to be one in the other.
#[test]
fn time_continues_while_the_publisher_is_away() {
    let (mut worker, mut camera, mut viewer) = show(&BOTH);
    let began = worker.now;
    for away in [0, 1_500, 5_000, 30_000] {
        if away > 0 {
            drop(camera);
            worker.pass(Duration::from_millis(away));
            camera = worker.camera("show", &BOTH);
        }
        worker.film(&mut camera, 100);
        let got = worker.take(&mut viewer);
        // The last video frame is 40 ms old, the last audio frame 20.
        let passed = worker.now.duration_since(began).as_secs_f64();
        for (format, rate, age) in [(Opus, 48_000.0, 0.02), (H264, 90_000.0, 0.04)] {
            let origin = codes::sequencer(format).timestamp(media::Timestamp::ZERO);
            let packets = of(&got, format);
            let last = packets.last().expect("packets").timestamp;
            let error = seconds(last, origin, rate) + age - passed;
            assert!(error.abs() < 0.03, "{format:?} after {away} ms: {error} s");
        }
        // Reports on the way say the same.
        let ntp = |compound: &[u8]| reports(compound)[0].ntp;
        let (_, first) = &worker.wire.compounds[0];
        let (_, last) = worker.wire.compounds.last().expect("reports");
        let reported = (ntp(last) - ntp(first)) as f64 / f64::from(1u32 << 31) / 2.0;
        for (one, rate) in reports(last).iter().zip([48_000.0, 90_000.0]) {
            let mut before = reports(first).into_iter();
            let before = before.find(|report| report.ssrc == one.ssrc);
            let before = before.expect("on the same line").rtp_timestamp;
            let went = seconds(one.rtp_timestamp, before, rate);
            assert!((went - reported).abs() < 0.07, "{went} s in {reported} s");
        }
    }
}

#[test]
fn losses_and_round_trips_are_counted() {
    let (mut worker, mut camera, viewer) = show(&BOTH);
    worker.film(&mut camera, 60);
    let (_, compound) = worker.wire.compounds.last().expect("a report");
    let since = (reports(compound)[0].ntp >> 16) as u32;
    let report = |ssrc, lost, held| ReportBlock {
        ssrc,
        lost,
        last_report: since,
        since_last_report: held,
        ..ReportBlock::default()
    };
    let mut compound = Vec::new();
    let all = [
        report(codes::ssrc(H264), 7, 0),
        report(codes::ssrc(Opus), -2, u32::MAX),
        report(codes::rtx_ssrc(H264), 1_000, 0),
    ];
    write_receiver_report(&mut compound, 9, &all);
    worker.rtcp(&viewer, &compound);
    worker.rtcp(&viewer, &compound);
    worker.pass(TICK);
    let counters = worker.counters();
    assert_eq!(counters.lost, 7, "counted once");
    // No viewer holds a report longer than it is old.
    assert_eq!(counters.round_trips, 2);
    assert!(counters.round_trip_micros <= 2 * 1_250_000);
}

#[test]
fn a_viewer_takes_little_memory() {
    let viewer = size_of::<crate::viewers::viewer::Viewer>();
    let books = size_of::<crate::viewers::books::Books>();
    assert!(viewer <= 384 && books <= 448, "{viewer} and {books} bytes");
}
