//! Recordings for viewers: by identifiers, also while they grow.
//!
//! ```text
//!  path ─► PastAddress ─► (the gate) ─► answer ─┬─► shelf ─► file ─► whole, range
//!                                               ├─► fragments by their times ─► playlists, segments, clips
//!                                               └─► its copy, if that is all that is left ─► the caller
//! ```
//!
//! * Names of files are in no address; a stream's recordings are those of that stream, for which the gate was asked.
//! * Over HLS a recording is its fragments, which stay where they are when its file is finalised. So a player that
//!   follows a growing recording goes on in the same playlist when that has ended, and an address of a segment means the
//!   same bytes for as long as the recording exists.
//! * What a stream was from some moment on is the fragments of one recording after another: a playlist that grows.
//! * A clip is fragments with other times. Nothing is encoded, and nothing is written.
//! * Of a recording whose copy in object storage alone is left, the file is [there](Copied): whoever asks for it is sent
//!   there by the caller, who knows the storage. Its fragments are not known here any more, so it is in no playlist, and
//!   a time that it covers counts as a gap.
//! * A live body from a time on, and a recording over RTMP, are made of its samples, for each player by itself: no lane, no
//!   log and no fan-out worker has to do with the past.

mod absent;
mod address;
mod catalogue;
mod clip;
mod demuxed;
mod file;
mod form;
mod fragments;
mod frames;
mod list;
mod playlist;
mod reader;
mod shift;
mod timelines;
mod when;

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::Labelled;
use bytes::Bytes;
use container::mp4_file::Timeline;
use http::{HeaderMap, StatusCode, header};
use http1::Query;
use media::StreamName;
use net::holdings::Holdings;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use recordings::{Container, Recording, RecordingId, Shelf, Upload};
use tokio::sync::OwnedMutexGuard;

pub use self::address::{PastAddress, Played, is_past};
pub(crate) use self::reader::{Next, RecordingReader};
pub(crate) use self::shift::Shifted;

use self::absent::Absent;
use self::address::{AT, CLIP_FROM, CLIP_TO, FilmName, Resource};
use self::file::Opened;
use self::reader::is_bare;
use self::timelines::Timelines;
use self::when::When;
use crate::Answer;
use crate::answer::{
    Terms, Version, bare, is_download, of_file, plain, precondition, put, validators,
};
use crate::body::Body;
use crate::counts::{Outcome, Sums};
use crate::film::{Film, Kind};
use crate::pace::Pace;
use crate::patches::Patches;
use crate::playlist::{MEDIA_TYPE, Suffix};
use crate::reads::Reads;

/// What an address of fragments leads to is the same for as long as it leads to anything.
const LASTING: &str = "public, max-age=3600";
const LASTING_PRIVATELY: &str = "private, max-age=3600";

/// Playlists grow.
const CHANGING: &str = "no-cache";

/// The media type of segments and clips.
const FRAGMENTS: &str = "video/mp4";

/// See the module's description. Clones share.
#[derive(Clone, Debug)]
pub struct Past {
    shelf: Arc<Shelf>,
    reads: Arc<Reads>,
    timelines: Arc<Timelines>,
    requests: Arc<Labelled<Outcome>>,
}

/// A request for something of a stream's past.
#[derive(Debug)]
pub struct PastRequest<'a> {
    /// What.
    pub address: &'a PastAddress,
    /// The method is `HEAD`, not `GET`.
    pub is_head: bool,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The query as it was sent, without the question mark; empty without one.
    pub query: &'a str,
    /// The client has shown a credential.
    pub is_private: bool,
    /// When it came.
    pub now: SystemTime,
}

/// What a request came to.
#[derive(Debug)]
pub enum Found {
    /// The answer.
    Here(Box<Answer>),
    /// A file whose copy alone is left: the client is to be sent there.
    Elsewhere(Copied),
}

/// A copy in object storage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Copied {
    /// Its name in the bucket.
    pub key: Arc<str>,
    /// How long it plays.
    pub plays: Duration,
    /// The client keeps it: the value of `Content-Disposition` that it is to be told.
    pub kept_as: Option<String>,
}

/// What a request for something that is here came to.
type Answered = Result<(Outcome, Answer), Absent>;

impl Past {
    /// Of the recordings on a shelf. What is held for it is counted in `holdings`.
    pub fn new(shelf: Arc<Shelf>, holdings: &Arc<Holdings>) -> Self {
        Self {
            shelf,
            reads: Arc::new(Reads::new(holdings)),
            timelines: Arc::new(Timelines::new(holdings)),
            requests: Arc::default(),
        }
    }

    /// What the metrics tell.
    pub fn sums(&self) -> Sums {
        Sums {
            requests: self.requests.all(),
            bytes: self.reads.bytes.value(),
            late_reads: self.reads.late.value(),
        }
    }

