//! The stream `demo`: a short clip in the binary, published in an endless loop.
//!
//! It is a publisher like any other, and gives way to a publisher with the key. Its timestamps continue from one loop to the
//! next. Each item is written when it is due by the clock that started with the first item, so the stream does not drift.

use std::sync::Arc;
use std::time::Duration;

use auth::AuthorityGate;
use base::Counter;
use container::flv;
use fanout::{PublishRefused, Publisher, Registry, Source};
use media::{Container, Item, Span, StreamName, TICKS_PER_SECOND, Timestamp};
use operator::DEMO;
use tokio::time::{Instant, sleep_until};

use super::phase::{Phase, Shown};
use super::{Run, Service};

/// Video and audio of equal length, made by `cargo xtask demo-clip`.
const CLIP: &[u8] = include_bytes!("../../assets/demo.flv");

/// Longest lag that is made up. A process that was stopped for longer continues from the present, instead of sending everything
/// it missed at once.
const LATE_MAX: Duration = Duration::from_secs(1);

/// Service that publishes the stream `demo` until the listeners have left.
pub(super) struct DemoStream {
    pub(super) registry: Arc<Registry>,
    pub(super) gate: Arc<AuthorityGate>,
    /// Counts the stream's media bytes, which come through no port.
    pub(super) bytes: Arc<Counter>,
}

impl Service for DemoStream {
    fn run(self: Box<Self>, phase: Shown) -> Run {
        let demo = begin(&self.registry, &self.gate)
            .inspect_err(|error| tracing::error!(%error, "there is no demo"));
        Box::pin(phase.cut(Phase::Drained, async move {
            if let Ok((reel, publisher)) = demo {
                publish_for_ever(reel, publisher, self.bytes).await;
            }
        }))
    }
}

