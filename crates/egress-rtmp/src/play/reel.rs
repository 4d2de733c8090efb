//! Messages of a file for its player, in the order of decoding, with the times at which they are sent.
//!
//! A player is sent media ahead of its clock, as much as it requests. Its clock runs from the first message
//! on, and stops while it pauses.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use container::flv::{Tag, TagKind};
use media::{Item, Kind, Sample, Span, Timestamp, Track};
use packagers::rtmp::Shape;
use tokio::time::Instant;

use crate::films::Film;

/// Media sent beyond the player's requested buffer: for the time in transit.
const AHEAD: Duration = Duration::from_secs(1);

/// Bytes that are made into messages at once. Replies to a player's commands follow them.
const BATCH_BYTES: usize = 64 << 10;

/// A file on its way to a player; call [`give`](Self::give) for the due messages.
pub(super) struct Reel {
    film: Box<dyn Film>,
    shape: Shape,
    /// Items that were read and are not due.
    queue: VecDeque<Item>,
    /// Tracks whose headers the player has.
    tracks: Vec<Arc<Track>>,
    clock: Clock,
    /// Time at which to stop.
    end: Option<Timestamp>,
    /// Whether video waits for a keyframe: the player has not received the frames before it.
    awaits_keyframe: bool,
    /// Whether the opening has been sent; `at` is the time of the last sample since the last seek.
    has_opened: bool,
    at: Option<Timestamp>,
}

/// Clock of the player.
#[derive(Debug)]
struct Clock {
    /// Time since which the clock runs; `None` while it is stopped.
    since: Option<Instant>,
    /// Clock reading at that time; `None` until the first message.
    from: Option<Timestamp>,
}

/// Result of a request for messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Given {
    /// Messages were appended.
    Some,
    /// There is nothing to send before this time.
    Later(Instant),
    /// There is nothing to send while the player pauses.
    Paused,
    /// There is nothing more to send.
    End,
}

impl Clock {
    fn due(&self, at: Timestamp, ahead: Duration) -> Option<Instant> {
        let since = self.since?;
        let from = self.from.unwrap_or(at);
        let millis = u64::try_from((at - from).millis()).unwrap_or(0);
        let wait = Duration::from_millis(millis).saturating_sub(ahead);
        Some(since + wait)
    }
}

impl Reel {
    /// Creates a reel of a file from its present position, in messages of that shape, for at most the
    /// optional duration from the start time on.
    pub(super) fn new(
        film: Box<dyn Film>,
        shape: Shape,
        (start, lasts): (Duration, Option<Duration>),
    ) -> Self {
        Self {
            film,
            shape,
            queue: VecDeque::new(),
            tracks: Vec::new(),
            clock: Clock {
                since: Some(Instant::now()),
                from: None,
            },
            end: lasts.map(|lasts| Timestamp::ZERO + Span::from(start.saturating_add(lasts))),
            awaits_keyframe: false,
            has_opened: false,
            at: None,
        }
    }

    /// Returns the playing time of the file.
    pub(super) fn length(&self) -> Duration {
        self.film.length()
    }

    /// Stops the player's clock, or lets it run.
    pub(super) fn pause(&mut self, is_paused: bool, now: Instant) {
        let Clock { since, from } = &mut self.clock;
        match (is_paused, *since) {
            (true, Some(began)) => {
                let ran = Span::from(now.saturating_duration_since(began));
                *from = from.map(|from| from + ran);
                *since = None;
            }
            (false, None) => *since = Some(now),
            (true, None) | (false, Some(_)) => {}
        }
    }

    /// Continues from the last keyframe at or before a time; the player's clock begins there.
    pub(super) async fn seek(&mut self, to: Duration, now: Instant) -> io::Result<()> {
        // If the seek fails, no media of a position that the player did not request may be sent.
        self.queue.clear();
        self.film.seek(to).await?;
        (self.at, self.end) = (None, None);
        self.clock.from = None;
        self.clock.since = self.clock.since.map(|_| now);
        Ok(())
    }

    /// Restricts the messages to these kinds.
    pub(super) fn select(&mut self, audio: bool, video: bool) {
        self.awaits_keyframe |= video && !self.shape.video;
        (self.shape.audio, self.shape.video) = (audio, video);
    }

