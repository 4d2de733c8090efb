//! Lookup of a stream's recordings by time: read from the shelf by stream and time, one page at a time, however many
//! there are.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use media::StreamName;
use recordings::{Recording, RecordingId, Shelf, State};

/// Recordings taken off the shelf at once.
const PAGE: usize = 100;

/// Longest pause between recordings that belong together. While the last one ended no longer ago than this, another may
/// follow: a publisher that returns.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Iterates over the recordings of a stream before one, newest first.
pub(super) fn before<'a>(
    shelf: &'a Shelf,
    stream: &'a StreamName,
    bound: Option<RecordingId>,
) -> impl Iterator<Item = Arc<Recording>> + 'a {
    pages(bound, |bound| shelf.newest(Some(stream), bound, PAGE))
}

/// Iterates over the recordings of a stream after one, oldest first.
pub(super) fn after<'a>(
    shelf: &'a Shelf,
    stream: &'a StreamName,
    bound: Option<RecordingId>,
) -> impl Iterator<Item = Arc<Recording>> + 'a {
    pages(bound, |bound| shelf.list(Some(stream), bound, PAGE))
}

/// Iterates over pages, each of which begins after the last entry of the previous one. One page is in memory at a time.
fn pages<'a>(
    mut bound: Option<RecordingId>,
    mut page: impl FnMut(Option<RecordingId>) -> Vec<Arc<Recording>> + 'a,
) -> impl Iterator<Item = Arc<Recording>> + 'a {
    let mut listed = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if listed.len() == 0 {
            listed = page(bound).into_iter();
        }
        let next: Arc<Recording> = listed.next()?;
        bound = Some(next.id);
        Some(next)
    })
}

/// Returns the recording that plays at a time: the last one that has begun, or if that has ended, the next one after
/// the gap if there is one. The oldest, if all are later.
pub(super) fn at(
    shelf: &Shelf,
    stream: &StreamName,
    time: SystemTime,
    is_played: impl Fn(&Arc<Recording>) -> bool,
) -> Option<Arc<Recording>> {
    let bound = RecordingId::after(time);
    let begun = before(shelf, stream, Some(bound)).find(&is_played);
    if let Some(begun) = &begun
        && (begun.state == State::Open || begun.ended() > time)
    {
        return Some(Arc::clone(begun));
    }
    after(shelf, stream, Some(bound)).find(is_played).or(begun)
}

/// Returns the first of the recordings that lead up to the newest with no more than a pause between them, and that
/// began no more than `longest` before the newest one's end.
pub(super) fn run_of_newest(
    shelf: &Shelf,
    stream: &StreamName,
    longest: Option<Duration>,
    is_played: impl Fn(&Arc<Recording>) -> bool,
) -> Option<Arc<Recording>> {
    let mut newest = before(shelf, stream, None).filter(is_played);
    let mut first = newest.next()?;
    let earliest = longest.and_then(|longest| first.ended().checked_sub(longest));
    for earlier in newest {
        let is_far = earliest.is_some_and(|earliest| earlier.started < earliest);
        if is_far || earlier.ended() + PAUSE_MAX < first.started {
            break;
        }
        first = earlier;
    }
    Some(first)
}

/// Returns whether more may follow a recording.
pub(super) fn may_continue(newest: &Recording, now: SystemTime) -> bool {
    newest.state == State::Open || newest.ended() + PAUSE_MAX > now
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::UNIX_EPOCH;

    use recordings::{Container, Upload};

    use super::*;

    /// Minutes of a stream, each in its own recording, and one from long before.
    const COUNT: u64 = 350;
    const BEGAN: u64 = 1_800_000_000;

    /// A minute of a stream, which began so many seconds after 1970.
    pub(in crate::past) fn recording(stream: &StreamName, seconds: u64) -> Recording {
        let started = UNIX_EPOCH + Duration::from_secs(seconds);
        Recording {
            id: RecordingId::new(stream, started, 0),
            stream: stream.clone(),
            path: format!("/rec/{seconds}.mp4").into(),
            is_local: true,
            started,
            duration: Duration::from_secs(60),
            bytes: 1,
            state: State::Finalised,
            container: Container::Mp4,
            upload: Upload::Never,
            is_pinned: false,
        }
    }

    fn shelf(stream: &StreamName) -> Shelf {
        let shelf = Shelf::default();
        let minutes = (0..COUNT).map(|minute| BEGAN + 60 * minute);
        for seconds in std::iter::once(BEGAN - 7_200).chain(minutes) {
            shelf.insert(recording(stream, seconds)).expect("room");
        }
        shelf
    }

    fn began(found: Option<Arc<Recording>>) -> Option<u64> {
        let since = found?.started.duration_since(UNIX_EPOCH);
        Some(since.expect("after 1970").as_secs())
    }

    #[test]
    fn the_whole_catalogue_is_looked_at() {
        let stream = StreamName::parse("live/show").expect("a name");
        let shelf = shelf(&stream);
        let any = |_: &Arc<Recording>| true;
        assert_eq!(before(&shelf, &stream, None).count() as u64, COUNT + 1);
        assert_eq!(after(&shelf, &stream, None).count() as u64, COUNT + 1);
        let all = run_of_newest(&shelf, &stream, None, any);
        assert_eq!(began(all), Some(BEGAN));
        let hours = Duration::from_secs(3 * 3_600);
        let some = run_of_newest(&shelf, &stream, Some(hours), any);
        assert_eq!(began(some), Some(BEGAN + (COUNT - 180) * 60));
        // A property of one of the oldest only.
        let is_old = |it: &Arc<Recording>| it.started < UNIX_EPOCH + Duration::from_secs(BEGAN);
        let oldest = run_of_newest(&shelf, &stream, None, is_old);
        assert_eq!(began(oldest), Some(BEGAN - 7_200));
    }

    #[test]
    fn a_time_is_in_a_recording_or_before_the_next() {
        let stream = StreamName::parse("live/show").expect("a name");
        let shelf = shelf(&stream);
        let any = |_: &Arc<Recording>| true;
        let found = |seconds: u64| {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            began(at(&shelf, &stream, time, any))
        };
        assert_eq!(found(0), Some(BEGAN - 7_200));
        assert_eq!(found(BEGAN - 7_190), Some(BEGAN - 7_200));
        assert_eq!(found(BEGAN - 7_000), Some(BEGAN), "there is a gap");
        assert_eq!(found(BEGAN + 130), Some(BEGAN + 120));
        assert_eq!(found(BEGAN + 10_000_000), Some(BEGAN + (COUNT - 1) * 60));
        let other = StreamName::parse("live/other").expect("a name");
        assert_eq!(began(at(&shelf, &other, UNIX_EPOCH, any)), None);
    }
}
