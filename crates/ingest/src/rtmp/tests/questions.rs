//! Publishers whose permission takes its time, and those whose permission ends.

use super::parked::gated_contexts;
use super::*;

/// A publisher that has asked for `name` and waits for the gate.
async fn waiting(context: &Arc<Context>, gate: &TestGate, name: &str) -> (Client, Task) {
    let (mut client, task) = Client::connect(context, "live").await;
    ask_in_vain(&mut client, gate, name).await;
    (client, task)
}

/// Asks for `name`, and talks until the gate has been asked.
async fn ask_in_vain(client: &mut Client, gate: &TestGate, name: &str) {
    let before = gate.waiting();
    client.request(&at(name, LATE_KEY)).await;
    while gate.waiting() == before {
        tokio::select! {
            is_there = client.pump() => assert!(is_there, "the server has closed"),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    }
}

#[tokio::test]
async fn a_peer_that_waits_for_the_gate_delays_no_other() {
    for (context, gate) in gated_contexts(Takeover::SameCredential) {
        let context = Arc::new(context);
        let mut others = Vec::new();
        for number in 0..100 {
            let (name, path) = (format!("show{number}"), format!("live/show{number}"));
            let (mut client, task) = Client::publish(&context, &at(&name, KEY)).await;
            client.audio(0, AAC_HEADER).await;
            let listener = listen(&context, &path).await;
            others.push((client, listener, task));
        }
        // One connection is new, and one asks again on a connection that the intake reads.
        let (mut late, late_task) = waiting(&context, &gate, "late").await;
        let (mut again, again_task) = Client::publish(&context, &at("first", KEY)).await;
        again.speak(0, "one").await;
        again.stop_publishing().await;
        ask_in_vain(&mut again, &gate, "second").await;
        for step in 1..20 {
            for (client, listener, _) in &mut others {
                let frame = format!("\u{b}{step:02}");
                client.frame(step * 23, &frame).await;
                hears(listener, &frame).await;
            }
        }
        assert_eq!(gate.waiting(), 2, "nothing has been decided");
        gate.open();
        for (client, path) in [(&mut late, "live/late"), (&mut again, "live/second")] {
            client.started().await;
            let mut listener = listen(&context, path).await;
            client.speak(0, "two").await;
            hears(&mut listener, "two").await;
        }
        drop((late, again, others));
        for task in [late_task, again_task] {
            left(task).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_hangs_up_takes_the_question_back() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (client, task) = waiting(&context, &gate, "show").await;
    drop(client);
    left(task).await;
    assert_eq!(gate.waiting(), 0);
    gate.open();
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_withdrawn_is_not_answered() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut client, _task) = waiting(&context, &gate, "show").await;
    let delete = message(20, 0, DELETE_STREAM);
    client.write(&delete).await;
    until("the withdrawal", || gate.waiting() == 0).await;
    gate.open();
    // The next request on the connection is processed.
    let ended = client.last_words();
    assert!(!ended.await.contains("Publish.Start"));
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_decoders_need_is_kept_while_the_gate_decides() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut client, _task) = waiting(&context, &gate, "show").await;
    // Sent without waiting, as some encoders do.
    client.write(&message(8, 0, AAC_HEADER)).await;
    client.write(&message(8, 0, b"\xaf\x01lost")).await;
    // Virtual time passes when all of it has been read.
    tokio::time::sleep(Duration::from_millis(1)).await;
    gate.open();
    client.started().await;
    let mut listener = listen(&context, "live/show").await;
    client.frame(23, "kept").await;
    hears(&mut listener, "kept").await;
    let info = stream(&context, "live/show").await.info();
    assert_eq!(info.tracks.len(), 1, "its header came before the answer");
}

#[tokio::test(start_paused = true)]
async fn a_publisher_is_ended_when_its_permission_ends() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let log = Log::default();
    let _listening = log.capture();
    gate.permit_until(now() + Duration::from_secs(60));
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    let began = Instant::now();
    client.audio(0, AAC_HEADER).await;
    for step in 1..12 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        client.frame(step * 5_000, "on").await;
    }
    let words = client.last_words().await;
    has(&words, "the permission to publish has ended");
    assert_eq!(began.elapsed().as_secs(), 60);
    drop(client);
    assert!(matches!(ended(task).await, Error::Expired));
    assert_eq!(context.stats.rejected.value(Rejection::Expired), 1);
    for (event, part) in [
        ("publishing begins", "identity=studio"),
        ("publishing ended", "permission"),
    ] {
        let lines = log.lines().into_iter();
        let mut of_event = lines.filter(|line| line.contains(event));
        has(&of_event.next().expect(event), part);
    }
}

#[tokio::test]
async fn the_intake_gives_back_a_publisher_whose_permission_ends() {
    for (context, gate) in gated_contexts(Takeover::SameCredential) {
        let context = Arc::new(context);
        gate.permit_until(now() + Duration::from_millis(500));
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        client.speak(0, "on").await;
        let words = client.last_words().await;
        has(&words, "the permission to publish has ended");
        assert!(matches!(ended(task).await, Error::Expired));
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_identity_is_that_of_the_present_publisher() {
    let context = test_context(Takeover::SameCredential, 0);
    for (key, name) in [(KEY, "studio"), (OTHER_KEY, "van")] {
        let (client, task) = Client::publish(&context, &at("show", key)).await;
        let info = stream(&context, "live/show").await.info();
        let identity = info.identity.expect("it has one");
        assert_eq!(identity.to_string(), name);
        drop(client);
        left(task).await;
    }
}
