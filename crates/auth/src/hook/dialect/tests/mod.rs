//! What hooks of other servers see, field by field.

mod answers;

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use fanout::gate::{Action, Headers, Request};
use media::StreamName;
use serde_json::{Value, json};

use crate::hook::tests::dialect;
use crate::hook::{Dialect, HookFeature, Moment, Occasion};
use crate::settings::AuthHook;

/// 2026-11-26T10:00:00.512Z.
const TIME: Duration = Duration::from_millis(1_795_687_200_512);

static STREAM: LazyLock<StreamName> = LazyLock::new(|| name("live/eu/show"));
static SETTINGS: LazyLock<AuthHook> = LazyLock::new(|| AuthHook {
    host: "radio.example:1935".to_owned(),
    ..AuthHook::default()
});

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

fn request() -> Request<'static> {
    Request {
        agent: "FMLE/3.0 (compatible; Lavf60)",
        user: Some("ann"),
        password: Some("p&q"),
        token: Some("t/1"),
        query: "key=t%2F1&x=y",
        ..Request::new(&STREAM, "rtmp", SocketAddr::from(([192, 0, 2, 7], 4711)))
    }
}

fn on<'a>(request: &'a Request<'a>, action: Action, moment: Moment) -> Occasion<'a> {
    Occasion {
        request,
        action,
        moment,
        at: SystemTime::UNIX_EPOCH + TIME,
        number: 17,
        settings: &SETTINGS,
    }
}

/// The text of the body by which a question is asked.
fn asked(name: &str, request: &Request<'_>, action: Action) -> String {
    let on = on(request, action, Moment::Begin);
    dialect(name).0.body(&on).text
}

fn json_of(name: &str, action: Action) -> Value {
    let body = dialect(name).0.body(&on(&request(), action, Moment::Begin));
    assert_eq!(body.content_type, "application/json");
    serde_json::from_str(&body.text).expect("JSON")
}

fn form_of(name: &str, action: Action) -> String {
    let body = dialect(name).0.body(&on(&request(), action, Moment::Begin));
    assert_eq!(body.content_type, "application/x-www-form-urlencoded");
    body.text
}

#[test]
fn each_dialect_has_a_name_that_is_listed() {
    let names: Vec<_> = Dialect::all()
        .map(|one| format!("\"{}\"", one.name()))
        .collect();
    let listed: Vec<_> = Dialect::NAMES
        .split(", ")
        .flat_map(|part| part.split(" or "))
        .collect();
    assert_eq!(listed, names);
    assert_eq!(Dialect::default(), dialect("carillon"));
}

