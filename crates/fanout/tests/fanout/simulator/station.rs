//! Publishers: one station for each stream, with the publisher that sends from it at the moment.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use fanout::gate::{Credential, Gatekeeper, Publish};
use fanout::{Class, Publisher, Registry, Source, testing};
use media::{Container, Item, Sample, Span, StreamName, Track, TrackId};

use super::peer::{Nanos, SECOND};
use super::plan::StreamPlan;
use super::rng::Rng;

/// Registry that a publisher turns to, and the present.
#[derive(Clone, Copy)]
pub(crate) struct Air<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) gatekeeper: &'a Gatekeeper,
    pub(crate) now: Nanos,
    pub(crate) at: Instant,
}

/// Behaviour of a publisher for a while.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    /// It sends this many samples at once.
    Sends(u64),
    /// It is connected and sends nothing.
    Silent,
    /// It is gone.
    Away,
}

/// A stream's publisher over time, by chance.
pub(crate) struct Station {
    name: StreamName,
    plan: StreamPlan,
    rng: Rng,
    publisher: Option<Publisher>,
    /// Publishers that were replaced and do not know it yet.
    replaced: Option<Publisher>,
    incarnation: u64,
    mode: Mode,
    mode_until: Nanos,
    /// Time of the publisher's own clock up to which it has sent.
    media: i64,
    /// Time of the world's clock up to which it has sent.
    sent_until: Nanos,
    samples: u64,
    body: Bytes,
    items: Vec<Item>,
}

pub(crate) fn name(index: usize) -> StreamName {
    StreamName::parse(&format!("stream{index}")).expect("a name")
}

impl Station {
    pub(crate) fn new(index: usize, plan: StreamPlan, rng: Rng) -> Self {
        let body = vec![0; plan.sample_bytes].into();
        Self {
            name: name(index),
            plan,
            rng,
            publisher: None,
            replaced: None,
            incarnation: 0,
            mode: Mode::Sends(1),
            mode_until: 0,
            media: 0,
            sent_until: 0,
            samples: 0,
            body,
            items: Vec::new(),
        }
    }

    /// Carries out the due action, and returns the time of the next.
    pub(crate) fn act(&mut self, air: Air<'_>) -> Nanos {
        let now = air.now;
        if now >= self.mode_until {
            self.change(air);
        }
        if self.mode == Mode::Away {
            return self.mode_until;
        }
        if self.publisher.is_none() && !self.begin(1, air) {
            return now + SECOND;
        }
        let Mode::Sends(at_once) = self.mode else {
            return self.mode_until;
        };
        let interval = self.plan.interval;
        // After a leap of the clock it has more to send.
        let late = now.saturating_sub(self.sent_until) / (interval * at_once);
        let count = (late + 1).min(100) * at_once;
        self.sent_until = (self.sent_until + count * interval).max(now);
        self.send(count, air.at);
        self.sent_until
    }

    /// Advances its publisher's clock by this many milliseconds of which nothing is sent.
    pub(crate) fn leave_out(&mut self, millis: i64) {
        self.media += millis;
    }

    /// Has its publisher stay, and send nothing more.
    pub(crate) fn fall_silent(&mut self) {
        self.mode = Mode::Silent;
    }

    /// Makes the next frame a keyframe.
    pub(crate) fn key_next(&mut self) {
        self.samples = 0;
    }

    /// Declares that its encoder can be asked for keyframes, whether or not it complies.
    pub(crate) fn asks_for_keyframes(&mut self, at: Instant) {
        let publisher = self.publisher.as_mut().expect("it publishes");
        publisher.takes_keyframe_request(at);
    }

