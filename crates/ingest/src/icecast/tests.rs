use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fanout::{PublishRefused, Takeover};
use http1::{HeadLimits, HeadReader};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::Rejection;
use crate::testing::{
    FLOODER, KEY, Log, OTHER_KEY, PEER, hear, house, listen, listen_with_times, stream, wait_for,
};

/// Bytes of one frame: MPEG-1 layer III, 128 kb/s at 44.1 kHz, no padding.
const FRAME_BYTES: usize = 417;

fn mp3(frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in 0..frames {
        let mut frame = [index as u8 % 100; FRAME_BYTES];
        frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0x64]);
        bytes.extend_from_slice(&frame);
    }
    bytes
}

fn basic(key: &str) -> String {
    format!(
        "Authorization: Basic {}\r\n",
        BASE64_STANDARD.encode(format!("source:{key}"))
    )
}

fn parse(text: &[u8]) -> (Head, Bytes) {
    let mut reader = HeadReader::new(HeadLimits::default());
    let (head, used) = reader.push(text).expect("a head").expect("a whole head");
    (head, Bytes::copy_from_slice(&text[used..]))
}

/// A source as it stands after the door has read `request`.
fn source(
    context: &Arc<Context>,
    request: impl AsRef<[u8]>,
) -> (DuplexStream, JoinHandle<Result<(), Error>>) {
    let (head, early) = parse(request.as_ref());
    let (ours, theirs) = duplex(64 * 1024);
    let context = Arc::clone(context);
    (
        ours,
        tokio::spawn(async move { serve(&context, theirs, head, early, PEER).await }),
    )
}

async fn answer_of(mut source: DuplexStream) -> String {
    let mut answer = Vec::new();
    source
        .read_to_end(&mut answer)
        .await
        .expect("a duplex does not fail");
    String::from_utf8(answer).expect("answers are text")
}

async fn refused(context: &Arc<Context>, request: String) -> (String, Error) {
    let (source, task) = source(context, request);
    let answer = answer_of(source).await;
    (
        answer,
        task.await.expect("no panic").expect_err("it is refused"),
    )
}

