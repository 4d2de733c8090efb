//! Frame-by-frame comparison through ffmpeg's `framemd5`.
//!
//! [`decoded`] hashes the frames that a decoder makes of a stream, [`packets`] the packets as they are in the container.
//! [`join`] then answers the question of most scenarios: are the frames that the listener received a run of the frames that
//! were sent, without a hole, from the point where it joined?

use std::ffi::OsStr;
use std::fmt;
use std::time::Duration;

use crate::Tool;

/// Time limit for reading a finished file or a stream that ends by itself.
const DEADLINE: Duration = Duration::from_secs(120);

/// A line of `framemd5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Index of the stream in the file.
    pub stream: u32,
    /// Whether that stream is video.
    pub is_video: bool,
    /// Presentation time in units of the stream's own time base.
    pub pts: i64,
    /// MD5 of the frame's bytes.
    pub md5: String,
}

/// Position at which a listener joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// Index in `sent` of the first frame that matches.
    pub at: usize,
    /// Number of frames at the start of `got` that match nothing: a decoder warming up.
    pub lead: usize,
    /// Number of frames that match, one after another, up to the end of `got`.
    pub matched: usize,
    /// Number of frames of `sent` after the last one that was received; 0 for a listener that stayed to the end.
    pub missing: usize,
}

/// Error of a comparison without a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Longest run found: index in `sent`, index in `got`, length.
    pub best: (usize, usize, usize),
    /// Lengths of `sent` and `got`.
    pub lengths: (usize, usize),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((at_sent, at_got, run), (sent, got)) = (self.best, self.lengths);
        write!(
            f,
            "of {got} frames got, the longest run of the {sent} sent is {run}: from frame {at_got} \
             (sent as {at_sent}) to frame {}",
            at_got + run
        )
    }
}

impl std::error::Error for Mismatch {}

/// Decodes `input` (a file or an address) to its end and hashes each decoded frame.
///
/// # Panics
/// Panics if ffmpeg fails or reports any error in the stream.
pub fn decoded(input: impl AsRef<OsStr>) -> Vec<Frame> {
    decoded_by(Tool::ffmpeg(), input, &[])
}

/// Decodes as [`decoded`] does, with another ffmpeg and more options for its output: `-an` for the video frames alone.
///
/// # Panics
/// Panics if ffmpeg fails or reports any error in the stream.
pub fn decoded_by(ffmpeg: Tool, input: impl AsRef<OsStr>, more: &[&str]) -> Vec<Frame> {
    let how = [&["-fps_mode", "passthrough", "-copyts"], more].concat();
    frames(ffmpeg, &input, &how)
}

/// Hashes the packets of `input` as they are in the container.
///
/// # Panics
/// Panics if ffmpeg fails or reports any error in the stream.
pub fn packets(input: impl AsRef<OsStr>) -> Vec<Frame> {
    packets_by(Tool::ffmpeg(), input, &[])
}

/// Hashes as [`packets`] does, with another ffmpeg and more options for its output: a bit stream filter.
///
/// # Panics
/// Panics if ffmpeg fails or reports any error in the stream.
pub fn packets_by(ffmpeg: Tool, input: impl AsRef<OsStr>, more: &[&str]) -> Vec<Frame> {
    frames(ffmpeg, &input, &[&["-c", "copy", "-copyts"], more].concat())
}

fn frames(ffmpeg: Tool, input: &impl AsRef<OsStr>, how: &[&str]) -> Vec<Frame> {
    let output = ffmpeg
        .arg("-i")
        .arg(input)
        .args(["-map", "0:v?", "-map", "0:a?"])
        .args(how)
        .args(["-f", "framemd5", "-"])
        .run(DEADLINE);
    parse(&String::from_utf8_lossy(&output))
}

/// Parses the text of `framemd5`; lines that are not frames are skipped.
pub fn parse(text: &str) -> Vec<Frame> {
    let is_video = |stream: u32| text.contains(&format!("#media_type {stream}: video"));
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let columns: Vec<&str> = line.split(',').map(str::trim).collect();
            let [stream, _dts, pts, _duration, _size, md5, ..] = columns[..] else {
                return None;
            };
            let stream = stream.parse().ok()?;
            let pts = pts.parse().ok()?;
            Some(Frame {
                stream,
                is_video: is_video(stream),
                pts,
                md5: md5.to_owned(),
            })
        })
        .collect()
}

/// Returns the video frames among `frames`.
pub fn video(frames: &[Frame]) -> Vec<Frame> {
    of_kind(frames, true)
}

/// Returns the audio frames among `frames`.
pub fn audio(frames: &[Frame]) -> Vec<Frame> {
    of_kind(frames, false)
}

