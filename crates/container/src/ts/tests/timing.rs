//! The clock and the stamps.

use super::super::CLOCK_LEAD;
use super::*;

/// Ticks of 27 MHz in a millisecond.
const MILLI: u64 = 27_000;

/// Returns the decoding time of a PES packet after the clock, in milliseconds.
fn lead(pes: &Pes) -> u64 {
    let modulus = (1 << 33) * 300;
    (pes.dts * 300 + modulus - pes.clock) % modulus / MILLI
}

fn leads(demuxed: &Demuxed) -> impl Iterator<Item = u64> {
    demuxed.packets.iter().map(lead)
}

/// The discontinuities of the clock: whether each is in a packet of its own.
fn breaks(demuxed: &Demuxed) -> Vec<bool> {
    let references = demuxed.references.iter();
    let breaks = references.filter(|reference| reference.is_discontinuity);
    breaks.map(|reference| reference.is_alone).collect()
}

#[test]
fn the_clock_runs_before_everything_by_the_same_lead() {
    let demuxed = Recorder::demuxed(&film(8));
    let lead_millis = CLOCK_LEAD.millis() as u64;
    for pes in &demuxed.packets {
        let exact = pes.stream_type == H264;
        let lead = lead(pes);
        assert!(lead == lead_millis || !exact && (lead_millis..lead_millis + 41).contains(&lead));
    }
    let pictures = demuxed.of(H264).len();
    assert_eq!(demuxed.references.len(), pictures, "none is wasted");
}

#[test]
fn the_clock_is_reported_often_whatever_the_pictures_do() {
    let mut items = announced();
    items.extend((0..800).map(frame));
    // A video frame every two seconds, and then none.
    for (index, millis) in [(330, 7_000), (235, 5_000), (141, 3_000), (0, 0)] {
        items.insert(2 + index, picture(millis, true));
    }
    let demuxed = Recorder::demuxed(&items);
    let alone = demuxed.references.iter().filter(|r| r.is_alone).count();
    assert!(alone > 100, "{alone}");
    for pair in demuxed.references.windows(2) {
        let step = pair[1].value - pair[0].value;
        // One interval, and the sound that was waiting.
        assert!(step <= 145 * MILLI, "{step}");
        assert!(!pair[1].is_discontinuity);
    }
    assert!(leads(&demuxed).all(|lead| (100..=400).contains(&lead)));
}

#[test]
fn the_clock_is_reported_often_where_pictures_are_rare() {
    // Five frames a second beside audio, and one each second, or now and then, without.
    let beside = (0..100).map(|number| 200 * number);
    let mut items: Vec<_> = beside.map(|at| (at, picture(at, true))).collect();
    items.extend((0..900).map(|number| (number * 1_024 / 48, frame(number as u64))));
    items.sort_by_key(|(at, _)| *at);
    let beside: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
    let alone = |times: &[i64]| -> Vec<_> {
        let pictures = times.iter().map(|at| picture(*at, true));
        std::iter::once(announce(h264())).chain(pictures).collect()
    };
    for items in [
        [announced(), beside].concat(),
        alone(&[0, 1_000, 2_000, 3_000]),
        alone(&[0, 40, 80, 980, 1_020, 2_120]),
    ] {
        let demuxed = Recorder::demuxed(&items);
        // That they are rare shows with the second.
        let settled = demuxed.references.iter();
        let settled: Vec<_> = settled.skip_while(|it| it.value < 400 * MILLI).collect();
        assert!(settled.len() > 5);
        for pair in settled.windows(2) {
            let step = pair[1].value - pair[0].value;
            assert!(step <= 100 * MILLI && !pair[1].is_discontinuity, "{step}");
        }
        assert!(demuxed.of(H264).iter().all(|pes| lead(pes) == 200));
    }
}

#[test]
fn pictures_are_shown_when_their_publisher_says_also_before_they_are_decoded() {
    // x264's pyramid, each 80 ms earlier than it can be decoded.
    let mut items = vec![announce(h264())];
    let shown = |number: i64| 40 * number + [0, 120, 0, -80, -40][number as usize % 5];
    for number in 0..50 {
        let picture = picture(40 * number, number % 25 == 0);
        items.push(presented(picture, shown(number)));
    }
    let demuxed = Recorder::demuxed(&items);
    let mut reported: Vec<_> = demuxed.packets.iter().map(|pes| pes.pts / 90).collect();
    reported.sort_unstable();
    let mut pairs = reported.windows(2);
    assert!(pairs.all(|pair| pair[1] - pair[0] == 40), "{reported:?}");
    assert!(demuxed.packets.is_sorted_by_key(|pes| pes.dts));
    // Within the first group it is not known yet.
    assert!(demuxed.packets[5..].iter().all(|pes| pes.dts <= pes.pts));
}

