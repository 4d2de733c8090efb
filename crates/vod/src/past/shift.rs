//! Time-shifted stream as one long body: one recording after another, at the pace of playback, and finally the one that
//! grows.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::holdings::Held;
use bytes::Bytes;
use http::{StatusCode, header};
use media::{Item, Span, StreamName, Timestamp};
use packagers::Extension;
use recordings::{Container, Recording};
use tokio::time::{Instant, sleep, sleep_until};

use super::catalogue::{after, at, may_continue, run_of_newest};
use super::form::{Form, Writer};
use super::reader::{Next, RecordingReader, tracks_of};
use super::when::When;
use super::{Answered, CHANGING, Past, PastRequest, refused, when, whole};
use crate::answer::put;
use crate::body::Body;

/// Media that a player is sent at once, and by which it stays ahead of its clock.
const AHEAD: Duration = Duration::from_secs(10);

/// Media sent in one go after that: a client that is woken more often costs more.
const IN_ONE_GO: Duration = Duration::from_secs(1);

/// Interval at which a recording without new media is read again: it grows by one fragment per second.
const AGAIN: Duration = Duration::from_millis(500);

/// Bytes made at once: one second at 4 Mb/s.
const BATCH_BYTES: usize = 512 << 10;

/// Most recordings that are tried for one that can be opened; others were removed meanwhile, or are empty.
const TRIES_MAX: usize = 100;

/// Body of a stream from a time on; call [`next`](Self::next) until it returns `None`.
#[derive(Debug)]
pub(crate) struct Shifted {
    past: Past,
    stream: StreamName,
    form: Form,
    reader: RecordingReader,
    writer: Writer,
    /// Items that were read and are not due yet.
    queue: VecDeque<Item>,
    /// Charge for the queue.
    held: Held,
    /// Shift added to the times of the recording; `None` before its first sample.
    later: Option<Span>,
    /// End of the media written so far.
    end: Timestamp,
    /// Time at which the first sample was written.
    began: Option<Instant>,
    /// Time at which the request arrived, by both clocks.
    asked: (SystemTime, Instant),
    has_ended: bool,
}

impl Past {
    /// Answers with the stream from a time on, at the address of a live body.
    pub(super) async fn shifted(
        &self,
        stream: &StreamName,
        extension: Option<Extension>,
        request: &PastRequest<'_>,
    ) -> Answered {
        let Some(when) = when(request) else {
            return Ok(super::no_time());
        };
        let is_here = |it: &Arc<Recording>| it.is_local;
        let found = match when {
            When::Start => run_of_newest(&self.shelf, stream, None, is_here),
            When::At(time) => at(&self.shelf, stream, time, is_here),
        };
        let Some(recording) = found else {
            let text = "There is no recording of this stream here.";
            return Ok(refused(StatusCode::NOT_FOUND, text));
        };
        let container = recording.container;
        let Some(form) = Form::of(extension, container) else {
            return Ok(cannot_be_sent(stream, container, extension));
        };
        let offset = match when {
            When::Start => Duration::ZERO,
            When::At(time) => time.duration_since(recording.started).unwrap_or_default(),
        };
        let mut reader = RecordingReader::open(self, recording).await?;
        if !offset.is_zero() {
            reader.seek(offset).await?;
        }
        let opening = reader.opening(None);
        if !is_carried(form, &reader, &opening) {
            return Ok(cannot_be_sent(stream, container, extension));
        }
        let mut writer = Writer::new(form);
        opening.iter().for_each(|item| writer.push(item));
        let body = match request.is_head {
            true => Body::of(""),
            false => Body::of("").going_on(Shifted {
                past: self.clone(),
                stream: stream.clone(),
                form,
                reader,
                writer,
                queue: VecDeque::new(),
                held: self.reads.hold(0),
                later: None,
                end: Timestamp::ZERO,
                began: None,
                asked: (request.now, Instant::now()),
                has_ended: false,
            }),
        };
        let (outcome, mut answer) = whole(form.media_type(), CHANGING, body);
        put(&mut answer.headers, header::ACCEPT_RANGES, "none");
        Ok((outcome, answer))
    }
}