fn of_kind(frames: &[Frame], is_video: bool) -> Vec<Frame> {
    let frames = frames.iter().filter(|frame| frame.is_video == is_video);
    frames.cloned().collect()
}

/// Finds the position at which `got` joins `sent`; from there on, every frame of `got` must be the next frame of `sent`. The
/// first `lead_max` frames of `got` may match nothing: an audio decoder that starts in the middle has no overlap to add to its
/// first frame. Times are not compared.
///
/// # Errors
/// [`Mismatch`] with the longest run if there is no such position, or if `got` has no frame left after the lead.
pub fn join(sent: &[Frame], got: &[Frame], lead_max: usize) -> Result<Join, Mismatch> {
    for lead in 0..=lead_max.min(got.len().saturating_sub(1)) {
        let tail = &got[lead..];
        if tail.is_empty() || tail.len() > sent.len() {
            continue;
        }
        let same = |window: &[Frame]| window.iter().zip(tail).all(|(a, b)| a.md5 == b.md5);
        if let Some(at) = sent.windows(tail.len()).position(same) {
            let missing = sent.len() - at - tail.len();
            return Ok(Join {
                at,
                lead,
                matched: tail.len(),
                missing,
            });
        }
    }
    Err(Mismatch {
        best: longest_run(sent, got),
        lengths: (sent.len(), got.len()),
    })
}

fn longest_run(sent: &[Frame], got: &[Frame]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    // Lengths of the runs that end at the previous frame of `got`, by their end in `sent`.
    let mut previous = vec![0_usize; sent.len() + 1];
    for (at_got, frame) in got.iter().enumerate() {
        let mut runs = vec![0; sent.len() + 1];
        for (at_sent, other) in sent.iter().enumerate() {
            if other.md5 == frame.md5 {
                let run = previous[at_sent] + 1;
                runs[at_sent + 1] = run;
                if run > best.2 {
                    best = (at_sent + 1 - run, at_got + 1 - run, run);
                }
            }
        }
        previous = runs;
    }
    best
}

/// Returns whether the presentation times of each stream never step back. Those of B-frames do in packet order, so pass
/// [`decoded`] frames.
pub fn is_monotonic(frames: &[Frame]) -> bool {
    let mut last = std::collections::HashMap::new();
    frames.iter().all(|frame| {
        let before = last.insert(frame.stream, frame.pts);
        before.is_none_or(|before| before <= frame.pts)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &str) -> Vec<Frame> {
        let frame = |(index, name): (usize, char)| Frame {
            stream: 0,
            is_video: false,
            pts: index as i64,
            md5: name.to_string(),
        };
        names.chars().enumerate().map(frame).collect()
    }

    #[test]
    fn lines_are_read() {
        let text = "#format: frame checksums\n#tb 0: 1/25\n#media_type 0: video\n\
                    #media_type 1: audio\n0,          0,          1,        1,    86400, aa\n\
                    1,          0,          7,     1024,     4096, bb\n";
        let frames = parse(text);
        assert_eq!(frames.len(), 2);
        assert_eq!(
            (frames[0].is_video, frames[0].pts, frames[0].md5.as_str()),
            (true, 1, "aa")
        );
        assert_eq!((video(&frames).len(), audio(&frames).len()), (1, 1));
    }

    #[test]
    fn a_listener_joins_where_its_frames_were_sent() {
        for (what, got, lead_max, expected) in [
            (
                "one that stays gets the rest",
                "defgh",
                0,
                Some((3, 0, 5, 0)),
            ),
            (
                "one that leaves misses the end",
                "cde",
                0,
                Some((2, 0, 3, 3)),
            ),
            ("the first frame may not differ", "Xdef", 0, None),
            ("the first frame may differ", "Xdef", 1, Some((3, 1, 3, 2))),
        ] {
            let joined = join(&list("abcdefgh"), &list(got), lead_max).ok();
            let joined = joined.map(|it| (it.at, it.lead, it.matched, it.missing));
            assert_eq!(joined, expected, "{what}");
        }
    }

    #[test]
    fn a_hole_a_repeat_and_a_change_are_found() {
        let sent = list("abcdefgh");
        let hole = join(&sent, &list("bcdfgh"), 1).expect_err("e is missing");
        assert_eq!((hole.best, hole.lengths), ((1, 0, 3), (8, 6)));
        assert!(join(&sent, &list("bcddef"), 1).is_err());
        assert!(join(&sent, &list("bcXef"), 1).is_err());
        assert!(join(&sent, &[], 1).is_err());
    }

    #[test]
    fn steps_back_are_seen() {
        let mut frames = list("abc");
        assert!(is_monotonic(&frames));
        frames[2].pts = 0;
        assert!(!is_monotonic(&frames));
    }
}