    /// Answers a request that the gate has permitted.
    pub async fn answer(&self, request: PastRequest<'_>) -> Found {
        let stream = request.address.stream();
        let answered = match &request.address.resource {
            Resource::File(id, container) => self.file(stream, (*id, *container), &request).await,
            Resource::Playlist(id) => self.alone(stream, *id, &request).await,
            Resource::From(id, first) => self.from(stream, (*id, *first), &request).await,
            Resource::Init(id) => self.init(stream, *id, &request).await,
            Resource::Segment(id, fragments) => {
                let wanted = (*id, fragments.clone());
                self.segment(stream, wanted, &request).await
            }
            Resource::Since => self.since(stream, &request).await,
            Resource::Body(extension) => self.shifted(stream, *extension, &request).await,
            Resource::Clip => self.clip(stream, &request).await,
        };
        let is_file = matches!(request.address.resource, Resource::File(..));
        let (outcome, found) = match answered {
            Err(Absent::Remote(recording)) if is_file => elsewhere(&recording, request.query),
            Ok((outcome, answer)) => (outcome, Found::Here(Box::new(answer))),
            Err(absent) => {
                let (outcome, answer) = absent.answer(stream);
                (outcome, Found::Here(Box::new(answer)))
            }
        };
        self.requests.count(outcome);
        found
    }

    /// The stream of which a recording of this name would be, for which the gate is asked: `{stream}/recordings/{id}`, with
    /// or without an extension. `None` if it is no such name.
    pub fn stream_of_film(name: &str) -> Option<StreamName> {
        address::film(name).map(|film| film.stream)
    }

