//! What the answers of hooks of other servers mean.

use std::time::{Duration, Instant};

use bytes::Bytes;
use fanout::gate::{Action, Denied, Request};
use http::{Response, header};

use super::{name, on, request};
use crate::hook::tests::dialect;
use crate::hook::{Answer, Garbled, HookDenied, Moment, Reply};

/// What a reply means: for how many seconds it permits, to whom and which other stream; or why it does not.
#[derive(Debug, Eq, PartialEq)]
enum Meaning {
    Permits {
        seconds: Option<u64>,
        identity: Option<String>,
        stream: Option<String>,
    },
    Denies(Denied, Option<String>),
}

fn meaning(answer: Answer, at: Instant) -> Meaning {
    match answer {
        Ok(grant) => Meaning::Permits {
            seconds: grant.terms.until.map(|until| (until - at).as_secs()),
            identity: grant.terms.identity.map(|identity| identity.to_string()),
            stream: grant.stream.map(|stream| stream.to_string()),
        },
        Err(HookDenied { denied, reason }) => Meaning::Denies(denied, reason),
    }
}

/// What a reply to a publisher's question means.
fn answered(
    name: &str,
    request: &Request<'_>,
    reply: http::response::Builder,
    body: &str,
) -> Result<Meaning, Garbled> {
    let reply = reply.body(()).expect("a reply");
    let reply = Reply {
        head: reply.into_parts().0,
        body: Bytes::copy_from_slice(body.as_bytes()),
        at: Instant::now(),
    };
    let on = on(request, Action::Publish, Moment::Begin);
    let answer = dialect(name).0.answer(&on, &reply)?;
    Ok(meaning(answer, reply.at))
}

fn denied(reason: Option<&str>, wants_credential: bool) -> Meaning {
    let denied = match wants_credential {
        true => Denied::Missing,
        false => Denied::Wrong,
    };
    Meaning::Denies(denied, reason.map(str::to_owned))
}

fn allowed(seconds: Option<u64>, identity: Option<&str>) -> Meaning {
    Meaning::Permits {
        seconds,
        identity: identity.map(str::to_owned),
        stream: None,
    }
}

/// Permitted under another name.
fn renamed(stream: &str) -> Meaning {
    Meaning::Permits {
        seconds: None,
        identity: None,
        stream: Some(stream.to_owned()),
    }
}

