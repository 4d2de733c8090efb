//! Real media: what ffmpeg encodes, and the result over a perfect network.

use std::sync::Arc;

use container::flv::Reader;
use container::rtp::{
    Depacketizer, Event, Incoming, PAYLOAD_BYTES, Packetizer, PayloadFormat, Payloads,
};
use media::{Item, Kind, Sample, Track, TrackId};
use testkit::Clip;

/// A track and its samples.
pub(super) struct Media {
    pub(super) format: PayloadFormat,
    pub(super) track: Arc<Track>,
    pub(super) samples: Vec<Sample>,
}

const fn id_of(format: PayloadFormat) -> TrackId {
    match format.kind() {
        Kind::Audio => TrackId::AUDIO,
        Kind::Video => TrackId::VIDEO,
    }
}

/// The first track of `format` in a clip of two seconds.
pub(super) fn of_clip(clip: Clip, format: PayloadFormat) -> Media {
    let file = std::fs::read(clip.seconds(2)).expect("the clip was made");
    let mut items = Vec::new();
    let read = Reader::default().push(&file, &mut items);
    read.expect("ffmpeg writes FLV");
    let id = id_of(format);
    let track = items.iter().find_map(|item| match item {
        Item::Track(track) if track.id == id => Some(Arc::clone(track)),
        _ => None,
    });
    let track = track.expect("the clip has such a track");
    assert_eq!(PayloadFormat::of(&track), Some(format));
    Media {
        format,
        track,
        samples: super::samples(&items, id),
    }
}

impl Media {
    /// Returns the items that result when every packet arrives at once and in order.
    pub(super) fn expected(&self) -> Vec<Item> {
        let mut depacketizer = Depacketizer::new(self.format, id_of(self.format), 2);
        let mut packetizer = Packetizer::new(self.format, &self.track, PAYLOAD_BYTES);
        let (mut payloads, mut events) = (Payloads::default(), Vec::new());
        for (number, sample) in (0..).zip(&self.samples) {
            payloads.clear();
            // Media without a frame has no packets.
            packetizer.push(sample, &mut payloads).ok();
            for (payload, marker) in payloads.iter() {
                let incoming = Incoming {
                    payload,
                    marker,
                    timestamp: number,
                    at: sample.pts,
                };
                depacketizer.push(incoming, &mut events);
            }
        }
        let items = events.into_iter().map(|event| match event {
            Event::Item(item) => item,
            Event::KeyframeWanted => panic!("nothing is missing"),
        });
        items.collect()
    }
}
