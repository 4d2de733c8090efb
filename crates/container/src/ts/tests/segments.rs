//! Segments begin with the tables wherever their writer begins them.

use super::*;

/// PIDs of a run of packets.
fn pids(packets: &[u8]) -> Vec<u16> {
    let packets = packets.chunks_exact(PACKET_BYTES);
    let pids = packets.map(|it| u16::from_be_bytes([it[1] & 0x1F, it[2]]));
    pids.collect()
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
    let items = film(4);
    // The first keyframe, and then anywhere.
    let (recorder, begun) = cut(&items, |index| index == 2 || index % 17 == 16);
    assert!(begun.len() > 15);
    for begin in begun {
        let pids = pids(&recorder.bytes[begin..]);
        assert_eq!(pids[..2], [0, 0x20], "PAT and PMT");
    }
    // It is one stream all the same: the counters have no holes, and the clock none either.
    let demuxed = recorder.demux();
    assert_eq!(demuxed.of(H264).len(), 100);
    assert_eq!(demuxed.maps.len(), 1, "the same map");
    assert!(demuxed.references.iter().all(|it| !it.is_discontinuity));
}

#[test]
fn audio_of_a_segment_waits_for_no_picture() {
    let mut items = announced();
    items.extend((0..20).map(frame));
    let mut recorder = Recorder::default();
    // So that what follows need not be a join.
    recorder.units.push(Recorded {
        begins: 0,
        at: Timestamp::ZERO,
        is_join: false,
    });
    let mut muxer = Muxer::of_segments();
    for item in &items {
        muxer.push(item, &mut recorder);
    }
    muxer.flush(&mut recorder);
    let demuxed = recorder.demux();
    let lengths = demuxed.of(AAC).into_iter().map(|pes| pes.payload.len());
    assert_eq!(lengths.sum::<usize>(), 20 * (170 + 7));
}
