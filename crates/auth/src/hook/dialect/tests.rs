//! What hooks of other servers see, field by field, and what their answers mean.

use std::net::SocketAddr;
use std::time::Duration;

use http::HeaderValue;
use serde_json::{Value, json};

use super::*;
use fanout::gate::Action;

const HOST: &str = "radio.example:1935";

fn question(action: Action) -> Question<'static> {
    Question {
        action,
        stream: "live/eu/show",
        protocol: "rtmp",
        peer: SocketAddr::from(([192, 0, 2, 7], 4711)),
        agent: "FMLE/3.0 (compatible; Lavf60)",
        user: Some("ann"),
        password: Some("p&q"),
        token: Some("t/1"),
        query: "key=t%2F1&x=y",
        headers: &[],
        time: "2026-11-26T10:00:00.512Z",
        number: 17,
    }
}

fn json_of(dialect: Dialect, action: Action) -> Value {
    let body = dialect.body(&question(action), Moment::Begin, HOST);
    assert_eq!(body.content_type, "application/json");
    serde_json::from_str(&body.text).expect("JSON")
}

fn form_of(dialect: Dialect, action: Action) -> String {
    let body = dialect.body(&question(action), Moment::Begin, HOST);
    assert_eq!(body.content_type, "application/x-www-form-urlencoded");
    body.text
}

#[test]
fn each_dialect_asks_as_its_server_does() {
    let beginning = "app=live%2Feu&flashver=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29&swfurl=&\
                     tcurl=rtmp%3A%2F%2Fradio.example%3A1935%2Flive%2Feu&pageurl=&addr=192.0.2.7&clientid=17";
    assert_eq!(
        form_of(Dialect::NginxRtmp, Action::Publish),
        format!(
            "{beginning}&call=publish&name=show&type=live&key=t%2F1&x=y&user=ann&password=p%26q"
        )
    );
    assert_eq!(
        form_of(Dialect::NginxRtmp, Action::Play),
        format!(
            "{beginning}&call=play&name=show&start=4294965296&duration=0&reset=0&key=t%2F1&x=y&user=ann&password=p%26q"
        )
    );
    let mount = "mount=%2Flive%2Feu%2Fshow%3Fkey%3Dt%252F1%26x%3Dy&ip=192.0.2.7&\
                 server=radio.example&port=1935&user=ann&pass=p%26q";
    assert_eq!(
        form_of(Dialect::Icecast, Action::Publish),
        format!("action=stream_auth&{mount}")
    );
    assert_eq!(
        form_of(Dialect::Icecast, Action::UpdateMetadata),
        format!(
            "action=stream_auth&{}&admin=1",
            mount.replace("%3Fkey%3Dt%252F1%26x%3Dy", "")
        )
    );
    let pass = |query| {
        let question = Question {
            password: None,
            query,
            ..question(Action::Play)
        };
        let body = Dialect::Icecast.body(&question, Moment::Begin, HOST);
        body.text.contains("&pass=t%2F1&")
    };
    // It is in `mount` already, or else nowhere.
    assert_eq!((pass("a=b&token=t%2F1"), pass("")), (false, true));
    assert_eq!(
        form_of(Dialect::Icecast, Action::Play),
        format!(
            "action=listener_add&{mount}&client=17&agent=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29"
        )
    );
    let srs = json!({
        "server_id": "carillon", "service_id": "carillon", "action": "on_publish", "client_id": "17",
        "ip": "192.0.2.7", "vhost": "__defaultVhost__", "app": "live/eu",
        "tcUrl": "rtmp://radio.example:1935/live/eu", "stream": "show", "param": "?key=t%2F1&x=y&user=ann&password=p%26q",
        "stream_url": "/live/eu/show", "stream_id": "live/eu/show",
    });
    assert_eq!(json_of(Dialect::Srs, Action::Publish), srs);
    let mut played = srs;
    played["action"] = "on_play".into();
    played["pageUrl"] = "".into();
    assert_eq!(json_of(Dialect::Srs, Action::Play), played);
    let mediamtx = json!({
        "user": "ann", "password": "p&q", "token": "t/1", "ip": "192.0.2.7", "action": "read",
        "path": "live/eu/show", "protocol": "rtmp", "id": "00000000-0000-8000-8000-000000000011",
        "query": "key=t%2F1&x=y", "userAgent": "FMLE/3.0 (compatible; Lavf60)",
    });
    assert_eq!(json_of(Dialect::MediaMtx, Action::Play), mediamtx);
    let ours = json!({
        "id": 17, "action": "metadata", "stream": "live/eu/show", "protocol": "rtmp", "address": "192.0.2.7",
        "port": 4711, "agent": "FMLE/3.0 (compatible; Lavf60)", "user": "ann", "password": "p&q",
        "token": "t/1", "query": "key=t%2F1&x=y",
    });
    assert_eq!(json_of(Dialect::Carillon, Action::UpdateMetadata), ours);
    let ome = json!({
        "client": {
            "address": "192.0.2.7", "port": 4711, "real_ip": "192.0.2.7",
            "user_agent": "FMLE/3.0 (compatible; Lavf60)",
        },
        "request": {
            "direction": "incoming", "protocol": "rtmp", "status": "opening",
            "url": "rtmp://radio.example:1935/live/eu/show?key=t%2F1&x=y&user=ann&password=p%26q",
            "time": "2026-11-26T10:00:00.512Z",
        },
    });
    assert_eq!(json_of(Dialect::Ome, Action::Publish), ome);
}