#[test]
fn answers_mean_what_they_mean_to_their_servers() {
    for (name, status, body, meaning) in [
        ("nginx-rtmp", 200, "", Some(allowed(None, None))),
        (
            "nginx-rtmp",
            201,
            "denied, says the text",
            Some(allowed(None, None)),
        ),
        ("nginx-rtmp", 302, "", None),
        ("nginx-rtmp", 403, "", Some(denied(None, false))),
        ("srs", 200, "0", Some(allowed(None, None))),
        (
            "srs",
            201,
            " {\"code\": 0, \"data\": null}\n",
            Some(allowed(None, None)),
        ),
        ("srs", 204, "0", Some(denied(None, false))),
        ("srs", 200, "", None),
        ("srs", 200, "OK", None),
        ("srs", 200, "{}", None),
        ("srs", 200, "1", Some(denied(Some("code 1"), false))),
        ("srs", 403, "0", Some(denied(None, false))),
        ("mediamtx", 204, "", Some(allowed(None, None))),
        ("mediamtx", 401, "", Some(denied(None, true))),
        ("mediamtx", 404, "", Some(denied(None, false))),
        ("carillon", 204, "", Some(allowed(None, None))),
        ("carillon", 200, "{}", Some(allowed(None, None))),
        (
            "carillon",
            200,
            r#"{"allowed": true, "seconds": 90, "identity": "ann", "new": 1}"#,
            Some(allowed(Some(90), Some("ann"))),
        ),
        (
            "carillon",
            200,
            r#"{"allowed": false, "reason": "not paid"}"#,
            Some(denied(Some("not paid"), false)),
        ),
        (
            "carillon",
            200,
            r#"{"stream": "live/other"}"#,
            Some(renamed("live/other")),
        ),
        (
            "carillon",
            200,
            r#"{"stream": "admin/x"}"#,
            Some(Meaning::Denies(
                Denied::Unavailable,
                Some("admin/x".to_owned()),
            )),
        ),
        (
            "ome",
            200,
            r#"{"allowed": true}"#,
            Some(allowed(None, None)),
        ),
        (
            "ome",
            200,
            r#"{"allowed": true, "new_url": "", "lifetime": 90000}"#,
            Some(allowed(Some(90), None)),
        ),
        (
            "ome",
            200,
            r#"{"allowed": true, "new_url": "ws://h:3333/app/b/file?x=/y", "lifetime": 0}"#,
            Some(renamed("app/b")),
        ),
        ("ome", 200, r#"{"allowed": true, "new_url": "app/b"}"#, None),
        (
            "ome",
            200,
            r#"{"allowed": true, "new_url": "ws://h/app"}"#,
            None,
        ),
        (
            "ome",
            200,
            r#"{"allowed": false, "reason": "not paid"}"#,
            Some(denied(Some("not paid"), false)),
        ),
        ("ome", 200, "{}", None),
        (
            "ome",
            403,
            r#"{"allowed": true}"#,
            Some(denied(None, false)),
        ),
        ("carillon", 200, r#"{"seconds": -1}"#, None),
        ("carillon", 200, r#"{"seconds": 1e300}"#, None),
        ("carillon", 200, "yes", None),
        ("carillon", 401, "{}", Some(denied(None, true))),
        ("carillon", 302, "", Some(denied(None, false))),
    ] {
        let reply = Response::builder().status(status);
        let told = answered(name, &request(), reply, body).ok();
        assert_eq!(told, meaning, "{name} {status} {body}");
    }
}

#[test]
fn icecast_s_answers_are_in_headers() {
    let verdict = |status: u16, headers: &[(&'static str, &'static str)]| {
        let reply = Response::builder().status(status);
        let headers = headers.iter();
        let reply = headers.fold(reply, |reply, (name, value)| reply.header(*name, *value));
        answered("icecast", &request(), reply, "icecast-auth-user: 1").expect("an answer")
    };
    assert_eq!(verdict(200, &[]), denied(None, false));
    assert_eq!(verdict(401, &[]), denied(None, true));
    assert_eq!(
        verdict(200, &[("icecast-auth-user", "0")]),
        denied(None, false)
    );
    let message = ("icecast-auth-message", "not paid");
    assert_eq!(verdict(200, &[message]), denied(Some("not paid"), false));
    assert_eq!(
        verdict(200, &[("icecast-auth-user", "1")]),
        allowed(None, None)
    );
    assert_eq!(
        verdict(200, &[("x-icecast-auth-result", "ok")]),
        allowed(None, None)
    );
    for (limit, seconds) in [("60", Some(60)), ("0", None), ("soon", None)] {
        let headers = [
            ("icecast-auth-user", "1"),
            ("icecast-auth-timelimit", limit),
        ];
        assert_eq!(verdict(200, &headers), allowed(seconds, None));
    }
}

#[test]
fn a_redirection_of_nginx_rtmp_s_hook_names_another_stream() {
    let verdict = |request: &Request<'_>, location: &'static str| {
        let reply = Response::builder()
            .status(302)
            .header(header::LOCATION, location);
        answered("nginx-rtmp", request, reply, "")
    };
    let show = request();
    assert_eq!(verdict(&show, "public?a=b"), Ok(renamed("live/eu/public")));
    let bare = name("show");
    let short = Request {
        stream: &bare,
        ..show
    };
    assert_eq!(verdict(&short, "public"), Ok(renamed("public")));
    for elsewhere in ["rtmp://other/live/show", "http://hook/public"] {
        assert!(verdict(&show, elsewhere).is_err());
    }
    // Before and after that another name is of no use, and no refusal.
    let lasted = Duration::from_secs(1);
    for moment in [Moment::Connect, Moment::Update { lasted }] {
        let reply = Response::builder().status(302).body(()).expect("a reply");
        let reply = Reply {
            head: reply.into_parts().0,
            body: Bytes::new(),
            at: Instant::now(),
        };
        let on = on(&show, Action::Publish, moment);
        let told = dialect("nginx-rtmp").0.answer(&on, &reply);
        assert!(told.expect("an answer").is_ok(), "{moment:?}");
    }
}
