//! The whole chain with media that ffmpeg made, judged by ffmpeg's decoding of the result.

mod combined;
mod damage;
mod fidelity;
mod loudness;
mod ogg;
mod pool;
mod refusal;
mod source;
mod timeline;
mod wave;

use media::{Sample, Span, Track};

use self::source::Source;
use crate::transcode::{Options, PACKET, Transcoder};

fn opened(track: &Track) -> Transcoder {
    Transcoder::open(track, Options::default()).expect("it can be transcoded")
}

/// Everything that `source` becomes.
fn transcoded(source: &Source) -> (Transcoder, Vec<Sample>) {
    let mut transcoder = opened(&source.track);
    let mut packets = Vec::new();
    push(&mut transcoder, &source.samples, &mut packets);
    transcoder.finish(&mut packets);
    (transcoder, packets)
}

fn push(transcoder: &mut Transcoder, samples: &[Sample], packets: &mut Vec<Sample>) {
    for sample in samples {
        transcoder.push(sample, packets).expect("honest media");
    }
}

/// Checks that each packet begins where the one before it ends.
fn assert_seamless(packets: &[Sample]) {
    for pair in packets.windows(2) {
        assert_eq!(pair[0].pts + pair[0].duration, pair[1].pts);
        assert_eq!(pair[1].dts, pair[1].pts);
    }
}

/// Checks that no packet begins before the one before it ends.
fn assert_forward(packets: &[Sample]) {
    for pair in packets.windows(2) {
        assert!(pair[0].pts + pair[0].duration <= pair[1].pts);
    }
}

/// Total duration of the packets.
fn total(packets: &[Sample]) -> Span {
    let durations = packets.iter().map(|packet| packet.duration);
    durations.fold(Span::ZERO, |sum, one| sum + one)
}

/// Checks that the packets are seamless, and last as long as their source, up to the next whole packet.
fn assert_whole(packets: &[Sample], source: Span) {
    assert_seamless(packets);
    let beyond = total(packets).ticks() - source.ticks();
    assert!((0..PACKET.ticks()).contains(&beyond), "{beyond}");
}