#[test]
fn icecast_passes_headers_of_listeners_on_and_of_nobody_else() {
    let headers = [("ClientHeader.referer", "http://a/?b=c"), ("x-id", "ä")];
    let asked = |action| Question {
        headers: &headers,
        ..question(action)
    };
    let body = |question: &Question<'_>, moment| Dialect::Icecast.body(question, moment, HOST).text;
    let passed = "&ClientHeader.referer=http%3A%2F%2Fa%2F%3Fb%3Dc&x-id=%C3%A4";
    let play = body(&asked(Action::Play), Moment::Begin);
    assert!(play.ends_with(passed), "{play}");
    for action in [Action::Publish, Action::UpdateMetadata] {
        let with = body(&asked(action), Moment::Begin);
        assert_eq!(with, body(&question(action), Moment::Begin));
    }
    let lasted = Duration::from_secs(1);
    let end = body(&asked(Action::Play), Moment::End { lasted });
    assert!(!end.contains("ClientHeader"), "{end}");
}

#[test]
fn no_argument_of_a_client_is_taken_for_a_field_of_nginx() {
    let asked = Question {
        query: "name=other&app=admin&addr=10.0.0.1&CALL=publish&n%61me=x&name[]=x&+name=x&=x&a=1;name=x&b&key=t",
        user: None,
        password: None,
        ..question(Action::Play)
    };
    let body = Dialect::NginxRtmp.body(&asked, Moment::Begin, HOST);
    let (_, arguments) = body.text.split_once("&reset=0").expect("the last field");
    assert_eq!(arguments, "&a=1%3Bname=x&b&key=t");
}

