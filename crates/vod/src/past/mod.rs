//! Recordings for viewers: found by their identifiers, also while they grow.
//!
//! ```text
//!  path ─► PastAddress ─► (the gate) ─► answer ─┬─► shelf ─► file ─► whole, range
//!                                               ├─► fragments by their times ─► playlists, segments, clips
//!                                               └─► its copy, if that is all that is left ─► the caller
//! ```
//!
//! * File names occur in no address. A stream's recordings are found only under that stream, about which the gate has
//!   decided.
//! * Over HLS a recording is served as its fragments, which stay in place when its file is finalised. So a player that
//!   follows a growing recording continues in the same playlist when the recording ends, and an address of a segment
//!   means the same bytes for as long as the recording exists.
//! * A stream from some moment on is the fragments of one recording after another: a playlist that grows.
//! * A clip is fragments with changed times. Nothing is encoded, and nothing is written.
//! * If only the copy of a recording in object storage is left, its file is [there](Copied): the caller, which knows
//!   the storage, redirects the client. Its fragments are no longer known here, so it is in no playlist, and a time
//!   that it covers counts as a gap.
//! * A live body from a time on, and a recording over RTMP, are made from samples, separately for each player: the past
//!   involves no lane, no log and no fan-out worker.

mod absent;
mod address;
mod catalogue;
mod clip;
mod file;
mod form;
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
use base::holdings::Holdings;
use bytes::Bytes;
use container::mp4_file::Timeline;
use http::{HeaderMap, StatusCode, header};
use http1::Query;
use media::StreamName;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use recordings::{Container, Recording, RecordingId, Shelf, Upload};
use tokio::sync::OwnedMutexGuard;

pub use self::address::{PastAddress, Played, is_past};
pub(crate) use self::reader::{Next, RecordingReader, tracks_of};
pub(crate) use self::shift::Shifted;

use self::absent::Absent;
use self::address::{AT, CLIP_FROM, CLIP_TO, Resource};
use self::file::Opened;
use self::reader::is_bare;
use self::timelines::Timelines;
use self::when::When;
use crate::Answer;
use crate::answer::{Version, bare, is_download, of_file, plain, precondition, put, validators};
use crate::body::Body;
use crate::counts::{Outcome, Sums};
use crate::film::{Film, Kind};
use crate::pace::Pace;
use crate::patches::Patches;
use crate::playlist::{MEDIA_TYPE, Suffix};
use crate::reads::Reads;

/// Cache-Control of fragments: their addresses mean the same bytes for as long as they exist.
const LASTING: &str = "public, max-age=3600";
const LASTING_PRIVATELY: &str = "private, max-age=3600";

/// Cache-Control of playlists, which grow.
const CHANGING: &str = "no-cache";

/// Media type of segments and clips.
const FRAGMENTS: &str = "video/mp4";

/// Recordings of all streams, for viewers; [`answer`](Self::answer) serves a request. Clones share their state.
#[derive(Clone, Debug)]
pub struct Past {
    shelf: Arc<Shelf>,
    reads: Arc<Reads>,
    timelines: Arc<Timelines>,
    requests: Arc<Labelled<Outcome>>,
}

/// Request for a resource of a stream's past.
#[derive(Debug)]
pub struct PastRequest<'a> {
    /// Address of the resource.
    pub address: &'a PastAddress,
    /// Whether the method is `HEAD` rather than `GET`.
    pub is_head: bool,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
    /// Query as it was sent, without the question mark; empty if there is none.
    pub query: &'a str,
    /// Whether the client has shown a credential.
    pub is_private: bool,
    /// Time at which the request arrived.
    pub now: SystemTime,
}

/// Result of a request.
#[derive(Debug)]
pub enum Found {
    /// Answer to send.
    Here(Box<Answer>),
    /// Redirect to the copy, which is all that is left of the file.
    Elsewhere(Copied),
}

/// Copy in object storage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Copied {
    /// Name in the bucket.
    pub key: Arc<str>,
    /// Duration of the recording.
    pub plays: Duration,
    /// Value of `Content-Disposition` to send, if the client requests a download.
    pub kept_as: Option<String>,
}

