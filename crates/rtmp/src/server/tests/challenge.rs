//! Passwords by challenge and response, as clients do it: each step on a connection of its own.

use std::sync::Arc;

use super::*;
use crate::auth::{self, Challenger};

/// Writer of a client's `connect` fields.
type Introduction = fn(&mut Encoder<'_>);

const FFMPEG_PUBLISHES: Introduction = |e| {
    e.key("type").string("nonprivate");
    e.key("flashVer")
        .string("FMLE/3.0 (compatible; Lavf59.27.100)");
};
const FFMPEG_PLAYS: Introduction = |e| {
    e.key("flashVer").string("LNX 9,0,124,2");
    e.key("fpad").boolean(false);
    e.key("capabilities").number(15.0);
    e.key("audioCodecs").number(4071.0);
    e.key("videoCodecs").number(252.0);
    e.key("videoFunction").number(1.0);
};
const SAYS_LITTLE: Introduction = |e| {
    e.key("flashVer").string("LNX 9,0,124,2");
};

struct Server(Config);

impl Server {
    fn new(is_demanded: bool) -> Self {
        Self::of_key(3, is_demanded)
    }

    fn of_key(key: u8, is_demanded: bool) -> Self {
        let challenge = Challenge {
            challenger: Challenger::new([key; 32]),
            is_demanded,
            epoch: Instant::now(),
        };
        let challenge = Some(Arc::new(challenge));
        Self(Config { challenge })
    }

    /// A connection up to the answer to `connect`: the client, or why it was refused.
    fn connect(
        &self,
        app: &str,
        tc_url: &str,
        introduction: Introduction,
        later: Duration,
    ) -> Result<Client, String> {
        let mut client = Client::with(self.0.clone());
        client.now += later;
        let events = client.command(0, "connect", 1.0, |e| {
            e.object();
            e.key("app").string(app);
            e.key("tcUrl").string(tc_url);
            introduction(e);
            e.end()
        });
        let payload = client.last_reply().payload;
        let mut decoder = Decoder::new(&payload);
        let name = decoder.value().unwrap().unwrap();
        assert_eq!(decoder.value(), Ok(Some(Value::Number(1.0))));
        decoder.value().unwrap();
        let information = decoder.value().unwrap().unwrap();
        let text = |key| information.property(key).unwrap().text().unwrap();
        let is_turned_away = matches!(&events[..], [Event::TurnedAway(_)]);
        assert_eq!(client.session.is_closed(), is_turned_away);
        if client.session.is_closed() {
            assert_eq!(name, Value::String(b"_error"));
            assert_eq!(text("code"), "NetConnection.Connect.Rejected");
            assert_eq!(text("level"), "error");
            Err(text("description").into_owned())
        } else {
            assert_eq!(name, Value::String(b"_result"));
            Ok(client)
        }
    }

    /// Connects until it is admitted or gives up, as ffmpeg does with `user` and `password`. Returns the
    /// descriptions that it received, and the request that it made.
    fn publish(&self, app: &str, name: &str, password: &str) -> (Vec<String>, Option<Request>) {
        let mut reported = Vec::new();
        let mut query = String::new();
        for _ in 0..4 {
            let tc_url = format!("rtmp://h:1935/{app}{query}");
            let app = format!("{app}{query}");
            match self.connect(&app, &tc_url, FFMPEG_PUBLISHES, Duration::ZERO) {
                Ok(mut client) => return (reported, Some(client.publish(name))),
                Err(description) => {
                    let step = auth::answer("me", password, &description, [1, 2, 3, 4]);
                    reported.push(description);
                    match step {
                        Some(step) => query = format!("?{}", step.query),
                        None => return (reported, None),
                    }
                }
            }
        }
        panic!("no end: {reported:?}");
    }
}

#[test]
fn a_password_is_proved_in_three_connections() {
    for (app, name, stream, query) in [
        ("live", "show", "live/show", ""),
        ("a/b", "show", "a/b/show", ""),
        ("live", "show?x=1", "live/show", "x=1"),
        ("live?x=a/b", "show", "live/show", "x=a/b"),
        // ffmpeg's cut inside the query.
        ("live/show?x=a", "b", "live/show", "x=a/b"),
    ] {
        let (reported, request) = Server::new(true).publish(app, name, "sesame");
        assert_eq!(reported[0], auth::NEED_AUTH);
        assert!(reported[1].starts_with(
            "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=needauth&user=me&salt="
        ));
        assert_eq!(reported.len(), 2);
        let request = request.unwrap();
        assert_eq!(
            (&*request.path.name, &*request.path.query),
            (stream, query),
            "the answer is no part of the address"
        );
        let proof = request.proof.as_ref().unwrap();
        assert_eq!(proof.user(), "me");
        assert!(proof.verifies("sesame") && !proof.verifies("open"));
        let shown = format!("{request:?}");
        assert!(!shown.contains("response"), "{shown}");
    }
}

#[test]
fn players_and_bearers_of_credentials_are_not_challenged() {
    let demanding = Server::new(true);
    let plain = "rtmp://h/live";
    for (app, tc_url, introduction, passes) in [
        ("live", plain, FFMPEG_PUBLISHES, false),
        ("live", plain, SAYS_LITTLE, false),
        ("live?x=1", plain, FFMPEG_PUBLISHES, false),
        ("live", "rtmp://me@h/live", FFMPEG_PUBLISHES, false),
        ("live", plain, FFMPEG_PLAYS, true),
        ("live?key=K", plain, FFMPEG_PUBLISHES, true),
        ("live", "rtmp://h/live?key=K", FFMPEG_PUBLISHES, true),
        ("live", "rtmp://me:sesame@h/live", FFMPEG_PUBLISHES, true),
    ] {
        let got = demanding.connect(app, tc_url, introduction, Duration::ZERO);
        assert_eq!(got.is_ok(), passes, "{app} {tc_url}");
        let polite = Server::new(false).connect(app, tc_url, introduction, Duration::ZERO);
        assert!(polite.is_ok());
    }
}

#[test]
fn a_client_that_asks_for_it_is_challenged() {
    let server = Server::new(false);
    for introduction in [FFMPEG_PUBLISHES, FFMPEG_PLAYS] {
        let app = "live?authmod=adobe&user=me";
        let reported = server.connect(app, "rtmp://h/live", introduction, Duration::ZERO);
        assert!(reported.is_err_and(|reported| reported.contains("reason=needauth&user=me")));
    }
    // Of another scheme, or without a name.
    for query in [
        "authmod=llnw&user=me",
        "authmod=adobe",
        "authmod=adobe&user=",
    ] {
        let app = format!("live?{query}");
        let reported = server.connect(&app, "rtmp://h/live", FFMPEG_PUBLISHES, Duration::ZERO);
        assert_eq!(reported.err().as_deref(), Some(auth::NEED_AUTH));
    }
}

#[test]
fn foreign_and_stale_answers_fail_for_good() {
    let server = Server::new(true);
    let app = "live?authmod=adobe&user=me";
    let asked = server
        .connect(app, "", FFMPEG_PUBLISHES, Duration::ZERO)
        .err()
        .unwrap();
    let step = auth::answer("me", "sesame", &asked, [0; 4]).unwrap();
    let app = format!("live?{}", step.query);
    let at = |server: &Server, seconds| {
        server.connect(&app, "", FFMPEG_PUBLISHES, Duration::from_secs(seconds))
    };
    assert!(at(&server, 60).is_ok());
    assert_eq!(at(&server, 600).err().as_deref(), Some(auth::AUTH_FAILED));
    let other = Server::of_key(4, true);
    assert_eq!(at(&other, 0).err().as_deref(), Some(auth::AUTH_FAILED));
}

#[test]
fn a_server_that_does_not_challenge_ignores_answers() {
    let mut client = Client::new();
    let app = "live?key=K?authmod=adobe&user=me&challenge=ab&response=x/y==&opaque=cd";
    let connect = client.connect(app, &format!("rtmp://h/{app}"));
    assert_eq!(connect.app, "live");
    let request = client.publish("show");
    assert_eq!(
        (&*request.path.name, &*request.path.query),
        ("live/show", "key=K")
    );
    assert_eq!(request.proof, None);
}
