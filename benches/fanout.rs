//! The core's cost per sample and per visit, without the kernel's part.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fanout::probe::{LogProbe, VisitProbe};
use media::Span;

/// An MP3 frame at 128 kb/s and 44.1 kHz.
const FRAME: [u8; 418] = [0x55; 418];

fn append(c: &mut Criterion) {
    let mut group = c.benchmark_group("log");
    group.throughput(Throughput::Bytes(FRAME.len() as u64));
    let mut log = LogProbe::new();
    group.bench_function("append", |b| b.iter(|| log.append(black_box(&FRAME))));
    group.finish();
}

fn join(c: &mut Criterion) {
    let mut group = c.benchmark_group("join search");
    let mut log = LogProbe::new();
    for _ in 0..2_000 {
        log.append(&FRAME);
    }
    for burst in [0, 4_000] {
        let span = Span::from_millis(burst);
        assert!(log.join(span).is_some());
        group.bench_function(format!("burst {burst} ms"), |b| {
            b.iter(|| log.join(black_box(span)))
        });
    }
    group.finish();
}

fn visit(c: &mut Criterion) {
    let mut group = c.benchmark_group("visit");
    for listeners in [1, 500, 5_000] {
        let mut lane = VisitProbe::new(listeners).expect("a descriptor for the waker");
        assert_eq!(
            lane.turn(&FRAME),
            listeners as u64,
            "one send for each listener"
        );
        group.throughput(Throughput::Elements(listeners as u64));
        group.bench_function(format!("{listeners} listeners"), |b| {
            b.iter(|| lane.turn(black_box(&FRAME)));
        });
    }
    group.finish();
}

criterion_group!(benches, append, join, visit);
criterion_main!(benches);