#[test]
fn audio_alone_carries_the_clock_in_every_packet() {
    let demuxed = Recorder::demuxed(&radio(400));
    assert_eq!(demuxed.references.len(), demuxed.packets.len());
    assert!(leads(&demuxed).all(|lead| lead == 200));
    let mut steps = demuxed.references.windows(2);
    assert!(steps.all(|pair| pair[1].value - pair[0].value <= 100 * MILLI));
}

#[test]
fn pictures_that_are_late_do_not_turn_the_clock_back() {
    // Audio that the publisher sends 500 ms ahead.
    let mut items = announced();
    for number in 0..200 {
        items.push(picture(40 * number, number % 25 == 0));
        let at = Timestamp::from_millis(40 * number + 500);
        items.push(sample(TrackId::AUDIO, at, true, fill(200)));
    }
    let demuxed = Recorder::demuxed(&items);
    assert!(demuxed.of(H264).iter().all(|pes| lead(pes) == 200));
    let mut references = demuxed.references.iter();
    assert!(references.all(|r| !r.is_discontinuity && !r.is_alone));
}

#[test]
fn stamps_wrap_after_a_day() {
    let wrap = Timestamp::ZERO + Span::from_ticks((1 << 33) * 7_840);
    let items = [announced(), both(wrap - Span::from_millis(2_000), 4)];
    let demuxed = Recorder::demuxed(&items.concat());
    let stamps: Vec<_> = demuxed.of(H264).iter().map(|pes| pes.dts).collect();
    let modulus = 1 << 33;
    let mut steps = stamps.windows(2);
    assert!(steps.all(|pair| (pair[1] + modulus - pair[0]) % modulus == 3_600));
    assert!(stamps[0] > modulus - 190_000 && stamps[99] < 200_000);
    assert!(breaks(&demuxed).is_empty());
    assert!(demuxed.of(H264).iter().all(|pes| lead(pes) == 200));
}

#[test]
fn pictures_that_are_shown_in_another_order_have_two_stamps() {
    let mut items = vec![announce(h264())];
    let shown = [80, 200, 120, 160, 320, 240, 280];
    for (number, pts) in shown.into_iter().enumerate() {
        let picture = picture(40 * number as i64, number == 0);
        items.push(presented(picture, pts));
    }
    let packets = Recorder::demuxed(&items).packets.into_iter();
    let stamps: Vec<_> = packets.map(|pes| (pes.dts / 90, pes.pts / 90)).collect();
    let expected = (0..)
        .zip(shown)
        .map(|(n, pts)| (200 + 40 * n, 200 + pts as u64));
    assert_eq!(stamps, expected.collect::<Vec<_>>());
}

#[test]
fn an_epoch_breaks_the_clock() {
    for first_is_audio in [true, false] {
        let mut items = film(2);
        items.push(Item::Epoch);
        items.extend(announced());
        if first_is_audio {
            let times = [1_990, 2_090].map(Timestamp::from_millis);
            items.extend(times.map(|at| sample(TrackId::AUDIO, at, true, fill(99))));
        }
        items.extend(both(Timestamp::from_millis(2_100), 2));
        assert_eq!(breaks(&Recorder::demuxed(&items)), [first_is_audio]);
    }
}

#[test]
fn a_jump_of_the_timeline_breaks_the_clock() {
    let items = [film(2), both(Timestamp::from_millis(602_000), 2)];
    let demuxed = Recorder::demuxed(&items.concat());
    assert_eq!(breaks(&demuxed).len(), 1);
    assert!(leads(&demuxed).all(|lead| (200..=300).contains(&lead)));
    // A slide show without audio merely has long steps.
    let slides = (0..20).map(|number| picture(2_500 * number, true));
    let items: Vec<_> = std::iter::once(announce(h264())).chain(slides).collect();
    assert!(breaks(&Recorder::demuxed(&items)).is_empty());
}

#[test]
fn audio_that_jumps_first_takes_the_clock_along() {
    let mut items = announced();
    items.push(picture(0, true));
    items.extend((0..20).chain(1_000..1_010).map(frame));
    items.push(picture(21_600, true));
    let demuxed = Recorder::demuxed(&items);
    assert_eq!(breaks(&demuxed), [true]);
    assert!(leads(&demuxed).all(|lead| (100..=450).contains(&lead)));
}

#[test]
fn a_timeline_that_begins_below_zero_is_no_trouble() {
    let items = [announced(), both(Timestamp::from_millis(-1_000), 2)];
    assert_eq!(Recorder::demuxed(&items.concat()).of(H264).len(), 50);
}
