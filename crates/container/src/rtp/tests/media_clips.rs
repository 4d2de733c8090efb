//! Media that ffmpeg encodes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use media::{Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};
use testkit::{Clip, Tool};

use super::super::PayloadFormat;
use super::Media;
use crate::flv::Reader;

const DEADLINE: Duration = Duration::from_secs(120);

/// The first track of `format` in a clip.
pub(super) fn of_clip(clip: Clip, format: PayloadFormat) -> Media {
    let file = std::fs::read(clip.seconds(2)).expect("the clip was made");
    of_flv(&file, format)
}

fn of_flv(file: &[u8], format: PayloadFormat) -> Media {
    let mut items = Vec::new();
    Reader::default()
        .push(file, &mut items)
        .expect("ffmpeg writes FLV");
    let mut track = None;
    let mut samples = Vec::new();
    let id = match format.kind() {
        Kind::Audio => TrackId::AUDIO,
        Kind::Video => TrackId::VIDEO,
    };
    for item in items {
        match item {
            Item::Track(found) if found.id == id => track = Some(found),
            Item::Sample(sample) if sample.track == id => samples.push(sample),
            _ => {}
        }
    }
    let track = track.expect("the clip has such a track");
    assert_eq!(PayloadFormat::of(&track), Some(format));
    Media {
        format,
        track,
        samples,
    }
}

fn encode(arguments: &str) -> Vec<u8> {
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i"])
        .args(["testsrc2=size=320x180:rate=25:duration=2"])
        .args(arguments.split_whitespace())
        .args(["-threads", "1", "-"])
        .run(DEADLINE)
}

/// H.264 in four slices a picture with delimiters, as encoders for low delay make it.
pub(super) fn sliced() -> Media {
    let file = encode(
        "-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -b:v 1M \
         -x264-params slices=4:sliced-threads=0:aud=1 -f flv -flvflags no_duration_filesize",
    );
    of_flv(&file, PayloadFormat::H264)
}

/// VP8, in the body that Enhanced RTMP has for it, and no sequence header.
pub(super) fn vp8() -> Media {
    let file = encode("-c:v libvpx -deadline realtime -b:v 400k -g 25 -f ivf");
    let mut rest = &file[32..];
    let mut samples = Vec::new();
    while let Some((head, after)) = rest.split_first_chunk::<12>() {
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (frame, after) = after.split_at(length);
        rest = after;
        let keyframe = frame[0] & 1 == 0;
        let at = Timestamp::from_millis(40 * samples.len() as i64);
        samples.push(Sample {
            track: TrackId::VIDEO,
            dts: at,
            pts: at,
            duration: Span::ZERO,
            keyframe,
            data: Bytes::copy_from_slice(frame),
            flv: None,
        });
    }
    let track = Track {
        id: TrackId::VIDEO,
        kind: Kind::Video,
        codec: media::Codec::Vp8,
        framing: Framing::Bare,
        config: Bytes::new(),
        sample_rate: 0,
        channels: 0,
        flv: None,
    };
    assert_eq!(PayloadFormat::of(&track), Some(PayloadFormat::Vp8));
    Media {
        format: PayloadFormat::Vp8,
        track: Arc::new(track),
        samples,
    }
}

/// One of each format.
pub(super) fn all() -> Vec<Media> {
    vec![
        of_clip(Clip::Flv, PayloadFormat::H264),
        of_clip(Clip::FlvBframes, PayloadFormat::H264),
        sliced(),
        of_clip(Clip::FlvHevc, PayloadFormat::Hevc),
        of_clip(Clip::FlvAv1, PayloadFormat::Av1),
        vp8(),
        of_clip(Clip::FlvVp9, PayloadFormat::Vp9),
        of_clip(Clip::FlvOpus, PayloadFormat::Opus),
    ]
}
