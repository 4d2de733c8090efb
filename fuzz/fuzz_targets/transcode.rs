//! Audio to Opus: whatever the frames hold and whatever their timestamps are, output advances in whole packets, every frame is
//! counted, and generated audio is bounded by what arrived.
//!
//! ```text
//! input = source | { delta: i16 ms | length: u16 LE | frame }*
//! ```
//!
//! The decoders are not ours, and panic over some damaged frames: the transcoder contains that. Only a panic that escapes, or
//! one in our own code, is a finding.

#![no_main]

use std::panic;
use std::sync::Once;

use audio::transcode::{Options, Transcoder};
use bytes::{Buf, Bytes};
use libfuzzer_sys::fuzz_target;
use media::{Codec, Framing, Kind, Sample, Span, Timestamp, Track, TrackId};

/// Maximum number of frames: enough for decoder state to build up, few enough for many runs per second.
const FRAMES_MAX: usize = 48;

/// Longest gap that the transcoder fills, in 1/48 000 s.
const FILL_MAX: u64 = 48_000;

static HOOK: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    HOOK.call_once(let_decoders_panic);
    let Some((source, rest)) = data.split_first() else {
        return;
    };
    let (track, mut rest) = track(*source, Bytes::copy_from_slice(rest));
    let options = Options {
        complexity: 0,
        ..Options::default()
    };
    let Ok(mut transcoder) = Transcoder::open(&track, options) else {
        return;
    };
    let mut packets = Vec::new();
    let mut pts = Timestamp::from_millis(1_000);
    for _ in 0..FRAMES_MAX {
        if rest.len() < 4 {
            break;
        }
        pts += Span::from_millis(i64::from(rest.get_i16_le()));
        let length = usize::from(rest.get_u16_le()).min(rest.len());
        let sample = Sample {
            track: track.id,
            dts: pts,
            pts,
            duration: Span::ZERO,
            keyframe: true,
            data: rest.split_to(length),
            flv: None,
        };
        if transcoder.push(&sample, &mut packets).is_err() {
            break;
        }
    }
    transcoder.finish(&mut packets);
    let stats = transcoder.stats();
    assert_eq!(stats.packets, packets.len() as u64);
    assert!(stats.bad_frames <= stats.frames);
    assert!(stats.decoder_panics <= stats.bad_frames);
    assert!(stats.filled_samples <= stats.gaps * FILL_MAX);
    assert_eq!(stats.failed_packets, 0);
    for pair in packets.windows(2) {
        assert!(pair[0].pts + pair[0].duration <= pair[1].pts);
    }
});

/// Returns a track of the kind that `source` selects; one kind takes its configuration from the input.
fn track(source: u8, mut rest: Bytes) -> (Track, Bytes) {
    let (codec, framing, config) = match source {
        0 => (Codec::Aac, Framing::Bare, Bytes::from_static(&[0x12, 0x10])),
        1 => (Codec::Aac, Framing::Bare, Bytes::from_static(&[0x11, 0x88])),
        2 => (
            Codec::Aac,
            Framing::SelfFramed,
            Bytes::from_static(&[0x12, 0x10]),
        ),
        3 => (Codec::Mp3, Framing::SelfFramed, Bytes::new()),
        _ => {
            let config = rest.split_to(rest.len().min(7));
            (Codec::Aac, Framing::Bare, config)
        }
    };
    let track = Track {
        id: TrackId::AUDIO,
        kind: Kind::Audio,
        codec,
        framing,
        config,
        sample_rate: 0,
        channels: 0,
        flv: None,
    };
    (track, rest)
}

fn let_decoders_panic() {
    let fatal = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let contained = info
            .location()
            .is_some_and(|at| at.file().contains("symphonia"));
        if !contained {
            fatal(info);
        }
    }));
}
