//! Body of an answer: bytes in memory, then ranges of a file, read as the client takes them; or media that is made as
//! it plays.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use media::Title;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::pace::Pace;
use crate::past::Shifted;
use crate::patches::Patches;
use crate::reads::{PIECE_BYTES, Read, Reads};
use crate::text::Text;
use crate::titled::Titled;
use crate::transfer::Transfer;
use files::Ranges;

/// Read in progress; it yields a window and the ranges that remain.
type Reading = Pin<Box<dyn Future<Output = io::Result<(Read, Ranges)>> + Send + Sync>>;

/// Piece of media being made.
type Making = Pin<Box<dyn Future<Output = (Box<Shifted>, io::Result<Option<Bytes>>)> + Send>>;

/// Media that follows everything else, for as long as it plays.
enum GoesOn {
    Idle(Box<Shifted>),
    Making(Making),
}

/// Body of an answer; call [`poll_next`](Self::poll_next) until it returns `None`. It is handed out in pieces of at
/// most 64 KiB, so that a client that takes nothing is noticed.
pub struct Body {
    ready: Read,
    /// Bytes not handed out yet.
    left: u64,
    /// Text before everything that is read.
    text: Option<Text>,
    /// Ranges still to read, in order; the first is being read.
    rest: VecDeque<Rest>,
    continues: Option<GoesOn>,
    /// Title to insert into everything that is read.
    titled: Option<Titled>,
    sent: u64,
    pace: Option<Pace>,
    /// Time of the first piece.
    began: Option<Instant>,
    wait: Option<Pin<Box<Sleep>>>,
}

/// Ranges still to read from one file.
struct Rest {
    file: Arc<File>,
    reads: Arc<Reads>,
    ranges: Ranges,
    patches: Patches,
    reading: Option<Reading>,
}

impl Rest {
    fn is_empty(&self) -> bool {
        self.reading.is_none() && self.ranges.is_empty()
    }
}

base::debug!(Body { left });

impl Body {
    /// Returns the number of bytes in memory for it, not counting windows of files.
    pub fn in_memory(&self) -> usize {
        self.ready.bytes.len()
    }

    /// Makes a body of the given bytes.
    pub(crate) fn of(bytes: impl Into<Bytes>) -> Self {
        Self::made(Read {
            bytes: bytes.into(),
            ..Read::default()
        })
    }

    /// Makes a body of the given bytes, with the memory that they occupy.
    pub(crate) fn made(ready: Read) -> Self {
        Self {
            left: ready.bytes.len() as u64,
            ready,
            text: None,
            rest: VecDeque::new(),
            continues: None,
            titled: None,
            sent: 0,
            pace: None,
            began: None,
            wait: None,
        }
    }

    /// Makes a body of a text.
    pub(crate) fn written(text: Text) -> Self {
        Self {
            left: text.bytes(),
            text: Some(text),
            ..Self::of("")
        }
    }

    /// Appends ranges of a file.
    pub(crate) fn followed_by(
        self,
        source: (Arc<File>, Arc<Reads>),
        ranges: Vec<Range<u64>>,
    ) -> Self {
        self.followed_by_patched(source, ranges, Patches::default())
    }

    /// Appends ranges of a file in which some bytes are replaced.
    pub(crate) fn followed_by_patched(
        mut self,
        (file, reads): (Arc<File>, Arc<Reads>),
        ranges: Vec<Range<u64>>,
        patches: Patches,
    ) -> Self {
        let ranges = Ranges::from(ranges);
        self.left += ranges.bytes();
        self.rest.push_back(Rest {
            file,
            reads,
            ranges,
            patches,
            reading: None,
        });
        self
    }

    /// Appends media that is made as it plays, whose length is unknown.
    pub(crate) fn going_on(mut self, shifted: Shifted) -> Self {
        self.continues = Some(GoesOn::Idle(Box::new(shifted)));
        self
    }

    /// Inserts a title. The body must consist of ranges of files, whose lengths are known.
    pub(crate) fn titled(mut self, title: &Title) -> Self {
        let titled = Titled::new(title);
        self.left += titled.added(self.left);
        self.titled = Some(titled);
        self
    }

    /// Limits its pace.
    pub(crate) fn paced(mut self, pace: Option<Pace>) -> Self {
        self.pace = pace;
        self
    }

    /// Returns it in the form for a plain socket; `None` unless it consists of unchanged ranges of one file, and
    /// nothing was taken yet.
    pub fn transfer(&self) -> Option<Transfer> {
        let rest = self.rest.front().filter(|_| self.rest.len() == 1)?;
        let is_untouched = self.sent == 0 && rest.reading.is_none() && rest.patches.is_empty();
        let is_untouched = is_untouched && self.continues.is_none() && self.titled.is_none();
        is_untouched.then(|| Transfer {
            ready: self.ready.bytes.clone(),
            file: Arc::clone(&rest.file),
            reads: Arc::clone(&rest.reads),
            ranges: rest.ranges.clone(),
            pace: self.pace,
            count: None,
        })
    }

    /// Returns the number of bytes not handed out yet; `None` if it is unknown.
    pub fn left(&self) -> Option<u64> {
        self.continues.is_none().then_some(self.left)
    }

