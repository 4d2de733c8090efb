//! `onMetaData` for files that have none of their own.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use media::{Codec, Item, Script, Timestamp, Track};
use rtmp::amf0::Encoder;

use crate::past::tracks_of;

/// Codec numbers in FLV; other codecs are numbered by their four-character code (Enhanced RTMP).
const AVC: f64 = 7.0;
const MP3: f64 = 2.0;
const AAC: f64 = 10.0;

/// Makes metadata for the tracks among the items that open a file, and returns both.
pub(crate) fn opening(
    items: &[Item],
    dimensions: Option<(u16, u16)>,
    length: Option<Duration>,
) -> Vec<Item> {
    let tracks = || tracks_of(items);
    let metadata = item(tracks(), dimensions, length);
    let tracks = tracks().cloned().map(Item::Track);
    std::iter::once(metadata).chain(tracks).collect()
}

/// Makes the metadata of a file with these tracks; `length` is `None` for media that has no end yet.
fn item<'a>(
    tracks: impl Iterator<Item = &'a Arc<Track>>,
    dimensions: Option<(u16, u16)>,
    length: Option<Duration>,
) -> Item {
    let mut body = BytesMut::new();
    let mut amf = Encoder::new(&mut body);
    // The count is only a hint.
    amf.string("onMetaData").ecma_array(0);
    if let Some(length) = length {
        amf.key("duration").number(length.as_secs_f64());
    }
    if let Some((width, height)) = dimensions {
        amf.key("width").number(width.into());
        amf.key("height").number(height.into());
    }
    for track in tracks {
        match track.kind {
            media::Kind::Video => amf.key("videocodecid").number(number(track.codec)),
            media::Kind::Audio => {
                let rate = f64::from(track.sample_rate);
                amf.key("audiosamplerate").number(rate);
                amf.key("stereo").boolean(track.channels > 1);
                amf.key("audiocodecid").number(number(track.codec))
            }
        };
    }
    amf.end();
    Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: Bytes::from(body),
    })
}

fn number(codec: Codec) -> f64 {
    let name = match codec {
        Codec::H264 => return AVC,
        Codec::Mp3 => return MP3,
        Codec::Aac => return AAC,
        Codec::Hevc => *b"hvc1",
        Codec::Av1 => *b"av01",
        Codec::Vp9 => *b"vp09",
        _ => return 0.0,
    };
    u32::from_be_bytes(name).into()
}
