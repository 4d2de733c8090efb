//! The cost of a join before it reaches the core: reading the head of a browser's request.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http1::{CORS, HeadReader, HttpDate, NO_CACHE, ResponseHead, Status, Version};

const BROWSER: &[u8] = b"GET /live/show.flv HTTP/1.1\r\nHost: radio.example:8000\r\n\
    Connection: keep-alive\r\nsec-ch-ua-platform: \"Linux\"\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
    Chrome/140.0.0.0 Safari/537.36\r\nsec-ch-ua-mobile: ?0\r\n\
    Accept-Encoding: identity;q=1, *;q=0\r\nAccept: */*\r\nSec-Fetch-Site: same-origin\r\n\
    Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: video\r\nReferer: http://radio.example:8000/\r\n\
    Accept-Language: en-GB,en;q=0.9\r\nRange: bytes=0-\r\n\r\n";

fn request_head(c: &mut Criterion) {
    let mut group = c.benchmark_group("http1");
    group.throughput(Throughput::Bytes(BROWSER.len() as u64));
    group.bench_function("browser_head", |b| {
        let mut reader = HeadReader::default();
        b.iter(|| {
            reader
                .push(black_box(BROWSER))
                .is_ok_and(|head| head.is_some())
        });
    });
    group.bench_function("browser_head_in_segments_of_64", |b| {
        let mut reader = HeadReader::default();
        b.iter(|| {
            black_box(BROWSER)
                .chunks(64)
                .filter_map(|s| reader.push(s).ok()?)
                .count()
        });
    });
    group.finish();
}

fn response_head(c: &mut Criterion) {
    c.bench_function("http1/listener_response", |b| {
        b.iter(|| {
            ResponseHead::new(Version::Http11, Status::OK)
                .header("Content-Type", black_box("video/x-flv"))
                .date(HttpDate(black_box(1_800_000_000)))
                .headers(NO_CACHE)
                .headers(CORS)
                .finish()
        });
    });
}

criterion_group!(benches, request_head, response_head);
criterion_main!(benches);
