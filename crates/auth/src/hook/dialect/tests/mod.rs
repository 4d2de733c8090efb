//! Tests of the questions sent to hooks of other servers, field by field.

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
    let names = Dialect::all().map(|one| format!("\"{}\"", one.name()));
    let listed = Dialect::NAMES.split(", ");
    let listed = listed.flat_map(|part| part.split(" or "));
    assert!(listed.eq(names), "{}", Dialect::NAMES);
    assert_eq!(Dialect::default(), dialect("carillon"));
}

#[test]
fn each_dialect_asks_as_its_server_does() {
    let beginning = "app=live%2Feu&flashver=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29&swfurl=&\
                     tcurl=rtmp%3A%2F%2Fradio.example%3A1935%2Flive%2Feu&pageurl=&addr=192.0.2.7&clientid=17";
    let end = "key=t%2F1&x=y&user=ann&password=p%26q";
    let asked_as = format!("{beginning}&call=publish&name=show&type=live&{end}");
    assert_eq!(form_of("nginx-rtmp", Action::Publish), asked_as);
    let played = "call=play&name=show&start=4294965296&duration=0&reset=0";
    let asked_as = format!("{beginning}&{played}&{end}");
    assert_eq!(form_of("nginx-rtmp", Action::Play), asked_as);
    let mount = "mount=%2Flive%2Feu%2Fshow%3Fkey%3Dt%252F1%26x%3Dy&ip=192.0.2.7&\
                 server=radio.example&port=1935&user=ann&pass=p%26q";
    let asked_as = format!("action=stream_auth&{mount}");
    assert_eq!(form_of("icecast", Action::Publish), asked_as);
    let asked_as = asked_as.replace("%3Fkey%3Dt%252F1%26x%3Dy", "") + "&admin=1";
    assert_eq!(form_of("icecast", Action::UpdateMetadata), asked_as);
    let pass = |query| {
        let mut request = request();
        (request.password, request.query) = (None, query);
        asked("icecast", &request, Action::Play).contains("&pass=t%2F1&")
    };
    // It is in `mount` already, or else nowhere.
    assert_eq!((pass("a=b&token=t%2F1"), pass("")), (false, true));
    let agent = "agent=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29";
    let asked_as = format!("action=listener_add&{mount}&client=17&{agent}");
    assert_eq!(form_of("icecast", Action::Play), asked_as);
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
    let mut sent = request();
    (sent.user, sent.password) = (None, None);
    sent.query = "name=other&app=admin&addr=10.0.0.1&CALL=publish&n%61me=x&name[]=x&+name=x&=x&a=1;name=x&b&key=t";
    let body = asked("nginx-rtmp", &sent, Action::Play);
    let (_, arguments) = body.split_once("&reset=0").expect("the last field");
    assert_eq!(arguments, "&a=1%3Bname=x&b&key=t");
}

#[test]
fn each_dialect_tells_of_ends_as_its_server_does() {
    let moment = Moment::End {
        lasted: Duration::from_millis(90_500),
    };
    let reported = |name, action| dialect(name).0.body(&on(&request(), action, moment)).text;
    let json =
        |name, action| -> Value { serde_json::from_str(&reported(name, action)).expect("JSON") };
    let arguments = "key=t%2F1&x=y&user=ann&password=p%26q";
    for (action, call) in [
        (Action::Publish, "publish_done"),
        (Action::Play, "play_done"),
    ] {
        let form = reported("nginx-rtmp", action);
        let end = format!("&clientid=17&call={call}&name=show&{arguments}");
        assert!(form.ends_with(&end), "{form}");
    }
    let form = reported("icecast", Action::Play);
    let head = "action=listener_remove&mount=%2Flive%2Feu%2Fshow%3F";
    assert!(form.starts_with(head), "{form}");
    let tail = "&client=17&agent=FMLE%2F3.0%20%28compatible%3B%20Lavf60%29&duration=90";
    assert!(form.ends_with(tail), "{form}");
    let removed = "action=mount_remove&mount=%2Flive%2Feu%2Fshow&server=radio.example&port=1935";
    assert_eq!(reported("icecast", Action::Publish), removed);
    assert_eq!(json("srs", Action::Publish)["action"], "on_unpublish");
    assert_eq!(json("srs", Action::Play)["action"], "on_stop");
    assert_eq!(json("ome", Action::Play)["request"]["status"], "closing");
    let ours = json("carillon", Action::Play);
    assert_eq!(ours["action"], "play_ended");
    assert_eq!(ours["seconds"], 90.5);
    assert!(!dialect("mediamtx").has(HookFeature::Ends));
}

#[test]
fn a_program_s_long_name_is_cut_where_nginx_cuts_it() {
    let mut long = request();
    long.agent = "FMLE/3.0 (compatible; Lavf59.27.100)";
    let form = asked("nginx-rtmp", &long, Action::Publish);
    let cut = "&flashver=FMLE%2F3.0%20%28compatible%3B%20Lavf59.27&";
    assert!(form.contains(cut), "{form}");
}

#[test]
fn a_name_of_one_segment_and_a_client_without_credentials_are_asked_about_as_well() {
    let show = name("show");
    let mut bare = request();
    (bare.stream, bare.query, bare.agent) = (&show, "", "");
    (bare.user, bare.password, bare.token) = (None, None, None);
    let body = asked("nginx-rtmp", &bare, Action::Publish);
    assert!(body.starts_with("app=&flashver=&") && body.ends_with("&name=show&type=live"));
    let mut by_header = bare;
    by_header.token = Some("t/1");
    let body = asked("nginx-rtmp", &by_header, Action::Publish);
    assert!(body.ends_with("&type=live&key=t%2F1"), "{body}");
    let json = |name| -> Value {
        serde_json::from_str(&asked(name, &bare, Action::Publish)).expect("JSON")
    };
    let body = json("srs");
    assert_eq!((&body["app"], &body["param"]), (&json!(""), &json!("")));
    let body = json("carillon");
    assert!(body["user"].is_null() && body["token"].is_null());
}
