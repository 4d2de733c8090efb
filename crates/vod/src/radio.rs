//! A file as a radio station would send it: its sound without its tags, and its title in between (ICY), for players that
//! ask for titles.
//!
//! ```text
//! [ID3v2] │ sound × metaint │ title │ sound × metaint │ 0 │ sound × metaint │ 0 │ …
//!         └ the body begins here
//! ```
//!
//! Such an answer has no ranges, and neither a tag nor a date: caches keep the file alone. A client that asks for a
//! range or downloads is sent the file as it is.
//!
//! [`answer`](crate::answer()) asks here first; the [`Body`] puts the title into what it reads.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use container::frames::{Demuxer, Syntax};
use container::id3::{self, FileTag};
use formats::METAINT;
use http::{HeaderMap, HeaderName, StatusCode, header};
use media::{Item, TICKS_PER_SECOND, Title};

use crate::address::Resource;
use crate::answer::{Answer, Request, is_download, put, text};
use crate::body::Body;
use crate::counts::Outcome;
use crate::pace::Pace;
use crate::{Served, media_type};

/// What a player says that asks for titles, and what it is told then.
const WANTS_TITLES: HeaderName = HeaderName::from_static("icy-metadata");
const INTERVAL: HeaderName = HeaderName::from_static("icy-metaint");

/// What is read of a tag: the texts, which stand before its pictures.
const TAG_BYTES: usize = 64 << 10;

/// Tags one after another at the beginning of a file. Some programs add a second one.
const TAGS_MAX: usize = 4;

/// The old tag at the end of a file.
const OLD_TAG_BYTES: usize = 128;

/// Places of a file that are looked at for its bit rate. The highest counts, so that a song with a quiet beginning does
/// not come too slowly.
const PLACES: u64 = 8;

/// What is read at each: half a second of the highest bit rates, and three of the longest frames at the least.
const PLACE_BYTES: usize = 32 << 10;

/// Answers a request for titles; `None` if it is none, or if titles cannot be put into the file.
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
    let Programme {
        sound,
        plays,
        title,
    } = programme;
    let mut headers = HeaderMap::new();
    put(
        &mut headers,
        header::CONTENT_TYPE,
        request.address.media_type,
    );
    put(&mut headers, header::ACCEPT_RANGES, "none");
    put(&mut headers, header::CACHE_CONTROL, "no-store");
    put(&mut headers, INTERVAL, &METAINT.to_string());
    let pace = Pace::of_sound(sound.end - sound.start, plays);
    let body = Body::of("").followed_by((file, Arc::clone(&served.reads)), vec![sound]);
    let answer = Answer {
        status: StatusCode::OK,
        headers,
        body: body.titled(&title).paced(pace),
    };
    Ok(Some((Outcome::Whole, answer)))
}

/// Whether a request is for a file that titles may be put into, and for titles. Who asks for a range, be it the whole
/// file, may want to seek: ffmpeg and what is made of it ask for both each time.
fn is_wanted(request: &Request<'_>) -> bool {
    let asks = text(request.headers, WANTS_TITLES) == Some("1");
    let is_file = request.address.resource == Resource::File && !is_download(request.query);
    asks && is_file
        && syntax(&request.address.name).is_some()
        && text(request.headers, header::RANGE).is_none()
}

/// What a player that asks for titles is sent of a file.
#[derive(Debug)]
struct Programme {
    /// Where its sound is.
    sound: Range<u64>,
    /// How long it plays, if it had its highest bit rate all along.
    plays: Duration,
    title: Title,
}

impl Programme {
    /// Looks into a file; `None` if there is no sound in it that titles can be put into.
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
        let sound = start..length;
        let Some(rate) = rate(file, &sound, syntax)? else {
            return Ok(None);
        };
        if title.is_none() {
            let tail = length.saturating_sub(OLD_TAG_BYTES as u64)..length;
            title = id3::title_at_end(&read(file, tail, OLD_TAG_BYTES)?);
        }
        let stem = || Path::new(name).file_stem().unwrap_or_default();
        let text = title.unwrap_or_else(|| stem().to_string_lossy().into_owned());
        Ok(Some(Self {
            plays: Duration::from_secs_f64((sound.end - sound.start) as f64 / rate),
            sound,
            title: Title {
                text,
                url: String::new(),
            },
        }))
    }
}

/// What frames a file of this name has; `None` if titles cannot be put between them.
fn syntax(name: &str) -> Option<Syntax> {
    match media_type::of(name)? {
        "audio/mpeg" => Some(Syntax::MpegAudio),
        "audio/aac" => Some(Syntax::Adts),
        _ => None,
    }
}

/// The highest number of bytes in a second; `None` if no frames are found.
fn rate(file: &File, sound: &Range<u64>, syntax: Syntax) -> io::Result<Option<f64>> {
    let length = sound.end.saturating_sub(sound.start);
    let mut highest: Option<f64> = None;
    let mut frames = Vec::new();
    for place in 0..PLACES {
        let at = sound.start + length / PLACES * place;
        let mut demuxer = Demuxer::new(syntax);
        demuxer.push(&read(file, at..sound.end, PLACE_BYTES)?, &mut frames);
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

/// The first bytes of a range, so many at most; fewer if the file was cut.
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
    fn the_sound_begins_behind_the_tags() {
        let sound = frames(SLOW, 100);
        let file = [tag("One"), tag("Two"), sound.clone()].concat();
        let found = programme(&file, "a/Three.mp3").expect("sound");
        assert_eq!(found.title.text, "One");
        assert_eq!(found.sound.end - found.sound.start, sound.len() as u64);
        assert_eq!(found.sound.end, file.len() as u64);
        let plain = programme(&sound, "a/Three.b.mp3").expect("sound");
        assert_eq!(plain.title.text, "Three.b");
    }

    #[test]
    fn the_highest_bit_rate_counts() {
        let sound = [frames(SLOW, 1_000), frames(FAST, 1_000)].concat();
        let found = programme(&sound, "a.mp3").expect("sound");
        let rate = sound.len() as f64 / found.plays.as_secs_f64();
        assert!((39_900.0..40_100.0).contains(&rate), "{rate} bytes/s");
    }

    #[test]
    fn what_has_no_frames_has_no_titles() {
        assert!(programme(b"0123456789", "a.mp3").is_none());
        assert!(programme(&tag("One"), "a.mp3").is_none());
        assert!(programme(b"", "a.aac").is_none());
        assert!(programme(&frames(SLOW, 100), "a.ogg").is_none());
        // A tag that says it is longer than its file.
        assert!(programme(b"ID3\x04\0\0\x7F\x7F\x7F\x7F", "a.mp3").is_none());
    }
}
