//! Requests that two servers in a row might parse differently: each is refused, the connection is closed, and
//! what follows it is not read as a request.

use super::*;

/// A request that would be answered with 200 if it were read as one.
const HIDDEN: &str = "GET /_/icon.svg HTTP/1.1\r\nHost: hidden\r\n\r\n";

/// The status of the answer, and one shape of each reason to refuse; `http1` has all shapes of each. A bar ends a line.
const SHAPES: &[&str] = &[
    // The head cannot be understood.
    "400 GET / HTTP/1.1|Host: x| Folded: y||",
    "400 GET / HTTP/1.1|Host: x|Content-Length : 0||",
    "400 GET / HTTP/1.1|Host: x|Content-Length: +0||",
    "400 GET /\tHTTP/1.1|Host: x||",
    "505 GET / HTTP/2.0|Host: x||",
    // Where the body ends is doubtful, or in a coding that nobody knows.
    "400 POST /a/whep HTTP/1.1|Host: x|Content-Length: 0|Content-Length: 44||",
    "400 POST /a/whep HTTP/1.1|Host: x|Content-Length: 4|Transfer-Encoding: chunked||0||",
    "400 POST /a/whep HTTP/1.0|Connection: keep-alive|Transfer-Encoding: chunked||0||",
    "501 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: chunked|Transfer-Encoding: chunked||0||",
    "501 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: chunked, chunked||0||",
    "501 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: xchunked||0||",
    "501 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: \u{b}chunked||0||",
    // The head does not conform, which only a source's may, or it names no address.
    "400 GET / HTTP/1.1\nHost: x\n\n",
    "400 ||GET / HTTP/1.1|Host: x||",
    "400 GET / HTTP/1.1||",
    "400 GET * HTTP/1.1|Host: x||",
    "400 CONNECT hidden:80 HTTP/1.1|Host: hidden:80||",
    "501 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: identity||",
    // Chunks.
    "400 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: chunked||0;a=b||",
    "400 POST / HTTP/1.1|Host: x|Transfer-Encoding: chunked||1|ab|",
    "413 POST /a/whep HTTP/1.1|Host: x|Transfer-Encoding: chunked||00000000000000000||",
];

/// Positions at which replies begin.
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
    for row in SHAPES {
        let (expected, shape) = row.split_once(' ').expect("a status");
        let expected: u16 = expected.parse().expect("a status");
        let shape = shape.replace('|', "\r\n");
        // As the first request on a connection, and as a later one.
        for (before, count) in [("", 1), (first, 2)] {
            let request = format!("{before}{shape}{HIDDEN}");
            let answer = exchange(server.http, request.as_bytes()).await;
            let begins = answers(&answer);
            assert_eq!(begins.len(), count, "{shape:?}: {answer}");
            let last = &answer[begins[count - 1]..];
            assert_eq!(status(last), expected, "{shape:?}: {last}");
            let connection = header(last, "connection");
            assert_eq!(connection, Some("close"), "{shape:?}: {last}");
        }
    }
    let (long, none) = ("a".repeat(20_000), String::new());
    for (target, value) in [(&long, &none), (&none, &long)] {
        let long = format!("GET /{target} HTTP/1.1\r\nHost: x\r\nA: {value}\r\n\r\n{HIDDEN}");
        let answer = exchange(server.http, long.as_bytes()).await;
        let found = (status(&answer), answers(&answer).len());
        assert_eq!(found, (431, 1), "{answer}");
    }
    server.close().await;
}

#[tokio::test]
async fn what_sources_may_do_hides_nothing_either() {
    let server = TestServer::open(AUTH).await;
    let key = basic("source", KEY);
    let title = format!(
        "GET /admin/metadata?mode=updinfo&mount=/none&song=a b HTTP/1.0\r\r\n\
         Authorization: Basic {key}\r\r\n\r\r\n"
    );
    let put = "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
    for (request, expected) in [
        // Refused because the stream or the key is missing, which shows that it was understood.
        ("SOURCE /a ICE/1.0\r\n\r\n", 401),
        ("SOURCE /a HTTP/1.0\nContent-Length: 0\n\n", 401),
        (put, 401),
        (&title, 400),
        ("OPTIONS * HTTP/1.1\r\n\r\n", 200),
    ] {
        let answer = exchange(server.http, format!("{request}{HIDDEN}").as_bytes()).await;
        assert_eq!(status(&answer), expected, "{request:?}: {answer}");
        // It was read, and is about nothing.
        let is_read = expected != 400 || answer.contains("Source does not exist");
        assert!(is_read, "{request:?}: {answer}");
        assert_eq!(answers(&answer).len(), 1, "{request:?}: {answer}");
        let connection = header(&answer, "connection").unwrap_or_default();
        let is_closed = connection.eq_ignore_ascii_case("close");
        assert!(is_closed, "{request:?}: {answer}");
    }
    server.close().await;
}