#[test]
fn each_dialect_tells_of_ends_as_its_server_does() {
    let moment = Moment::End {
        lasted: Duration::from_millis(90_500),
    };
    let told = |dialect: Dialect, action| dialect.body(&question(action), moment, HOST).text;
    let json =
        |dialect, action| -> Value { serde_json::from_str(&told(dialect, action)).expect("JSON") };
    let arguments = "key=t%2F1&x=y&user=ann&password=p%26q";
    for (action, call) in [
        (Action::Publish, "publish_done"),
        (Action::Play, "play_done"),
    ] {
        let form = told(Dialect::NginxRtmp, action);
        let end = format!("&clientid=17&call={call}&name=show&{arguments}");
        assert!(form.ends_with(&end), "{form}");
    }
    let form = told(Dialect::Icecast, Action::Play);
    assert!(
        form.starts_with("action=listener_remove&mount=%2Flive%2Feu%2Fshow%3F"),
        "{form}"
    );
    assert!(
        form.ends_with("&client=17&agent=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29&duration=90"),
        "{form}"
    );
    assert_eq!(
        told(Dialect::Icecast, Action::Publish),
        "action=mount_remove&mount=%2Flive%2Feu%2Fshow&server=radio.example&port=1935"
    );
    assert_eq!(
        json(Dialect::Srs, Action::Publish)["action"],
        "on_unpublish"
    );
    assert_eq!(json(Dialect::Srs, Action::Play)["action"], "on_stop");
    assert_eq!(
        json(Dialect::Ome, Action::Play)["request"]["status"],
        "closing"
    );
    let ours = json(Dialect::Carillon, Action::Play);
    assert_eq!(
        (&ours["action"], &ours["seconds"]),
        (&"play_ended".into(), &90.5.into())
    );
    assert!(!Dialect::MediaMtx.tells_of_ends(Action::Play));
    assert!(!Dialect::Carillon.tells_of_ends(Action::UpdateMetadata));
}

#[test]
fn a_program_s_long_name_is_cut_where_nginx_cuts_it() {
    let long = Question {
        agent: "FMLE/3.0 (compatible; Lavf59.27.100)",
        ..question(Action::Publish)
    };
    let form = Dialect::NginxRtmp.body(&long, Moment::Begin, HOST).text;
    assert!(
        form.contains("&flashver=FMLE%2F3.0%20%28compatible%3B%20Lavf59.27&"),
        "{form}"
    );
}

#[test]
fn a_name_of_one_segment_and_a_client_without_credentials_are_asked_about_as_well() {
    let bare = Question {
        stream: "show",
        user: None,
        password: None,
        token: None,
        query: "",
        agent: "",
        ..question(Action::Publish)
    };
    let body = Dialect::NginxRtmp.body(&bare, Moment::Begin, HOST).text;
    assert!(body.starts_with("app=&flashver=&") && body.ends_with("&name=show&type=live"));
    let by_header = Question {
        token: Some("t/1"),
        ..bare
    };
    let body = Dialect::NginxRtmp
        .body(&by_header, Moment::Begin, HOST)
        .text;
    assert!(body.ends_with("&type=live&key=t%2F1"), "{body}");
    let body: Value =
        serde_json::from_str(&Dialect::Srs.body(&bare, Moment::Begin, HOST).text).expect("JSON");
    assert_eq!((&body["app"], &body["param"]), (&json!(""), &json!("")));
    let body: Value =
        serde_json::from_str(&Dialect::Carillon.body(&bare, Moment::Begin, HOST).text)
            .expect("JSON");
    assert_eq!(
        (&body["user"], &body["token"]),
        (&Value::Null, &Value::Null)
    );
}

fn denied(reason: Option<&str>, wants_credential: bool) -> Verdict {
    Verdict::Denied {
        reason: reason.map(str::to_owned),
        wants_credential,
    }
}

fn allowed(seconds: Option<u64>, identity: Option<&str>) -> Verdict {
    Verdict::Allowed {
        lifetime: seconds.map(Duration::from_secs),
        identity: identity.map(str::to_owned),
        stream: None,
    }
}

/// Allowed under another name.
fn renamed(stream: &str) -> Verdict {
    Verdict::Allowed {
        lifetime: None,
        identity: None,
        stream: Some(stream.to_owned()),
    }
}

