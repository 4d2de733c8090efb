//! Media that ffmpeg encodes.

use std::sync::Arc;
use std::time::Duration;

use media::{Codec, Item, Timestamp, TrackId};
use testkit::{Clip, Tool};

use super::super::PayloadFormat;
use super::Media;
use crate::testing::{self, sample, samples, track, tracks};

const DEADLINE: Duration = Duration::from_secs(120);

/// The first track of `format` in a clip.
pub(super) fn of_clip(clip: Clip, format: PayloadFormat) -> Media {
    of_items(&testing::of_flv(clip, 2), format)
}

fn of_items(items: &[Item], format: PayloadFormat) -> Media {
    let id = TrackId::first(format.kind());
    let track = tracks(items).into_iter().rfind(|track| track.id == id);
    let track = track.expect("the clip has such a track");
    assert_eq!(PayloadFormat::of(track), Some(format));
    let own = samples(items).into_iter().filter(|it| it.track == id);
    Media {
        format,
        track: Arc::new(track.clone()),
        samples: own.cloned().collect(),
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

/// H.264 in four slices a frame with delimiters, as encoders for low delay write it.
pub(super) fn sliced() -> Media {
    let file = encode(
        "-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -b:v 1M \
         -x264-params slices=4:sliced-threads=0:aud=1 -f flv -flvflags no_duration_filesize",
    );
    of_items(&testing::read_flv(&file), PayloadFormat::H264)
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
        samples.push(sample(TrackId::VIDEO, at, keyframe, frame));
    }
    let track = track(Codec::Vp8, b"");
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
