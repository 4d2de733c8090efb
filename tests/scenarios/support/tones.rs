//! Audio as samples, and the pitch of a tone among them.
//!
//! Pitch is counted, not transformed: a tone rises from below silence to above it once a period.

use std::path::Path;

use testkit::Tool;

use crate::support::DEADLINE;

/// Sample rate of all samples here, in Hz.
pub(crate) const RATE: u32 = 44_100;

/// Arguments by which ffmpeg writes what [`samples`] reads.
pub(crate) const RAW: [&str; 6] = ["-ac", "1", "-ar", "44100", "-f", "s16le"];

/// Relative error that a pitch may have: where a piece is cut, up to a period of it is not counted.
const PITCH_TOLERANCE: f64 = 0.02;

/// Smallest amplitude of an audible sample.
const SILENCE: u16 = 300;

pub(crate) fn samples(raw: &[u8]) -> Vec<i16> {
    let samples = raw.chunks_exact(2);
    samples
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

/// Decodes all of a file, which must cause no complaint.
pub(crate) fn decode(path: &Path) -> Vec<i16> {
    let raw = Tool::ffmpeg().arg("-i").arg(path).args(RAW).arg("-");
    samples(&raw.run(DEADLINE))
}

/// Returns the pitch in hertz; 0 for silence.
pub(crate) fn pitch(audio: &[i16]) -> f64 {
    let mut is_low = false;
    let mut rises = 0_u32;
    for sample in audio {
        if sample.unsigned_abs() < SILENCE {
            continue;
        }
        rises += u32::from(is_low && *sample > 0);
        is_low = *sample < 0;
    }
    f64::from(rises) * f64::from(RATE) / audio.len() as f64
}

pub(crate) fn is_pitch(heard: f64, expected: f64) -> bool {
    (heard - expected).abs() <= expected * PITCH_TOLERANCE
}

/// Asserts that each second of audio has this pitch, from where it becomes audible.
pub(crate) fn assert_pitch(what: &str, audio: &[i16], expected: f64) {
    let begin = audio
        .iter()
        .position(|sample| sample.unsigned_abs() >= SILENCE);
    let begin = begin.unwrap_or_else(|| panic!("{what}: silence"));
    assert!(begin < RATE as usize, "{what}: begins at sample {begin}");
    let heard: Vec<_> = audio[begin..]
        .chunks_exact(RATE as usize)
        .map(pitch)
        .collect();
    let is_right = heard.iter().all(|&heard| is_pitch(heard, expected));
    assert!(is_right, "{what}: {heard:?} instead of {expected} Hz");
}
