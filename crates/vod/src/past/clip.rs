//! Clip: a stream between two times, as one MP4.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use container::mp4_file::{Base, Init, Point, Timeline, changes};
use files::blocking::read;
use http::StatusCode;
use http1::Query;
use media::StreamName;
use recordings::{Recording, RecordingId};

use super::address::{CLIP_FROM, CLIP_TO};
use super::catalogue::before;
use super::when::When;
use super::{Absent, Answered, CHANGING, FRAGMENTS, Past, PastRequest, pace, refused, whole};
use crate::body::Body;
use crate::patches::{Patch, Patches};

/// Longest clip: the positions of its fragments are in memory while it is sent.
const LENGTH_MAX: Duration = Duration::from_secs(3_600);

/// Most recordings in a clip: an hour of the shortest possible ones, of ten seconds.
const COUNT_MAX: usize = 360;

/// Bytes read at the beginning of a fragment, in which its header usually ends; and the longest header in bytes.
const LOOK_BYTES: u64 = 4 << 10;
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Share of one recording in a clip.
struct Part {
    file: Arc<File>,
    range: Range<u64>,
    patches: Patches,
}

/// Clip being assembled.
#[derive(Default)]
struct Clip {
    init: Bytes,
    parts: Vec<Part>,
    /// Time at which the next fragment begins, and the number of fragments so far.
    lasts: Duration,
    fragments: u32,
}

impl Past {
    /// Answers with the stream between two times, cut at keyframes: the clip begins at the last keyframe before the
    /// first time, and ends with the fragment that contains the second.
    pub(super) async fn clip(&self, stream: &StreamName, request: &PastRequest<'_>) -> Answered {
        let Some((from, to)) = times(request) else {
            let text = "from, to: write times (2026-11-23T15:42:00Z), or -600s for ten minutes ago; \
                        from is before to, which is now without one.";
            return Ok(refused(StatusCode::BAD_REQUEST, text));
        };
        if to.duration_since(from).is_ok_and(|it| it > LENGTH_MAX) {
            let text = "A clip lasts for an hour at most.";
            return Ok(refused(StatusCode::BAD_REQUEST, text));
        }
        let mut clip = Clip::default();
        for recording in self.between(stream, from, to) {
            let added = match self.add(&mut clip, recording, (from, to)).await {
                // It was removed meanwhile, or is still empty.
                Err(absent) if absent.is_unknown() => true,
                // A clip without it would not be what the client requested.
                Err(Absent::Remote(_)) => {
                    let text = "Some of that is in object storage alone, of which no clips are cut: \
                                its files are at the addresses in recordings.json.";
                    return Ok(refused(StatusCode::GONE, text));
                }
                added => added?,
            };
            if !added {
                break;
            }
        }
        if clip.parts.is_empty() {
            let text = "Nothing was recorded then that MP4 can carry.";
            return Ok(refused(StatusCode::NOT_FOUND, text));
        }
        let mut body = Body::of(clip.init);
        for part in clip.parts {
            let source = (part.file, Arc::clone(&self.reads));
            body = body.followed_by_patched(source, vec![part.range], part.patches);
        }
        let pace = pace(&body, clip.lasts).filter(|_| !crate::answer::is_download(request.query));
        Ok(whole(FRAGMENTS, CHANGING, body.paced(pace)))
    }

    /// Returns the recordings between two times, oldest first.
    fn between(
        &self,
        stream: &StreamName,
        from: SystemTime,
        to: SystemTime,
    ) -> Vec<Arc<Recording>> {
        let begun = before(&self.shelf, stream, Some(RecordingId::after(to)));
        let begun = begun.filter(|it| it.container.is_mp4());
        let within = begun.take_while(|it| it.ended() > from).take(COUNT_MAX);
        let mut within: Vec<_> = within.collect();
        within.reverse();
        within
    }

    /// Adds a recording's share between two times. Returns false if its headers differ, in which case the clip ends
    /// before it.
    async fn add(
        &self,
        clip: &mut Clip,
        recording: Arc<Recording>,
        (from, to): (SystemTime, SystemTime),
    ) -> Result<bool, Absent> {
        let started = recording.started;
        let offset = |at: SystemTime| at.duration_since(started).unwrap_or_default();
        let (init, segment, points) = {
            let (_, timeline) = self.timeline(Arc::clone(&recording)).await?;
            let Some(init) = timeline.init().cloned() else {
                return Ok(true);
            };
            let segment = Bytes::copy_from_slice(timeline.init_segment());
            (init, segment, within(&timeline, offset(from), offset(to)))
        };
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Ok(true);
        };
        let base = match clip.parts.is_empty() {
            true => {
                clip.init = segment;
                Base::at(first.first(), Duration::ZERO)
            }
            false if clip.init != segment => return Ok(false),
            false => Base::at(first.at(), clip.lasts),
        };
        let begins = match clip.parts.is_empty() {
            true => first.first(),
            false => first.at(),
        };
        let range = first.range().start..last.range().end;
        let lasts = last.until().saturating_sub(begins);
        let (_, opened) = self.open(recording).await?;
        let number = clip.fragments + 1;
        clip.fragments += u32::try_from(points.len()).unwrap_or(u32::MAX);
        clip.lasts += lasts;
        let memory = self.reads.list(size_of_val(points.as_slice()))?;
        // This runs when the file is read, which it is not for a `HEAD`, and only for the ranges that the client takes.
        let find = move |file: &File, range: &Range<u64>| {
            let _held = &memory;
            patches((file, range), &points, (&init, base), number)
        };
        clip.parts.push(Part {
            patches: Patches::Found(Arc::new(find)),
            file: opened.file,
            range,
        });
        Ok(true)
    }
}