#[test]
fn answers_mean_what_they_mean_to_their_servers() {
    use Dialect::{Carillon, MediaMtx, NginxRtmp, Ome, Srs};
    let none = HeaderMap::new();
    for (dialect, status, body, meaning) in [
        (NginxRtmp, 200, "", Some(allowed(None, None))),
        (
            NginxRtmp,
            201,
            "denied, says the text",
            Some(allowed(None, None)),
        ),
        (NginxRtmp, 302, "", None),
        (NginxRtmp, 403, "", Some(denied(None, false))),
        (Srs, 200, "0", Some(allowed(None, None))),
        (
            Srs,
            201,
            " {\"code\": 0, \"data\": null}\n",
            Some(allowed(None, None)),
        ),
        (Srs, 204, "0", Some(denied(None, false))),
        (Srs, 200, "", None),
        (Srs, 200, "OK", None),
        (Srs, 200, "{}", None),
        (Srs, 200, "1", Some(denied(Some("code 1"), false))),
        (Srs, 403, "0", Some(denied(None, false))),
        (MediaMtx, 204, "", Some(allowed(None, None))),
        (MediaMtx, 401, "", Some(denied(None, true))),
        (MediaMtx, 404, "", Some(denied(None, false))),
        (Carillon, 204, "", Some(allowed(None, None))),
        (Carillon, 200, "{}", Some(allowed(None, None))),
        (
            Carillon,
            200,
            r#"{"allowed": true, "seconds": 90, "identity": "ann", "new": 1}"#,
            Some(allowed(Some(90), Some("ann"))),
        ),
        (
            Carillon,
            200,
            r#"{"allowed": false, "reason": "not paid"}"#,
            Some(denied(Some("not paid"), false)),
        ),
        (
            Carillon,
            200,
            r#"{"stream": "live/other"}"#,
            Some(renamed("live/other")),
        ),
        (Ome, 200, r#"{"allowed": true}"#, Some(allowed(None, None))),
        (
            Ome,
            200,
            r#"{"allowed": true, "new_url": "", "lifetime": 90000}"#,
            Some(allowed(Some(90), None)),
        ),
        (
            Ome,
            200,
            r#"{"allowed": true, "new_url": "ws://h:3333/app/b/file?x=/y", "lifetime": 0}"#,
            Some(renamed("app/b")),
        ),
        (Ome, 200, r#"{"allowed": true, "new_url": "app/b"}"#, None),
        (
            Ome,
            200,
            r#"{"allowed": true, "new_url": "ws://h/app"}"#,
            None,
        ),
        (
            Ome,
            200,
            r#"{"allowed": false, "reason": "not paid"}"#,
            Some(denied(Some("not paid"), false)),
        ),
        (Ome, 200, "{}", None),
        (Ome, 403, r#"{"allowed": true}"#, Some(denied(None, false))),
        (Carillon, 200, r#"{"seconds": -1}"#, None),
        (Carillon, 200, r#"{"seconds": 1e300}"#, None),
        (Carillon, 200, "yes", None),
        (Carillon, 401, "{}", Some(denied(None, true))),
        (Carillon, 302, "", Some(denied(None, false))),
    ] {
        let status = StatusCode::from_u16(status).expect("a status");
        let question = question(Action::Publish);
        let told = dialect.verdict(&question, status, &none, body.as_bytes());
        let told = told.ok();
        assert_eq!(told, meaning, "{dialect:?} {status} {body}");
    }
}

#[test]
fn icecast_s_answers_are_in_headers() {
    let verdict = |status: u16, headers: &[(&'static str, &'static str)]| {
        let headers = headers.iter().map(|(name, value)| {
            (
                name.parse().expect("a name"),
                HeaderValue::from_static(value),
            )
        });
        let status = StatusCode::from_u16(status).expect("a status");
        let (question, body) = (question(Action::Play), b"icecast-auth-user: 1");
        let told = Dialect::Icecast.verdict(&question, status, &headers.collect(), body);
        told.expect("an answer")
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
    let verdict = |question: &Question<'_>, location: &'static str| {
        let headers = [(http::header::LOCATION, HeaderValue::from_static(location))];
        let status = StatusCode::FOUND;
        Dialect::NginxRtmp.verdict(question, status, &headers.into_iter().collect(), b"")
    };
    let show = question(Action::Publish);
    assert_eq!(verdict(&show, "public?a=b"), Ok(renamed("live/eu/public")));
    let short = Question {
        stream: "show",
        ..show
    };
    assert_eq!(verdict(&short, "public"), Ok(renamed("public")));
    for elsewhere in ["rtmp://other/live/show", "http://hook/public"] {
        assert!(verdict(&show, elsewhere).is_err());
    }
}