    /// Appends the due messages, such that the player has `buffer` of media ahead of its clock.
    pub(super) async fn give(&mut self, buffer: Duration, out: &mut BytesMut) -> io::Result<Given> {
        let ahead = buffer.saturating_add(AHEAD);
        while out.len() < BATCH_BYTES {
            if self.clock.since.is_none() {
                return Ok(Given::Paused);
            }
            if self.queue.is_empty() {
                self.queue.extend(self.film.next().await?);
            }
            let given = |otherwise| match out.is_empty() {
                true => otherwise,
                false => Given::Some,
            };
            let Some(item) = self.queue.pop_front() else {
                return Ok(given(Given::End));
            };
            if let Item::Sample(sample) = &item {
                if self.at.is_some() && self.end.is_some_and(|end| sample.dts >= end) {
                    self.queue.clear();
                    self.queue.push_front(item);
                    return Ok(given(Given::End));
                }
                let now = Instant::now();
                let due = self.clock.due(sample.dts, ahead);
                if let Some(due) = due.filter(|due| *due > now) {
                    self.queue.push_front(item);
                    return Ok(given(Given::Later(due)));
                }
            }
            self.put(&item, out);
        }
        Ok(Given::Some)
    }

    fn put(&mut self, item: &Item, out: &mut BytesMut) {
        match item {
            Item::Sample(sample) => self.sample(sample, out),
            Item::Track(track) => self.track(track, self.at, out),
            Item::Script(script) => {
                let tag = Tag::script(TagKind::Script, script.at, &script.body);
                write(&self.shape, tag, out);
            }
            _ => {}
        }
    }

    /// Sends metadata and the headers of the tracks, stamped with the time of the first sample.
    fn open(&mut self, at: Timestamp, out: &mut BytesMut) {
        let opening = self.film.opening().to_vec();
        for item in &opening {
            match item {
                // With any other timestamp ffmpeg treats it as a track of its own.
                Item::Metadata(script) => {
                    let tag = Tag::script(TagKind::Metadata, Timestamp::ZERO, &script.body);
                    write(&self.shape, tag, out);
                }
                Item::Track(track) => self.track(track, Some(at), out),
                _ => {}
            }
        }
    }

    /// Sends the headers of a track that the player does not have.
    fn track(&mut self, track: &Arc<Track>, at: Option<Timestamp>, out: &mut BytesMut) {
        let known = self.tracks.iter().position(|known| known.id == track.id);
        match known.and_then(|place| self.tracks.get_mut(place)) {
            Some(known) if known == track => return,
            Some(known) => *known = Arc::clone(track),
            None => self.tracks.push(Arc::clone(track)),
        }
        for tag in Tag::headers(track, at.unwrap_or(Timestamp::ZERO)) {
            write(&self.shape, Some(tag), out);
        }
    }

    fn sample(&mut self, sample: &Sample, out: &mut BytesMut) {
        if !std::mem::replace(&mut self.has_opened, true) {
            self.open(sample.dts, out);
        }
        self.at = Some(sample.dts);
        self.clock.from.get_or_insert(sample.dts);
        let Some(track) = self.tracks.iter().find(|track| track.id == sample.track) else {
            return;
        };
        let is_wanted = match track.kind {
            Kind::Audio => self.shape.audio,
            Kind::Video => {
                self.awaits_keyframe &= !sample.keyframe;
                self.shape.video && !self.awaits_keyframe
            }
        };
        if is_wanted {
            write(&self.shape, Tag::sample(track, sample), out);
        }
    }
}

