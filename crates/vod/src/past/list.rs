//! Recordings one after another: the playlist of one, and what a stream was from a time on.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use container::mp4_file::Timeline;
use http::StatusCode;
use http1::Query;
use media::StreamName;
use recordings::{LIST_MAX, Recording, RecordingId, State};

use super::address::AT;
use super::playlist::{Section, leading_to, write};
use super::when::When;
use super::{Answered, Past, PastRequest, refused, text};

/// How long a playlist may be. Longer ones are too much for players, and are loaded again and again while they grow.
const LENGTH_MAX: Duration = Duration::from_secs(6 * 3_600);

/// Recordings in a playlist, and looked at to find one.
const COUNT_MAX: usize = 100;

/// Recordings with no more between them belong together, and while the last one ended no longer ago another may follow: a
/// publisher that returns.
const PAUSE_MAX: Duration = Duration::from_secs(60);

impl Past {
    /// The playlist of one recording. It grows with it.
    pub(super) async fn alone(
        &self,
        stream: &StreamName,
        id: RecordingId,
        request: &PastRequest<'_>,
    ) -> Answered {
        let (recording, timeline) = self.timeline(self.recording(stream, id)?).await?;
        let has_ended = recording.state != State::Open;
        let section = Section::of((id, recording.started), &timeline, (0, has_ended));
        drop(timeline);
        if section.segments.is_empty() && has_ended {
            let text = "The recording has no segments.";
            return Ok(refused(StatusCode::NOT_FOUND, text));
        }
        Ok(text(write(&[section], has_ended, request.query)))
    }

    /// The playlist from one fragment of a recording on, through those that follow it. It grows with the newest.
    pub(super) async fn from(
        &self,
        stream: &StreamName,
        (id, first): (RecordingId, usize),
        request: &PastRequest<'_>,
    ) -> Answered {
        let begins = self.recording(stream, id)?;
        let before = begins.started + LENGTH_MAX;
        let later = self.shelf.list(Some(stream), Some(id), COUNT_MAX);
        let later = later.into_iter().filter(is_played);
        let mut sections = Vec::new();
        let mut newest = Arc::clone(&begins);
        let mut is_full = false;
        for recording in std::iter::once(begins).chain(later) {
            if recording.started >= before || sections.len() >= COUNT_MAX {
                is_full = true;
                break;
            }
            let first = if recording.id == id { first } else { 0 };
            match self.timeline(recording).await {
                Ok((recording, timeline)) => {
                    let has_ended = recording.state != State::Open;
                    let told = (recording.id, recording.started);
                    sections.push(Section::of(told, &timeline, (first, has_ended)));
                    newest = recording;
                }
                // One of the oldest may be removed at any time, and the newest may be empty yet.
                Err(absent) if absent.is_left_out() && !sections.is_empty() => {}
                Err(absent) => return Err(absent),
            }
        }
        let is_complete = is_full || !may_go_on(&newest, request.now);
        Ok(text(write(&sections, is_complete, request.query)))
    }

    /// The multivariant playlist that leads to what a stream was from a time on.
    pub(super) async fn since(&self, stream: &StreamName, request: &PastRequest<'_>) -> Answered {
        let at = Query::new(request.query.as_bytes()).get(AT);
        let when = at.and_then(|at| When::parse(&at, request.now));
        let Some(when) = when else {
            let text =
                "at: write a time (2026-11-23T15:42:00Z), -600s for ten minutes ago, or start.";
            return Ok(refused(StatusCode::BAD_REQUEST, text));
        };
        let found = match when {
            When::Start => self.run_of_newest(stream),
            When::At(at) => self.recording_at(stream, at),
        };
        let Some(recording) = found else {
            let text = "There is no recording of this stream here that HLS can carry.";
            return Ok(refused(StatusCode::NOT_FOUND, text));
        };
        let (recording, timeline) = self.timeline(recording).await?;
        let offset = match when {
            When::Start => Duration::ZERO,
            When::At(at) => at.duration_since(recording.started).unwrap_or_default(),
        };
        let is_whole = recording.state != State::Open;
        let first = first_listed(&timeline, timeline.at(offset), is_whole);
        let segments = timeline.segments(first, is_whole);
        let rates = segments.iter().filter_map(|fragments| {
            let bytes = timeline.range(fragments)?;
            let millis = u64::try_from(timeline.lasts(fragments).as_millis()).ok()?;
            (8_000 * (bytes.end - bytes.start)).checked_div(millis)
        });
        let bandwidth = rates.max().unwrap_or(0).max(1);
        let lead = (recording.id, first);
        Ok(text(leading_to(lead, bandwidth, request.query)))
    }

    /// The recording that plays at a time: the last one that has begun, or the one behind the gap after it. The oldest, if
    /// there is none so old.
    fn recording_at(&self, stream: &StreamName, at: SystemTime) -> Option<Arc<Recording>> {
        let bound = RecordingId::after(at);
        let before = self.shelf.newest(stream, Some(bound), COUNT_MAX);
        let begun = before.into_iter().find(is_played);
        if let Some(begun) = &begun
            && (begun.state == State::Open || begun.ended() > at)
        {
            return Some(Arc::clone(begun));
        }
        self.first_played(stream, bound).or(begun)
    }

    /// The first recording after another that HLS can carry. Of the oldest, any number may be in object storage alone.
    fn first_played(&self, stream: &StreamName, after: RecordingId) -> Option<Arc<Recording>> {
        let mut after = after;
        loop {
            let page = self.shelf.list(Some(stream), Some(after), LIST_MAX);
            after = page.last()?.id;
            if let Some(found) = page.into_iter().find(is_played) {
                return Some(found);
            }
        }
    }

    /// The beginning of what the newest recording ends: the first of those with no more than a pause between them.
    fn run_of_newest(&self, stream: &StreamName) -> Option<Arc<Recording>> {
        let newest = self.shelf.newest(stream, None, COUNT_MAX);
        let mut newest = newest.into_iter().filter(is_played);
        let last = newest.next()?;
        let earliest = last.ended().checked_sub(LENGTH_MAX);
        let mut first = last;
        for earlier in newest {
            let is_far = earliest.is_some_and(|earliest| earlier.started < earliest);
            if is_far || earlier.ended() + PAUSE_MAX < first.started {
                break;
            }
            first = earlier;
        }
        Some(first)
    }
}

/// Whether HLS can carry a recording: it is made of fragments, and they are here.
fn is_played(recording: &Arc<Recording>) -> bool {
    recording.container.is_mp4() && recording.is_local
}

/// Whether more may come behind a recording.
fn may_go_on(newest: &Recording, now: SystemTime) -> bool {
    newest.state == State::Open || newest.ended() + PAUSE_MAX > now
}

/// The last fragment to start at, no later than `wanted`, from which on there is a segment already: players do not begin
/// with an empty playlist.
fn first_listed(timeline: &Timeline, wanted: usize, is_whole: bool) -> usize {
    let is_listed = |first: &usize| {
        let is_sync = timeline.points().get(*first).is_some_and(|it| it.is_sync());
        is_sync && !timeline.segments(*first, is_whole).is_empty()
    };
    // Some seconds: beyond the longest segment there is one.
    (0..=wanted).rev().find(is_listed).unwrap_or(0)
}