/// Reasons why there is no demo.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    #[error("the clip is damaged: {0}")]
    Clip(#[from] flv::ReadError),
    #[error("the clip holds no media")]
    Empty,
    #[error(transparent)]
    Refused(#[from] PublishRefused),
}

/// Reads the clip, and creates the stream.
fn begin(registry: &Registry, gate: &AuthorityGate) -> Result<(Reel, Publisher), DemoError> {
    let reel = Reel::read(CLIP)?;
    Ok((reel, publish(registry, gate)?))
}

/// Publishes until another publisher takes over the stream, or the stream is ended. `bytes` counts the media written.
async fn publish_for_ever(reel: Reel, mut publisher: Publisher, bytes: Arc<Counter>) {
    let mut start = Instant::now();
    let mut batch = Vec::new();
    for turn in 0.. {
        let mut due = reel.turn(turn).peekable();
        while let Some((at, item)) = due.next() {
            batch.push(item);
            // Items that are due together are written together.
            if due.peek().is_some_and(|(next, _)| *next <= at) {
                continue;
            }
            let late = Instant::now().saturating_duration_since(start + at);
            if late > LATE_MAX {
                start += late;
            }
            sleep_until(start + at).await;
            let written: usize = batch.iter().map(media_bytes).sum();
            if publisher
                .write(&mut batch, Instant::now().into_std())
                .is_err()
            {
                tracing::info!(
                    "the demo has ended: its stream was ended, or has another publisher"
                );
                return;
            }
            bytes.add(written as u64);
        }
    }
}

fn publish(registry: &Registry, gate: &AuthorityGate) -> Result<Publisher, DemoError> {
    let name = StreamName::parse(DEMO).expect("the name is well formed");
    let permission = gate.publish_until_replaced(&name);
    let source = Source {
        protocol: DEMO,
        peer: None,
        agent: format!("Carillon/{}", env!("CARGO_PKG_VERSION")),
        container: Container::Tracks,
        content_type: "video/x-flv".to_owned(),
        headers: Vec::new(),
    };
    Ok(registry.publish(&permission, source, Instant::now().into_std())?)
}

fn media_bytes(item: &Item) -> usize {
    match item {
        Item::Sample(sample) => sample.bytes(),
        _ => 0,
    }
}

/// The clip, ready to be looped.
#[derive(Debug)]
struct Reel {
    /// Items in the order of the clip, each with its due time.
    items: Vec<(Timestamp, Item)>,
    /// Time from the start of one loop to the start of the next.
    length: Span,
}

impl Reel {
    fn read(clip: &[u8]) -> Result<Self, DemoError> {
        let mut read = Vec::new();
        flv::Reader::default().push(clip, &mut read)?;
        let mut at = Timestamp::ZERO;
        let mut length = Span::ZERO;
        let mut items = Vec::new();
        for item in read {
            match &item {
                Item::Sample(sample) => {
                    at = at.max(sample.dts);
                    length = length + sample.duration;
                }
                // The muxer's statements about the file, such as its length, are not true of the loop.
                Item::Metadata(_) | Item::Script(_) => continue,
                _ => {}
            }
            items.push((at, item));
        }
        // Audio frames have an exact duration; video frames do not.
        if length.ticks() <= 0 {
            return Err(DemoError::Empty);
        }
        Ok(Self { items, length })
    }

    /// Returns the items of one loop, each with its due time, relative to the very first item.
    fn turn(&self, turn: u32) -> impl Iterator<Item = (Duration, Item)> {
        let shift = Span::from_ticks(self.length.ticks().saturating_mul(turn.into()));
        self.items.iter().map(move |(at, item)| {
            let mut item = item.clone();
            if let Item::Sample(sample) = &mut item {
                sample.dts += shift;
                sample.pts += shift;
            }
            (duration(*at + shift), item)
        })
    }
}

fn duration(at: Timestamp) -> Duration {
    let ticks = u64::try_from(at.ticks()).unwrap_or(0);
    let (seconds, rest) = (
        ticks / TICKS_PER_SECOND as u64,
        ticks % TICKS_PER_SECOND as u64,
    );
    Duration::from_secs(seconds) + Duration::from_nanos(rest * 1_000_000 / 705_600)
}

#[cfg(test)]
mod tests {
    use media::TrackId;

    use super::*;

    /// The items of three turns.
    fn turns(reel: &Reel) -> Vec<(Duration, Item)> {
        (0..3).flat_map(|turn| reel.turn(turn)).collect()
    }

    fn times(reel: &Reel, track: TrackId) -> Vec<Timestamp> {
        let time = |(_, item): (Duration, Item)| match item {
            Item::Sample(sample) if sample.track == track => Some(sample.dts),
            _ => None,
        };
        turns(reel).into_iter().filter_map(time).collect()
    }

    #[test]
    fn the_loop_has_no_seam() {
        let reel = Reel::read(CLIP).expect("the clip is sound");
        // 256 video frames at 25 per second and 441 audio frames of 1024 samples at 44.1 kHz.
        assert_eq!(reel.length, Span::from_millis(10_240));
        for (track, step) in [(TrackId::VIDEO, 40.0), (TrackId::AUDIO, 1_024.0 / 44.1)] {
            let times = times(&reel, track);
            assert!(times.len() > 3 * 200);
            for pair in times.windows(2) {
                let gap = (pair[1] - pair[0]).seconds() * 1_000.0;
                // FLV rounds to milliseconds.
                assert!((gap - step).abs() <= 1.0, "{track:?}: {gap} ms");
            }
        }
    }

    #[test]
    fn items_are_due_in_order_and_every_turn_begins_with_a_keyframe() {
        let reel = Reel::read(CLIP).expect("the clip is sound");
        let dues = turns(&reel);
        assert!(dues.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let first = reel.items.iter().find_map(|(_, item)| match item {
            Item::Sample(sample) if sample.track == TrackId::VIDEO => Some(sample.keyframe),
            _ => None,
        });
        assert_eq!(first, Some(true));
        let whole = duration(Timestamp::from_millis(10_240));
        assert_eq!(whole, Duration::from_millis(10_240));
    }

    #[test]
    fn a_damaged_clip_is_no_reel() {
        assert!(matches!(
            Reel::read(b"MP4 and not FLV"),
            Err(DemoError::Clip(_))
        ));
        assert!(matches!(Reel::read(&CLIP[..13]), Err(DemoError::Empty)));
    }
}
