//! View of a stream's tracks, for the API, the pages and the status document.

use fanout::{Info, Keyframes, Rate};
use media::{Description, Kind, Track};
use serde::Serialize;

/// View of one track. Unknown values are left out.
#[derive(Debug, Serialize)]
pub struct TrackView {
    /// `audio` or `video`.
    pub kind: &'static str,
    /// Codec, as documents name it.
    pub codec: String,
    /// Name of the codec for use in a sentence.
    pub label: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    /// Width in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Height in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Frames per second, over the last two seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_rate: Option<f64>,
    /// Longest of the recent intervals between two keyframes.
    #[serde(skip_serializing_if = "Option::is_none")]
    keyframe_interval_seconds: Option<f64>,
    /// Bits per second, over the last two seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    bitrate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_rate: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Option<u8>,
}

impl TrackView {
    /// Returns the views of all tracks of a stream, in the order they were announced.
    pub fn all(info: &Info) -> Vec<Self> {
        let rates = info.rates.iter().copied().chain(std::iter::repeat(None));
        let tracks = info.tracks.iter().zip(rates);
        tracks
            .map(|(track, rate)| Self::of(track, rate, info.keyframes))
            .collect()
    }

    /// Makes the view of one track, with its measured rate.
    pub fn of(track: &Track, rate: Option<Rate>, keyframes: Option<Keyframes>) -> Self {
        let Description {
            profile,
            level,
            dimensions,
        } = Description::of(track);
        let is_picture = track.kind == Kind::Video;
        let keyframes = keyframes.filter(|_| is_picture);
        Self {
            kind: if is_picture { "video" } else { "audio" },
            codec: track.codec.to_string(),
            label: track.codec.label(),
            profile,
            level,
            width: dimensions.map(|(width, _)| width),
            height: dimensions.map(|(_, height)| height),
            frame_rate: rate
                .filter(|_| is_picture)
                .map(|rate| to_hundredths(rate.samples_per_second)),
            keyframe_interval_seconds: keyframes
                .and_then(|keyframes| keyframes.interval)
                .map(|interval| to_hundredths(interval.seconds())),
            bitrate: rate.map(|rate| rate.bits_per_second),
            sample_rate: (track.sample_rate > 0).then_some(track.sample_rate),
            channels: (track.channels > 0).then_some(track.channels),
        }
    }
}

fn to_hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
