//! Requests that two servers in a row might parse differently: each is refused, the connection is closed, and
//! what follows it is not read as a request.

use super::*;

const AUTH: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n";

/// A request that would be answered with 200 if it were read as one.
const HIDDEN: &str = "GET /_/icon.svg HTTP/1.1\r\nHost: hidden\r\n\r\n";

/// Heads without the empty line, or whole requests, and the status of their answers.
const SHAPES: &[(&str, u16)] = &[
    // Two lengths, or invalid ones.
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0 0\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0, 0\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x0\r\n\r\n",
        400,
    ),
    ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n", 400),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n",
        400,
    ),
    // Codings that are unknown, or not of the version.
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n",
        501,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    (
        "POST /a/whep HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    // Lines.
    ("GET / HTTP/1.1\r\nHost: x\r\n Folded: y\r\n\r\n", 400),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n",
        400,
    ),
    ("GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: x\n\n", 400),
    (
        "GET / HTTP/1.1\r\nHost: x\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    ("GET / HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: x\r\nX: \u{1b}\r\n\r\n", 400),
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    // The request line.
    ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400),
    ("GET / x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("GET /\tHTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("GET / HTTP/1.11\r\nHost: x\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ("CONNECT hidden:80 HTTP/1.1\r\nHost: hidden:80\r\n\r\n", 400),
    ("GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    // The host.
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
    ("GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    // Chunks.
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+0\r\n\r\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0;a=b\r\n\r\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\n\n",
        400,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
         00000000000000000\r\n\r\n",
        413,
    ),
    (
        "POST /a/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\nContent-Length: 4\r\n\r\n",
        400,
    ),
    (
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        400,
    ),
];

/// Where answers begin.
fn answers(text: &str) -> Vec<usize> {
    let is_status = |at: &usize| {
        let status = text[*at..].split(' ').nth(1).unwrap_or_default();
        status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit())
    };
    let all = text.match_indices("HTTP/1.").map(|(at, _)| at);
    all.filter(is_status).collect()
}

#[tokio::test]
async fn nothing_is_hidden_behind_a_malformed_request() {
    let server = TestServer::open(AUTH).await;
    let first = "GET /_/icon.svg HTTP/1.1\r\nHost: x\r\n\r\n";
    for (shape, expected) in SHAPES {
        // As the first request on a connection, and as a later one.
        for (before, count) in [("", 1), (first, 2)] {
            let request = format!("{before}{shape}{HIDDEN}");
            let answer = exchange(server.http, request.as_bytes()).await;
            let begins = answers(&answer);
            assert_eq!(begins.len(), count, "{shape:?}: {answer}");
            let last = &answer[begins[count - 1]..];
            assert_eq!(status(last), *expected, "{shape:?}: {last}");
            assert_eq!(
                header(last, "connection"),
                Some("close"),
                "{shape:?}: {last}"
            );
        }
    }
    for long in [
        format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(20_000)),
        format!(
            "GET / HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n",
            "a".repeat(20_000)
        ),
    ] {
        let answer = exchange(server.http, format!("{long}{HIDDEN}").as_bytes()).await;
        assert_eq!(
            (status(&answer), answers(&answer).len()),
            (431, 1),
            "{answer}"
        );
    }
    server.close().await;
}

#[tokio::test]
async fn what_sources_may_do_hides_nothing_either() {
    let server = TestServer::open(AUTH).await;
    let key = basic("source", KEY);
    for (request, expected) in [
        // Refused because the stream or the key is missing, which shows that it was understood.
        ("SOURCE /a ICE/1.0\r\n\r\n".to_owned(), 401),
        ("SOURCE /a HTTP/1.0\nContent-Length: 0\n\n".to_owned(), 401),
        (
            "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n".to_owned(),
            401,
        ),
        (
            format!(
                "GET /admin/metadata?mode=updinfo&mount=/none&song=a b HTTP/1.0\r\r\n\
                 Authorization: Basic {key}\r\r\n\r\r\n"
            ),
            400,
        ),
        ("OPTIONS * HTTP/1.1\r\n\r\n".to_owned(), 200),
    ] {
        let answer = exchange(server.http, format!("{request}{HIDDEN}").as_bytes()).await;
        assert_eq!(status(&answer), expected, "{request:?}: {answer}");
        // It was read, and is about nothing.
        let is_read = expected != 400 || answer.contains("Source does not exist");
        assert!(is_read, "{request:?}: {answer}");
        assert_eq!(answers(&answer).len(), 1, "{request:?}: {answer}");
        let connection = header(&answer, "connection").unwrap_or_default();
        assert!(
            connection.eq_ignore_ascii_case("close"),
            "{request:?}: {answer}"
        );
    }
    server.close().await;
}
