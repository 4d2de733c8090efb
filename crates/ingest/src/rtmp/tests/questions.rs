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
        again.audio(0, AAC_HEADER).await;
        again.audio(0, b"\xaf\x01one").await;
        let stop = again.session.stop_publishing().expect("it publishes");
        again.act(stop).await;
        ask_in_vain(&mut again, &gate, "second").await;
        for step in 1..20 {
            for (client, listener, _) in &mut others {
                let frame = format!("\u{b}{step:02}");
                let body = [b"\xaf\x01", frame.as_bytes()].concat();
                client.audio(step * 23, &body).await;
                assert_eq!(hear(listener, 3).await, frame.as_bytes());
            }
        }
        assert_eq!(gate.waiting(), 2, "nothing has been decided");
        gate.open();
        for (client, path) in [(&mut late, "live/late"), (&mut again, "live/second")] {
            client.started().await;
            let mut listener = listen(&context, path).await;
            client.audio(0, AAC_HEADER).await;
            client.audio(0, b"\xaf\x01two").await;
            assert_eq!(hear(&mut listener, 3).await, b"two");
        }
        drop((late, again, others));
        for task in [late_task, again_task] {
            task.await.expect("no panic").expect("it left by itself");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_hangs_up_takes_the_question_back() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (client, task) = waiting(&context, &gate, "show").await;
    drop(client);
    task.await.expect("no panic").expect("it left by itself");
    assert_eq!(gate.waiting(), 0);
    gate.open();
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_withdrawn_is_not_answered() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut client, _task) = waiting(&context, &gate, "show").await;
    let delete = message(20, 0, DELETE_STREAM);
    client.socket.write_all(&delete).await.expect("it is read");
    wait_for("the withdrawal", || (gate.waiting() == 0).then_some(())).await;
    gate.open();
    // The next request on the connection is heard.
    let ended = client.last_words();
    assert!(!ended.await.contains("Publish.Start"));
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_decoders_need_is_kept_while_the_gate_decides() {
    let (context, gate) = gated(Takeover::SameCredential, 0);
    let (mut client, _task) = waiting(&context, &gate, "show").await;
    // Sent without waiting, as some encoders do.
    client.unasked(0, AAC_HEADER).await;
    client.unasked(0, b"\xaf\x01lost").await;
    // Virtual time passes when all of it has been read.
    tokio::time::sleep(Duration::from_millis(1)).await;
    gate.open();
    client.started().await;
    let mut listener = listen(&context, "live/show").await;
    client.audio(23, b"\xaf\x01kept").await;
    assert_eq!(hear(&mut listener, 4).await, b"kept");
    let info = stream(&context, "live/show").await.info();
    assert_eq!(info.tracks.len(), 1, "its header came before the answer");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_of_a_peer_that_need_not_wait() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::connect(&context, "live").await;
    // One write, so that all of it is in one read.
    let bytes = [
        asking("publish", &at("show", KEY)),
        message(8, 0, AAC_HEADER),
        message(8, 0, b"\xaf\x01first"),
    ];
    let written = client.socket.write_all(&bytes.concat()).await;
    written.expect("it is read");
    let mut listener = listen(&context, "live/show").await;
    assert_eq!(hear(&mut listener, 5).await, b"first");
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
        client.audio(step * 5_000, b"\xaf\x01on").await;
    }
    let words = client.last_words().await;
    assert!(
        words.contains("the permission to publish has ended"),
        "{words}"
    );
    assert_eq!(began.elapsed().as_secs(), 60);
    drop(client);
    assert!(matches!(ended(task).await, Error::Expired));
    assert_eq!(context.stats.rejected.value(Rejection::Expired), 1);
    let lines = log.lines();
    let begins = lines.iter().find(|line| line.contains("publishing begins"));
    assert!(
        begins.is_some_and(|line| line.contains("identity=studio")),
        "{lines:?}"
    );
    let ends = lines.iter().find(|line| line.contains("publishing ended"));
    assert!(
        ends.is_some_and(|line| line.contains("permission")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn the_intake_gives_back_a_publisher_whose_permission_ends() {
    for (context, gate) in gated_contexts(Takeover::SameCredential) {
        let context = Arc::new(context);
        gate.permit_until(now() + Duration::from_millis(500));
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        client.audio(0, AAC_HEADER).await;
        client.audio(0, b"\xaf\x01on").await;
        let words = client.last_words().await;
        assert!(
            words.contains("the permission to publish has ended"),
            "{words}"
        );
        assert!(matches!(ended(task).await, Error::Expired));
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_identity_is_told_of_the_present_publisher() {
    let context = test_context(Takeover::SameCredential, 0);
    for (key, name) in [(KEY, "studio"), (OTHER_KEY, "van")] {
        let (client, task) = Client::publish(&context, &at("show", key)).await;
        let info = stream(&context, "live/show").await.info();
        assert_eq!(
            info.identity.map(|one| one.to_string()).as_deref(),
            Some(name)
        );
        drop(client);
        task.await.expect("no panic").expect("it left by itself");
    }
}
