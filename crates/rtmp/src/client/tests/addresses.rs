//! Addresses: what is made of the parts of a URL, and what is never shown.

use super::*;

/// `scheme host port path`, without user and query.
fn parts(text: &str) -> Parts<'_> {
    let [scheme, host, port, path] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text:?}");
    };
    Parts {
        scheme,
        host,
        port: port.parse().ok(),
        path,
        query: "",
        user: None,
    }
}

/// With a key and a password.
fn secret(text: &str) -> Address {
    let parts = Parts {
        query: "key=K",
        user: Some(("u".to_owned(), "p".to_owned())),
        ..parts(text)
    };
    Address::new(parts).unwrap()
}

#[test]
fn the_parts_of_a_url_are_what_a_server_is_asked_for() {
    for (given, tc_url, app, stream) in [
        ("rtmp h - /live/show", "rtmp://h/live", "live", "show"),
        ("rtmp h 1935 /live/show/", "rtmp://h/live", "live", "show"),
        ("rtmps h - /a/b//c", "rtmps://h/a/b", "a/b", "c"),
        ("rtmps h 1936 /a/b", "rtmps://h:1936/a", "a", "b"),
        ("rtmp ::1 443 /a/b", "rtmp://[::1]:443/a", "a", "b"),
        ("rtmp ::1 - a/b", "rtmp://[::1]/a", "a", "b"),
    ] {
        let parts = parts(given);
        let default = if parts.scheme == "rtmps" { 443 } else { 1935 };
        let expected = (parts.host, parts.port.unwrap_or(default));
        let address = Address::new(parts).unwrap();
        assert_eq!((address.host(), address.port()), expected);
        assert_eq!(address.tc_url(), tc_url);
        assert_eq!((&*address.app(), &*address.stream()), (app, stream));
    }
    let keyed = Address::new(Parts {
        query: "x=1/2&y=@:?",
        ..parts("rtmp h - /a/b")
    });
    assert_eq!(keyed.unwrap().stream(), "b?x=1/2&y=@:?");
}

#[test]
fn another_scheme_and_a_short_path_are_no_address() {
    use AddressError::{Path, Scheme};
    for (given, error) in [
        ("http h - /live/show", Scheme),
        ("rtmpt h - /live/show", Scheme),
        (" h - /live/show", Scheme),
        ("rtmp h - ", Path),
        ("rtmp h - /", Path),
        ("rtmp h - /live", Path),
        ("rtmp h - /live/", Path),
        ("rtmp h - //live", Path),
    ] {
        assert_eq!(Address::new(parts(given)), Err(error), "{given}");
    }
}

#[test]
fn nothing_secret_is_shown() {
    let address = Address::new(Parts {
        query: "key=sesame",
        user: Some(("qwerty".to_owned(), "hunter2".to_owned())),
        ..parts("rtmps h 444 /live/xyzzy")
    })
    .unwrap();
    let shown = format!("{address} {address:?}");
    assert!(shown.contains("rtmps://h:444/live/"), "{shown}");
    for secret in ["qwerty", "hunter2", "xyzzy", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(address.is_repeated_in(&format!("bad {secret}!")));
    }
    assert!(!address.is_repeated_in("no such application: live"));
    let encoded = with_query("key=a%2Fb");
    assert!(encoded.is_repeated_in("key a/b is wrong"));

    let session = client(Purpose::Publish, Instant::now());
    let shown = format!("{session:?}");
    assert!(!shown.contains("sesame") && !shown.contains("key=K"));
}

#[test]
fn a_move_keeps_the_stream_and_its_encryption() {
    let address = secret("rtmps h - /live/show");
    assert_eq!(address.server(), "rtmps://h");
    for (to, expected) in [
        ("rtmps other 4443 /live", "rtmps://other:4443/live"),
        ("rtmps other - /edge/live/", "rtmps://other/edge/live"),
        ("rtmps other - /", ""),
        ("rtmp other - /live", ""),
        ("http other - /live", ""),
    ] {
        let moved = address.moved_to(parts(to));
        let tc_url = moved.as_ref().map(Address::tc_url);
        assert_eq!(tc_url.unwrap_or_default(), expected, "{to}");
        if let Some(moved) = moved {
            assert_eq!(moved.stream(), "show?key=K");
        }
    }
    let queried = Parts {
        query: "x",
        ..parts("rtmps other - /live")
    };
    assert_eq!(address.moved_to(queried), None);
}

/// A name and a query only select the stream; a password would reveal a secret to a stranger.
#[test]
fn a_move_takes_the_password_along_to_the_same_server_only() {
    let address = secret("rtmp h - /live/show");
    for (to, keeps) in [
        ("rtmp h - /edge", true),
        ("rtmp H 1935 /edge", true),
        ("rtmps h 1935 /edge", true),
        ("rtmp h 1936 /edge", false),
        ("rtmps h - /edge", false),
        ("rtmp other - /edge", false),
    ] {
        let moved = address.moved_to(parts(to)).unwrap();
        let asked = "authmod=adobe :?reason=needauth&user=u&salt=a&challenge=b";
        let proof = moved.answering(asked, [0; 4]);
        assert_eq!(proof.is_some(), keeps, "{to}");
        assert_eq!(moved.stream(), "show?key=K");
    }
}
