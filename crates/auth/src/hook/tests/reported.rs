//! Tests of reports to a hook: permitted sessions and publishers.

use fanout::gate::{Ongoing, Revocation};

use super::*;
use crate::authority::Ender;

/// Ender of listeners, of which there are none.
fn ender() -> Ender {
    Ender::new(|_| {})
}

#[tokio::test]
async fn an_end_is_reported_where_ends_are_reported_and_again_if_nobody_answers() {
    let (listener, port) = hook().await;
    let (ends, end_port) = hook().await;
    let mut settings = settings(port, LONG, Duration::ZERO);
    settings.end_url = at(end_port, "ended");
    let asker = Arc::new(asker_of(&settings));
    let reported = answered(&asker, &listener, YES).await;
    assert!(is_permitted(reported));
    let request = request(&STREAM);
    let witness = asker.witness(&asker.begin(Action::Play, &request), &ender());
    let witness = witness.expect("ends are told");
    drop(witness.begin(Ongoing::Publication(Revocation::default())));
    for answer in [OOPS, YES] {
        let text = answers(&ends, answer).await;
        assert!(text.starts_with("POST /ended HTTP/1.1\r\n"), "{text}");
        assert!(text.contains(r#""action":"play_ended""#), "{text}");
        let (_, seconds) = text.split_once(r#""seconds":"#).expect("a time");
        let seconds = seconds.split([',', '}']).next().expect("a number");
        assert!(seconds.parse::<f64>().expect("a number") > 0.0, "{text}");
    }
}

#[tokio::test]
async fn publishers_are_reported_in_order_and_not_once_more_as_ends() {
    let (listener, port) = hook().await;
    let mut settings = settings(port, LONG, Duration::ZERO);
    settings.end_url = at(port, "ended");
    settings.mount_url = at(port, "mount");
    settings.dialect = dialect("icecast");
    let asker = Arc::new(asker_of(&settings));
    assert!(asker.tells_of_mounts());
    let is_reported = |action| {
        let request = request(&STREAM);
        let on = asker.begin(action, &request);
        asker.witness(&on, &ender()).is_some()
    };
    assert!(!is_reported(Action::Publish) && is_reported(Action::Play));
    assert!(!is_reported(Action::UpdateMetadata), "it has no end");
    let telling = async {
        asker.tell_of_mount("live/show", Mount::Added).await;
        asker.tell_of_mount("live/show", Mount::Removed).await;
    };
    let hook = async {
        for (action, answer) in [("add", OOPS), ("add", YES), ("remove", YES)] {
            let text = answers(&listener, answer).await;
            assert!(text.starts_with("POST /mount HTTP/1.1\r\n"), "{text}");
            let at = "mount=%2Flive%2Fshow&server=localhost&port=";
            let form = format!("\r\n\r\naction=mount_{action}&{at}");
            assert!(text.ends_with(&form), "{text}");
        }
    };
    tokio::join!(telling, hook);
}

#[tokio::test]
async fn what_continues_is_reported_until_it_is_not_permitted_any_more() {
    let (listener, port) = hook().await;
    let mut settings = settings(port, LONG, Duration::ZERO);
    settings.update_url = at(port, "update");
    settings.update_every = SHORT;
    let asker = Arc::new(asker_of(&settings));
    let request = request(&STREAM);
    let witness = asker.witness(&asker.begin(Action::Play, &request), &ender());
    let ended = Revocation::default();
    let begun = Ongoing::Publication(ended.clone());
    let _permit = witness.expect("updates are told").begin(begun);
    // A hook that fails ends nothing.
    for answer in [YES, OOPS, "", NO] {
        let text = answers(&listener, answer).await;
        assert!(text.starts_with("POST /update HTTP/1.1\r\n"), "{text}");
        assert!(text.contains(r#""action":"play_update""#), "{text}");
    }
    ended.revoked().await;
}
