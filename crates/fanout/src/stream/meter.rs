//! Recent rate of each track.

use media::{Sample, Span, Timestamp, TrackId};

/// Window of a figure: it holds several frames at any frame rate, and follows a change soon.
const WINDOW: Span = Span::from_millis(2_000);

/// Number of tracks metered: as many as a stream has.
const METERS_MAX: usize = super::timeline::TRACKS_MAX;

/// The rate of a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bits of samples per second of media time.
    pub bits_per_second: u64,
    /// Samples per second of media time; for video, the frame rate.
    pub samples_per_second: f64,
}

/// Meters all tracks of an epoch.
#[derive(Debug, Default)]
pub(super) struct Meters(Vec<Meter>);

#[derive(Debug)]
struct Meter {
    track: TrackId,
    /// Media time at which the current window began.
    since: Timestamp,
    bytes: u64,
    samples: u32,
    /// Rate of the last whole window.
    rate: Option<Rate>,
}

impl Meters {
    /// Records a sample of any track.
    pub(super) fn push(&mut self, sample: &Sample) {
        let count = self.0.len();
        match self.0.iter_mut().find(|meter| meter.track == sample.track) {
            Some(meter) => meter.push(sample),
            None if count < METERS_MAX => self.0.push(Meter {
                track: sample.track,
                since: sample.dts,
                bytes: sample.data.len() as u64,
                samples: 1,
                rate: None,
            }),
            None => {}
        }
    }

    /// Returns the rate of a track; `None` for the first two seconds.
    pub(super) fn rate(&self, track: TrackId) -> Option<Rate> {
        self.0.iter().find(|meter| meter.track == track)?.rate
    }
}

impl Meter {
    fn push(&mut self, sample: &Sample) {
        let elapsed = sample.dts - self.since;
        if elapsed >= WINDOW {
            let seconds = elapsed.seconds();
            self.rate = Some(Rate {
                bits_per_second: (self.bytes as f64 * 8.0 / seconds) as u64,
                samples_per_second: f64::from(self.samples) / seconds,
            });
            (self.since, self.bytes, self.samples) = (sample.dts, 0, 0);
        }
        self.bytes += sample.data.len() as u64;
        self.samples += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;

    #[test]
    fn tracks_are_metered_apart_over_whole_windows() {
        let mut meters = Meters::default();
        for number in 0..100 {
            meters.push(&sample(TrackId::VIDEO, 40 * number, vec![0; 5_000]));
            meters.push(&sample(TrackId::AUDIO, 40 * number, vec![0; 500]));
            if number < 50 {
                assert_eq!(meters.rate(TrackId::VIDEO), None, "at {number}");
            }
        }
        let rate = meters
            .rate(TrackId::VIDEO)
            .expect("two seconds have passed");
        assert_eq!(
            (rate.bits_per_second, rate.samples_per_second),
            (1_000_000, 25.0)
        );
        let rate = meters
            .rate(TrackId::AUDIO)
            .expect("two seconds have passed");
        assert_eq!(rate.bits_per_second, 100_000);
        assert_eq!(meters.rate(TrackId(7)), None);
    }

    #[test]
    fn there_are_no_more_meters_than_tracks() {
        let mut meters = Meters::default();
        for id in 0..=u8::MAX {
            meters.push(&sample(TrackId(id), 0, "x"));
        }
        assert_eq!(meters.0.len(), METERS_MAX);
    }
}