    /// Returns the next piece; `None` at the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.ready.bytes.is_empty() {
            match ready!(self.poll_read(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(mut read)) => {
                    if let Some(titled) = &mut self.titled {
                        read.bytes = titled.put(&read.bytes);
                    }
                    self.ready = read;
                }
            }
        }
        ready!(self.poll_due(cx));
        let length = self.ready.bytes.len().min(PIECE_BYTES as usize);
        let piece = self.ready.bytes.split_to(length);
        if self.ready.bytes.is_empty() {
            self.ready = Read::default();
        }
        self.left -= length as u64;
        self.sent += length as u64;
        Poll::Ready(Some(Ok(piece)))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Read>>> {
        if let Some(text) = &mut self.text {
            if let Some(bytes) = ready!(text.poll_piece(cx)) {
                return Poll::Ready(Some(Ok(Read {
                    bytes,
                    ..Read::default()
                })));
            }
            self.text = None;
        }
        while self.rest.front().is_some_and(Rest::is_empty) {
            self.rest.pop_front();
        }
        let Some(rest) = self.rest.front_mut() else {
            return self.poll_make(cx);
        };
        let reading = rest.reading.get_or_insert_with(|| {
            let ranges = std::mem::take(&mut rest.ranges);
            let (file, patches) = (Arc::clone(&rest.file), rest.patches.clone());
            Box::pin(Arc::clone(&rest.reads).window(file, ranges, patches))
        });
        match ready!(reading.as_mut().poll(cx)) {
            Ok((read, ranges)) => {
                rest.ranges = ranges;
                rest.reading = None;
                Poll::Ready(Some(Ok(read)))
            }
            Err(error) => {
                self.rest.clear();
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    fn poll_make(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Read>>> {
        let mut making = match self.continues.take() {
            None => return Poll::Ready(None),
            Some(GoesOn::Making(making)) => making,
            Some(GoesOn::Idle(mut shifted)) => Box::pin(async move {
                let next = shifted.next().await;
                (shifted, next)
            }),
        };
        let Poll::Ready((shifted, next)) = making.as_mut().poll(cx) else {
            self.continues = Some(GoesOn::Making(making));
            return Poll::Pending;
        };
        Poll::Ready(next.transpose().map(|made| {
            let bytes = made?;
            self.continues = Some(GoesOn::Idle(shifted));
            self.left += bytes.len() as u64;
            Ok(Read {
                bytes,
                ..Read::default()
            })
        }))
    }

    /// Waits until the pace allows more.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(pace) = self.pace else {
            return Poll::Ready(());
        };
        let due = *self.began.get_or_insert_with(Instant::now) + pace.due(self.sent);
        if self.wait.is_none() && due <= Instant::now() {
            return Poll::Ready(());
        }
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep_until(due)));
        ready!(wait.as_mut().poll(cx));
        self.wait = None;
        Poll::Ready(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::future::poll_fn;
    use std::os::unix::fs::FileExt;
    use std::time::Duration;

    use base::holdings::Holdings;

    use super::*;
    use crate::patches::Patch;

    /// A file with these bytes.
    pub(crate) fn file(bytes: &[u8]) -> (Arc<File>, Arc<Reads>) {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(bytes, 0).expect("written");
        (Arc::new(file), Arc::new(Reads::new(&Holdings::new(0))))
    }

    async fn next(body: &mut Body) -> Option<Bytes> {
        let next = poll_fn(|cx| body.poll_next(cx)).await;
        next.map(|piece| piece.expect("a piece"))
    }

    async fn rest(body: &mut Body) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = next(body).await {
            all.extend_from_slice(&piece);
        }
        all
    }

    #[tokio::test]
    async fn a_body_is_its_head_and_its_ranges() {
        let source = file(b"0123456789");
        let mut body = Body::of("head ").followed_by(source, vec![7..9, 1..3]);
        assert_eq!(body.left(), Some(9));
        assert_eq!(rest(&mut body).await, b"head 7812");
        assert_eq!(body.left(), Some(0));
        let patches = Patches::Known(vec![Patch::new(1, b"b")].into());
        let empty = 4..4;
        let whole = 0..3;
        let mut body = Body::of("")
            .followed_by(file(b"none"), vec![empty])
            .followed_by_patched(file(b"abc"), vec![0..1, 2..3], patches.clone())
            .followed_by_patched(file(b"a-c"), vec![whole], patches);
        assert!(body.transfer().is_none(), "other bytes are in the file");
        assert_eq!(rest(&mut body).await, b"acabc");
        assert_eq!(body.left(), Some(0));
    }

    #[tokio::test]
    async fn a_large_body_comes_in_small_pieces() {
        let bytes = vec![7; 3 << 20];
        let source = file(&bytes);
        let whole = 0..3 << 20;
        let mut body = Body::of("").followed_by(source, vec![whole]);
        let mut total = 0;
        while let Some(piece) = next(&mut body).await {
            assert!(piece.len() as u64 <= PIECE_BYTES && !piece.is_empty());
            total += piece.len();
        }
        assert_eq!(total, 3 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_paced_body_takes_its_time() {
        // One second of it is 1 MiB: ten seconds come at once, then two in each second.
        let bytes = vec![7; 20 << 20];
        let pace = Pace::of(20 << 20, Duration::from_secs(20));
        let mut body = Body::of(bytes).paced(pace);
        let began = Instant::now();
        for _ in 0..=160 {
            next(&mut body).await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        while next(&mut body).await.is_some() {}
        // The last 64 KiB begin just before ten seconds of media are sent at twice their rate.
        let elapsed = began.elapsed().as_millis();
        assert!((4_950..5_000).contains(&elapsed), "{elapsed} ms");
    }
}
