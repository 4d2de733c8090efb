//! Segments begin with the tables wherever their writer begins them.

use super::*;

/// PIDs of a run of packets.
fn pids(packets: &[u8]) -> Vec<u16> {
    let packets = packets.chunks_exact(PACKET_BYTES);
    packets
        .map(|packet| u16::from_be_bytes([packet[1] & 0x1F, packet[2]]))
        .collect()
}

/// The log of `items`, and where its segments begin: at each of these items.
fn cut(items: &[Item], begins: impl Fn(usize) -> bool) -> (Recorder, Vec<usize>) {
    let mut recorder = Recorder::default();
    let mut muxer = Muxer::of_segments();
    let mut begun = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if begins(index) {
            muxer.flush(&mut recorder);
            muxer.begin_segment();
            begun.push(recorder.bytes.len());
        }
        muxer.push(item, &mut recorder);
    }
    muxer.flush(&mut recorder);
    (recorder, begun)
}

#[test]
fn a_segment_begins_with_the_tables_at_any_sample() {
    let mut items = vec![announce(h264()), announce(aac())];
    items.extend(both(Timestamp::ZERO, 4));
    // The first keyframe, and then anywhere.
    let (recorder, begun) = cut(&items, |index| index == 2 || index % 17 == 16);
    assert!(begun.len() > 15);
    for begin in begun {
        assert_eq!(
            pids(&recorder.bytes[begin..])[..2],
            [0, 0x20],
            "PAT and PMT"
        );
    }
    // It is one stream all the same: the counters have no holes, and the clock none either.
    let demuxed = recorder.demux();
    assert_eq!(demuxed.of(H264).len(), 100);
    assert_eq!(demuxed.maps.len(), 1, "the same map");
    assert!(demuxed.references.iter().all(|it| !it.is_discontinuity));
}

#[test]
fn sound_of_a_segment_waits_for_no_picture() {
    let mut items = vec![announce(h264()), announce(aac())];
    items.extend((0..20).map(frame));
    let mut recorder = Recorder {
        // So that what follows need not be a join.
        units: vec![Recorded {
            begins: 0,
            at: Timestamp::ZERO,
            join: None,
        }],
        ..Recorder::default()
    };
    let mut muxer = Muxer::of_segments();
    items
        .iter()
        .for_each(|item| muxer.push(item, &mut recorder));
    muxer.flush(&mut recorder);
    let demuxed = recorder.demux();
    let lengths = demuxed.of(AAC).into_iter().map(|pes| pes.payload.len());
    assert_eq!(lengths.sum::<usize>(), 20 * (170 + 7));
}