async fn next_answer(source: &mut DuplexStream, length: usize) -> String {
    let mut answer = vec![0; length];
    source.read_exact(&mut answer).await.expect("an answer");
    String::from_utf8(answer).expect("answers are text")
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_source_gets_the_answer_it_waits_for() {
    let cases = [
        ("SOURCE /a HTTP/1.0\r\n", "HTTP/1.0 200 OK\r\n\r\n"),
        ("SOURCE /a ICE/1.0\r\n", "HTTP/1.0 200 OK\r\n\r\n"),
        (
            "SOURCE /a HTTP/1.1\r\nExpect: 100-continue\r\n",
            "HTTP/1.0 200 OK\r\n\r\n",
        ),
        ("PUT /a HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n"),
        (
            "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
        ),
        (
            "PUT /a HTTP/1.0\r\nExpect: 100-continue\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n",
        ),
    ];
    let context = house(Takeover::SameCredential, 0);
    for (request, expected) in cases {
        let (mut source, task) = source(&context, format!("{request}{}\r\n", basic(KEY)));
        // At once, before any of the body: butt waits for a second.
        let began = Instant::now();
        assert_eq!(
            next_answer(&mut source, expected.len()).await,
            expected,
            "{request}"
        );
        assert_eq!(began.elapsed(), Duration::ZERO);
        drop(source);
        task.await.expect("no panic").expect("it left by itself");
    }
    let (mut source, _task) = source(&context, format!("SOURCE {KEY} /a\r\n\r\n"));
    assert_eq!(next_answer(&mut source, 6).await, "OK\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn every_framing_of_the_body_gives_the_same_frames() {
    let body = mp3(40);
    let chunked: Vec<u8> = body
        .chunks(1000)
        .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat())
        .chain(*b"0\r\n\r\n")
        .collect();
    let context = house(Takeover::SameCredential, 0);
    for (name, framing, wire) in [
        ("close", String::new(), body.clone()),
        (
            "length",
            format!("Content-Length: {}\r\n", body.len()),
            body.clone(),
        ),
        (
            "chunked",
            "Transfer-Encoding: chunked\r\n".to_owned(),
            chunked,
        ),
    ] {
        let head = format!("PUT /{name} HTTP/1.1\r\n{}{framing}\r\n", basic(KEY));
        let (mut source, task) = source(&context, head);
        let mut listener = listen(&context, name).await;
        for piece in wire.chunks(777) {
            source.write_all(piece).await.expect("it is read");
        }
        if name == "close" {
            source.shutdown().await.expect("a duplex does not fail");
        }
        assert!(hear(&mut listener, body.len()).await == body, "{name}");
        task.await
            .expect("no panic")
            .expect("the body came to its end");
        assert_eq!(context.stats.publishers(Protocol::Icecast), 0);
    }
    assert!(context.stats.ingest_bytes(Protocol::Icecast) > 3 * body.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn body_bytes_that_came_with_the_head_are_not_lost() {
    let context = house(Takeover::SameCredential, 0);
    let body = mp3(20);
    let (early, late) = body.split_at(3000);
    let request = [
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)).as_bytes(),
        early,
    ]
    .concat();
    let (mut source, _task) = source(&context, request);
    let mut listener = listen(&context, "a").await;
    source.write_all(late).await.expect("it is read");
    source.shutdown().await.expect("a duplex does not fail");
    assert!(hear(&mut listener, body.len()).await == body);
}

#[tokio::test(start_paused = true)]
async fn what_the_source_says_of_itself_is_kept() {
    let context = house(Takeover::SameCredential, 0);
    let request = format!(
        "PUT /a%2Emp3 HTTP/1.1\r\n{}User-Agent: butt\r\nContent-Type: audio/aacp\r\n\
         Ice-Name: Böse\r\nicy-br: 64\r\nx-audiocast-genre: Jazz\r\nX-Other: 1\r\n\r\n",
        basic(KEY)
    );
    let (_source, _task) = source(&context, request);
    let info = stream(&context, "a.mp3").await.info();
    let headers = [
        ("ice-name", "Böse"),
        ("icy-br", "64"),
        ("ice-genre", "Jazz"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(info.source.headers, headers);
    assert_eq!(info.source.agent, "butt");
    assert_eq!(info.source.content_type, "audio/aacp");
    assert_eq!(
        (info.source.protocol, info.source.container),
        ("icecast", Container::Adts)
    );
    assert_eq!(info.source.peer, Some(PEER));
    assert_eq!(context.stats.publishers(Protocol::Icecast), 1);

    let (_source, _task) = source_without_type(&context);
    let info = stream(&context, "b").await.info();
    assert_eq!(info.source.content_type, "audio/mpeg");
    assert_eq!(info.source.container, Container::Mp3);
}

fn source_without_type(context: &Arc<Context>) -> (DuplexStream, JoinHandle<Result<(), Error>>) {
    source(context, format!("SOURCE /b HTTP/1.0\r\n{}\r\n", basic(KEY)))
}

#[tokio::test(start_paused = true)]
async fn strangers_are_asked_for_their_key() {
    let context = house(Takeover::SameCredential, 0);
    for (request, reason) in [
        // libshout's poke.
        (
            "SOURCE /a HTTP/1.0\r\nContent-Length: 0\r\n\r\n".to_owned(),
            Rejection::CredentialMissing,
        ),
        (
            "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\n\r\n".to_owned(),
            Rejection::CredentialMissing,
        ),
        (
            format!("PUT /a HTTP/1.1\r\n{}\r\n", basic("guess")),
            Rejection::CredentialWrong,
        ),
    ] {
        let before = context.stats.rejected(reason);
        let (answer, error) = refused(&context, request).await;
        assert!(answer.contains(" 401 Unauthorized\r\n"), "{answer}");
        assert!(
            answer.contains("\r\nWWW-Authenticate: Basic realm="),
            "{answer}"
        );
        assert!(answer.contains("\r\nContent-Length: 26\r\n"), "{answer}");
        assert!(
            answer.ends_with("\r\n\r\nYou need to authenticate\r\n"),
            "{answer}"
        );
        assert_eq!(error.rejection(), Some(reason));
        assert_eq!(context.stats.rejected(reason), before + 1);
    }
    let (answer, _) = refused(
        &context,
        format!("PUT /a HTTP/1.1\r\n{}\r\n", basic(FLOODER)),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_read_by_a_source_that_sends_without_waiting() {
    let context = house(Takeover::SameCredential, 0);
    let (mut source, task) = source(&context, "SOURCE /a HTTP/1.0\r\n\r\n");
    source.write_all(&mp3(400)).await.expect("it is drained");
    let answer = answer_of(source).await;
    assert!(answer.starts_with("HTTP/1.0 401 "), "{answer}");
    task.await.expect("no panic").expect_err("it is refused");
}

#[tokio::test(start_paused = true)]
async fn a_probe_with_the_key_publishes_nothing() {
    let context = house(Takeover::SameCredential, 0);
    let request = format!("PUT /a HTTP/1.1\r\nContent-Length: 0\r\n{}\r\n", basic(KEY));
    let (source, task) = source(&context, request);
    let answer = answer_of(source).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\nContent-Length: 0\r\n"), "{answer}");
    task.await.expect("no panic").expect("a probe is no error");
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn bad_names_are_refused_in_words() {
    let context = house(Takeover::SameCredential, 0);
    for (path, status) in [
        ("/", "400 Bad Request"),
        ("//", "400 Bad Request"),
        ("/a/../b", "400 Bad Request"),
        ("/a%00b", "400 Bad Request"),
        ("/a%2f%2e%2e", "400 Bad Request"),
        ("/admin/metadata", "403 Forbidden"),
        ("/status-json.xsl", "403 Forbidden"),
    ] {
        let (answer, error) = refused(
            &context,
            format!("PUT {path} HTTP/1.1\r\n{}\r\n", basic(KEY)),
        )
        .await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{path}: {answer}"
        );
        assert!(
            answer
                .lines()
                .last()
                .is_some_and(|words| words.contains("name")),
            "{answer}"
        );
        assert_eq!(error.rejection(), Some(Rejection::Name));
    }
}

#[tokio::test(start_paused = true)]
async fn a_taken_mount_and_a_full_house_are_told_apart() {
    let context = house(Takeover::Never, 1);
    let (mut first, _task) = source(&context, format!("PUT /a HTTP/1.1\r\n{}\r\n", basic(KEY)));
    stream(&context, "a").await;
    let (answer, error) = refused(
        &context,
        format!("PUT /a HTTP/1.1\r\n{}\r\n", basic(OTHER_KEY)),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(
        answer.ends_with("\r\n\r\nMountpoint in use\r\n"),
        "{answer}"
    );
    assert!(matches!(error, Error::Refused(PublishRefused::Busy)));
    let (answer, error) = refused(&context, format!("PUT /b HTTP/1.1\r\n{}\r\n", basic(KEY))).await;
    assert!(
        answer.ends_with("\r\n\r\ntoo many sources connected\r\n"),
        "{answer}"
    );
    assert_eq!(error.rejection(), Some(Rejection::Limit));
    first
        .write_all(&mp3(1))
        .await
        .expect("the first is untouched");
}

#[tokio::test(start_paused = true)]
async fn a_second_source_takes_over_from_a_half_open_one() {
    let context = house(Takeover::SameCredential, 0);
    let request = format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY));
    let (mut first, first_task) = source(&context, &request);
    let mut listener = listen(&context, "a").await;
    let before = mp3(10);
    first.write_all(&before).await.expect("it is read");
    let heard = hear(&mut listener, 8 * FRAME_BYTES).await;
    // Never heard of again, and never closed.
    let (mut second, second_task) = source(&context, &request);
    let ended = first_task
        .await
        .expect("no panic")
        .expect_err("it was replaced");
    assert!(matches!(ended, Error::Superseded));
    let after = mp3(30);
    second.write_all(&after).await.expect("it is read");
    second.shutdown().await.expect("a duplex does not fail");
    let more = hear(&mut listener, before.len() - heard.len() + after.len()).await;
    assert!([heard, more].concat() == [before, after].concat());
    second_task
        .await
        .expect("no panic")
        .expect("it left by itself");
    drop(first);
    assert_eq!(context.stats.publishers(Protocol::Icecast), 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_source_is_given_up_and_the_stream_lingers() {
    let context = house(Takeover::SameCredential, 0);
    let began = Instant::now();
    let (mut silent, task) = source(
        &context,
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)),
    );
    tokio::time::sleep(Duration::from_secs(4)).await;
    silent.write_all(&mp3(3)).await.expect("it is read");
    let ended = task.await.expect("no panic").expect_err("it is given up");
    assert!(matches!(ended, Error::Silent(_)));
    let waited = began.elapsed().as_secs();
    // The last two are the farewell.
    assert!((14..=16).contains(&waited), "{waited} s");
    assert_eq!(
        stream(&context, "a").await.info().phase,
        fanout::Phase::Lingering
    );
    assert_eq!(context.stats.rejected(Rejection::Slow), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_chunked_body_ends_the_source() {
    let context = house(Takeover::SameCredential, 0);
    let head = format!(
        "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{}\r\n",
        basic(KEY)
    );
    for body in ["nonsense\r\n", "ffffffffffffffffff\r\n", "3\r\nabcdef"] {
        let (mut source, task) = source(&context, &head);
        source.write_all(body.as_bytes()).await.expect("it is read");
        let ended = task.await.expect("no panic").expect_err("it is broken");
        assert!(matches!(ended, Error::Http(_)), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn garbage_is_taken_without_harm() {
    let context = house(Takeover::SameCredential, 0);
    for kind in [
        "audio/mpeg",
        "audio/aac",
        "application/ogg",
        "video/webm",
        "text/html",
    ] {
        let head = format!(
            "PUT /a HTTP/1.1\r\nContent-Type: {kind}\r\n{}\r\n",
            basic(KEY)
        );
        let (mut source, task) = source(&context, head);
        let mut state = 1_u32;
        for _ in 0..200 {
            let noise: Vec<u8> = (0..1024)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            source.write_all(&noise).await.expect("it is read");
        }
        drop(source);
        task.await.expect("no panic").expect("it left by itself");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_plays_in_real_time() {
    let context = house(Takeover::SameCredential, 0);
    let began = Instant::now();
    let (mut file, task) = source(&context, format!("PUT /a HTTP/1.1\r\n{}\r\n", basic(KEY)));
    // 60 s.
    let body = mp3(60 * 44_100 / 1152);
    let mut listener = listen(&context, "a").await;
    let sent = tokio::spawn(async move {
        file.write_all(&body).await.expect("it is read");
        body
    });
    let heard = hear(&mut listener, FRAME_BYTES * 2290).await;
    assert!(sent.await.expect("no panic").starts_with(&heard));
    task.await.expect("no panic").expect("it came to its end");
    let took = began.elapsed().as_secs();
    assert!((50..60).contains(&took), "{took} s");
}

#[tokio::test(start_paused = true)]
async fn bytes_without_a_clock_are_stamped_on_arrival() {
    let context = house(Takeover::SameCredential, 0);
    let head = format!(
        "PUT /a HTTP/1.1\r\nContent-Type: video/nsv\r\n{}\r\n",
        basic(KEY)
    );
    let (mut source, _task) = source(&context, head);
    let mut listener = listen_with_times(&context, "a").await;
    // The stream's own timeline begins with its first sample.
    for expected in ["@0 tick", "@1500 tick", "@3000 tick"] {
        source.write_all(b"tick").await.expect("it is read");
        assert_eq!(
            hear(&mut listener, expected.len()).await,
            expected.as_bytes()
        );
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
}

// --- titles

fn ask(context: &Context, request: &str) -> String {
    let (head, form) = parse(request.as_bytes());
    let answer = update_metadata(context, &head, &form, PEER, now());
    String::from_utf8(answer).expect("answers are text")
}

fn title_of(stream: &fanout::Stream) -> (String, String) {
    stream
        .info()
        .title
        .map_or_else(Default::default, |t| (t.text.clone(), t.url.clone()))
}

#[tokio::test(start_paused = true)]
async fn titles_arrive_in_every_dialect() {
    let context = house(Takeover::SameCredential, 0);
    let (_source, _task) = source(
        &context,
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)),
    );
    let stream = stream(&context, "a").await;
    for (target, title, url) in [
        ("mount=/a&song=One+-+Two", "One - Two", ""),
        ("mount=a&song=old&artist=New&title=Song", "New - Song", ""),
        ("mount=/a&song=Only%20song&title=t", "Only song", ""),
        (
            "mount=/a&title=Only+title&url=http://x/",
            "Only title",
            "http://x/",
        ),
        ("mount=/a&charset=ISO-8859-1&song=Bj%F6rk", "Björk", ""),
        ("mount=/a&song=a%0d%0ab%00c", "abc", ""),
        // butt, after each real one.
        ("mount=/a&song=", "abc", ""),
        ("song=without+mount", "without mount", ""),
    ] {
        let request = format!(
            "GET /admin/metadata?mode=updinfo&{target} HTTP/1.0\r\n{}\r\n",
            basic(KEY)
        );
        let answer = ask(&context, &request);
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert_eq!(
            body,
            "<?xml version=\"1.0\"?>\n<iceresponse><message>Metadata update successful</message>\
             <return>1</return></iceresponse>\n"
        );
        assert!(
            answer.contains(&format!("\r\nContent-Length: {}\r\n", body.len())),
            "{answer}"
        );
        assert_eq!(
            title_of(&stream),
            (title.to_owned(), url.to_owned()),
            "{target}"
        );
    }
    let long = format!("mode=updinfo&mount=/a&song={}", "ö".repeat(6000));
    ask(
        &context,
        &format!("POST /admin/metadata HTTP/1.1\r\n{}\r\n{long}", basic(KEY)),
    );
    assert_eq!(title_of(&stream).0.len(), 4080);
    let request =
        format!("GET /admin.cgi?mode=updinfo&pass={KEY}&sid=1&song=Cast HTTP/1.0\r\n\r\n");
    assert!(ask(&context, &request).starts_with("HTTP/1.0 200 OK\r\n"));
    assert_eq!(title_of(&stream).0, "Cast");
}

#[tokio::test(start_paused = true)]
async fn titles_from_strangers_and_for_nothing_are_refused() {
    let context = house(Takeover::SameCredential, 0);
    let (_source, _task) = source(
        &context,
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)),
    );
    let stream = stream(&context, "a").await;
    let (right, wrong) = (basic(KEY), basic("guess"));
    for (target, auth, status) in [
        ("/admin/metadata?mode=updinfo&mount=/a&song=x", "", "401 "),
        (
            "/admin/metadata?mode=updinfo&mount=/a&song=x",
            &wrong[..],
            "401 ",
        ),
        // The password in the query is Shoutcast's way only: it ends up in everybody's logs.
        (
            "/admin/metadata?mode=updinfo&mount=/a&song=x&pass=opensesame",
            "",
            "401 ",
        ),
        ("/admin.cgi?mode=updinfo&song=x&pass=guess", "", "401 "),
        ("/admin/metadata?mode=updinfo&mount=/b&song=x", "", "401 "),
        (
            "/admin/metadata?mode=updinfo&mount=/b&song=x",
            &right,
            "404 ",
        ),
        (
            "/admin/metadata?mode=updinfo&mount=/../b&song=x",
            &right,
            "400 ",
        ),
        ("/admin/metadata?mode=delete&mount=/a", &right, "400 "),
        ("/admin/metadata?mount=/a&song=x", &right, "400 "),
    ] {
        let answer = ask(&context, &format!("GET {target} HTTP/1.1\r\n{auth}\r\n"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{target}: {answer}"
        );
        assert_eq!(
            answer.contains("WWW-Authenticate"),
            status == "401 ",
            "{answer}"
        );
    }
    assert_eq!(title_of(&stream).0, "");
    let (_second, _task) = source_without_type(&context);
    wait_for("the second stream", || {
        (context.registry.list().len() == 2).then_some(())
    })
    .await;
    let request = format!("GET /admin/metadata?mode=updinfo&song=x HTTP/1.1\r\n{right}\r\n");
    let answer = ask(&context, &request);
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("`mount`"),
        "{answer}"
    );
    let answer = ask(
        &context,
        "GET /admin/metadata?mode=updinfo&song=x HTTP/1.1\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn passwords_are_never_logged() {
    let log = Log::default();
    let _guard = log.capture();
    let context = house(Takeover::SameCredential, 0);
    for key in [KEY, "guess"] {
        let request = format!("PUT /a HTTP/1.1\r\n{}\r\n", basic(key));
        let (mut source, task) = source(&context, request);
        let target = format!("mode=updinfo&mount=/a&song=x&pass={key}");
        ask(
            &context,
            &format!("GET /admin.cgi?{target} HTTP/1.0\r\n\r\n"),
        );
        source.shutdown().await.expect("a duplex does not fail");
        answer_of(source).await;
        assert_eq!(task.await.expect("no panic").is_ok(), key == KEY);
    }
    let lines = log.lines();
    for event in [
        "publishing begins",
        "publishing ended",
        "source refused",
        "title refused",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(event)),
            "{event}: {lines:#?}"
        );
    }
    assert!(
        !lines
            .iter()
            .any(|line| line.contains(KEY) || line.contains("guess")),
        "{lines:#?}"
    );
}

#[test]
fn options_name_what_libshout_looks_for() {
    let (head, _) = parse(b"OPTIONS * HTTP/1.1\r\nUpgrade: TLS/1.0\r\n\r\n");
    let answer = answer_options(&Settings::default(), &head);
    let answer = String::from_utf8(answer).expect("answers are text");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\nServer: Icecast 2.4.4"),
        "{answer}"
    );
    assert!(
        answer.contains("\r\nAllow: GET, HEAD, PUT, SOURCE, OPTIONS\r\n"),
        "{answer}"
    );
    assert!(
        answer.ends_with("\r\nContent-Length: 0\r\n\r\n"),
        "{answer}"
    );
}
