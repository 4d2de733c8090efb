//! Sources and titles whose permission takes its time, and sources whose permission ends.

use super::*;

const OF_B: &str = "SOURCE /b HTTP/1.0\r\nContent-Type: audio/mpeg";

/// A source that has asked for `b` and waits for the gate.
async fn waiting(context: &Arc<Context>, gate: &TestGate) -> (DuplexStream, Task) {
    let (source, task) = source(context, keyed(OF_B, LATE_KEY));
    until("the question", || gate.waiting() > 0).await;
    (source, task)
}

#[tokio::test(start_paused = true)]
async fn what_a_source_sends_while_it_waits_is_heard() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut source, _task) = waiting(&context, &gate).await;
    send(&mut source, &mp3(4)).await;
    assert!(context.registry.list().is_empty());
    gate.open();
    let show = stream(&context, "b").await;
    // A frame is known to be complete when the next one's header arrives.
    until("all of it", || {
        show.info().ingest_bytes >= 3 * FRAME_BYTES as u64
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_up_takes_the_question_back() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut source, task) = waiting(&context, &gate).await;
    send(&mut source, &mp3(4)).await;
    drop(source);
    let ended = ended(task).await;
    assert!(matches!(ended, Error::Io(_)) && ended.rejection().is_none());
    assert_eq!(gate.waiting(), 0);
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn little_is_read_of_a_source_that_waits() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut source, _task) = waiting(&context, &gate).await;
    // What is read early, what one read may return beyond it, and what the pipe holds.
    let bound = (64 + 64 + 64) * 1024;
    let mut written = 0;
    while let Ok(count) = timeout(Duration::from_secs(1), source.write(&[0; 4096])).await {
        written += count.expect("it is there");
        assert!(written <= bound, "{written} bytes were read");
    }
    assert!(written >= 64 * 1024);
}

#[tokio::test(start_paused = true)]
async fn a_title_waits_for_the_gate() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (_source, _task) = source_without_type(&context);
    let show = stream(&context, "b").await;
    let request = keyed(
        "GET /admin/metadata?mode=updinfo&mount=/b&song=late HTTP/1.0",
        LATE_KEY,
    );
    let (head, form) = parse(request.as_bytes());
    let shared = Arc::clone(&context);
    let update = tokio::spawn(async move {
        update_metadata(&shared, Dialect::Icecast, &head, &form, PEER).await
    });
    until("the question", || gate.waiting() > 0).await;
    assert!(show.info().title.is_none());
    gate.open();
    let answer = String::from_utf8(update.await.expect("no panic")).expect("text");
    begins(&answer, "HTTP/1.0 200 OK");
    assert_eq!(show.info().title.expect("a title").text, "late");
}

#[tokio::test(start_paused = true)]
async fn a_source_is_ended_when_its_permission_ends() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    gate.permit_until(now() + Duration::from_secs(30));
    let (mut source, task) = source(&context, keyed(OF_B, KEY));
    let began = Instant::now();
    for _ in 0..6 {
        send(&mut source, &mp3(1)).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    let answer = answer_of(source).await;
    ends(&answer, "the permission to publish has ended\r\n");
    assert_eq!(began.elapsed().as_secs(), 30);
    assert!(matches!(task.await.expect("no panic"), Err(Error::Expired)));
}
