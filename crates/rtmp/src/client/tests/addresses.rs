//! Addresses: what is made of the parts of a URL, and what is never shown.

use super::*;

/// `scheme://host:port/path`, without user and query.
fn parts<'a>(scheme: &'a str, host: &'a str, port: Option<u16>, path: &'a str) -> Parts<'a> {
    Parts {
        scheme,
        host,
        port,
        path,
        query: "",
        user: None,
    }
}

fn user(user: &str, password: &str) -> Option<(String, String)> {
    Some((user.to_owned(), password.to_owned()))
}

#[test]
fn the_parts_of_a_url_are_what_a_server_is_asked_for() {
    for (scheme, host, port, path, tc_url, app, stream) in [
        (
            "rtmp",
            "h",
            None,
            "/live/show",
            "rtmp://h/live",
            "live",
            "show",
        ),
        (
            "rtmp",
            "h",
            Some(1935),
            "/live/show/",
            "rtmp://h/live",
            "live",
            "show",
        ),
        ("rtmps", "h", None, "/a/b//c", "rtmps://h/a/b", "a/b", "c"),
        (
            "rtmps",
            "h",
            Some(1936),
            "/a/b",
            "rtmps://h:1936/a",
            "a",
            "b",
        ),
        (
            "rtmp",
            "::1",
            Some(443),
            "/a/b",
            "rtmp://[::1]:443/a",
            "a",
            "b",
        ),
        ("rtmp", "::1", None, "a/b", "rtmp://[::1]/a", "a", "b"),
    ] {
        let address = Address::new(parts(scheme, host, port, path)).unwrap();
        let default = if scheme == "rtmps" { 443 } else { 1935 };
        assert_eq!(
            (address.host(), address.port()),
            (host, port.unwrap_or(default))
        );
        assert_eq!(address.tc_url(), tc_url);
        assert_eq!((&*address.app(), &*address.stream()), (app, stream));
    }
    let keyed = Address::new(Parts {
        query: "x=1/2&y=@:?",
        ..parts("rtmp", "h", None, "/a/b")
    });
    assert_eq!(keyed.unwrap().stream(), "b?x=1/2&y=@:?");
}

#[test]
fn another_scheme_and_a_short_path_are_no_address() {
    for scheme in ["http", "rtmpt", ""] {
        let address = Address::new(parts(scheme, "h", None, "/live/show"));
        assert_eq!(address, Err(AddressError::Scheme), "{scheme}");
    }
    for path in ["", "/", "/live", "/live/", "//live"] {
        let address = Address::new(parts("rtmp", "h", None, path));
        assert_eq!(address, Err(AddressError::Path), "{path}");
    }
}

#[test]
fn nothing_secret_is_shown() {
    let address = Address::new(Parts {
        query: "key=sesame",
        user: user("qwerty", "hunter2"),
        ..parts("rtmps", "h", Some(444), "/live/xyzzy")
    })
    .unwrap();
    let shown = format!("{address} {address:?}");
    assert!(shown.contains("rtmps://h:444/live/"), "{shown}");
    for secret in ["qwerty", "hunter2", "xyzzy", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(address.is_repeated_in(&format!("bad {secret}!")));
    }
    assert!(!address.is_repeated_in("no such application: live"));
    let encoded = Address::new(Parts {
        query: "key=a%2Fb",
        ..parts("rtmp", "h", None, "/live/show")
    });
    assert!(encoded.unwrap().is_repeated_in("key a/b is wrong"));

    let session = client(Purpose::Publish, Instant::now());
    let shown = format!("{session:?}");
    assert!(!shown.contains("sesame") && !shown.contains("key=K"));
}

#[test]
fn a_move_keeps_the_stream_and_its_encryption() {
    let address = Address::new(Parts {
        query: "key=K",
        user: user("u", "p"),
        ..parts("rtmps", "h", None, "/live/show")
    })
    .unwrap();
    assert_eq!(address.server(), "rtmps://h");
    for (scheme, port, path, expected) in [
        (
            "rtmps",
            Some(4443),
            "/live",
            Some("rtmps://other:4443/live"),
        ),
        (
            "rtmps",
            None,
            "/edge/live/",
            Some("rtmps://other/edge/live"),
        ),
        ("rtmps", None, "/", None),
        ("rtmp", None, "/live", None),
        ("http", None, "/live", None),
    ] {
        let moved = address.moved_to(parts(scheme, "other", port, path));
        let tc_url = moved.as_ref().map(Address::tc_url);
        assert_eq!(tc_url.as_deref(), expected, "{scheme} {path}");
        if let Some(moved) = moved {
            assert_eq!(moved.stream(), "show?key=K");
        }
    }
    let queried = Parts {
        query: "x",
        ..parts("rtmps", "other", None, "/live")
    };
    assert_eq!(address.moved_to(queried), None);
}

/// A name and a query only select the stream; a password would reveal a secret to a stranger.
#[test]
fn a_move_takes_the_password_along_to_the_same_server_only() {
    let address = Address::new(Parts {
        query: "key=K",
        user: user("u", "p"),
        ..parts("rtmp", "h", None, "/live/show")
    })
    .unwrap();
    for (scheme, host, port, keeps) in [
        ("rtmp", "h", None, true),
        ("rtmp", "H", Some(1935), true),
        ("rtmps", "h", Some(1935), true),
        ("rtmp", "h", Some(1936), false),
        ("rtmps", "h", None, false),
        ("rtmp", "other", None, false),
    ] {
        let moved = address
            .moved_to(parts(scheme, host, port, "/edge"))
            .unwrap();
        let proof = moved.answering(
            "authmod=adobe :?reason=needauth&user=u&salt=a&challenge=b",
            [0; 4],
        );
        assert_eq!(proof.is_some(), keeps, "{scheme} {host} {port:?}");
        assert_eq!(moved.stream(), "show?key=K");
    }
}