#[test]
fn each_dialect_asks_as_its_server_does() {
    let beginning = "app=live%2Feu&flashver=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29&swfurl=&\
                     tcurl=rtmp%3A%2F%2Fradio.example%3A1935%2Flive%2Feu&pageurl=&addr=192.0.2.7&clientid=17";
    assert_eq!(
        form_of("nginx-rtmp", Action::Publish),
        format!(
            "{beginning}&call=publish&name=show&type=live&key=t%2F1&x=y&user=ann&password=p%26q"
        )
    );
    assert_eq!(
        form_of("nginx-rtmp", Action::Play),
        format!(
            "{beginning}&call=play&name=show&start=4294965296&duration=0&reset=0&key=t%2F1&x=y&user=ann&password=p%26q"
        )
    );
    let mount = "mount=%2Flive%2Feu%2Fshow%3Fkey%3Dt%252F1%26x%3Dy&ip=192.0.2.7&\
                 server=radio.example&port=1935&user=ann&pass=p%26q";
    assert_eq!(
        form_of("icecast", Action::Publish),
        format!("action=stream_auth&{mount}")
    );
    assert_eq!(
        form_of("icecast", Action::UpdateMetadata),
        format!(
            "action=stream_auth&{}&admin=1",
            mount.replace("%3Fkey%3Dt%252F1%26x%3Dy", "")
        )
    );
    let pass = |query| {
        let request = Request {
            password: None,
            query,
            ..request()
        };
        asked("icecast", &request, Action::Play).contains("&pass=t%2F1&")
    };
    // It is in `mount` already, or else nowhere.
    assert_eq!((pass("a=b&token=t%2F1"), pass("")), (false, true));
    assert_eq!(
        form_of("icecast", Action::Play),
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
    assert_eq!(json_of("srs", Action::Publish), srs);
    let mut played = srs;
    played["action"] = "on_play".into();
    played["pageUrl"] = "".into();
    assert_eq!(json_of("srs", Action::Play), played);
    let mediamtx = json!({
        "user": "ann", "password": "p&q", "token": "t/1", "ip": "192.0.2.7", "action": "read",
        "path": "live/eu/show", "protocol": "rtmp", "id": "00000000-0000-8000-8000-000000000011",
        "query": "key=t%2F1&x=y", "userAgent": "FMLE/3.0 (compatible; Lavf60)",
    });
    assert_eq!(json_of("mediamtx", Action::Play), mediamtx);
    let ours = json!({
        "id": 17, "action": "metadata", "stream": "live/eu/show", "protocol": "rtmp", "address": "192.0.2.7",
        "port": 4711, "agent": "FMLE/3.0 (compatible; Lavf60)", "user": "ann", "password": "p&q",
        "token": "t/1", "query": "key=t%2F1&x=y",
    });
    assert_eq!(json_of("carillon", Action::UpdateMetadata), ours);
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
    assert_eq!(json_of("ome", Action::Publish), ome);
}

struct Sent(&'static [(&'static str, &'static str)]);

impl Headers for Sent {
    fn header(&self, name: &str) -> Option<&str> {
        let mut of_name = self.0.iter().filter(|(one, _)| *one == name);
        of_name.next().map(|(_, value)| *value)
    }
}

#[test]
fn icecast_passes_headers_of_listeners_on_and_of_nobody_else() {
    let settings = AuthHook {
        headers: ["referer", "x-id", "x-pragma"].map(str::to_owned).into(),
        header_prefix: "ClientHeader.".to_owned(),
        ..SETTINGS.clone()
    };
    let with = Request {
        headers: Some(&Sent(&[("x-id", "ä"), ("referer", "http://a/?b=c")])),
        ..request()
    };
    let body = |request: &Request<'_>, action, moment| {
        let on = Occasion {
            settings: &settings,
            ..on(request, action, moment)
        };
        dialect("icecast").0.body(&on).text
    };
    let passed = "&ClientHeader.referer=http%3A%2F%2Fa%2F%3Fb%3Dc&ClientHeader.x-id=%C3%A4";
    let play = body(&with, Action::Play, Moment::Begin);
    assert!(play.ends_with(passed), "{play}");
    for action in [Action::Publish, Action::UpdateMetadata] {
        let sent = body(&with, action, Moment::Begin);
        assert_eq!(sent, body(&request(), action, Moment::Begin));
    }
    let lasted = Duration::from_secs(1);
    let end = body(&with, Action::Play, Moment::End { lasted });
    assert!(!end.contains("ClientHeader"), "{end}");
}

#[test]
fn no_argument_of_a_client_is_taken_for_a_field_of_nginx() {
    let sent = Request {
        query: "name=other&app=admin&addr=10.0.0.1&CALL=publish&n%61me=x&name[]=x&+name=x&=x&a=1;name=x&b&key=t",
        user: None,
        password: None,
        ..request()
    };
    let body = asked("nginx-rtmp", &sent, Action::Play);
    let (_, arguments) = body.split_once("&reset=0").expect("the last field");
    assert_eq!(arguments, "&a=1%3Bname=x&b&key=t");
}

#[test]
fn each_dialect_tells_of_ends_as_its_server_does() {
    let moment = Moment::End {
        lasted: Duration::from_millis(90_500),
    };
    let told = |name, action| dialect(name).0.body(&on(&request(), action, moment)).text;
    let json = |name, action| -> Value { serde_json::from_str(&told(name, action)).expect("JSON") };
    let arguments = "key=t%2F1&x=y&user=ann&password=p%26q";
    for (action, call) in [
        (Action::Publish, "publish_done"),
        (Action::Play, "play_done"),
    ] {
        let form = told("nginx-rtmp", action);
        let end = format!("&clientid=17&call={call}&name=show&{arguments}");
        assert!(form.ends_with(&end), "{form}");
    }
    let form = told("icecast", Action::Play);
    assert!(
        form.starts_with("action=listener_remove&mount=%2Flive%2Feu%2Fshow%3F"),
        "{form}"
    );
    assert!(
        form.ends_with("&client=17&agent=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29&duration=90"),
        "{form}"
    );
    assert_eq!(
        told("icecast", Action::Publish),
        "action=mount_remove&mount=%2Flive%2Feu%2Fshow&server=radio.example&port=1935"
    );
    assert_eq!(json("srs", Action::Publish)["action"], "on_unpublish");
    assert_eq!(json("srs", Action::Play)["action"], "on_stop");
    assert_eq!(json("ome", Action::Play)["request"]["status"], "closing");
    let ours = json("carillon", Action::Play);
    assert_eq!(
        (&ours["action"], &ours["seconds"]),
        (&"play_ended".into(), &90.5.into())
    );
    assert!(!dialect("mediamtx").has(HookFeature::Ends));
}

#[test]
fn a_program_s_long_name_is_cut_where_nginx_cuts_it() {
    let long = Request {
        agent: "FMLE/3.0 (compatible; Lavf59.27.100)",
        ..request()
    };
    let form = asked("nginx-rtmp", &long, Action::Publish);
    assert!(
        form.contains("&flashver=FMLE%2F3.0%20%28compatible%3B%20Lavf59.27&"),
        "{form}"
    );
}

#[test]
fn a_name_of_one_segment_and_a_client_without_credentials_are_asked_about_as_well() {
    let show = name("show");
    let bare = Request {
        stream: &show,
        user: None,
        password: None,
        token: None,
        query: "",
        agent: "",
        ..request()
    };
    let body = asked("nginx-rtmp", &bare, Action::Publish);
    assert!(body.starts_with("app=&flashver=&") && body.ends_with("&name=show&type=live"));
    let by_header = Request {
        token: Some("t/1"),
        ..bare
    };
    let body = asked("nginx-rtmp", &by_header, Action::Publish);
    assert!(body.ends_with("&type=live&key=t%2F1"), "{body}");
    let json = |name| -> Value {
        serde_json::from_str(&asked(name, &bare, Action::Publish)).expect("JSON")
    };
    let body = json("srs");
    assert_eq!((&body["app"], &body["param"]), (&json!(""), &json!("")));
    let body = json("carillon");
    assert_eq!(
        (&body["user"], &body["token"]),
        (&Value::Null, &Value::Null)
    );
}