/// Returns the two times that a query states.
fn times(request: &PastRequest<'_>) -> Option<(SystemTime, SystemTime)> {
    let query = Query::new(request.query.as_bytes());
    let at = |name: &str| match When::parse(&query.get(name)?, request.now)? {
        When::At(at) => Some(at),
        When::Start => None,
    };
    let to = match query.get(CLIP_TO) {
        Some(_) => at(CLIP_TO)?,
        None => request.now,
    };
    let from = at(CLIP_FROM)?;
    (from < to).then_some((from, to))
}

/// Returns the fragments between two times, counted from the recording's beginning; the first begins with a keyframe.
fn within(timeline: &Timeline, from: Duration, to: Duration) -> Vec<Point> {
    let first = timeline.at(from);
    let end = timeline.points().partition_point(|point| point.at() < to);
    let all = timeline.points().get(first..end).unwrap_or_default();
    all.to_vec()
}

/// Returns the changes to the headers of the fragments in a range; `first` is the number of the first of `points`.
/// Blocks.
fn patches(
    (file, wanted): (&File, &Range<u64>),
    points: &[Point],
    (init, base): (&Init, Base),
    first: u32,
) -> io::Result<Vec<Patch>> {
    let mut patches = Vec::new();
    let before = points.partition_point(|point| point.range().end <= wanted.start);
    for (number, point) in (first..).zip(points).skip(before) {
        let range = point.range();
        if range.start >= wanted.end {
            break;
        }
        let header = header(file, &range)?;
        let changes = changes(&header, number, base, init).ok_or(io::ErrorKind::InvalidData)?;
        let patch = changes
            .iter()
            .map(|change| Patch::new(range.start + change.at as u64, change.value()));
        patches.extend(patch);
    }
    Ok(patches)
}

/// Returns the `moof` at the beginning of a fragment.
fn header(file: &File, fragment: &Range<u64>) -> io::Result<Vec<u8>> {
    let (start, length) = (fragment.start, fragment.end - fragment.start);
    let mut bytes = read(file, start..start + LOOK_BYTES.min(length))?;
    let size = bytes.first_chunk().map(|size| u32::from_be_bytes(*size));
    let size = u64::from(size.unwrap_or_default());
    if size > HEADER_BYTES_MAX || size > length {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if size > bytes.len() as u64 {
        bytes = read(file, start..start + size)?;
    }
    bytes.truncate(size as usize);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::future::poll_fn;

    use base::holdings::Holdings;
    use http::HeaderMap;
    use recordings::Shelf;
    use testkit::{Clip as Media, Tool};

    use super::*;
    use crate::past::catalogue::tests::recording;
    use crate::{Found, PastAddress};

    const SECONDS: u32 = 4;
    /// Returns the bytes of the file before its fragments: no more than its headers.
    const BEGINNING_BYTES: usize = 2_048;

    /// Requests a clip of the whole recording.
    async fn ask(past: &Past, is_head: bool) -> Option<Body> {
        let address = PastAddress::of("/live/show/clip.mp4").expect("an address");
        let request = PastRequest {
            address: &address,
            is_head,
            headers: &HeaderMap::new(),
            query: "from=2001-09-09T01:46:40Z&to=2001-09-09T01:47:40Z",
            is_private: false,
            now: SystemTime::now(),
        };
        match past.answer(request).await {
            Found::Here(answer) => (answer.status == StatusCode::OK).then_some(answer.body),
            Found::Elsewhere(_) => None,
        }
    }

    #[tokio::test]
    async fn what_is_asked_by_head_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0.mp4");
        let copy = Tool::ffmpeg().arg("-i").arg(Media::Flv.seconds(SECONDS));
        let flags = "+frag_keyframe+empty_moov+default_base_moof";
        let copy = copy.args(["-c", "copy", "-movflags", flags]).arg(&path);
        copy.run(Duration::from_secs(120));
        let mut bytes = fs::read(&path).expect("a file");
        let stream = StreamName::parse("live/show").expect("a name");
        let shelf = Arc::new(Shelf::default());
        let mut one = recording(&stream, 1_000_000_000);
        one.path.clone_from(&path);
        one.duration = Duration::from_secs(SECONDS.into());
        one.bytes = bytes.len() as u64;
        shelf.insert(one).expect("room");
        let past = Past::new(shelf, &Holdings::new(0));
        let whole = ask(&past, false).await.expect("a clip");
        let length = whole.left().filter(|length| *length > 0);
        drop(whole);
        // A reader that looks for its fragments now finds none.
        bytes[BEGINNING_BYTES..].fill(0);
        fs::write(&path, bytes).expect("written");
        let head = ask(&past, true).await.expect("a head");
        assert_eq!(head.left(), length);
        let mut body = ask(&past, false).await.expect("a clip");
        let read = async {
            while let Some(piece) = poll_fn(|cx| body.poll_next(cx)).await {
                piece?;
            }
            io::Result::Ok(())
        };
        assert!(read.await.is_err(), "it is read when it is sent");
    }
}
