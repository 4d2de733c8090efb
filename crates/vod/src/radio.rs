//! Radio form of a file: its audio without its tags, with its title in between (ICY), for players that request titles.
//!
//! ```text
//! [ID3v2] │ audio × metaint │ title │ audio × metaint │ 0 │ audio × metaint │ 0 │ …
//!         └ the body begins here
//! ```
//!
//! Such an answer has no ranges, no tag and no date: caches keep only the file. A client that requests a range or a
//! download is sent the file unchanged.
//!
//! [`answer`](crate::answer()) tries this module first; the [`Body`] inserts the title into the data it reads.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use container::frames::{Demuxer, Syntax};
use container::id3::{self, FileTag};
use http::{HeaderMap, HeaderName, StatusCode, header};
use media::{Item, TICKS_PER_SECOND, Title};
use packagers::METAINT;

use crate::address::Resource;
use crate::answer::{Answer, Request, is_download, put, text};
use crate::body::Body;
use crate::counts::Outcome;
use crate::pace::Pace;
use crate::{Served, media_type};

/// Header by which a player requests titles, and the header that states their interval.
const WANTS_TITLES: HeaderName = HeaderName::from_static("icy-metadata");
const INTERVAL: HeaderName = HeaderName::from_static("icy-metaint");

/// Bytes read of a tag: its texts, which stand before its cover art.
const TAG_BYTES: usize = 64 << 10;

/// Most tags in a row at the beginning of a file. Some programs add a second one.
const TAGS_MAX: usize = 4;

/// Length in bytes of the old tag at the end of a file.
const OLD_TAG_BYTES: usize = 128;

/// Number of places at which a file's bit rate is measured. The highest counts, so that a song with a quiet beginning
/// is not sent too slowly.
const PLACES: u64 = 8;

/// Bytes read at each place: half a second at the highest bit rates, and at least three of the longest frames.
const PLACE_BYTES: usize = 32 << 10;

/// Answers a request for titles; `None` if it is not one, or if titles cannot be inserted into the file.
pub(crate) async fn answer(
    served: &Arc<Served>,
    request: &Request<'_>,
) -> io::Result<Option<(Outcome, Answer)>> {
    if !is_wanted(request) {
        return Ok(None);
    }
    let (name, folder) = (request.address.name.clone(), Arc::clone(served));
    let open = move || {
        let opened = folder.folder.open(&name)?;
        let programme = Programme::of(&opened.file, opened.length, &name)?;
        Ok(programme.map(|programme| (opened.file, programme)))
    };
    let Some((file, programme)) = served.reads.blocking(open).await? else {
        return Ok(None);
    };
    let mut headers = HeaderMap::new();
    put(
        &mut headers,
        header::CONTENT_TYPE,
        request.address.media_type,
    );
    put(&mut headers, header::ACCEPT_RANGES, "none");
    put(&mut headers, header::CACHE_CONTROL, "no-store");
    put(&mut headers, INTERVAL, &METAINT.to_string());
    let audio = programme.audio;
    let pace = Pace::of_audio(audio.end - audio.start, programme.plays);
    let body = Body::of("").followed_by((file, Arc::clone(&served.reads)), vec![audio]);
    let body = body.titled(&programme.title).paced(pace);
    let answer = Answer::new(StatusCode::OK, headers, body);
    Ok(Some((Outcome::Whole, answer)))
}

/// Returns whether a request is for titles, and for a file that titles can be inserted into. A client that requests a
/// range, even of the whole file, may want to seek: ffmpeg and programs based on it always request both.
fn is_wanted(request: &Request<'_>) -> bool {
    let asks = text(request.headers, WANTS_TITLES) == Some("1");
    let is_file = request.address.resource == Resource::File && !is_download(request.query);
    asks && is_file
        && syntax(&request.address.name).is_some()
        && text(request.headers, header::RANGE).is_none()
}

/// Radio form of a file.
#[derive(Debug)]
struct Programme {
    /// Range of its audio in the file.
    audio: Range<u64>,
    /// Duration, assuming its highest bit rate throughout.
    plays: Duration,
    title: Title,
}

impl Programme {
    /// Examines a file; `None` if it contains no audio that titles can be inserted into.
    fn of(file: &File, length: u64, name: &str) -> io::Result<Option<Self>> {
        let Some(syntax) = syntax(name) else {
            return Ok(None);
        };
        let (mut start, mut title) = (0, None);
        for _ in 0..TAGS_MAX {
            let head = read(file, start..length, TAG_BYTES)?;
            let Some(tag) = FileTag::at_front(&head) else {
                break;
            };
            title = title.or_else(|| tag.title());
            start += tag.bytes();
        }
        let audio = start..length;
        let Some(rate) = rate(file, &audio, syntax)? else {
            return Ok(None);
        };
        if title.is_none() {
            let tail = length.saturating_sub(OLD_TAG_BYTES as u64)..length;
            title = id3::title_at_end(&read(file, tail, OLD_TAG_BYTES)?);
        }
        let stem = || Path::new(name).file_stem().unwrap_or_default();
        let text = title.unwrap_or_else(|| stem().to_string_lossy().into_owned());
        Ok(Some(Self {
            plays: Duration::from_secs_f64((audio.end - audio.start) as f64 / rate),
            audio,
            title: Title {
                text,
                url: String::new(),
            },
        }))
    }
}

