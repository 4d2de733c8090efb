//! Publications that work, and how they end.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_is_published_is_heard() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    let mut metadata = StreamMetadata::new();
    metadata.encoder = Some("tester".into());
    client.tell(&metadata).await;
    let heard = hear(&mut listener, 13).await;
    assert_eq!(heard[..13], *b"\x02\0\x0aonMetaData");
    client.audio(0, AAC_HEADER).await;
    for (at, frame) in [(0, "one"), (23, "two")] {
        client.frame(at, frame).await;
        hears(&mut listener, frame).await;
    }
    let info = stream(&context, "live/show").await.info();
    let source = &info.source;
    assert_eq!(
        (source.protocol, source.container),
        ("rtmp", Container::Tracks)
    );
    assert_eq!(
        (&*source.agent, &*source.content_type),
        ("tester", "video/x-flv")
    );
    assert!(source.headers.is_empty());
    assert_eq!(info.tracks.len(), 1);
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
    assert!(context.stats.bytes.value(Protocol::Rtmp) > 20);
    drop(client);
    left(task).await;
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    assert_eq!(info.phase, Phase::Live);
    let after = stream(&context, "live/show").await.info();
    assert_eq!(after.phase, Phase::Lingering);
}

#[tokio::test(start_paused = true)]
async fn unknown_codecs_are_relayed_whole() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    // Speex.
    client.audio(0, b"\xb2speech").await;
    hears(&mut listener, "speech").await;
}
