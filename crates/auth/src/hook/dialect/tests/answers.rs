//! Tests of how answers of other servers' hooks are interpreted.

use std::time::{Duration, Instant};

use bytes::Bytes;
use fanout::gate::{Action, Request};
use http::{Response, header};

use super::{name, on, request};
use crate::hook::tests::dialect;
use crate::hook::{Answer, Garbled, HookDenied, Moment, Occasion, Reply};

/// Writes what an answer permits, or how it denies, in words.
fn words(answer: Result<Answer, Garbled>, at: Instant) -> String {
    match answer {
        Ok(Ok(grant)) => {
            let until = grant.terms.until;
            let lasts = until.map(|until| format!(" for {} s", (until - at).as_secs()));
            let identity = grant
                .terms
                .identity
                .map(|identity| format!(" to {identity}"));
            let stream = grant.stream.map(|stream| format!(" as {stream}"));
            let more = [lasts, identity, stream].into_iter().flatten();
            more.fold("allowed".to_owned(), |words, one| words + &one)
        }
        Ok(Err(HookDenied { denied, reason })) => match reason {
            Some(reason) => format!("{denied:?}: {reason}"),
            None => format!("{denied:?}"),
        },
        Err(_) => "garbled".to_owned(),
    }
}

fn answered(name: &str, on: &Occasion<'_>, reply: http::response::Builder, body: &str) -> String {
    let head = reply.body(()).expect("a reply").into_parts().0;
    let (body, at) = (Bytes::copy_from_slice(body.as_bytes()), Instant::now());
    words(dialect(name).0.answer(on, &Reply { head, body, at }), at)
}

/// The rows of a table: what is given, and what it means.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(" => ").expect(row))
}

/// Dialect, status and body of the reply to a publisher's question.
const ANSWERS: &str = r#"
nginx-rtmp 200 => allowed
nginx-rtmp 201 denied, says the text => allowed
nginx-rtmp 302 => garbled
nginx-rtmp 403 => Wrong
srs 200 0 => allowed
srs 201  {"code": 0, "data": null}\n => allowed
srs 204 0 => Wrong
srs 200 => garbled
srs 200 OK => garbled
srs 200 {} => garbled
srs 200 1 => Wrong: code 1
srs 403 0 => Wrong
mediamtx 204 => allowed
mediamtx 401 => Missing
mediamtx 404 => Wrong
carillon 204 => allowed
carillon 200 {} => allowed
carillon 200 {"allowed": true, "seconds": 90, "identity": "ann", "new": 1} => allowed for 90 s to ann
carillon 200 {"allowed": false, "reason": "not paid"} => Wrong: not paid
carillon 200 {"stream": "live/other"} => allowed as live/other
carillon 200 {"stream": "admin/x"} => Unavailable: admin/x
carillon 200 {"seconds": -1} => garbled
carillon 200 {"seconds": 1e300} => garbled
carillon 200 yes => garbled
carillon 401 {} => Missing
carillon 302 => Wrong
ome 200 {"allowed": true} => allowed
ome 200 {"allowed": true, "new_url": "", "lifetime": 90000} => allowed for 90 s
ome 200 {"allowed": true, "new_url": "ws://h:3333/app/b/file?x=/y", "lifetime": 0} => allowed as app/b
ome 200 {"allowed": true, "new_url": "app/b"} => garbled
ome 200 {"allowed": true, "new_url": "ws://h/app"} => garbled
ome 200 {"allowed": false, "reason": "not paid"} => Wrong: not paid
ome 200 {} => garbled
ome 403 {"allowed": true} => Wrong
"#;

#[test]
fn answers_mean_what_they_mean_to_their_servers() {
    let request = request();
    let on = on(&request, Action::Publish, Moment::Begin);
    for (given, meaning) in rows(ANSWERS) {
        let mut parts = given.splitn(3, ' ');
        let mut part = || parts.next().unwrap_or_default();
        let (name, status, body) = (part(), part(), part().replace("\\n", "\n"));
        let reply = Response::builder().status(status);
        assert_eq!(answered(name, &on, reply, &body), meaning, "{given}");
    }
}

/// Status and headers.
const ICECAST: &str = "
200 => Wrong
401 => Missing
200 icecast-auth-user=0 => Wrong
200 icecast-auth-message=unpaid => Wrong: unpaid
200 icecast-auth-user=1 => allowed
200 x-icecast-auth-result=ok => allowed
200 icecast-auth-user=1 icecast-auth-timelimit=60 => allowed for 60 s
200 icecast-auth-user=1 icecast-auth-timelimit=0 => allowed
200 icecast-auth-user=1 icecast-auth-timelimit=soon => allowed
";

#[test]
fn icecast_s_answers_are_in_headers() {
    let request = request();
    let on = on(&request, Action::Publish, Moment::Begin);
    for (given, meaning) in rows(ICECAST) {
        let mut parts = given.split(' ');
        let mut reply = Response::builder().status(parts.next().expect(given));
        for header in parts {
            let (name, value) = header.split_once('=').expect(given);
            reply = reply.header(name, value);
        }
        let reported = answered("icecast", &on, reply, "icecast-auth-user: 1");
        assert_eq!(reported, meaning, "{given}");
    }
}

#[test]
fn a_redirection_of_nginx_rtmp_s_hook_names_another_stream() {
    let verdict = |request: &Request<'_>, location: &'static str| {
        let reply = Response::builder().status(302);
        let reply = reply.header(header::LOCATION, location);
        let on = on(request, Action::Publish, Moment::Begin);
        answered("nginx-rtmp", &on, reply, "")
    };
    let show = request();
    assert_eq!(verdict(&show, "public?a=b"), "allowed as live/eu/public");
    let bare = name("show");
    let mut short = show;
    short.stream = &bare;
    assert_eq!(verdict(&short, "public"), "allowed as public");
    for elsewhere in ["rtmp://other/live/show", "http://hook/public"] {
        assert_eq!(verdict(&show, elsewhere), "garbled");
    }
    // Before and after that another name is of no use, and no refusal.
    let lasted = Duration::from_secs(1);
    for moment in [Moment::Connect, Moment::Update { lasted }] {
        let on = on(&show, Action::Publish, moment);
        let reported = answered("nginx-rtmp", &on, Response::builder().status(302), "");
        assert!(reported.starts_with("allowed"), "{moment:?}: {reported}");
    }
}