fn write(shape: &Shape, tag: Option<Tag<'_>>, out: &mut BytesMut) {
    if let Some(tag) = tag {
        shape.write(&tag, &mut |bytes| out.extend_from_slice(bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use bytes::Bytes;
    use media::{Codec, Framing, TrackId};

    use super::*;
    use crate::films::Coming;

    /// Length of the film in seconds: one frame in each, every fifth a keyframe.
    const SECONDS: i64 = 20;

    struct Seconds {
        opening: Vec<Item>,
        next: i64,
    }

    fn film() -> Box<dyn Film> {
        let track = Track {
            config: Bytes::from_static(b"record"),
            ..Track::new(TrackId::VIDEO, Kind::Video, Codec::H264, Framing::Bare)
        };
        Box::new(Seconds {
            opening: vec![Item::Track(Arc::new(track))],
            next: 0,
        })
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1_000)
    }

    impl Film for Seconds {
        fn length(&self) -> Duration {
            Duration::from_secs(SECONDS as u64)
        }

        fn opening(&self) -> &[Item] {
            &self.opening
        }

        fn seek(&mut self, to: Duration) -> Coming<'_, ()> {
            self.next = to.as_secs() as i64 / 5 * 5;
            Box::pin(ready(Ok(())))
        }

        fn next(&mut self) -> Coming<'_, Vec<Item>> {
            let seconds = self.next..(self.next + 3).min(SECONDS);
            self.next = seconds.end;
            let items = seconds.map(|second| {
                let data = Bytes::from(vec![second as u8; 3]);
                Item::Sample(Sample {
                    keyframe: second % 5 == 0,
                    ..Sample::frame(TrackId::VIDEO, at(second), Span::ZERO, data)
                })
            });
            Box::pin(ready(Ok(items.collect())))
        }
    }

    fn reel(start: u64, lasts: Option<u64>) -> Reel {
        let shape = Shape {
            message_stream: 1,
            audio: true,
            video: true,
            wraps_metadata: false,
        };
        let lasts = lasts.map(Duration::from_secs);
        Reel::new(film(), shape, (Duration::from_secs(start), lasts))
    }

    const BUFFER: Duration = Duration::from_secs(2);

    /// Returns the seconds that are given at once, and the final result.
    async fn given(reel: &mut Reel) -> (Vec<u8>, Given) {
        let mut seconds = Vec::new();
        loop {
            let mut out = BytesMut::new();
            let given = reel.give(BUFFER, &mut out).await.expect("items");
            if given != Given::Some {
                assert!(out.is_empty());
                return (seconds, given);
            }
            // A header of 12 bytes; a body of 5 and the record, or of 5 and three bytes.
            while !out.is_empty() {
                let length = usize::from(out[6]);
                let message = out.split_to(12 + length);
                if message[13] == 1 {
                    seconds.push(message[12 + 5]);
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_player_has_in_hand_what_it_asks_for() {
        let began = Instant::now();
        let mut reel = reel(0, None);
        let (first, then) = given(&mut reel).await;
        // Two seconds and one more.
        assert_eq!(first, [0, 1, 2, 3]);
        assert_eq!(then, Given::Later(began + Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(given(&mut reel).await.0, [4, 5, 6, 7, 8]);
        tokio::time::advance(Duration::from_secs(60)).await;
        let (rest, then) = given(&mut reel).await;
        assert_eq!((rest.len(), then), (11, Given::End));
        assert_eq!(given(&mut reel).await, (vec![], Given::End));
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_of_a_paused_player_stands() {
        let mut reel = reel(0, None);
        assert_eq!(given(&mut reel).await.0, [0, 1, 2, 3]);
        tokio::time::advance(Duration::from_secs(1)).await;
        reel.pause(true, Instant::now());
        tokio::time::advance(Duration::from_secs(600)).await;
        assert_eq!(given(&mut reel).await, (vec![], Given::Paused));
        reel.pause(false, Instant::now());
        reel.pause(false, Instant::now());
        assert_eq!(given(&mut reel).await.0, [4]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(given(&mut reel).await.0, [5]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_seek_goes_to_the_keyframe_before_and_begins_the_clock_there() {
        let mut reel = reel(0, Some(2));
        assert_eq!(given(&mut reel).await, (vec![0, 1], Given::End));
        let to = Duration::from_secs(12);
        reel.seek(to, Instant::now()).await.expect("a place");
        assert_eq!(given(&mut reel).await.0, [10, 11, 12, 13]);
        // A player that pauses may seek another position.
        reel.pause(true, Instant::now());
        reel.seek(Duration::ZERO, Instant::now())
            .await
            .expect("a place");
        assert_eq!(given(&mut reel).await, (vec![], Given::Paused));
        reel.pause(false, Instant::now());
        assert_eq!(given(&mut reel).await.0, [0, 1, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn pictures_that_were_not_wanted_come_back_with_a_keyframe() {
        let mut reel = reel(0, None);
        reel.select(true, false);
        assert_eq!(given(&mut reel).await.0, [0; 0]);
        tokio::time::advance(Duration::from_secs(3)).await;
        reel.select(true, true);
        assert_eq!(given(&mut reel).await.0, [5, 6]);
    }
}
