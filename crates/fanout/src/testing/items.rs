//! A track, a sample, a title and a listener's record, of which a test changes the fields that matter to it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use media::{
    Codec, Framing, Item, Kind, Sample, Span, StreamName, Timestamp, Title, Track, TrackId,
};

use crate::{Format, ListenerId, ListenerRecord};

/// Returns the record of a listener that is permitted for good and tells nothing of itself.
pub fn record(id: ListenerId, stream: StreamName, format: Format) -> ListenerRecord {
    ListenerRecord {
        id,
        stream,
        format,
        is_live: true,
        peer: (Ipv4Addr::LOCALHOST, 1).into(),
        request: String::new(),
        agent: String::new(),
        referer: String::new(),
        since: SystemTime::now(),
        requested: Instant::now(),
        permit: None,
        until: None,
        departed: Arc::default(),
    }
}

/// Returns the item of a title without an address.
pub fn title(text: &str) -> Item {
    Item::Title(Arc::new(Title {
        text: text.to_owned(),
        url: String::new(),
    }))
}

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
