//! Refused peers, and the words that they receive.

use super::*;

/// The protocol's own error.
fn broken(error: &Error) -> Option<::rtmp::Error> {
    match error {
        Error::Protocol(error) => error.cause().cloned(),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_may_not_publish_is_reported_and_closed() {
    let context = test_context(Takeover::SameCredential, 1);
    let (_first, _task) = Client::publish(&context, &at("taken", KEY)).await;
    let ended_stream = media::StreamName::parse("live/ended").expect("a name");
    let minute = Some(Duration::from_secs(60));
    assert_eq!(context.registry.end(&ended_stream, minute, now()), Ok(true));
    use Rejection as R;
    // In the application `live`, unless another one is named.
    for (name, code, reason) in [
        (&*at("show", "guess"), "Publish.Denied", R::CredentialWrong),
        ("show", "Publish.Denied", R::CredentialMissing),
        (&at("show", FLOODER), "Publish.Rejected", R::Attempts),
        (&at("show", LOST_KEY), "Failed", R::Unavailable),
        (&at("a b", KEY), "Publish.Denied", R::CredentialMissing),
        (&at("bj\u{f6}rk", KEY), "Publish.Rejected", R::Name),
        (&at("../x", KEY), "Publish.Rejected", R::Name),
        (&at("taken", OTHER_KEY), "Publish.BadName", R::Busy),
        (&at("second", KEY), "Publish.Rejected", R::Limit),
        (&at("admin|metadata", KEY), "Publish.Rejected", R::Name),
        (&at("ended", KEY), "Publish.Rejected", R::Blocked),
    ] {
        let before = context.stats.rejected.value(reason);
        let (app, name) = name.split_once('|').unwrap_or(("live", name));
        let (mut client, task) = Client::connect(&context, app).await;
        client.request(name).await;
        let words = client.last_words().await;
        let is_so = words.contains(&format!("NetStream.{code}"));
        assert!(is_so, "{name}: {words}");
        assert!(!words.contains("Publish.Start"), "{name}");
        assert!(!words.contains(KEY) && !words.contains("guess"), "{name}");
        drop(client);
        assert_eq!(ended(task).await.rejection(), Some(reason), "{name}");
        assert_eq!(context.stats.rejected.value(reason), before + 1);
    }
    assert_eq!(context.registry.list().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_step_has_its_deadline() {
    let context = test_context(Takeover::SameCredential, 0);
    let seconds = |since: Instant| since.elapsed().as_secs_f64().round() as u64;

    // How long they take is shown with the doorway.
    for (bytes, error) in [
        (vec![3], ::rtmp::Error::HandshakeTimeout),
        (hello(), ::rtmp::Error::RequestTimeout),
    ] {
        let (mut silent, task) = connection(&context);
        silent.write_all(&bytes).await.expect("it is read");
        all_words(&mut silent).await;
        drop(silent);
        assert_eq!(broken(&ended(task).await), Some(error));
    }

    let (mut empty, task) = Client::publish(&context, &at("show", KEY)).await;
    let began = Instant::now();
    has(&empty.last_words().await, "no media arrived within 20 s");
    assert_eq!(seconds(began), 20);
    drop(empty);
    assert!(matches!(ended(task).await, Error::NoMedia(_)));

    let (mut stuck, task) = Client::publish(&context, &at("show", KEY)).await;
    stuck.audio(0, AAC_HEADER).await;
    let began = Instant::now();
    // Metadata is not media.
    tokio::time::sleep(Duration::from_secs(6)).await;
    stuck.tell(&StreamMetadata::new()).await;
    has(&stuck.last_words().await, "nothing arrived for 10 s");
    assert_eq!(seconds(began), 10);
    drop(stuck);
    assert!(matches!(ended(task).await, Error::Silent(_)));
    let after = stream(&context, "live/show").await.info();
    assert_eq!(after.phase, Phase::Lingering);
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
    assert!(!lines.concat().contains(KEY), "{lines:#?}");
    let refused = lines.into_iter().filter(|line| line.contains("refused"));
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused.len(), 4, "{refused:#?}");
    let refused = refused.concat();
    assert!(!refused.contains("hunter22"), "{refused}");
    for name in ["live/show", "live/tv", "live/live/***"] {
        let shown = format!("stream={name} ");
        assert_eq!(refused.matches(&shown).count(), 1, "{refused}");
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
    let after = |chunk: &[u8]| [&hello(), chunk].concat();
    let odd = b"\x03\0\0\0\0\0\x04\x14\0\0\0\0\xff\xff\xff\xff";
    let long = b"\x03\0\0\0\xff\xff\xff\x14\0\0\0\0";
    let sizeless = b"\x02\0\0\0\0\0\x04\x01\0\0\0\0\0\0\0\0";
    let http = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    let words = "NetConnection.Connect.Rejected";
    use Rejection::{Malformed, Oversized};
    for (what, bytes, reason, words) in [
        ("chunks of size 0", after(sizeless), Malformed, words),
        ("a command of 16 MiB", after(long), Oversized, words),
        ("a chunk without a past", after(b"\xc3"), Malformed, words),
        ("a command that is none", after(odd), Malformed, words),
        ("no RTMP", http, Malformed, ""),
    ] {
        let before = context.stats.rejected.value(reason);
        let (mut socket, task) = connection(&context);
        socket.write_all(&bytes).await.expect("it is read");
        let said = all_words(&mut socket).await;
        assert!(said.contains(words), "{what}: {said}");
        assert_eq!(said.is_empty(), words.is_empty(), "{what}: {said}");
        drop(socket);
        assert_eq!(ended(task).await.rejection(), Some(reason), "{what}");
        assert_eq!(context.stats.rejected.value(reason), before + 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_is_cut_off() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    // Ping requests, each of which wants a pong; none is read.
    let ping = b"\x02\0\0\0\0\0\x06\x04\0\0\0\0\0\x06\0\0\0\0";
    let flood = tokio::spawn(async move { while client.socket.write_all(ping).await.is_ok() {} });
    let error = broken(&ended(task).await);
    assert_eq!(error, Some(::rtmp::Error::RepliesUnread));
    flood.await.expect("no panic");
}
