//! Decoded audio, and measurements of it.

use std::f64::consts::TAU;
use std::time::Duration;

use testkit::Tool;

use super::ogg;
use super::source::Source;
use crate::transcode::Frame;

const RATE: f64 = 48_000.0;
const DEADLINE: Duration = Duration::from_secs(60);

/// ffmpeg's decoding of Opus packets. The first frame is heard pre-skip after the first packet's time, which is after the
/// source's start.
pub(super) fn heard(track: &media::Track, packets: &[media::Sample]) -> Vec<Frame> {
    decode("ogg", &ogg::mux(track, packets))
}

/// ffmpeg's decoding of the source itself, at 48 kHz.
pub(super) fn original(source: &Source) -> Vec<Frame> {
    decode(source.format, &source.stream)
}

fn decode(format: &str, stream: &[u8]) -> Vec<Frame> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), stream).expect("room for a second of sound");
    let pcm = Tool::ffmpeg()
        .args(["-f", format, "-i"])
        .arg(file.path())
        .args(["-f", "f32le", "-ac", "2", "-ar", "48000", "-"])
        .run(DEADLINE);
    pcm.chunks_exact(8)
        .map(|frame| {
            let value = |at: usize| {
                f32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
            };
            [value(0), value(4)]
        })
        .collect()
}

/// Root mean square of one channel.
pub(super) fn rms(frames: &[Frame], channel: usize) -> f64 {
    let power: f64 = frames.iter().map(|f| f64::from(f[channel]).powi(2)).sum();
    (power / frames.len() as f64).sqrt()
}

/// Amplitude of one frequency in one channel.
pub(super) fn amplitude(frames: &[Frame], channel: usize, hertz: f64) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for (at, frame) in frames.iter().enumerate() {
        let (sin, cos) = (TAU * hertz * at as f64 / RATE).sin_cos();
        re += f64::from(frame[channel]) * cos;
        im += f64::from(frame[channel]) * sin;
    }
    2.0 * (re * re + im * im).sqrt() / frames.len() as f64
}

/// Likeness of one channel of two stretches of equal length, from -1 to 1.
pub(super) fn likeness(one: &[Frame], other: &[Frame], channel: usize) -> f64 {
    assert_eq!(one.len(), other.len());
    let product: f64 = one
        .iter()
        .zip(other)
        .map(|(a, b)| f64::from(a[channel]) * f64::from(b[channel]))
        .sum();
    product / one.len() as f64 / rms(one, channel) / rms(other, channel)
}

/// The shift, in frames, at which `later` is most like `frames`, and the likeness there.
pub(super) fn best_shift(frames: &[Frame], later: &[Frame], reach: isize) -> (isize, f64) {
    let margin = reach.unsigned_abs();
    let length = frames.len().min(later.len()) - 2 * margin;
    (-reach..=reach)
        .map(|shift| {
            let from = margin.checked_add_signed(shift).expect("within the margin");
            let alike = likeness(
                &frames[margin..margin + length],
                &later[from..from + length],
                0,
            );
            (shift, alike)
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("some shift")
}
