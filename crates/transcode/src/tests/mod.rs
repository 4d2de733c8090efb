//! The whole chain with media that ffmpeg made, judged by what ffmpeg decodes from the result.

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

use media::{Sample, Span};

use self::source::Source;
use crate::{Options, Transcoder};

/// Everything that `source` becomes.
fn transcoded(source: &Source, options: Options) -> (Transcoder, Vec<Sample>) {
    let mut transcoder = Transcoder::open(&source.track, options).expect("it can be transcoded");
    let mut packets = Vec::new();
    for sample in &source.samples {
        transcoder.push(sample, &mut packets).expect("honest media");
    }
    transcoder.finish(&mut packets);
    (transcoder, packets)
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

/// How long packets last together.
fn total(packets: &[Sample]) -> Span {
    packets
        .iter()
        .fold(Span::ZERO, |sum, packet| sum + packet.duration)
}
