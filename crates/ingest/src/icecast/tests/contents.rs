//! Bodies that sources send, whatever type they declare.

use super::*;

fn put(name: &str, content_type: &str) -> String {
    let said = match content_type {
        "" => String::new(),
        said => format!("Content-Type: {said}\r\n"),
    };
    format!("PUT /{name} HTTP/1.1\r\n{}{said}\r\n", basic(KEY))
}

/// Waits until the source's format is known, and returns what is known of the stream.
async fn known(context: &Context, name: &str) -> fanout::Info {
    wait_for("the type of the bytes", || {
        let info = stream_now(context, name);
        (info.source.container != Container::Unknown).then_some(info)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_wrong_or_missing_type_is_corrected() {
    let log = Log::default();
    let _guard = log.capture();
    let context = test_context(Takeover::SameCredential, 0);
    for (name, announced, body, container, media_type) in [
        ("a", "audio/mpeg", adts(8), Container::Adts, "audio/aac"),
        ("b", "application/ogg", mp3(8), Container::Mp3, "audio/mpeg"),
        ("c", "", adts(8), Container::Adts, "audio/aac"),
        ("d", "text/html", mp3(8), Container::Mp3, "audio/mpeg"),
    ] {
        let (mut source, _task) = source(&context, put(name, announced));
        let mut listener = listen(&context, name).await;
        assert!(!stream_now(&context, name).is_on_air(), "nothing has come");
        send(&mut source, &body).await;
        let info = known(&context, name).await;
        assert_eq!(info.source.container, container);
        assert_eq!(info.source.content_type, media_type);
        assert_eq!(info.announced_type.as_deref(), Some(announced));
        assert!(info.is_on_air());
        drop(source);
        drop(listener.at_hand().await);
    }
    let said = log.lines().concat();
    assert_eq!(said.matches("something else").count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_comes_back_with_the_same_wrong_type_keeps_its_listeners() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut first, _task) = source(&context, put("a", "audio/mpeg"));
    stream(&context, "a").await;
    send(&mut first, &adts(8)).await;
    known(&context, "a").await;
    let mut listener = listen(&context, "a").await;
    let heard = hear(&mut listener, 4 * 200).await.len();
    let (mut second, _task) = source(&context, put("a", "audio/mpeg"));
    send(&mut second, &adts(8)).await;
    hear(&mut listener, 16 * 200 - heard).await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_played_is_ended_with_words() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut noise, task) = source(&context, put("a", "audio/mpeg"));
    let stream = stream(&context, "a").await;
    let mut answer = String::new();
    // A live source of another type: it sends, and nothing comes of it.
    for _ in 0..30 {
        if noise.write_all(&[0x20; 2_000]).await.is_err() {
            break;
        }
        assert!(!stream.info().is_on_air());
        tokio::time::sleep(Duration::from_millis(500)).await;
        if task.is_finished() {
            break;
        }
    }
    noise.shutdown().await.ok();
    noise.read_to_string(&mut answer).await.expect("words");
    ends(&answer, "it was announced as \"audio/mpeg\"\r\n");
    let error = ended(task).await;
    assert!(matches!(error, Error::NotMedia(_)), "{error}");
    assert_eq!(error.rejection(), Some(Rejection::Malformed));
}

#[tokio::test(start_paused = true)]
async fn a_source_whose_media_turns_into_something_else_is_ended() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut source, task) = source(&context, put("a", "audio/mpeg"));
    stream(&context, "a").await;
    send(&mut source, &mp3(8)).await;
    known(&context, "a").await;
    while !task.is_finished() {
        if source.write_all(&[0x20; 2_000]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    drop(source);
    let error = ended(task).await;
    assert!(matches!(error, Error::NoMedia(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_password_in_a_header_is_not_passed_on() {
    let context = test_context(Takeover::SameCredential, 0);
    let request = format!("SOURCE /a HTTP/1.0\r\nice-password: {KEY}\r\nice-name: Old\r\n\r\n");
    let (_source, _task) = source(&context, request);
    let info = stream(&context, "a").await.info();
    let expected = ("ice-name".to_owned(), "Old".to_owned());
    assert_eq!(info.source.headers, [expected]);
}
