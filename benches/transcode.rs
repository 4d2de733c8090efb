//! The cost of a stream with WebRTC listeners whose source sends AAC or MP3.
//!
//! An iteration is one second of audio, so 10 ms of it are one percent of a core.

use std::fs;
use std::hint::black_box;
use std::sync::Arc;

use audio::transcode::{Options, Transcoder};
use container::Demuxer;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use media::{Item, Sample, Span, Track};
use testkit::Clip;

/// Returns the first second of a clip, and its track.
fn second(clip: Clip) -> (Arc<Track>, Vec<Sample>) {
    let bytes = fs::read(clip.seconds(2)).expect("the clip was made");
    let mut items = Vec::new();
    Demuxer::for_content_type(clip.content_type()).push(&bytes, &mut items);
    let track = items.iter().find_map(|item| match item {
        Item::Track(track) => Some(Arc::clone(track)),
        _ => None,
    });
    let samples: Vec<_> = items
        .into_iter()
        .filter_map(|item| match item {
            Item::Sample(sample) => Some(sample),
            _ => None,
        })
        .collect();
    let end = samples[0].pts + Span::from_millis(1_000);
    let second = samples.into_iter().take_while(|sample| sample.pts < end);
    (track.expect("the clip has a track"), second.collect())
}

fn transcode(c: &mut Criterion) {
    let mut group = c.benchmark_group("transcode_second");
    for (source, clip) in [("aac_44100", Clip::Adts), ("mp3_44100", Clip::Mp3)] {
        let (track, samples) = second(clip);
        for complexity in [5, 9, 10] {
            let options = Options {
                complexity,
                ..Options::default()
            };
            group.bench_function(format!("{source}_complexity_{complexity}"), |b| {
                b.iter_batched_ref(
                    || {
                        let transcoder = Transcoder::open(&track, options);
                        (transcoder.expect("plain stereo"), Vec::with_capacity(64))
                    },
                    |(transcoder, packets)| {
                        for sample in black_box(&samples) {
                            transcoder.push(sample, packets).expect("honest media");
                        }
                        assert!(packets.len() > 45);
                    },
                    BatchSize::SmallInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, transcode);
criterion_main!(benches);
