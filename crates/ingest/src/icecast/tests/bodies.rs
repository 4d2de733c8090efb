//! From the body to the stream.

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use tokio::io::ReadBuf;

use super::*;

#[tokio::test(start_paused = true)]
async fn every_framing_of_the_body_gives_the_same_frames() {
    let body = mp3(40);
    let chunked: Vec<u8> = body
        .chunks(1000)
        .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat())
        .chain(*b"0\r\n\r\n")
        .collect();
    let context = test_context(Takeover::SameCredential, 0);
    let length = format!("\r\nContent-Length: {}", body.len());
    let in_chunks = "\r\nTransfer-Encoding: chunked";
    for (name, framing, wire) in [
        ("close", "", body.clone()),
        ("length", &*length, body.clone()),
        ("chunked", in_chunks, chunked),
    ] {
        let head = keyed(&format!("PUT /{name} HTTP/1.1{framing}"), KEY);
        let (mut source, task) = source(&context, head);
        let mut listener = listen(&context, name).await;
        for piece in wire.chunks(777) {
            send(&mut source, piece).await;
        }
        if name == "close" {
            source.shutdown().await.expect("a duplex does not fail");
        }
        assert!(hear(&mut listener, body.len()).await == body, "{name}");
        left(task).await;
        assert_eq!(context.stats.publishers.value(Protocol::Icecast), 0);
    }
    assert!(context.stats.bytes.value(Protocol::Icecast) > 3 * body.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn body_bytes_that_came_with_the_head_are_not_lost() {
    let context = test_context(Takeover::SameCredential, 0);
    let body = mp3(20);
    let (early, late) = body.split_at(3000);
    let request = [keyed("SOURCE /a HTTP/1.0", KEY).as_bytes(), early].concat();
    let (mut source, _task) = source(&context, request);
    let mut listener = listen(&context, "a").await;
    send(&mut source, late).await;
    source.shutdown().await.expect("a duplex does not fail");
    assert!(hear(&mut listener, body.len()).await == body);
}

#[tokio::test(start_paused = true)]
async fn a_second_source_takes_over_from_a_half_open_one() {
    let context = test_context(Takeover::SameCredential, 0);
    let request = keyed("SOURCE /a HTTP/1.0", KEY);
    let (mut first, first_task) = source(&context, &request);
    let mut listener = listen(&context, "a").await;
    let before = mp3(10);
    send(&mut first, &before).await;
    let heard = hear(&mut listener, 8 * FRAME_BYTES).await;
    // Sends nothing more, and never closes.
    let (mut second, second_task) = source(&context, &request);
    let ended = ended(first_task).await;
    assert!(matches!(ended, Error::Superseded));
    let after = mp3(30);
    send(&mut second, &after).await;
    second.shutdown().await.expect("a duplex does not fail");
    let more = hear(&mut listener, before.len() - heard.len() + after.len()).await;
    assert!([heard, more].concat() == [before, after].concat());
    left(second_task).await;
    drop(first);
    assert_eq!(context.stats.publishers.value(Protocol::Icecast), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_a_source_s_body_ends_its_epoch_and_is_reported() {
    let log = Log::default();
    let _listening = log.capture();
    let context = test_context(Takeover::SameCredential, 0);
    let request = keyed("SOURCE /a HTTP/1.0", KEY);
    let (mut broken, task) = source(&context, &request);
    let _listener = listen(&context, "a").await;
    let mut frames = mp3(20);
    frames[10 * FRAME_BYTES + 50..][..DEFECT.len()].copy_from_slice(DEFECT);
    send(&mut broken, &frames).await;
    assert!(task.await.is_err_and(|error| error.is_panic()));
    assert_eq!(context.stats.publishers.value(Protocol::Icecast), 0);
    assert_eq!(stream(&context, "a").await.info().phase, Phase::Lingering);
    let lines = log.lines();
    let ended = lines.iter().find(|line| line.contains("publishing ended"));
    let ended = ended.expect("the end is told of");
    has(ended, "its connection was given up");
}

#[tokio::test(start_paused = true)]
async fn a_silent_source_is_given_up_and_the_stream_lingers() {
    let context = test_context(Takeover::SameCredential, 0);
    let began = Instant::now();
    let (mut silent, task) = source(&context, keyed("SOURCE /a HTTP/1.0", KEY));
    tokio::time::sleep(Duration::from_secs(4)).await;
    send(&mut silent, &mp3(3)).await;
    let ended = ended(task).await;
    assert!(matches!(ended, Error::Silent(_)));
    let waited = began.elapsed().as_secs();
    // Closing takes the last two.
    assert!((14..=16).contains(&waited), "{waited} s");
    assert_eq!(stream(&context, "a").await.info().phase, Phase::Lingering);
    assert_eq!(context.stats.rejected.value(Rejection::Slow), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_chunked_body_ends_the_source() {
    let context = test_context(Takeover::SameCredential, 0);
    let head = keyed("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked", KEY);
    for body in ["nonsense\r\n", "ffffffffffffffffff\r\n", "3\r\nabcdef"] {
        let (mut source, task) = source(&context, &head);
        send(&mut source, body.as_bytes()).await;
        let ended = ended(task).await;
        assert!(matches!(ended, Error::Protocol(_)), "{body}");
    }
}

/// MPEG-2.5 layer III at 8 kb/s, of which each byte is a millisecond.
fn slow_mp3(frames: usize) -> Vec<u8> {
    let mut frame = [0; 72];
    frame[..4].copy_from_slice(&[0xff, 0xe3, 0x18, 0xc4]);
    frame.repeat(frames)
}

#[tokio::test(start_paused = true)]
async fn a_source_far_ahead_is_still_heard_leaving_and_falling_silent() {
    let context = test_context(Takeover::SameCredential, 0);
    // 20 min at once.
    let request = keyed("SOURCE /a HTTP/1.0", KEY);
    let request = [request.as_bytes(), &slow_mp3(16_667)].concat();

    let began = Instant::now();
    let (leaving, task) = source(&context, &request);
    stream(&context, "a").await;
    drop(leaving);
    left(task).await;
    assert!(began.elapsed() < Duration::from_secs(1));

    let began = Instant::now();
    let (mut silent, task) = source(&context, &request);
    send(&mut silent, &slow_mp3(3)).await;
    let ended = ended(task).await;
    assert!(matches!(ended, Error::Silent(_)));
    // Ten seconds ahead, ten of silence, and the farewell.
    let waited = began.elapsed().as_secs();
    assert!((19..=22).contains(&waited), "{waited} s");
}

#[tokio::test(start_paused = true)]
async fn bytes_without_a_clock_are_stamped_on_arrival() {
    let context = test_context(Takeover::SameCredential, 0);
    let head = keyed("PUT /a HTTP/1.1\r\nContent-Type: video/nsv", KEY);
    let (mut source, _task) = source(&context, head);
    let mut listener = listen_with_times(&context, "a").await;
    // The stream's own timeline begins with its first sample.
    for expected in ["@0 tick", "@1500 tick", "@3000 tick"] {
        send(&mut source, b"tick").await;
        let heard = hear(&mut listener, expected.len()).await;
        assert_eq!(heard, expected.as_bytes());
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
}

/// Reads like a connection that the peer has reset.
struct Reset;

impl AsyncRead for Reset {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_leaves_by_a_reset_loses_nothing() {
    let context = test_context(Takeover::SameCredential, 0);
    let body = mp3(20);
    // ffmpeg with `-legacy_icecast 1` never reads our answer.
    let (head, early) = parse(keyed("SOURCE /a HTTP/1.1", KEY).as_bytes());
    let socket = tokio::io::join((&body[..]).chain(Reset), tokio::io::sink());
    let name = crate::name(&head.path(), |_| false);
    serve(&context, socket, name, head, early, PEER, || {})
        .await
        .expect("that is a way to leave");
    assert_eq!(
        stream(&context, "a").await.info().ingest_bytes,
        body.len() as u64
    );
}
