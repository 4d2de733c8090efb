use std::net::SocketAddr;

use fanout::{Config as Workers, Fanout, Registry};

use super::*;

fn gatehouse() -> Gatehouse {
    let mut config = Config::parse(
        "test",
        "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\n\
         [[stream]]\nmatch = \"own/*\"\npublish_key = \"only-for-own-93\"\n",
        std::iter::empty(),
    )
    .expect("a valid configuration");
    config.fanout.workers = 1;
    let workers = Workers {
        workers: 1,
        target_utilisation: 0.02,
        log_bytes_max: 1 << 20,
    };
    let (fanout, _departures) = Fanout::start(&workers, || {
        net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>)
    })
    .expect("workers");
    let (registry, gatekeeper) = Registry::new(fanout, 0, Box::new(|_| Default::default()));
    registry.fanout().stop();
    Gatehouse::new(Arc::new(config), gatekeeper).expect("randomness")
}

fn presented(host: u8, secret: Option<&str>) -> Presented<'_> {
    Presented {
        peer: SocketAddr::from(([192, 0, 2, host], 1)),
        user: None,
        secret,
        proof: None,
    }
}

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

#[test]
fn each_secret_opens_its_own_door() {
    let gate = gatehouse();
    for (stream, secret, publish, metadata) in [
        ("live/a", Some("bells-at-noon-41"), None, None),
        ("live/a", Some("tower-warden-77"), Some(Denied::Wrong), None),
        (
            "live/a",
            Some("only-for-own-93"),
            Some(Denied::Wrong),
            Some(Denied::Wrong),
        ),
        ("own/a", Some("only-for-own-93"), None, None),
        (
            "own/a",
            Some("bells-at-noon-41"),
            Some(Denied::Wrong),
            Some(Denied::Wrong),
        ),
        ("own/a", Some("tower-warden-77"), Some(Denied::Wrong), None),
        ("live/a", None, Some(Denied::Missing), Some(Denied::Missing)),
        (
            "live/a",
            Some(""),
            Some(Denied::Missing),
            Some(Denied::Missing),
        ),
    ] {
        let offer = presented(1, secret);
        assert_eq!(
            gate.publish(&name(stream), &offer).err(),
            publish,
            "{stream} {secret:?}"
        );
        let answer = gate.update_metadata(&name(stream), &offer).err();
        assert_eq!(answer, metadata, "{stream} {secret:?}");
        assert!(gate.play(&name(stream), &offer).is_ok());
    }
    let peer = presented(1, None).peer.ip();
    assert!(gate.administer(peer, Some("tower-warden-77")).is_ok());
    assert_eq!(
        gate.administer(peer, Some("bells-at-noon-41")).err(),
        Some(Denied::Wrong)
    );
    assert_eq!(gate.administer(peer, None).err(), Some(Denied::Missing));
}

#[test]
fn a_credential_names_its_secret_and_not_the_stream() {
    let gate = gatehouse();
    let credential = |stream: &str, secret| {
        let offer = presented(1, Some(secret));
        gate.publish(&name(stream), &offer)
            .expect("permitted")
            .action()
            .credential
    };
    let shared = credential("live/a", "bells-at-noon-41");
    assert_eq!(shared, credential("live/b", "bells-at-noon-41"));
    assert_ne!(shared, credential("own/a", "only-for-own-93"));
    assert_ne!(
        shared,
        gatehouse().credential("bells-at-noon-41"),
        "the key is the process's own"
    );
}

/// An answer to a challenge by somebody who knows a word.
struct Knows(&'static str);

impl Proof for Knows {
    fn verifies(&self, secret: &str) -> bool {
        secret == self.0
    }
}

fn proved(host: u8, proof: &Knows) -> Presented<'_> {
    Presented {
        user: Some("anybody"),
        proof: Some(proof),
        ..presented(host, None)
    }
}

