use super::*;
use crate::webhooks::teller::Message;

fn open(directory: &Path) -> (Courier, Teller) {
    let endpoint = Endpoint {
        url: "http://127.0.0.1:1/hook".parse().expect("a URL"),
        keys: Vec::new(),
        wants: Box::new(|_, _| true),
    };
    let settings = Settings {
        directory: Some(directory),
        endpoints: vec![endpoint],
        seed: 1,
    };
    Courier::open(settings, Arc::default()).expect("nobody else has it")
}

fn message(id: &str) -> Reported {
    let message = Message {
        kind: "stream.published",
        stream: Some("live/show".to_owned()),
        body: r#"{"type":"stream.published"}"#.into(),
        id: Some(id.into()),
    };
    Reported {
        message,
        kept: None,
    }
}

/// The identifiers of what waits, in its order.
fn waiting(courier: &mut Courier) -> Vec<String> {
    let all = courier.queue.take_all().into_iter();
    all.filter_map(|(_, one)| Some(one?.id.to_string()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_waits_survives_a_disk_that_fails_once_and_a_kill() {
    let root = tempfile::tempdir().expect("a directory");
    let (mut courier, _teller) = open(root.path());
    courier.take(message("a"));
    courier.write().await;
    let journal = Arc::clone(courier.journal.as_ref().expect("there is one"));
    journal.refuse_writes(1);
    courier.take(message("b"));
    courier.write().await;
    assert!(courier.counts.journal().is_failing);
    // That it can be read again keeps nothing yet.
    journal.read().expect("read");
    assert!(courier.counts.journal().is_failing);
    courier.take(message("c"));
    tokio::time::advance(RETRY_AFTER).await;
    courier.write().await;
    assert!(!courier.counts.journal().is_failing);
    // No order, no end: as if it was killed.
    drop((courier, journal));
    let (mut courier, _teller) = open(root.path());
    assert_eq!(waiting(&mut courier), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_not_there_at_the_start_keeps_nothing_back() {
    let root = tempfile::tempdir().expect("a directory");
    let (place, away) = (root.path().join("state"), root.path().join("away"));
    let (mut courier, _teller) = open(&place);
    courier.take(message("a"));
    courier.write().await;
    let first = courier.sequences.highest();
    drop(courier);
    std::fs::rename(&place, &away).expect("moved");
    std::fs::write(&place, "no directory").expect("written");
    let (mut courier, _teller) = open(&place);
    courier.take(message("b"));
    assert_eq!(courier.queue.len(), 1);
    std::fs::remove_file(&place).expect("removed");
    std::fs::rename(&away, &place).expect("moved");
    tokio::time::advance(RETRY_AFTER).await;
    courier.write().await;
    assert_eq!(courier.queue.len(), 2);
    drop(courier);
    let (mut courier, _teller) = open(&place);
    assert_eq!(waiting(&mut courier), ["a", "b"]);
    assert!(courier.sequences.highest() >= first);
}

#[tokio::test]
async fn a_queue_that_another_process_has_is_left_to_it() {
    let root = tempfile::tempdir().expect("a directory");
    let (_courier, _teller) = open(root.path());
    let settings = Settings {
        directory: Some(root.path()),
        endpoints: Vec::new(),
        seed: 1,
    };
    let refused = Courier::open(settings, Arc::default()).expect_err("it is taken");
    assert!(refused.to_string().contains("webhooks.redb"), "{refused}");
}
