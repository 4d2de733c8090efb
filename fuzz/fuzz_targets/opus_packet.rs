//! Opus packets: reads stay within the input, and combined frames equal the frames that went in.

#![no_main]

use libfuzzer_sys::fuzz_target;
use media::codec::opus::{self, Combiner, FRAME_BYTES_MAX, FRAMES_MAX, Frames};

/// Maximum length of the combined packet in bytes.
const BYTES_MAX: usize = 1_188;

/// Cuts the input into packets: each after its length.
fn packets(mut data: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let Some((length, rest)) = data.split_first() {
        let (packet, after) = rest.split_at(usize::from(*length).min(rest.len()));
        all.push(packet);
        data = after;
    }
    all
}

fn finish(combiner: &mut Combiner, came: &mut Vec<(u8, Vec<u8>)>) {
    let mut packet = Vec::new();
    let samples = combiner.samples();
    combiner.finish(&mut packet);
    if packet.is_empty() {
        return;
    }
    let frames = Frames::parse(&packet).expect("it was made of frames");
    assert_eq!(frames.samples(), samples);
    came.extend(frames.iter().map(|frame| (packet[0] >> 2, frame.to_vec())));
}

fuzz_target!(|data: &[u8]| {
    let (mut sent, mut came) = (Vec::new(), Vec::new());
    let mut combiner = Combiner::default();
    for packet in std::iter::once(data).chain(packets(data)) {
        let Some(frames) = Frames::parse(packet) else {
            continue;
        };
        assert!((1..=FRAMES_MAX).contains(&frames.iter().len()));
        assert!(frames.iter().all(|frame| frame.len() <= FRAME_BYTES_MAX));
        assert!(frames.iter().map(<[u8]>::len).sum::<usize>() < packet.len());
        assert_eq!(opus::samples(packet), Some(frames.samples()));
        if !combiner.takes(&frames, BYTES_MAX) {
            finish(&mut combiner, &mut came);
        }
        if combiner.takes(&frames, BYTES_MAX) {
            combiner.push(&frames);
            sent.extend(frames.iter().map(|frame| (packet[0] >> 2, frame.to_vec())));
        }
    }
    finish(&mut combiner, &mut came);
    assert_eq!(came, sent);
});
