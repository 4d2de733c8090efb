//! Addresses: what is read from them, and what is never shown.

use super::*;

#[track_caller]
fn check(text: &str, host: &str, port: u16, tc_url: &str, app: &str, stream: &str) {
    let address: Address = text.parse().unwrap();
    assert_eq!((address.host(), address.port()), (host, port));
    assert_eq!(address.tc_url(), tc_url);
    assert_eq!((&*address.app(), &*address.stream()), (app, stream));
}

#[test]
fn parts() {
    check(
        "rtmp://h/live/show",
        "h",
        1935,
        "rtmp://h/live",
        "live",
        "show",
    );
    check(
        "RTMP://h:1935/live/show/",
        "h",
        1935,
        "rtmp://h/live",
        "live",
        "show",
    );
    check("rtmps://h/a/b//c", "h", 443, "rtmps://h/a/b", "a/b", "c");
    check(
        "rtmps://h:1936/a/b",
        "h",
        1936,
        "rtmps://h:1936/a",
        "a",
        "b",
    );
    check(
        "rtmp://[::1]:19350/a/b",
        "::1",
        19350,
        "rtmp://[::1]:19350/a",
        "a",
        "b",
    );
    check("rtmp://[::1]/a/b", "::1", 1935, "rtmp://[::1]/a", "a", "b");
    check(
        "rtmp://u:p@h/a/b?x=1/2&y=@:?",
        "h",
        1935,
        "rtmp://h/a",
        "a",
        "b?x=1/2&y=@:?",
    );
    check("rtmp://u:p@ss:w@h/a/b", "h", 1935, "rtmp://h/a", "a", "b");
}

#[test]
fn what_is_no_address_is_told_in_words() {
    use AddressError as E;
    for (text, error) in [
        ("", E::Scheme),
        ("relay.example/live/show", E::Scheme),
        ("http://h/live/show", E::Scheme),
        ("rtmp:///live/show", E::Host),
        ("rtmp://:1935/live/show", E::Host),
        ("rtmp://u:p@/live/show", E::Host),
        ("rtmp://::1/live/show", E::HostCharacters),
        ("rtmp://[::1/live/show", E::HostCharacters),
        ("rtmp://[::1]x/live/show", E::HostCharacters),
        ("rtmp://[h]/live/show", E::HostCharacters),
        ("rtmp://h%20/live/show", E::HostCharacters),
        ("rtmp://h:0/live/show", E::Port),
        ("rtmp://h:65536/live/show", E::Port),
        ("rtmp://h:/live/show", E::Port),
        ("rtmp://h:port/live/show", E::Port),
        ("rtmp://h", E::Path),
        ("rtmp://h/", E::Path),
        ("rtmp://h/live", E::Path),
        ("rtmp://h/live/", E::Path),
        ("rtmp://h/live?key=a/b", E::Path),
        ("rtmp://h/live/a show", E::Characters),
        ("rtmp://h/live/show\r\n", E::Characters),
    ] {
        assert_eq!(text.parse::<Address>(), Err(error), "{text}");
    }
    let long = format!("rtmp://h/live/{}", "x".repeat(ADDRESS_BYTES_MAX));
    assert_eq!(long.parse::<Address>(), Err(E::TooLong));
}

#[test]
fn nothing_secret_is_shown() {
    let address: Address = "rtmps://qwerty:hunter2@h:444/live/xyzzy?key=sesame"
        .parse()
        .unwrap();
    let shown = format!("{address} {address:?}");
    assert!(shown.contains("rtmps://h:444/live/"), "{shown}");
    for secret in ["qwerty", "hunter2", "xyzzy", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(address.is_repeated_in(&format!("bad {secret}!")));
    }
    assert!(!address.is_repeated_in("no such application: live"));
    let encoded: Address = "rtmp://h/live/show?key=a%2Fb".parse().unwrap();
    assert!(encoded.is_repeated_in("key a/b is wrong"));

    let session = client(Purpose::Publish, Instant::now());
    let shown = format!("{session:?}");
    assert!(!shown.contains("sesame") && !shown.contains("key=K"));
}

#[test]
fn a_move_keeps_the_stream_and_its_encryption() {
    let address: Address = "rtmps://u:p@h/live/show?key=K".parse().unwrap();
    for (tc_url, there) in [
        ("rtmps://other:4443/live", Some("rtmps://other:4443/live")),
        ("rtmps://other/edge/live/", Some("rtmps://other/edge/live")),
        ("//other/live", Some("rtmps://other/live")),
        ("/elsewhere", Some("rtmps://h/elsewhere")),
        ("rtmp://other/live", None),
        ("http://other/live", None),
        ("other", None),
        ("", None),
    ] {
        let moved = address.moved_to(tc_url);
        assert_eq!(
            moved.as_ref().map(Address::tc_url).as_deref(),
            there,
            "{tc_url}"
        );
        if let Some(moved) = moved {
            assert_eq!(moved.stream(), "show?key=K");
        }
    }
}

/// A name and a query only select the stream; a password would reveal a secret to a stranger.
#[test]
fn a_move_takes_the_password_along_to_the_same_server_only() {
    let address: Address = "rtmp://u:p@h/live/show?key=K".parse().unwrap();
    for (tc_url, keeps) in [
        ("rtmp://h/edge", true),
        ("rtmp://H:1935/edge", true),
        ("rtmps://h:1935/edge", true),
        ("/edge", true),
        ("rtmp://h:1936/edge", false),
        ("rtmps://h/edge", false),
        ("rtmp://other/live", false),
        ("//other/live", false),
    ] {
        let moved = address.moved_to(tc_url).unwrap();
        let proof = moved.answering(
            "authmod=adobe :?reason=needauth&user=u&salt=a&challenge=b",
            [0; 4],
        );
        assert_eq!(proof.is_some(), keeps, "{tc_url}");
        assert_eq!(moved.stream(), "show?key=K");
    }
}
