//! The clock and the stamps.

use super::super::CLOCK_LEAD;
use super::demuxer::Pes;
use super::*;

/// Ticks of 27 MHz in a millisecond.
const MILLI: u64 = 27_000;

/// How long after the clock a PES packet is decoded, in milliseconds.
fn lead(pes: &Pes) -> u64 {
    let modulus = (1 << 33) * 300;
    (pes.dts * 300 + modulus - pes.clock) % modulus / MILLI
}

#[test]
fn the_clock_runs_before_everything_by_the_same_lead() {
    let items = [
        vec![announce(h264()), announce(aac())],
        both(Timestamp::ZERO, 8),
    ]
    .concat();
    let demuxed = Recorder::of(&items).demux();
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
fn the_clock_is_told_often_whatever_the_pictures_do() {
    let mut items = vec![announce(h264()), announce(aac())];
    let mut later: Vec<_> = (0..800).map(frame).collect();
    // A picture every two seconds, and then none.
    for (index, millis) in [(330, 7_000), (235, 5_000), (141, 3_000), (0, 0)] {
        later.insert(index, picture(millis, true));
    }
    items.extend(later);
    let demuxed = Recorder::of(&items).demux();
    let alone = demuxed.references.iter().filter(|r| r.is_alone).count();
    assert!(alone > 100, "{alone}");
    for pair in demuxed.references.windows(2) {
        let step = pair[1].value - pair[0].value;
        assert!(
            step <= 145 * MILLI,
            "one interval, and the sound that was waiting: {step}"
        );
        assert!(!pair[1].is_discontinuity);
    }
    for pes in &demuxed.packets {
        assert!((100..=400).contains(&lead(pes)), "{}", lead(pes));
    }
}

#[test]
fn the_clock_is_told_often_where_pictures_are_rare() {
    // Five pictures a second beside sound, and one each second, or now and then, without.
    let beside = (0..100).map(|number| 200 * number);
    let mut items: Vec<_> = beside.map(|at| (at, picture(at, true))).collect();
    items.extend((0..900).map(|number| (number * 1_024 / 48, frame(number as u64))));
    items.sort_by_key(|(at, _)| *at);
    let beside: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
    let alone = |times: &[i64]| -> Vec<_> { times.iter().map(|at| picture(*at, true)).collect() };
    for items in [
        [vec![announce(h264()), announce(aac())], beside].concat(),
        [vec![announce(h264())], alone(&[0, 1_000, 2_000, 3_000])].concat(),
        [
            vec![announce(h264())],
            alone(&[0, 40, 80, 980, 1_020, 2_120]),
        ]
        .concat(),
    ] {
        let demuxed = Recorder::of(&items).demux();
        // That they are rare shows with the second.
        let settled = demuxed
            .references
            .iter()
            .skip_while(|one| one.value < 400 * MILLI);
        let settled: Vec<_> = settled.collect();
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
        let Item::Sample(mut sample) = picture(40 * number, number % 25 == 0) else {
            unreachable!("a picture is a sample")
        };
        sample.pts = Timestamp::from_millis(shown(number));
        items.push(Item::Sample(sample));
    }
    let demuxed = Recorder::of(&items).demux();
    let mut told: Vec<_> = demuxed.packets.iter().map(|pes| pes.pts / 90).collect();
    told.sort_unstable();
    assert!(
        told.windows(2).all(|pair| pair[1] - pair[0] == 40),
        "{told:?}"
    );
    let decoded: Vec<_> = demuxed.packets.iter().map(|pes| pes.dts).collect();
    assert!(decoded.is_sorted());
    // Within the first group it is not known yet.
    assert!(demuxed.packets[5..].iter().all(|pes| pes.dts <= pes.pts));
}

#[test]
fn sound_alone_carries_the_clock_in_every_packet() {
    let items: Vec<_> = std::iter::once(announce(aac()))
        .chain((0..400).map(frame))
        .collect();
    let demuxed = Recorder::of(&items).demux();
    assert_eq!(demuxed.references.len(), demuxed.packets.len());
    assert!(demuxed.packets.iter().all(|pes| lead(pes) == 200));
    let steps = demuxed.references.windows(2);
    assert!(
        steps
            .into_iter()
            .all(|pair| pair[1].value - pair[0].value <= 100 * MILLI)
    );
}

#[test]
fn pictures_that_are_late_do_not_turn_the_clock_back() {
    // Sound that the publisher sends 500 ms ahead.
    let mut items = vec![announce(h264()), announce(aac())];
    for number in 0..200 {
        items.push(picture(40 * number, number % 25 == 0));
        let at = Timestamp::from_millis(40 * number + 500);
        items.push(sample(TrackId::AUDIO, at, true, fill(200)));
    }
    let demuxed = Recorder::of(&items).demux();
    assert!(demuxed.of(H264).iter().all(|pes| lead(pes) == 200));
    assert!(
        demuxed
            .references
            .iter()
            .all(|r| !r.is_discontinuity && !r.is_alone)
    );
}

#[test]
fn stamps_wrap_after_a_day() {
    let wrap = Timestamp::ZERO + Span::from_ticks((1 << 33) * 7_840);
    let items = [
        vec![announce(h264()), announce(aac())],
        both(wrap - Span::from_millis(2_000), 4),
    ]
    .concat();
    let demuxed = Recorder::of(&items).demux();
    let stamps: Vec<_> = demuxed.of(H264).iter().map(|pes| pes.dts).collect();
    let modulus = 1 << 33;
    assert!(
        stamps
            .windows(2)
            .all(|pair| (pair[1] + modulus - pair[0]) % modulus == 3_600)
    );
    assert!(stamps[0] > modulus - 190_000 && stamps[99] < 200_000);
    assert!(demuxed.references.iter().all(|r| !r.is_discontinuity));
    assert!(demuxed.of(H264).iter().all(|pes| lead(pes) == 200));
}

#[test]
fn pictures_that_are_shown_in_another_order_have_two_stamps() {
    let mut items = vec![announce(h264())];
    let shown = [80, 200, 120, 160, 320, 240, 280];
    for (number, pts) in shown.into_iter().enumerate() {
        let Item::Sample(mut sample) = picture(40 * number as i64, number == 0) else {
            unreachable!("a picture is a sample")
        };
        sample.pts = Timestamp::from_millis(pts);
        items.push(Item::Sample(sample));
    }
    let demuxed = Recorder::of(&items).demux();
    let stamps: Vec<_> = demuxed
        .packets
        .iter()
        .map(|pes| (pes.dts / 90, pes.pts / 90))
        .collect();
    let told = shown.into_iter().enumerate();
    let told: Vec<_> = told
        .map(|(n, pts)| (200 + 40 * n as u64, 200 + pts as u64))
        .collect();
    assert_eq!(stamps, told);
}

#[test]
fn an_epoch_breaks_the_clock() {
    for first_is_sound in [true, false] {
        let mut items = vec![announce(h264()), announce(aac())];
        items.extend(both(Timestamp::ZERO, 2));
        items.extend([Item::Epoch, announce(h264()), announce(aac())]);
        if first_is_sound {
            items.push(sample(
                TrackId::AUDIO,
                Timestamp::from_millis(1_990),
                true,
                fill(99),
            ));
            items.push(sample(
                TrackId::AUDIO,
                Timestamp::from_millis(2_090),
                true,
                fill(99),
            ));
        }
        items.extend(both(Timestamp::from_millis(2_100), 2));
        let demuxed = Recorder::of(&items).demux();
        let breaks: Vec<_> = demuxed
            .references
            .iter()
            .filter(|r| r.is_discontinuity)
            .collect();
        assert_eq!(breaks.len(), 1);
        assert_eq!(breaks[0].is_alone, first_is_sound);
    }
}

#[test]
fn a_jump_of_the_timeline_breaks_the_clock() {
    let tracks = [announce(h264()), announce(aac())];
    let later = Timestamp::from_millis(602_000);
    let items = [&tracks[..], &both(Timestamp::ZERO, 2), &both(later, 2)].concat();
    let demuxed = Recorder::of(&items).demux();
    let breaks = demuxed.references.iter().filter(|r| r.is_discontinuity);
    assert_eq!(breaks.count(), 1);
    assert!(
        demuxed
            .packets
            .iter()
            .all(|pes| (200..=300).contains(&lead(pes)))
    );
    // A slide show without sound only has long steps.
    let slides = (0..20).map(|number| picture(2_500 * number, true));
    let items: Vec<_> = std::iter::once(announce(h264())).chain(slides).collect();
    let demuxed = Recorder::of(&items).demux();
    assert!(demuxed.references.iter().all(|r| !r.is_discontinuity));
}

#[test]
fn sound_that_jumps_first_takes_the_clock_along() {
    let mut items = vec![announce(h264()), announce(aac()), picture(0, true)];
    items.extend((0..20).map(frame));
    items.extend((1_000..1_010).map(frame));
    items.push(picture(21_600, true));
    let demuxed = Recorder::of(&items).demux();
    let breaks: Vec<_> = demuxed
        .references
        .iter()
        .filter(|r| r.is_discontinuity)
        .collect();
    assert_eq!(breaks.len(), 1);
    assert!(breaks[0].is_alone);
    assert!(
        demuxed
            .packets
            .iter()
            .all(|pes| (100..=450).contains(&lead(pes)))
    );
}

#[test]
fn a_timeline_that_begins_below_zero_is_no_trouble() {
    let items = [
        vec![announce(h264()), announce(aac())],
        both(Timestamp::from_millis(-1_000), 2),
    ]
    .concat();
    let recorder = Recorder::of(&items);
    assert_eq!(recorder.demux().of(H264).len(), 50);
}