/// Returns the syntax of the frames in a file of this name; `None` if titles cannot be inserted between them.
fn syntax(name: &str) -> Option<Syntax> {
    match media_type::of(name)? {
        "audio/mpeg" => Some(Syntax::MpegAudio),
        "audio/aac" => Some(Syntax::Adts),
        _ => None,
    }
}

/// Returns the highest measured rate in bytes per second; `None` if no frames are found.
fn rate(file: &File, audio: &Range<u64>, syntax: Syntax) -> io::Result<Option<f64>> {
    let length = audio.end.saturating_sub(audio.start);
    let mut highest: Option<f64> = None;
    let mut frames = Vec::new();
    for place in 0..PLACES {
        let at = audio.start + length / PLACES * place;
        let mut demuxer = Demuxer::new(syntax);
        demuxer.push(&read(file, at..audio.end, PLACE_BYTES)?, &mut frames);
        let (mut bytes, mut ticks) = (0, 0);
        for item in frames.drain(..) {
            if let Item::Sample(sample) = item {
                bytes += sample.data.len();
                ticks += sample.duration.ticks();
            }
        }
        if ticks > 0 {
            let found = bytes as f64 * TICKS_PER_SECOND as f64 / ticks as f64;
            highest = Some(highest.map_or(found, |known| known.max(found)));
        }
    }
    Ok(highest)
}

/// Reads the first `most` bytes of a range; fewer if the range is shorter or the file was truncated.
fn read(file: &File, range: Range<u64>, most: usize) -> io::Result<Vec<u8>> {
    let length = range.end.saturating_sub(range.start).min(most as u64);
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], range.start + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of MPEG-1 layer III at 128 and at 320 kb/s, 44.1 kHz.
    const SLOW: ([u8; 4], usize) = ([0xFF, 0xFB, 0x90, 0xC4], 417);
    const FAST: ([u8; 4], usize) = ([0xFF, 0xFB, 0xE0, 0xC4], 1_044);

    fn frames((header, bytes): ([u8; 4], usize), count: usize) -> Vec<u8> {
        let frame = [&header[..], &vec![0; bytes - header.len()]].concat();
        frame.repeat(count)
    }

    fn tag(title: &str) -> Vec<u8> {
        let frame = [b"TIT2\0\0\0", &[title.len() as u8 + 1, 0, 0, 3][..]].concat();
        let size = (frame.len() + title.len()) as u8;
        let header = [b"ID3\x04\0\0\0\0\0", &[size][..]].concat();
        [&header, &frame, title.as_bytes()].concat()
    }

    fn programme(bytes: &[u8], name: &str) -> Option<Programme> {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(bytes, 0).expect("written");
        Programme::of(&file, bytes.len() as u64, name).expect("read")
    }

    #[test]
    fn the_audio_begins_behind_the_tags() {
        let audio = frames(SLOW, 100);
        let file = [tag("One"), tag("Two"), audio.clone()].concat();
        let found = programme(&file, "a/Three.mp3").expect("sound");
        assert_eq!(found.title.text, "One");
        assert_eq!(found.audio.end - found.audio.start, audio.len() as u64);
        assert_eq!(found.audio.end, file.len() as u64);
        let plain = programme(&audio, "a/Three.b.mp3").expect("sound");
        assert_eq!(plain.title.text, "Three.b");
    }

    #[test]
    fn the_highest_bit_rate_counts() {
        let audio = [frames(SLOW, 1_000), frames(FAST, 1_000)].concat();
        let found = programme(&audio, "a.mp3").expect("sound");
        let rate = audio.len() as f64 / found.plays.as_secs_f64();
        assert!((39_900.0..40_100.0).contains(&rate), "{rate} bytes/s");
    }

    #[test]
    fn what_has_no_frames_has_no_titles() {
        assert!(programme(b"0123456789", "a.mp3").is_none());
        assert!(programme(&tag("One"), "a.mp3").is_none());
        assert!(programme(b"", "a.aac").is_none());
        assert!(programme(&frames(SLOW, 100), "a.ogg").is_none());
        // A tag that claims to be longer than its file.
        assert!(programme(b"ID3\x04\0\0\x7F\x7F\x7F\x7F", "a.mp3").is_none());
    }
}
