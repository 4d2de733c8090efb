//! Playlists of recordings: of one, and of a stream from a time on.

use std::sync::Arc;
use std::time::Duration;

use container::mp4_file::Timeline;
use http::StatusCode;
use media::StreamName;
use recordings::{Recording, RecordingId, State};

use super::catalogue::{after, at, may_continue, run_of_newest};
use super::playlist::{Playlist, Section, leading_to};
use super::when::When;
use super::{Answered, Past, PastRequest, listing, no_time, refused, suffix, when};
use crate::answer::too_long;
use crate::body::Body;
use crate::playlist::Suffix;
use crate::text::Text;

/// Longest playlist. Longer ones are too much for players, which load them again and again while they grow.
const LENGTH_MAX: Duration = Duration::from_secs(6 * 3_600);

/// Most recordings in a playlist: the same time in the shortest possible recordings, of ten seconds.
const COUNT_MAX: usize = 2_160;

impl Past {
    /// Answers with the playlist of one recording, which grows with the recording.
    pub(super) async fn alone(
        &self,
        stream: &StreamName,
        id: RecordingId,
        request: &PastRequest<'_>,
    ) -> Answered {
        let Some(suffix) = suffix(request) else {
            return Ok(too_long());
        };
        let (recording, timeline) = self.timeline(self.recording(stream, id)?).await?;
        let has_ended = recording.state != State::Open;
        let section = Section::of((id, recording.started), &timeline, (0, has_ended));
        drop(timeline);
        if section.segments.is_empty() && has_ended {
            let text = "The recording has no segments.";
            return Ok(refused(StatusCode::NOT_FOUND, text));
        }
        self.sections(vec![section], has_ended, suffix).await
    }

    /// Answers with the playlist from one fragment of a recording on, through the recordings that follow. It grows with
    /// the newest.
    pub(super) async fn from(
        &self,
        stream: &StreamName,
        (id, first): (RecordingId, usize),
        request: &PastRequest<'_>,
    ) -> Answered {
        let Some(suffix) = suffix(request) else {
            return Ok(too_long());
        };
        let begins = self.recording(stream, id)?;
        let before = begins.started + LENGTH_MAX;
        let later = after(&self.shelf, stream, Some(id));
        let later = later.filter(is_played);
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
                    let reported = (recording.id, recording.started);
                    sections.push(Section::of(reported, &timeline, (first, has_ended)));
                    newest = recording;
                }
                // One of the oldest may be removed at any time, and the newest may still be empty.
                Err(absent) if absent.is_left_out() && !sections.is_empty() => {}
                Err(absent) => return Err(absent),
            }
        }
        let is_complete = is_full || !may_continue(&newest, request.now);
        self.sections(sections, is_complete, suffix).await
    }

    /// Makes a playlist of sections, whose memory is counted.
    async fn sections(
        &self,
        sections: Vec<Section>,
        is_complete: bool,
        suffix: Suffix,
    ) -> Answered {
        let bytes: usize = sections.iter().map(Section::memory).sum();
        let list = self.reads.list(bytes)?;
        let playlist = Playlist::new(sections, is_complete, suffix);
        let text = Text::of(playlist, list).await;
        Ok(listing(Body::written(text)))
    }

    /// Answers with the multivariant playlist that leads to the stream from a time on.
    pub(super) async fn since(&self, stream: &StreamName, request: &PastRequest<'_>) -> Answered {
        let Some(when) = when(request) else {
            return Ok(no_time());
        };
        let Some(suffix) = suffix(request) else {
            return Ok(too_long());
        };
        let found = match when {
            When::Start => run_of_newest(&self.shelf, stream, Some(LENGTH_MAX), is_played),
            When::At(time) => at(&self.shelf, stream, time, is_played),
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
        let text = leading_to(lead, bandwidth, &suffix);
        Ok(listing(Body::of(text)))
    }
}

/// Returns whether HLS can carry a recording: it consists of fragments, and they are here.
fn is_played(recording: &Arc<Recording>) -> bool {
    recording.container.is_mp4() && recording.is_local
}

/// Returns the last fragment, no later than `wanted`, from which there is already a complete segment: players do not
/// begin with an empty playlist.
fn first_listed(timeline: &Timeline, wanted: usize, is_whole: bool) -> usize {
    let is_listed = |first: &usize| {
        let is_sync = timeline.points().get(*first).is_some_and(|it| it.is_sync());
        is_sync && !timeline.segments(*first, is_whole).is_empty()
    };
    // This passes over some seconds at most: going back by the longest segment finds one.
    (0..=wanted).rev().find(is_listed).unwrap_or(0)
}