    fn change(&mut self, air: Air<'_>) {
        let Air { now, at, .. } = air;
        self.mode = Mode::Sends(1);
        self.mode_until = now + self.rng.range(2, 30) * SECOND;
        if !self.plan.is_restless {
            self.mode_until = Nanos::MAX;
            return;
        }
        match self.rng.range(0, 99) {
            0..40 => {}
            40..55 => self.mode = Mode::Sends(self.rng.range(2, 40)),
            55..65 => {
                self.mode = Mode::Silent;
                // Media from meanwhile is lost, or did not exist.
                let is_lost = self.rng.chance(50);
                let gap = self.mode_until - now;
                self.media += if is_lost { (gap / 1_000_000) as i64 } else { 0 };
                self.sent_until = self.mode_until;
            }
            65..73 => {
                self.mode = Mode::Away;
                self.publisher = None;
                self.sent_until = self.mode_until;
            }
            // The same program connects again, and the server does not know that it had left.
            73..80 => self.replace(1, air),
            // A stranger wants the stream.
            80..84 => self.replace(2, air),
            84..88 => self.announce(at),
            88..92 => {
                // An encoder that had lost its network sends all it has.
                // Not more than the log keeps for a listener that was in step.
                let drop_after = self.plan.policy().drop_after.millis() as u64 / 1_000;
                let seconds = self.rng.range(1, drop_after.saturating_sub(7).max(2));
                let count = seconds * SECOND / self.plan.interval;
                self.send(count, at);
            }
            92..96 => self.media = self.rng.range(0, 1_000_000) as i64,
            _ => self.samples = 1,
        }
    }

    /// Has another publisher try to replace the current one, which continues if that is refused.
    fn replace(&mut self, credential: u64, air: Air<'_>) {
        let before = self.publisher.take();
        if self.begin(credential, air) {
            self.replaced = before;
        } else {
            self.publisher = before;
        }
    }

    /// Begins an epoch with a credential; returns `false` when it was refused.
    fn begin(&mut self, credential: u64, air: Air<'_>) -> bool {
        let permission = air.gatekeeper.authorize(Publish {
            stream: self.name.clone(),
            credential: Credential(credential),
        });
        self.incarnation += 1;
        let source = Source {
            protocol: "model",
            peer: None,
            agent: self.incarnation.to_string(),
            container: match self.plan.class {
                Class::Audio => Container::Mp3,
                Class::Video => Container::Tracks,
            },
            content_type: "application/x-model".to_owned(),
            headers: Vec::new(),
        };
        let Ok(publisher) = air.registry.publish(&permission, source, air.at) else {
            return false;
        };
        self.publisher = Some(publisher);
        self.sent_until = air.now;
        self.samples = 0;
        self.announce(air.at);
        true
    }

    /// Announces its tracks, in a form they have not had before.
    fn announce(&mut self, at: Instant) {
        self.incarnation += 1;
        let track = |id, config| Track {
            config,
            ..testing::track(id)
        };
        let config = Bytes::from(self.incarnation.to_string());
        if self.plan.class == Class::Video {
            let video = track(TrackId::VIDEO, config.clone());
            self.items.push(Item::Track(Arc::new(video)));
        }
        let audio = track(TrackId::AUDIO, config);
        self.items.push(Item::Track(Arc::new(audio)));
        // Re-encoded media begins with a keyframe.
        self.samples = 0;
        self.write(at);
    }

    fn send(&mut self, count: u64, at: Instant) {
        for _ in 0..count {
            let keyframe = self.samples.is_multiple_of(self.plan.key_every);
            self.samples += 1;
            let is_video = self.plan.class == Class::Video;
            let (first, second) = match is_video {
                true => (TrackId::VIDEO, Some(TrackId::AUDIO)),
                false => (TrackId::AUDIO, None),
            };
            self.sample(first, keyframe);
            if let Some(second) = second {
                self.sample(second, false);
            }
            self.media += (self.plan.interval / 1_000_000) as i64;
        }
        self.write(at);
    }

    fn sample(&mut self, track: TrackId, keyframe: bool) {
        self.items.push(Item::Sample(Sample {
            duration: Span::from_millis((self.plan.interval / 1_000_000) as i64),
            keyframe,
            ..testing::sample(track, self.media, self.body.clone())
        }));
    }

    fn write(&mut self, at: Instant) {
        if let Some(mut replaced) = self.replaced.take() {
            // It learns of it with its next item.
            let refused = replaced.write(&mut self.items.clone(), at);
            assert!(refused.is_err(), "a replaced publisher may not write");
        }
        let Some(publisher) = &mut self.publisher else {
            self.items.clear();
            return;
        };
        if publisher.write(&mut self.items, at).is_err() {
            self.publisher = None;
        }
        self.items.clear();
    }
}
