//! Publications that work, and how they end.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_is_published_is_heard() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    let mut metadata = StreamMetadata::new();
    metadata.encoder = Some("tester".into());
    let sent = client
        .session
        .publish_metadata(&metadata)
        .expect("it publishes");
    client.act(vec![sent]).await;
    let heard = hear(&mut listener, 13).await;
    assert_eq!(heard[..13], *b"\x02\0\x0aonMetaData");
    client.audio(0, AAC_HEADER).await;
    for (at, frame) in [(0, b"\xaf\x01one"), (23, b"\xaf\x01two")] {
        client.audio(at, frame).await;
        assert_eq!(hear(&mut listener, 3).await, frame[2..]);
    }
    let info = stream(&context, "live/show").await.info();
    assert_eq!(
        (info.source.protocol, info.source.container),
        ("rtmp", Container::Tracks)
    );
    assert_eq!(
        (&*info.source.agent, &*info.source.content_type),
        ("tester", "video/x-flv")
    );
    assert!(info.source.headers.is_empty());
    assert_eq!(info.tracks.len(), 1);
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
    assert!(context.stats.bytes.value(Protocol::Rtmp) > 20);
    drop(client);
    task.await.expect("no panic").expect("it left by itself");
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    assert_eq!(info.phase, Phase::Live);
    assert_eq!(
        stream(&context, "live/show").await.info().phase,
        Phase::Lingering
    );
}

#[tokio::test(start_paused = true)]
async fn unknown_codecs_are_relayed_whole() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    // Speex.
    client.audio(0, b"\xb2speech").await;
    assert_eq!(hear(&mut listener, 6).await, b"speech");
}

#[tokio::test(start_paused = true)]
async fn the_clock_goes_on_across_its_wrap() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen_with_times(&context, "live/show").await;
    client.audio(u32::MAX - 9, AAC_HEADER).await;
    let begin = u32::MAX - 9;
    let began = Instant::now();
    for (at, expected) in [(begin, "@0 x"), (10, "@20 x"), (2_000, "@2010 x")] {
        let since = Duration::from_millis(at.wrapping_sub(begin).into());
        tokio::time::sleep_until(began + since).await;
        client.audio(at, b"\xaf\x01x").await;
        let heard = hear(&mut listener, expected.len()).await;
        assert_eq!(String::from_utf8_lossy(&heard), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_key_is_found_in_every_place() {
    let context = test_context(Takeover::SameCredential, 0);
    for app in ["live", &at("live", KEY)] {
        let (mut client, task) = Client::connect(&context, app).await;
        let name = if app == "live" {
            at("show", KEY)
        } else {
            "show".to_owned()
        };
        client.request(&name).await;
        client.started().await;
        stream(&context, "live/show").await;
        drop(client);
        task.await.expect("no panic").expect("it left by itself");
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_publisher_takes_over_from_a_half_open_one() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut first, first_task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen_with_times(&context, "live/show").await;
    first.audio(5_000, AAC_HEADER).await;
    first.audio(5_000, b"\xaf\x01one").await;
    assert_eq!(hear(&mut listener, 6).await, b"@0 one");
    // The first is never heard of again; nothing is closed on its side.
    let (mut second, _task) = Client::publish(&context, &at("show", KEY)).await;
    second.audio(0, AAC_HEADER).await;
    second.audio(0, b"\xaf\x01two").await;
    let heard = hear(&mut listener, 7).await;
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.starts_with("@23 two"), "{heard}");
    assert!(
        first
            .last_words()
            .await
            .contains("NetStream.Publish.BadName")
    );
    assert!(matches!(ended(first_task).await, Error::Superseded));
    second.audio(23, b"\xaf\x01three").await;
    assert_eq!(hear(&mut listener, 9).await, b"@46 three");
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_publish_again() {
    let context = test_context(Takeover::Never, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    client.audio(0, AAC_HEADER).await;
    client.audio(0, b"\xaf\x01one").await;
    let stop = client.session.stop_publishing().expect("it publishes");
    client.act(stop).await;
    assert_eq!(hear(&mut listener, 3).await, b"one");
    let show = stream(&context, "live/show").await;
    wait_for("the end", || {
        (show.info().phase == Phase::Lingering).then_some(())
    })
    .await;
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    client.request(&at("show", KEY)).await;
    client.started().await;
    client.audio(0, AAC_HEADER).await;
    client.audio(0, b"\xaf\x01two").await;
    assert_eq!(hear(&mut listener, 3).await, b"two");
    assert_eq!(show.info().epoch, 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_server_ends_is_not_called_taken() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    stream(&context, "live/show")
        .await
        .end(fanout::events::EndReason::Operator);
    assert!(client.last_words().await.contains("NetStream.Failed"));
    assert!(matches!(ended(task).await, Error::Ended));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_wants_to_play_is_given_back() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    let play = client
        .session
        .request_playback("show".into())
        .expect("playing");
    client.act(vec![play]).await;
    let talk = async { while client.pump().await {} };
    let end = tokio::select! {
        end = task => end.expect("no panic"),
        () = talk => panic!("the connection stays open"),
    };
    let Ok(Some(player)) = end else {
        panic!("it does not publish");
    };
    assert_eq!(player.request.path.name, "live/show");
    // It goes on where the doorway left it.
    let RtmpConnection {
        mut session,
        mut socket,
        ..
    } = player.connection;
    let accepted = session.accept_play(player.request.id);
    assert!(accepted.is_ok());
    let words = session.output().split();
    socket.write_all(&words).await.expect("it is read");
    client
        .wait(|event| matches!(event, ClientSessionEvent::PlaybackRequestAccepted))
        .await;
    assert_eq!(context.stats.rejected.value(Rejection::NotFound), 0);
}
