//! Which peers are turned away, and with which words.

use super::*;

/// The protocol's own error.
fn broken(error: &Error) -> Option<::rtmp::Error> {
    match error {
        Error::Protocol(error) => error.cause().cloned(),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_may_not_publish_is_told_and_closed() {
    let context = test_context(Takeover::SameCredential, 1);
    let (_first, _task) = Client::publish(&context, &at("taken", KEY)).await;
    for (name, code, reason) in [
        (
            at("show", "guess"),
            "NetStream.Publish.Denied",
            Rejection::CredentialWrong,
        ),
        (
            "show".to_owned(),
            "NetStream.Publish.Denied",
            Rejection::CredentialMissing,
        ),
        (
            at("show", FLOODER),
            "NetStream.Publish.Rejected",
            Rejection::Attempts,
        ),
        (
            at("show", LOST_KEY),
            "NetStream.Failed",
            Rejection::Unavailable,
        ),
        (
            at("a b", KEY),
            "NetStream.Publish.Denied",
            Rejection::CredentialMissing,
        ),
        (
            at("bj\u{f6}rk", KEY),
            "NetStream.Publish.Rejected",
            Rejection::Name,
        ),
        (
            at("../x", KEY),
            "NetStream.Publish.Rejected",
            Rejection::Name,
        ),
        (
            at("taken", OTHER_KEY),
            "NetStream.Publish.BadName",
            Rejection::Busy,
        ),
        (
            at("second", KEY),
            "NetStream.Publish.Rejected",
            Rejection::Limit,
        ),
    ] {
        let before = context.stats.rejected.value(reason);
        let (mut client, task) = Client::connect(&context, "live").await;
        client.request(&name).await;
        let words = client.last_words().await;
        assert!(words.contains(code), "{name}: {words}");
        assert!(!words.contains("Publish.Start"), "{name}");
        assert!(!words.contains(KEY) && !words.contains("guess"), "{name}");
        drop(client);
        assert_eq!(ended(task).await.rejection(), Some(reason), "{name}");
        assert_eq!(context.stats.rejected.value(reason), before + 1);
    }
    assert_eq!(context.registry.list().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_name_of_the_servers_own_is_refused() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "admin").await;
    client.request(&at("metadata", KEY)).await;
    assert!(
        client
            .last_words()
            .await
            .contains("NetStream.Publish.Rejected")
    );
    drop(client);
    assert!(matches!(ended(task).await, Error::NameReserved));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_read_by_a_publisher_that_sends_without_waiting() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    client.request(&at("show", "guess")).await;
    // What follows the request on the wire, unasked, is read and dropped.
    assert!(client.pump().await);
    client
        .socket
        .write_all(&[0xff; 200_000])
        .await
        .expect("it is drained");
    assert!(
        client
            .last_words()
            .await
            .contains("NetStream.Publish.Denied")
    );
    drop(client);
    assert!(matches!(ended(task).await, Error::Denied(_)));
}

#[tokio::test(start_paused = true)]
async fn every_step_has_its_deadline() {
    let context = test_context(Takeover::SameCredential, 0);
    let seconds = |since: Instant| since.elapsed().as_secs_f64().round() as u64;

    let began = Instant::now();
    let (mut silent, task) = connection(&context);
    silent.write_all(&[3]).await.expect("it is read");
    let mut nothing = Vec::new();
    silent
        .read_to_end(&mut nothing)
        .await
        .expect("a duplex does not fail");
    assert_eq!((seconds(began), nothing.len()), (5, 0));
    drop(silent);
    assert_eq!(
        broken(&ended(task).await),
        Some(::rtmp::Error::HandshakeTimeout)
    );

    let began = Instant::now();
    let (mut idle, task) = Client::connect(&context, "live").await;
    idle.last_words().await;
    assert_eq!(seconds(began), 10);
    drop(idle);
    assert_eq!(
        broken(&ended(task).await),
        Some(::rtmp::Error::RequestTimeout)
    );

    let (mut empty, task) = Client::publish(&context, &at("show", KEY)).await;
    let began = Instant::now();
    assert!(
        empty
            .last_words()
            .await
            .contains("no media arrived within 20 s")
    );
    assert_eq!(seconds(began), 20);
    drop(empty);
    assert!(matches!(ended(task).await, Error::NoMedia(_)));

    let (mut stuck, task) = Client::publish(&context, &at("show", KEY)).await;
    stuck.audio(0, AAC_HEADER).await;
    let began = Instant::now();
    // Metadata is not media.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let metadata = stuck
        .session
        .publish_metadata(&StreamMetadata::new())
        .expect("it publishes");
    stuck.act(vec![metadata]).await;
    assert!(
        stuck
            .last_words()
            .await
            .contains("nothing arrived for 10 s")
    );
    assert_eq!(seconds(began), 10);
    drop(stuck);
    assert!(matches!(ended(task).await, Error::Silent(_)));
    assert_eq!(
        stream(&context, "live/show").await.info().phase,
        Phase::Lingering
    );
    assert_eq!(context.stats.rejected.value(Rejection::Slow), 4);
}

#[tokio::test(start_paused = true)]
async fn keys_are_never_logged() {
    let log = Log::default();
    let _guard = log.capture();
    let context = test_context(Takeover::SameCredential, 0);
    let secrets = [
        "live/hunter22",
        // Shorter than any key.
        "tv",
        "hunter22?key=opensesame",
        "show?key=hunter22",
        "x y?key=hunter22",
    ];
    for name in secrets {
        let (mut client, task) = Client::connect(&context, "live").await;
        client.request(name).await;
        if name.starts_with("hunter22") {
            // A name is no secret once its publisher has proved itself by another.
            client.started().await;
            continue;
        }
        client.last_words().await;
        drop(client);
        ended(task).await;
    }
    let lines = log.lines();
    assert!(
        lines.iter().filter(|line| line.contains("refused")).count() == 4,
        "{lines:#?}"
    );
    assert!(!lines.iter().any(|line| line.contains(KEY)), "{lines:#?}");
    let refused = lines.iter().filter(|line| line.contains("refused"));
    assert!(
        !refused.clone().any(|line| line.contains("hunter22")),
        "{lines:#?}"
    );
    for (name, times) in [("live/show", 1), ("live/tv", 1), ("live/live/***", 1)] {
        let shown = refused
            .clone()
            .filter(|line| line.contains(&format!("stream={name} ")));
        assert_eq!(shown.count(), times, "{lines:#?}");
    }
}

/// Bytes that bring a connection past a simple handshake.
fn hello() -> Vec<u8> {
    let mut hello = vec![0; 1 + 2 * 1536];
    hello[0] = 3;
    hello
}

#[tokio::test(start_paused = true)]
async fn lies_and_excess_are_refused() {
    let context = test_context(Takeover::SameCredential, 0);
    for (what, chunk, reason) in [
        (
            "a chunk size of 0",
            &b"\x02\0\0\0\0\0\x04\x01\0\0\0\0\0\0\0\0"[..],
            Rejection::Malformed,
        ),
        (
            "a command of 16 MiB",
            b"\x03\0\0\0\xff\xff\xff\x14\0\0\0\0",
            Rejection::Oversized,
        ),
        ("a chunk without a past", b"\xc3", Rejection::Malformed),
        (
            "a command that is none",
            b"\x03\0\0\0\0\0\x04\x14\0\0\0\0\xff\xff\xff\xff",
            Rejection::Malformed,
        ),
    ] {
        let before = context.stats.rejected.value(reason);
        let (mut socket, task) = connection(&context);
        socket
            .write_all(&[&hello(), chunk].concat())
            .await
            .expect("it is read");
        let mut words = Vec::new();
        socket
            .read_to_end(&mut words)
            .await
            .expect("a duplex does not fail");
        let words = String::from_utf8_lossy(&words);
        assert!(
            words.contains("NetConnection.Connect.Rejected"),
            "{what}: {words}"
        );
        drop(socket);
        assert_eq!(ended(task).await.rejection(), Some(reason), "{what}");
        assert_eq!(context.stats.rejected.value(reason), before + 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_rtmp_gets_no_answer() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut socket, task) = connection(&context);
    socket
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .await
        .expect("it is read");
    let mut words = Vec::new();
    socket
        .read_to_end(&mut words)
        .await
        .expect("a duplex does not fail");
    assert!(words.is_empty());
    drop(socket);
    assert_eq!(ended(task).await.rejection(), Some(Rejection::Malformed));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_is_cut_off() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    // Ping requests, each of which wants a pong; none is read.
    let ping = b"\x02\0\0\0\0\0\x06\x04\0\0\0\0\0\x06\0\0\0\0";
    let flood = tokio::spawn(async move { while client.socket.write_all(ping).await.is_ok() {} });
    assert_eq!(
        broken(&ended(task).await),
        Some(::rtmp::Error::RepliesUnread)
    );
    flood.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_has_ended_is_refused_with_words() {
    let context = test_context(Takeover::SameCredential, 0);
    let name = media::StreamName::parse("live/show").expect("a name");
    let minute = Duration::from_secs(60);
    let ended = context.registry.end(&name, Some(minute), now());
    assert_eq!(ended, Ok(true));
    let (mut client, task) = Client::connect(&context, "live").await;
    client.request(&at("show", KEY)).await;
    let words = client.last_words().await;
    assert!(words.contains("NetStream.Publish.Rejected"), "{words}");
    assert!(
        words.contains("the operator has ended this stream"),
        "{words}"
    );
    drop(client);
    assert_eq!(
        super::ended(task).await.rejection(),
        Some(Rejection::Blocked)
    );
}