    /// Opens the recording of a name for a player over RTMP. Without a kind it may be any. `None` if there is none that
    /// can be played so.
    ///
    /// # Errors
    /// When the disk does not give it, or it is damaged.
    pub async fn film(&self, name: &str, kind: Option<Kind>) -> io::Result<Option<Film>> {
        let Some(FilmName {
            stream,
            id,
            container,
        }) = address::film(name)
        else {
            return Ok(None);
        };
        let is_asked_for = |it: &Arc<Recording>| {
            let is_named = container.is_none_or(|named| named == it.container);
            is_named && kind.is_none_or(|kind| Some(kind) == Kind::of_recording(it.container))
        };
        let found = self.recording(&stream, id).ok().filter(is_asked_for);
        let Some(recording) = found.filter(|it| is_bare(it.container)) else {
            return Ok(None);
        };
        let (outcome, opened) = match RecordingReader::open(self, recording).await {
            Ok(reader) => (Outcome::Whole, Ok(Some(Film::of_recording(reader)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Outcome::Missing, Ok(None)),
            Err(error) => (Outcome::Failed, Err(error)),
        };
        self.requests.count(outcome);
        opened
    }

    /// A recording of a stream.
    fn recording(&self, stream: &StreamName, id: RecordingId) -> Result<Arc<Recording>, Absent> {
        let recording = self.shelf.get(id).filter(|it| it.stream == *stream);
        recording.ok_or_else(Absent::unknown)
    }

    /// The file of a recording. Its place changes when it is closed, and it may be removed when it is copied, so one
    /// that is not found is asked for once more.
    async fn open(&self, recording: Arc<Recording>) -> Result<(Arc<Recording>, Opened), Absent> {
        let (stream, id) = (recording.stream.clone(), recording.id);
        match self.try_open(recording).await {
            Err(absent) if absent.is_unknown() => self.try_open(self.recording(&stream, id)?).await,
            opened => opened,
        }
    }

    async fn try_open(
        &self,
        recording: Arc<Recording>,
    ) -> Result<(Arc<Recording>, Opened), Absent> {
        let recording = absent::if_local(recording)?;
        let open = move || {
            let opened = Opened::of(&recording)?;
            Ok((recording, opened))
        };
        Ok(self.reads.blocking(open).await?)
    }

    /// The fragments of a recording, and the recording as it was when they were read.
    async fn timeline(
        &self,
        recording: Arc<Recording>,
    ) -> Result<(Arc<Recording>, OwnedMutexGuard<Timeline>), Absent> {
        let recording = absent::if_local(recording)?;
        if let Some(timeline) = self.timelines.whole(recording.id).await {
            return Ok((recording, timeline));
        }
        let (recording, opened) = self.open(recording).await?;
        let timeline = self
            .timelines
            .read(&recording, &opened, &self.reads)
            .await?;
        Ok((recording, timeline))
    }

    /// The whole of a file, or a range of it.
    async fn file(
        &self,
        stream: &StreamName,
        (id, container): (RecordingId, Container),
        request: &PastRequest<'_>,
    ) -> Answered {
        let recording = self.recording(stream, id)?;
        if recording.container != container {
            return Err(Absent::unknown());
        }
        let (recording, opened) = self.open(recording).await?;
        let mut headers = validators(&opened.tag, opened.modified, request.is_private);
        if let Some((outcome, status)) = precondition(request.headers, &headers) {
            return Ok(bare(outcome, status, headers));
        }
        let is_kept = is_download(request.query);
        if is_kept {
            let name = name(&recording);
            put(&mut headers, header::CONTENT_DISPOSITION, &name);
        }
        let version = Version {
            source: (&opened.file, &self.reads),
            length: opened.length,
            tag: &opened.tag,
            media_type: container.media_type(),
            grows: opened.grows,
            patches: Patches::Known(opened.beginning.into()),
        };
        let terms = Terms {
            is_head: request.is_head,
            headers: request.headers,
        };
        let plays = (!is_kept).then_some(recording.duration);
        Ok(of_file(version, plays, &terms, headers))
    }

    /// The initialization segment.
    async fn init(
        &self,
        stream: &StreamName,
        id: RecordingId,
        request: &PastRequest<'_>,
    ) -> Answered {
        let (_, timeline) = self.timeline(self.recording(stream, id)?).await?;
        let bytes = Bytes::copy_from_slice(timeline.init_segment());
        if bytes.is_empty() {
            return Err(Absent::unknown());
        }
        Ok(lasting(Body::of(bytes), request))
    }

    /// Fragments that follow one another.
    async fn segment(
        &self,
        stream: &StreamName,
        (id, fragments): (RecordingId, std::ops::Range<usize>),
        request: &PastRequest<'_>,
    ) -> Answered {
        let recording = self.recording(stream, id)?;
        let range = {
            let (_, timeline) = self.timeline(Arc::clone(&recording)).await?;
            timeline.range(&fragments)
        };
        let range = range.ok_or_else(Absent::unknown)?;
        let (_, opened) = self.open(recording).await?;
        let source = (opened.file, Arc::clone(&self.reads));
        let body = Body::of("").followed_by(source, vec![range]);
        Ok(lasting(body, request))
    }
}

/// The header that has a recording kept under a name that tells what it is.
fn name(recording: &Recording) -> String {
    let stream = recording.stream.as_str();
    let last = stream.rsplit('/').next().unwrap_or(stream);
    let (date, time) = when::date_and_time(recording.started);
    let rest = format!(
        "{date}-{}.{}",
        time.replace(':', "-"),
        recording.container.extension()
    );
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
    let plain: String = last
        .chars()
        .map(|char| if is_plain(char) { char } else { '_' })
        .collect();
    let whole = utf8_percent_encode(last, NON_ALPHANUMERIC);
    format!("attachment; filename=\"{plain}-{rest}\"; filename*=UTF-8''{whole}-{rest}")
}

/// An answer that is the same for as long as there is one.
fn lasting(body: Body, request: &PastRequest<'_>) -> (Outcome, Answer) {
    let caching = match request.is_private {
        true => LASTING_PRIVATELY,
        false => LASTING,
    };
    whole(FRAGMENTS, caching, body)
}

fn whole(media_type: &str, caching: &str, body: Body) -> (Outcome, Answer) {
    let mut headers = HeaderMap::new();
    put(&mut headers, header::CONTENT_TYPE, media_type);
    put(&mut headers, header::CACHE_CONTROL, caching);
    let answer = Answer {
        status: StatusCode::OK,
        headers,
        body,
    };
    (Outcome::Whole, answer)
}

/// A playlist.
fn listing(body: Body) -> (Outcome, Answer) {
    whole(MEDIA_TYPE, CHANGING, body)
}

/// What the addresses in a playlist end with; `None` if that is more than they repeat.
fn suffix(request: &PastRequest<'_>) -> Option<Suffix> {
    Suffix::of(request.query, &[AT, CLIP_FROM, CLIP_TO])
}

/// The time that a query tells.
fn when(request: &PastRequest<'_>) -> Option<When> {
    let at = Query::new(request.query.as_bytes()).get(AT)?;
    When::parse(&at, request.now)
}

/// It tells none.
fn no_time() -> (Outcome, Answer) {
    let text = "at: write a time (2026-11-23T15:42:00Z), -600s for ten minutes ago, or start.";
    refused(StatusCode::BAD_REQUEST, text)
}

/// A request that makes no sense.
fn refused(status: StatusCode, text: &str) -> (Outcome, Answer) {
    plain(Outcome::Missing, status, format!("{text}\n"))
}

/// The file of a recording whose copy alone is left.
fn elsewhere(recording: &Recording, query: &str) -> (Outcome, Found) {
    let Upload::Stored { key, .. } = &recording.upload else {
        let text = "There is no such recording.";
        let (outcome, answer) = refused(StatusCode::NOT_FOUND, text);
        return (outcome, Found::Here(Box::new(answer)));
    };
    let copied = Copied {
        key: Arc::clone(key),
        plays: recording.duration,
        kept_as: is_download(query).then(|| name(recording)),
    };
    (Outcome::Elsewhere, Found::Elsewhere(copied))
}

/// How fast a body of so many bytes is sent that plays so long.
fn pace(body: &Body, plays: Duration) -> Option<Pace> {
    Pace::of(body.left()?, plays)
}
