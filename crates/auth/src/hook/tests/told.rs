//! What a hook is told of what it has permitted, and of publishers.

use std::sync::Arc;
use std::time::Duration;

use fanout::gate::{Action, Ongoing, Revocation};
use tokio::io::AsyncWriteExt;

use super::{
    LONG, SHORT, STREAM, YES, answered, asked, asker_of, dialect, hook, is_permitted, request,
    settings,
};
use crate::authority::Ender;
use crate::hook::{AuthHook, Mount};

/// Of listeners, of which there are none.
fn ender() -> Ender {
    Ender::new(|_| {})
}

#[tokio::test]
async fn an_end_is_told_where_ends_are_told_and_again_if_nobody_answers() {
    let (listener, port) = hook().await;
    let (ends, end_port) = hook().await;
    let end_url = format!("http://127.0.0.1:{end_port}/ended");
    let settings = AuthHook {
        end_url: Some(end_url.parse().expect("an address")),
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Arc::new(asker_of(&settings));
    let told = answered(&asker, &listener, YES).await;
    assert!(is_permitted(told));
    let request = request(&STREAM);
    let witness = asker.witness(&asker.begin(Action::Play, &request), &ender());
    let witness = witness.expect("ends are told");
    drop(witness.begin(Ongoing::Publication(Revocation::default())));
    for answer in ["HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", YES] {
        let (mut socket, text) = asked(&ends).await;
        assert!(text.starts_with("POST /ended HTTP/1.1\r\n"), "{text}");
        assert!(text.contains(r#""action":"play_ended""#), "{text}");
        let (_, seconds) = text.split_once(r#""seconds":"#).expect("a time");
        let seconds = seconds.split([',', '}']).next().expect("a number");
        assert!(seconds.parse::<f64>().expect("a number") > 0.0, "{text}");
        socket.write_all(answer.as_bytes()).await.expect("written");
    }
}

#[tokio::test]
async fn publishers_are_told_of_in_order_and_not_once_more_as_ends() {
    let (listener, port) = hook().await;
    let url = |path: &str| {
        Some(
            format!("http://127.0.0.1:{port}{path}")
                .parse()
                .expect("an address"),
        )
    };
    let settings = AuthHook {
        end_url: url("/ended"),
        mount_url: url("/mount"),
        dialect: dialect("icecast"),
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Arc::new(asker_of(&settings));
    assert!(asker.tells_of_mounts());
    let is_told = |action| {
        let request = request(&STREAM);
        let on = asker.begin(action, &request);
        asker.witness(&on, &ender()).is_some()
    };
    assert!(!is_told(Action::Publish) && is_told(Action::Play));
    assert!(!is_told(Action::UpdateMetadata), "it has no end");
    let telling = async {
        asker.tell_of_mount("live/show", Mount::Added).await;
        asker.tell_of_mount("live/show", Mount::Removed).await;
    };
    let hook = async {
        let no = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n";
        for (action, answer) in [("add", no), ("add", YES), ("remove", YES)] {
            let (mut socket, text) = asked(&listener).await;
            assert!(text.starts_with("POST /mount HTTP/1.1\r\n"), "{text}");
            let form = format!(
                "\r\n\r\naction=mount_{action}&mount=%2Flive%2Fshow&server=localhost&port="
            );
            assert!(text.ends_with(&form), "{text}");
            socket.write_all(answer.as_bytes()).await.expect("written");
        }
    };
    tokio::join!(telling, hook);
}

#[tokio::test]
async fn what_goes_on_is_told_until_it_is_not_permitted_any_more() {
    let (listener, port) = hook().await;
    let update_url = format!("http://127.0.0.1:{port}/update");
    let settings = AuthHook {
        update_url: Some(update_url.parse().expect("an address")),
        update_every: SHORT,
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Arc::new(asker_of(&settings));
    let request = request(&STREAM);
    let witness = asker.witness(&asker.begin(Action::Play, &request), &ender());
    let ended = Revocation::default();
    let _permit = witness
        .expect("updates are told")
        .begin(Ongoing::Publication(ended.clone()));
    let no = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    // A hook that fails ends nothing.
    for answer in [
        YES,
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
        "",
        no,
    ] {
        let (mut socket, text) = asked(&listener).await;
        assert!(text.starts_with("POST /update HTTP/1.1\r\n"), "{text}");
        assert!(text.contains(r#""action":"play_update""#), "{text}");
        socket.write_all(answer.as_bytes()).await.expect("written");
    }
    ended.revoked().await;
}
