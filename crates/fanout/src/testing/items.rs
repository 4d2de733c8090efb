//! A track and a sample, of which a test changes the fields that matter to it.

use bytes::Bytes;
use media::{Codec, Framing, Kind, Sample, Span, Timestamp, Track, TrackId};

/// Returns a track that frames itself and has no configuration: audio with [`TrackId::AUDIO`], video with any other id.
pub fn track(id: TrackId) -> Track {
    Track {
        id,
        kind: match id {
            TrackId::AUDIO => Kind::Audio,
            _ => Kind::Video,
        },
        codec: Codec::UNKNOWN,
        framing: Framing::SelfFramed,
        config: Bytes::new(),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }
}

/// Returns a keyframe without a duration, decoded and presented at `millis`.
pub fn sample(track: TrackId, millis: i64, data: impl Into<Bytes>) -> Sample {
    let at = Timestamp::from_millis(millis);
    Sample {
        track,
        dts: at,
        pts: at,
        duration: Span::ZERO,
        keyframe: true,
        data: data.into(),
        flv: None,
    }
}
