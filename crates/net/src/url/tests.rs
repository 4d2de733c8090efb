//! Accepted URLs with their parts, refused URLs, and the parts that are never shown.

use super::*;

fn url(text: &str) -> Url {
    text.parse().expect(text)
}

#[test]
fn parts_are_those_of_the_text() {
    for (text, shown) in [
        ("rtmp://h/live/show", "rtmp h 1935 /live/show -"),
        ("RTMPS://h/a/b//c", "rtmps h 443 /a/b//c -"),
        ("http://[::1]:81/x.flv", "http ::1 81 /x.flv -"),
        ("https://h", "https h 443  -"),
        ("https://h?x", "https h 443  x"),
        ("whip+http://a_b-c.d/x", "whip+http a_b-c.d - /x -"),
        (
            "rtmp://u:p@h/a/b?x=1/2&y=@:?",
            "rtmp h 1935 /a/b x=1/2&y=@:?",
        ),
        // Neither `#` nor braces are anything special here.
        ("rtmp://h/a/{name}#b", "rtmp h 1935 /a/{name}#b -"),
    ] {
        let url = url(text);
        let port = url
            .port()
            .map_or_else(|| "-".to_owned(), |port| port.to_string());
        let (scheme, host, path) = (url.scheme(), url.host(), url.path());
        let query = url.query().unwrap_or("-");
        let got = format!("{scheme} {host} {port} {path} {query}");
        assert_eq!(got, shown, "{text}");
    }
}

#[test]
fn what_is_wrong_is_reported_with_its_place() {
    use UrlError as E;
    for (text, error) in [
        ("", E::Scheme),
        ("relay.example/live/show", E::Scheme),
        ("://h/a", E::Scheme),
        ("h/a?u=http://x", E::Scheme),
        ("rtmp:///live/show", E::Host),
        ("rtmp://:1935/live/show", E::Host),
        ("rtmp://u:p@/live/show", E::Host),
        ("rtmp://::1/live/show", E::HostCharacter(':')),
        ("rtmp://[::1/live/show", E::HostCharacter('[')),
        ("rtmp://[::1]x/live/show", E::HostCharacter(']')),
        ("rtmp://[h]/live/show", E::HostCharacter('[')),
        ("rtmp://h%20/live/show", E::HostCharacter('%')),
        ("rtmp://a b/live/show", E::HostCharacter(' ')),
        ("rtmp://{name}/live/show", E::HostCharacter('{')),
        ("rtmp://h:0/live/show", E::Port),
        ("rtmp://h:65536/live/show", E::Port),
        ("rtmp://h:+80/live/show", E::Port),
        ("rtmp://h:/live/show", E::Port),
        ("rtmp://h:port/live/show", E::Port),
        ("rtmp://a b@h/x", E::Character("user name or password")),
        ("rtmp://h/live/a show", E::Character("path")),
        ("rtmp://h/live/show\r\n", E::Character("path")),
        ("rtmp://h/live/björk", E::Character("path")),
        ("rtmp://h/live/show?a b", E::Character("query")),
    ] {
        assert_eq!(text.parse::<Url>(), Err(error), "{text}");
    }
    let long = format!("rtmp://h/live/{}", "x".repeat(URL_BYTES_MAX));
    assert_eq!(long.parse::<Url>(), Err(E::TooLong));
}

#[test]
fn user_and_password_are_decoded_and_may_hold_an_at_sign() {
    for (text, expected) in [
        ("rtmp://u:p@h/a/b", Some(("u", "p"))),
        ("rtmp://u:p@ss:w@h/a/b", Some(("u", "p@ss:w"))),
        ("rtmp://u%3A:%20p@h/a/b", Some(("u:", " p"))),
        ("rtmp://key@h/a/b", Some(("key", ""))),
        ("rtmp://u:@h/a/b", Some(("u", ""))),
        ("rtmp://u:p%2540@h/a/b", Some(("u", "p%40"))),
        ("rtmp://u:p%E9@h/a/b", Some(("u", "p\u{fffd}"))),
        ("rtmp://:@h/a/b", Some(("", ""))),
        ("rtmp://@h/a/b", None),
        ("rtmp://h/a@b", None),
    ] {
        let expected = expected.map(|(user, password)| (user.to_owned(), password.to_owned()));
        assert_eq!(url(text).credentials(), expected, "{text}");
    }
    let latin = url("rtmp://u:p%E9@h/a/b").raw_credentials();
    assert_eq!(latin, Some((b"u".to_vec(), b"p\xe9".to_vec())));
}

#[test]
fn an_authority_leaves_out_the_port_of_its_scheme() {
    for (text, authority, target) in [
        ("http://h:80/a?b", "h", "/a?b"),
        ("https://h:80", "h:80", "/"),
        ("rtmp://[::1]:1935/a/b", "[::1]", "/a/b"),
        ("rtmp://[::1]:1936/a/b", "[::1]:1936", "/a/b"),
        ("icecast://h:80?b", "h:80", "/?b"),
    ] {
        let url = url(text);
        assert_eq!((&*url.authority(), &*url.target()), (authority, target));
    }
}

#[test]
fn references_lead_from_here() {
    let base = url("rtmps://u:p@h/live");
    for (reference, expected) in [
        ("rtmps://other:4443/live", Some("rtmps://other:4443/live")),
        ("//other/live?x", Some("rtmps://other/live?x")),
        ("/elsewhere?x", Some("rtmps://u:p@h/elsewhere?x")),
        ("other", None),
        ("", None),
        ("/a b", None),
    ] {
        assert_eq!(base.join(reference).ok(), expected.map(url), "{reference}");
    }
    let long = "/".repeat(URL_BYTES_MAX);
    assert_eq!(base.with_path(long, None), Err(UrlError::TooLong));
}

#[test]
fn nothing_secret_is_shown() {
    for (text, shown) in [
        (
            "http://u:SECRET@h:81/a/SECRET.flv?SECRET",
            "http://h:81/a/***.flv",
        ),
        ("rtmp://SECRET@h/live/SECRET?SECRET", "rtmp://h/live/***"),
        ("rtmp://h/live/SECRET/", "rtmp://h/live/***/"),
        ("rtmp://h/live/SECRET//", "rtmp://h/live/***//"),
        ("https://h", "https://h"),
        ("https://h/", "https://h/"),
    ] {
        let url = url(text);
        assert_eq!(format!("{url} {url:?}"), format!("{shown} Url({shown})"));
    }
}