impl Shifted {
    /// Returns more bytes when they are due; `None` at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            self.write();
            self.held.set(bytes(&self.queue));
            if self.writer.len() > 0 {
                let piece = self.writer.take();
                return Ok(Some(self.past.reads.hold(piece.len()).over(piece)));
            }
            if let Some(due) = self.queue.front().and_then(|item| self.due(item)) {
                sleep_until(due + IN_ONE_GO).await;
                continue;
            }
            if self.has_ended {
                return Ok(None);
            }
            match self.reader.next().await {
                Ok(Next::Items(items)) => self.queue.extend(items),
                Ok(Next::Later) => sleep(AGAIN).await,
                Ok(Next::End) => self.follow().await?,
                // The recording was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.follow().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the items that are due.
    fn write(&mut self) {
        let now = Instant::now();
        while self.writer.len() < BATCH_BYTES {
            let is_due = |item| self.due(item).is_none_or(|due| due <= now);
            if !self.queue.front().is_some_and(is_due) {
                break;
            }
            let Some(mut item) = self.queue.pop_front() else {
                break;
            };
            if let Item::Sample(sample) = &mut item {
                self.began.get_or_insert(now);
                let later = *self.later.get_or_insert(self.end - sample.dts);
                (sample.dts, sample.pts) = (sample.dts + later, sample.pts + later);
                self.end = self.end.max(sample.dts + sample.duration);
            }
            self.writer.push(&item);
        }
    }

    /// Returns the time at which an item may be written; `None` for at once.
    fn due(&self, item: &Item) -> Option<Instant> {
        let (Item::Sample(sample), Some(began)) = (item, self.began) else {
            return None;
        };
        let at = match self.later {
            Some(later) => sample.dts + later,
            None => self.end,
        };
        let since = Duration::from_secs_f64((at - Timestamp::ZERO).seconds().max(0.0));
        Some(began + since.saturating_sub(AHEAD))
    }

    /// Continues with the next recording, waits for one, or ends.
    async fn follow(&mut self) -> io::Result<()> {
        let last = Arc::clone(self.reader.recording());
        let later = after(&self.past.shelf, &self.stream, Some(last.id));
        let later: Vec<_> = later.take(TRIES_MAX).collect();
        for recording in later {
            if !self.form.is_of(recording.container) {
                continue;
            }
            match RecordingReader::open(&self.past, recording).await {
                Ok(reader) => {
                    self.continue_with(reader);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let (asked, since) = self.asked;
        let last = self.past.shelf.get(last.id).unwrap_or(last);
        match may_continue(&last, asked + since.elapsed()) {
            true => sleep(AGAIN).await,
            false => self.finish(),
        }
        Ok(())
    }

    /// Continues with a recording. Media held back at the end of the last one is written first, because the tracks may
    /// change.
    fn continue_with(&mut self, reader: RecordingReader) {
        let opening = reader.opening(None);
        if !is_carried(self.form, &reader, &opening) || !self.writer.takes(&opening) {
            return self.finish();
        }
        self.writer.flush();
        self.later = None;
        self.reader = reader;
        self.queue.extend(opening);
    }

    fn finish(&mut self) {
        self.writer.finish();
        self.has_ended = true;
    }
}

fn is_carried(form: Form, reader: &RecordingReader, opening: &[Item]) -> bool {
    let tracks = tracks_of(opening).map(|track| &**track);
    let is_audio = matches!(form, Form::Aac | Form::Mp3);
    form.carries(tracks) && (is_audio || !reader.is_partial())
}

/// Refuses a body in a form that the recordings cannot provide.
fn cannot_be_sent(
    stream: &StreamName,
    container: Container,
    extension: Option<Extension>,
) -> (crate::Outcome, crate::Answer) {
    let wanted = extension.map_or("at its own address", |extension| extension.suffix());
    let text = format!(
        "{stream} is recorded as .{}, and that cannot be sent {}{wanted} from a time on; \
         the files are at /{stream}/recordings.json.",
        container.extension(),
        if extension.is_some() { "as " } else { "" },
    );
    refused(StatusCode::NOT_ACCEPTABLE, &text)
}

/// Returns the bytes of the samples in the queue.
fn bytes(items: &VecDeque<Item>) -> usize {
    let samples = items.iter().map(|item| match item {
        Item::Sample(sample) => sample.data.len(),
        _ => 0,
    });
    samples.sum()
}
