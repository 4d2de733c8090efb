//! Indexes of MP4 files that were played recently.
//!
//! An index is read once for each version of a file and purpose, by the first request that needs it; other requests for
//! it wait for that one. An index that serves both purposes is read once.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::Lock;
use base::holdings::{Held, Holdings, Kind};
use container::mp4_file::index::{Error, Index, Probe, Purpose};
use files::blocking;
use tokio::sync::{OnceCell, Semaphore};

use crate::reads::Reads;

/// Most indexes kept, and their most memory in bytes. An hour of video and audio has 6 MB.
const INDEXES_MAX: usize = 64;
const BYTES_MAX: usize = 128 << 20;

/// Most indexes read at once: while it is read, an index may take twice the longest `moov`.
const READINGS_MAX: usize = 2;

/// Index, or the reason why there is none.
pub(crate) type Found = Result<Arc<Index>, Error>;

/// Cache of indexes; [`of`](Self::of) finds or reads one.
#[derive(Debug)]
pub(crate) struct Indexes {
    holdings: Arc<Holdings>,
    /// Kept indexes, newest first.
    kept: Lock<VecDeque<Arc<Kept>>>,
    readings: Semaphore,
}

#[derive(Debug)]
struct Kept {
    /// Version of the file.
    tag: String,
    /// Purpose for which it is read.
    purpose: Purpose,
    index: OnceCell<Known>,
}

#[derive(Debug)]
struct Known {
    found: Found,
    held: Held,
}

impl Kept {
    /// Returns whether it also serves this request.
    fn is_for(&self, tag: &str, purpose: Purpose) -> bool {
        // Until it is read, it may turn out to serve one purpose only.
        let serves = |found: &Found| found.as_ref().map_or(true, |index| index.is_for(purpose));
        self.tag == tag
            && (self.purpose == purpose
                || self.index.get().is_some_and(|known| serves(&known.found)))
    }
}

impl Indexes {
    /// Makes an empty cache.
    pub(crate) fn new(holdings: &Arc<Holdings>) -> Self {
        Self {
            holdings: Arc::clone(holdings),
            kept: Lock::default(),
            readings: Semaphore::new(READINGS_MAX),
        }
    }

    /// Returns the index of a file with this tag and length, for a purpose.
    ///
    /// # Errors
    /// If the disk does not deliver it.
    pub(crate) async fn of(
        &self,
        (tag, purpose): (&str, Purpose),
        (file, length): (&Arc<File>, u64),
        reads: &Reads,
    ) -> io::Result<Found> {
        let kept = self.keep(tag, purpose);
        let read = || async {
            let reading = self.readings.acquire().await.map_err(io::Error::other)?;
            let file = Arc::clone(file);
            let found = reads
                .blocking(move || blocking::index(&file, length, purpose))
                .await;
            drop(reading);
            found.map(|found| {
                let found = found.map(Arc::new);
                let bytes = found.as_ref().map_or(0, |index| index.memory());
                let held = self.holdings.note(Kind::Indexes, bytes);
                Known { found, held }
            })
        };
        let found = kept.index.get_or_try_init(read).await?.found.clone();
        self.make_room();
        Ok(found)
    }

    fn keep(&self, tag: &str, purpose: Purpose) -> Arc<Kept> {
        let mut all = self.kept.lock();
        let place = all.iter().position(|kept| kept.is_for(tag, purpose));
        let kept = place
            .and_then(|place| all.remove(place))
            .unwrap_or_else(|| {
                Arc::new(Kept {
                    tag: tag.to_owned(),
                    purpose,
                    index: OnceCell::new(),
                })
            });
        all.push_front(Arc::clone(&kept));
        kept
    }

    /// Forgets the oldest until there is room. The newest is always kept, however large.
    fn make_room(&self) {
        let mut all = self.kept.lock();
        while all.len() > 1 && (all.len() > INDEXES_MAX || memory(&all) > BYTES_MAX) {
            all.pop_back();
        }
    }
}

fn memory(all: &VecDeque<Arc<Kept>>) -> usize {
    let known = all.iter().filter_map(|kept| kept.index.get());
    known.map(|known| known.held.bytes()).sum()
}

/// Returns the duration of an MP4 file; `None` if the file does not state it. Blocks.
pub(crate) fn duration(file: &File, length: u64) -> io::Result<Option<Duration>> {
    let mut probe = Probe::new(length);
    loop {
        let bytes = blocking::read(file, probe.wants())?;
        match probe.take(&bytes) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(_) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::{Clip, Tool};

    use super::*;

    #[tokio::test]
    async fn an_index_is_read_once_for_each_version() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        let account = Holdings::new(0);
        let (indexes, reads) = (Indexes::new(&account), Reads::new(&account));
        for number in 0..2 * INDEXES_MAX {
            let tag = format!("\"{number}\"");
            let found = indexes.of((&tag, Purpose::Segments), (&file, 0), &reads);
            let found = found.await.expect("read");
            assert_eq!(found.map(drop), Err(Error::Malformed));
        }
        assert_eq!(indexes.kept.lock().len(), INDEXES_MAX);
        // If it were read again, a file that no longer exists would be an error.
        let newest = format!("\"{}\"", 2 * INDEXES_MAX - 1);
        let known = indexes.of((&newest, Purpose::Segments), (&file, 10), &reads);
        assert!(known.await.is_ok());
        let other = indexes.of(("\"other\"", Purpose::Segments), (&file, 10), &reads);
        assert!(other.await.is_err(), "the file has no ten bytes");
    }
    #[tokio::test]
    async fn a_fragmented_file_has_an_index_for_each_purpose() {
        let source = Clip::FlvBframes.seconds(4);
        let account = Holdings::new(0);
        let (indexes, reads) = (Indexes::new(&account), Reads::new(&account));
        for (flags, count) in [("+faststart", 1), ("+frag_keyframe+empty_moov", 3)] {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("film.mp4");
            let copy = Tool::ffmpeg().arg("-i").arg(&source);
            let copy = copy.args(["-c", "copy", "-movflags", flags]).arg(&path);
            copy.run(Duration::from_secs(120));
            let file = Arc::new(File::open(&path).expect("made"));
            let length = file.metadata().expect("made").len();
            let purposes = [Purpose::Segments, Purpose::Samples];
            for purpose in purposes.into_iter().chain(purposes) {
                let found = indexes.of((flags, purpose), (&file, length), &reads);
                let found = found.await.expect("read").expect("an index");
                assert!(found.is_for(purpose));
            }
            assert_eq!(indexes.kept.lock().len(), count, "{flags}");
            let known = memory(&indexes.kept.lock());
            assert!(known > 0 && account.bytes(Kind::Indexes) == known);
        }
        drop(indexes);
        assert_eq!(account.bytes(Kind::Indexes), 0);
    }
}