/// Result of a request for a resource whose file is here.
type Answered = Result<(Outcome, Answer), Absent>;

impl Past {
    /// Makes it for the recordings on a shelf. The memory in use is counted in `holdings`.
    pub fn new(shelf: Arc<Shelf>, holdings: &Arc<Holdings>) -> Self {
        Self {
            shelf,
            reads: Arc::new(Reads::new(holdings)),
            timelines: Arc::new(Timelines::new(holdings)),
            requests: Arc::default(),
        }
    }

    /// Returns the totals for the metrics.
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

    /// Returns the stream that a recording of this name would belong to, about which the gate decides:
    /// `{stream}/recordings/{id}`, with or without an extension. `None` if the name has another form.
    pub fn stream_of_film(name: &str) -> Option<StreamName> {
        address::film(name).map(|film| film.stream)
    }

    /// Opens the recording with this name for a player over RTMP. If `kind` is `None`, any kind will do. `None` if
    /// there is no such recording, or RTMP cannot carry it.
    ///
    /// # Errors
    /// If the disk does not deliver it, or it is damaged.
    pub async fn film(&self, name: &str, kind: Option<Kind>) -> io::Result<Option<Film>> {
        let Some(named) = address::film(name) else {
            return Ok(None);
        };
        let is_asked_for = |it: &Arc<Recording>| {
            let is_named = named.container.is_none_or(|named| named == it.container);
            is_named && kind.is_none_or(|kind| Some(kind) == Kind::of_recording(it.container))
        };
        let found = self.recording(&named.stream, named.id).ok();
        let found = found.filter(is_asked_for);
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

    /// Returns a recording of a stream.
    fn recording(&self, stream: &StreamName, id: RecordingId) -> Result<Arc<Recording>, Absent> {
        let recording = self.shelf.get(id).filter(|it| it.stream == *stream);
        recording.ok_or_else(Absent::unknown)
    }

    /// Opens the file of a recording. Its place changes when it is closed, and it may be removed when it is copied, so
    /// one that is not found is looked up a second time.
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

    /// Returns the fragments of a recording, with the recording as it was when they were read.
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

    /// Answers with the whole file or a range of it.
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
        let ranged = (!request.is_head).then_some(request.headers);
        let plays = (!is_kept).then_some(recording.duration);
        Ok(of_file(version, plays, ranged, headers))
    }

    /// Answers with the initialization segment.
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

    /// Answers with consecutive fragments.
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

/// Returns the value of `Content-Disposition` under which a client stores a recording: a name made of stream and time.
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

/// Makes an answer that never changes.
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
    (Outcome::Whole, Answer::new(StatusCode::OK, headers, body))
}

/// Makes an answer with a playlist.
fn listing(body: Body) -> (Outcome, Answer) {
    whole(MEDIA_TYPE, CHANGING, body)
}

/// Returns the suffix of the addresses in a playlist; `None` if it is too long to be repeated.
fn suffix(request: &PastRequest<'_>) -> Option<Suffix> {
    Suffix::of(request.query, &[AT, CLIP_FROM, CLIP_TO])
}

/// Returns the time that a query states.
fn when(request: &PastRequest<'_>) -> Option<When> {
    let at = Query::new(request.query.as_bytes()).get(AT)?;
    When::parse(&at, request.now)
}

/// Refuses a query that states no time.
fn no_time() -> (Outcome, Answer) {
    let text = "at: write a time (2026-11-23T15:42:00Z), -600s for ten minutes ago, or start.";
    refused(StatusCode::BAD_REQUEST, text)
}

/// Refuses a request.
fn refused(status: StatusCode, text: &str) -> (Outcome, Answer) {
    plain(Outcome::Missing, status, format!("{text}\n"))
}

/// Redirects to the copy of a recording whose file is gone.
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

/// Returns the pace of a body with this duration.
fn pace(body: &Body, plays: Duration) -> Option<Pace> {
    Pace::of(body.left()?, plays)
}
