//! Permissions that the gate grants by the reply of a hook.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use auth::link::{Action as LinkAction, Link};
use auth::{AuthorityGate, IN_FLIGHT_MAX};
use fanout::ListenerId;
use fanout::gate::{Denied, Gate, Ongoing, Request};
use media::StreamName;
use net::wait::at_once;
use tokio::net::TcpListener;

use super::authorities::permissive_hook;
use super::permissions::{configured_by, link_to, peer};

const PASSWORD: &str = "bells-at-midnight";

/// A gate whose hook permits listeners with the password, and none without one; and how often it was asked.
async fn guarded(more: &str) -> (AuthorityGate, Arc<AtomicUsize>) {
    let (port, asked) = permissive_hook(PASSWORD).await;
    let source = format!(
        "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\n{more}\n\
         [auth.hook]\nurl = \"http://127.0.0.1:{port}/\"\n"
    );
    (configured_by(&source, None), asked)
}

fn stream() -> StreamName {
    StreamName::parse("live/a").expect("a name")
}

async fn play(gate: &AuthorityGate, host: u8, password: Option<&str>) -> Option<Denied> {
    let stream = stream();
    let request = Request {
        user: password.map(|_| "ann"),
        password,
        ..Request::new(&stream, "http", peer(host))
    };
    gate.play(&request).await.err()
}

#[tokio::test]
async fn passwords_of_listeners_are_guessed_no_more_often_than_without_a_hook() {
    let (gate, asked) = guarded("").await;
    assert_eq!(play(&gate, 8, Some(PASSWORD)).await, None);
    let limited = Some(Denied::TooManyAttempts);
    for host in [7, 8] {
        for number in 0.. {
            let guess = format!("guess-{number}");
            match play(&gate, host, Some(&guess)).await {
                denied if denied == limited => break,
                denied => assert_eq!(denied, Some(Denied::Wrong)),
            }
        }
    }
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(play(&gate, 7, Some(PASSWORD)).await, limited);
    assert_eq!(asked.load(Ordering::Relaxed), before, "it is not asked");
    let again = play(&gate, 8, Some(PASSWORD)).await;
    assert_eq!(again, None, "it was right from there before");
    assert_eq!(play(&gate, 9, Some(PASSWORD)).await, None);
    let challenged = play(&gate, 7, None).await;
    assert_eq!(challenged, Some(Denied::Missing));
}

#[tokio::test]
async fn passwords_in_an_address_are_guesses_too() {
    let (gate, asked) = guarded("").await;
    let stream = stream();
    let play = async |password: &str| {
        let query = format!("user=ann&pass={password}");
        let request = Request {
            query: &query,
            ..Request::new(&stream, "rtmp", peer(7))
        };
        gate.play(&request).await.err()
    };
    for number in 0.. {
        match play(&format!("guess-{number}")).await {
            Some(Denied::TooManyAttempts) => break,
            denied => assert_eq!(denied, Some(Denied::Wrong)),
        }
    }
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(play(PASSWORD).await, Some(Denied::TooManyAttempts));
    assert_eq!(asked.load(Ordering::Relaxed), before);
}

#[tokio::test]
async fn a_crowd_of_questions_lets_nobody_in() {
    // It takes connections and does not answer.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = silent.local_addr().expect("an address").port();
    let gate = configured_by(
        &format!(
            "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\n\
             [auth.hook]\nurl = \"http://127.0.0.1:{port}/\"\nunanswered = \"allow\"\ntimeout = \"9s\"\n"
        ),
        None,
    );
    let stream = stream();
    let request = Request::new(&stream, "http", peer(7));
    let mut asked = Vec::new();
    let first_away = loop {
        let mut asks = gate.play(&request);
        assert!(at_once(&mut asks).is_none());
        asked.push(asks);
        // Each poll of the test's own task may do so much.
        tokio::task::yield_now().await;
        if let Some(first) = asked.get_mut(IN_FLIGHT_MAX).and_then(at_once) {
            break first;
        }
    };
    assert_eq!(first_away.err(), Some(Denied::Unavailable));
}

#[tokio::test]
async fn a_link_that_others_use_is_not_asked_about() {
    const SECRET: &str = "an-hmac-secret-of-32-characters!";
    let link = format!("play = \"key\"\n[auth.link]\nsecret = \"{SECRET}\"\n");
    let (gate, asked) = guarded(&link).await;
    let token = Link {
        players_max: std::num::NonZeroU32::new(1),
        ..link_to(LinkAction::Play, "live/a", 60)
    }
    .sign(SECRET);
    let (name, query) = (stream(), format!("link={token}&hook={PASSWORD}"));
    let request = |host| Request {
        query: &query,
        ..Request::new(&name, "http", peer(host))
    };
    let mut listening = Vec::new();
    for host in [1, 2] {
        let permitted = gate.play(&request(host)).await.expect("permitted");
        let listener = ListenerId(host.into());
        listening.push(permitted.begin(Ongoing::Listener(listener)));
    }
    let displaced = gate.play(&request(1)).await.err();
    assert_eq!(displaced, Some(Denied::InUse));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