#[test]
fn a_proof_is_as_good_as_the_key_and_no_better() {
    let gate = gatehouse();
    let publish = |stream: &str, offer: &Presented<'_>| {
        let permitted = gate.publish(&name(stream), offer);
        permitted.map(|permitted| permitted.action().credential)
    };
    let by_key = publish("live/a", &presented(1, Some("bells-at-noon-41")));
    let by_proof = publish("live/a", &proved(1, &Knows("bells-at-noon-41")));
    assert!(by_key.is_ok());
    assert_eq!(by_key, by_proof, "one may take over from the other");
    assert_eq!(
        publish("own/a", &proved(1, &Knows("bells-at-noon-41"))),
        Err(Denied::Wrong)
    );
    let both = Presented {
        secret: Some("guess"),
        ..proved(1, &Knows("bells-at-noon-41"))
    };
    assert_eq!(publish("live/a", &both), Err(Denied::Wrong));

    let guess = || publish("live/a", &proved(5, &Knows("guess"))).err();
    let refused = std::iter::repeat_with(guess).take(100).last().flatten();
    assert_eq!(refused, Some(Denied::TooManyAttempts));
    let right = publish("live/a", &presented(5, Some("bells-at-noon-41")));
    assert_eq!(right, Err(Denied::TooManyAttempts), "the allowance is one");
}

#[test]
fn the_key_replaces_the_demo() {
    let gate = gatehouse();
    for (stream, key) in [("live/a", "bells-at-noon-41"), ("own/a", "only-for-own-93")] {
        let own = gate
            .publish_until_replaced(&name(stream))
            .action()
            .credential;
        let offer = presented(1, Some(key));
        let other = gate.publish(&name(stream), &offer).expect("permitted");
        assert_eq!(own, other.action().credential);
    }
}

#[test]
fn guessing_locks_the_address_out_and_nobody_else() {
    let gate = gatehouse();
    let guess = || {
        gate.publish(&name("live/a"), &presented(7, Some("guess")))
            .err()
    };
    let refused = std::iter::repeat_with(guess).take(100).last().flatten();
    assert_eq!(refused, Some(Denied::TooManyAttempts));
    let right = Some("bells-at-noon-41");
    let answer = gate.publish(&name("live/a"), &presented(7, right)).err();
    assert_eq!(
        answer,
        Some(Denied::TooManyAttempts),
        "a right guess is not told from a wrong one"
    );
    assert!(gate.publish(&name("live/a"), &presented(8, right)).is_ok());
    let operator = presented(7, None).peer.ip();
    assert!(
        gate.administer(operator, Some("tower-warden-77")).is_ok(),
        "the operator may share the encoder's address"
    );
    assert!(
        gate.update_metadata(&name("live/a"), &presented(7, right))
            .is_ok()
    );
}

#[test]
fn a_guesser_does_not_lock_out_who_was_right_from_the_same_address() {
    let gate = gatehouse();
    let right = Some("bells-at-noon-41");
    let publish = |host, secret| {
        let offer = presented(host, secret);
        gate.publish(&name("live/a"), &offer).err()
    };
    let administer = |host, password| {
        let peer = presented(host, None).peer.ip();
        gate.administer(peer, Some(password)).err()
    };
    assert_eq!(publish(7, right), None);
    assert_eq!(administer(7, "tower-warden-77"), None);
    for host in [7, 8] {
        for _ in 0..100 {
            publish(host, Some("guess"));
            administer(host, "guess");
        }
        let refused = Some(Denied::TooManyAttempts);
        assert_eq!(publish(host, Some("guess")), refused);
        assert_eq!(administer(host, "guess"), refused);
    }
    assert_eq!(publish(7, right), None, "it was right before");
    assert_eq!(administer(7, "tower-warden-77"), None);
    assert!(
        gate.publish(&name("live/a"), &proved(7, &Knows("bells-at-noon-41")))
            .is_ok()
    );
    let refused = Some(Denied::TooManyAttempts);
    assert_eq!(publish(8, right), refused, "elsewhere it is a guess");
    assert_eq!(
        publish(7, Some("tower-warden-77")),
        refused,
        "for another door"
    );
    let own = presented(7, Some("only-for-own-93"));
    assert_eq!(gate.publish(&name("own/a"), &own).err(), refused);
}
