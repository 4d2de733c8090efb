//! Pushes over real sockets, to targets that are sessions of our own.

use std::sync::atomic::{AtomicBool, Ordering};

use ::rtmp::auth::Challenger;
use ::rtmp::server::{Challenge, Config, Event, Rejection, Session};
use bytes::BytesMut;
use fanout::gate::Request;
use media::StreamName;
use net::link::LinkReport;
use net::tls::testing::TestTls;
use net::wait::at_once;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::now;
use crate::testing::{PATIENCE, PEER, Show, TestServer};

/// Longer than the tests take.
const LINGER: Duration = Duration::from_secs(600);

/// A push at work.
struct Pushing {
    status: Arc<Status>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Pushing {
    fn to(local: &TestServer, stream: &str, url: &str) -> Self {
        let name = StreamName::parse(stream).unwrap();
        let request = Request::new(&name, "test", PEER);
        let permission = at_once(&mut local.context.gate.play(&request));
        let status = Arc::new(Status::default());
        let push = Push {
            permission: Arc::new(permission.expect("at once").unwrap()),
            address: net::rtmp::address(&url.parse().unwrap()).unwrap(),
            status: Arc::clone(&status),
        };
        let connector = Connector::new(TestTls::new().client);
        let registry = Arc::clone(&local.context.registry);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            run(&registry, &connector, &push, async {
                stopped.await.ok();
            })
            .await;
        });
        Self {
            status,
            stop: Some(stop),
            task,
        }
    }

    async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }

    async fn running(&self) -> LinkReport {
        self.until("running", |r| r.state == State::Running).await
    }

    /// Waits until the status is as wanted.
    async fn until(&self, what: &str, is_so: impl Fn(&LinkReport) -> bool) -> LinkReport {
        for _ in 0..PATIENCE.as_millis() / 5 {
            let report = self.status.report();
            if is_so(&report) {
                return report;
            }
            sleep(Duration::from_millis(5)).await;
        }
        panic!("not {what}: {:?}", self.status.report());
    }
}

/// A show of so many frames that is pushed.
async fn pushing(frames: usize) -> (TestServer, Target, Show, Pushing) {
    let local = TestServer::new(Duration::ZERO, LINGER);
    let target = Target::new().await;
    let mut show = local.show("live/show");
    show.frames(frames);
    let pushing = Pushing::to(&local, "live/show", &target.url);
    (local, target, show, pushing)
}

/// An address to push to.
struct Target {
    door: TcpListener,
    url: String,
}

impl Target {
    async fn new() -> Self {
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = door.local_addr().unwrap().port();
        Self {
            door,
            url: format!("rtmp://me:sesame@127.0.0.1:{port}/relay/xyzzy?key=K"),
        }
    }

    async fn visitor(&self) -> Visitor {
        self.visitor_under(Config::default()).await
    }

    async fn visitor_under(&self, config: Config) -> Visitor {
        let accepted = timeout(PATIENCE, self.door.accept()).await;
        Visitor {
            socket: accepted.expect("a connection").unwrap().0,
            session: Session::new(config, [6; 32], now()),
            input: BytesMut::new(),
        }
    }
}

/// A connection to a target.
struct Visitor {
    socket: TcpStream,
    session: Session,
    input: BytesMut,
}

impl Visitor {
    /// A visitor that has accepted the stream, and heard its first frames.
    async fn hearing(target: &Target) -> Self {
        let mut visitor = target.visitor().await;
        visitor.accept().await;
        visitor.hear_until("audio 20 #0").await;
        visitor
    }

    /// The next event; `None` once the connection was closed.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let mut rest = &self.input[..];
            let event = self.session.read(&mut rest, now()).unwrap();
            let used = self.input.len() - rest.len();
            bytes::Buf::advance(&mut self.input, used);
            let output = self.session.output().split();
            self.socket.write_all(&output).await.ok();
            if event.is_some() {
                return event;
            }
            let read = timeout(PATIENCE, self.socket.read_buf(&mut self.input));
            if read.await.expect("the push goes on").unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// Whether nothing arrives for a while that is long compared with every expected delay.
    async fn hears_nothing(&mut self) -> bool {
        let silence = Duration::from_millis(300);
        timeout(silence, self.next()).await.is_err()
    }

    async fn request(&mut self) -> Box<::rtmp::server::Request> {
        loop {
            match self.next().await {
                Some(Event::Connect(_)) => {}
                Some(Event::Publish(request)) => return request,
                other => panic!("{other:?}"),
            }
        }
    }

    async fn accept(&mut self) {
        let request = self.request().await;
        assert_eq!(request.path.name, "relay/xyzzy");
        assert_eq!(request.path.parameter("key").as_deref(), Some("K"));
        self.session.accept_publish(request.id).unwrap();
    }

    /// The next media, in words; `end` when the stream was ended, `closed` after that.
    async fn hear(&mut self) -> String {
        match self.next().await {
            Some(Event::Metadata(_)) => "metadata".into(),
            Some(Event::Video(media)) => match media.payload[..] {
                [0x17, 0, ..] => "video header".into(),
                [0x17, .., n] => format!("key {} #{n}", media.timestamp),
                [.., n] => format!("video {} #{n}", media.timestamp),
                [] => "nothing".into(),
            },
            Some(Event::Audio(media)) => match media.payload[..] {
                [0xaf, 0, ..] => "audio header".into(),
                [.., n] => format!("audio {} #{n}", media.timestamp),
                [] => "nothing".into(),
            },
            Some(Event::Unpublish(_)) => "end".into(),
            None => "closed".into(),
            other => panic!("{other:?}"),
        }
    }

    async fn hear_until(&mut self, what: &str) -> Vec<String> {
        let mut heard = Vec::new();
        loop {
            let said = self.hear().await;
            heard.push(said.clone());
            if said.starts_with(what) {
                return heard;
            }
            assert_ne!(said, "closed", "{heard:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_arrives_whole_and_its_end_is_reported() {
    let (local, target, mut show, pushing) = pushing(7).await;
    let mut visitor = target.visitor().await;
    visitor.accept().await;
    let mut heard = visitor.hear_until("audio 260 #6").await;
    assert_eq!(heard[0], "metadata");
    heard[1..3].sort();
    assert_eq!(heard[1..3], ["audio header", "video header"]);
    assert_eq!(heard[3..6], ["key 200 #5", "audio 220 #5", "video 240 #6"]);
    show.frames(1);
    let heard = visitor.hear_until("audio 300 #7").await;
    assert_eq!(heard, ["video 280 #7", "audio 300 #7"]);
    let report = pushing.until("running", |r| r.bytes > 0).await;
    assert_eq!((report.state, report.attempts), (State::Running, 1));
    assert_eq!(local.listeners(), 1);

    local.context.registry.end_all();
    assert_eq!(visitor.hear().await, "end");
    assert_eq!(visitor.hear().await, "closed");
    let report = pushing.until("idle", |r| r.state == State::Idle).await;
    assert_eq!((report.failures, report.error), (0, None));
    pushing.stop().await;
}

#[tokio::test]
async fn the_connection_outlives_the_publisher_while_the_stream_lingers() {
    let local = TestServer::new(Duration::ZERO, LINGER);
    let target = Target::new().await;
    let pushing = Pushing::to(&local, "live/show", &target.url);
    let early = timeout(Duration::from_millis(200), target.door.accept());
    assert!(early.await.is_err(), "nothing to push yet");
    assert_eq!(pushing.status.report().state, State::Idle);

    let mut show = local.show("live/show");
    show.frames(1);
    let mut visitor = Visitor::hearing(&target).await;
    drop(show);
    assert!(visitor.hears_nothing().await);
    let mut show = local.show("live/show");
    show.frames(1);
    let heard = visitor.hear_until("audio 60").await;
    // One timeline, and the new publisher's headers.
    let expected = "metadata, video header, audio header, key 40 #0, audio 60 #0";
    assert_eq!(heard.join(", "), expected);
    pushing.stop().await;
    assert_eq!(visitor.hear().await, "end");
    assert_eq!(visitor.hear().await, "closed");
}

#[tokio::test]
async fn a_target_that_refuses_disturbs_no_other_and_is_asked_again() {
    let local = TestServer::new(Duration::ZERO, LINGER);
    let (good, bad) = (Target::new().await, Target::new().await);
    let mut show = local.show("live/show");
    show.frames(1);
    let refused = Pushing::to(&local, "live/show", &bad.url);
    let pushing = Pushing::to(&local, "live/show", &good.url);
    let is_done = Arc::new(AtomicBool::new(false));
    let refusing = {
        let is_done = Arc::clone(&is_done);
        tokio::spawn(async move {
            let mut visits = 0;
            while !is_done.load(Ordering::Relaxed) {
                let mut visitor = bad.visitor().await;
                let request = visitor.request().await;
                let why = "who is xyzzy?";
                let said = visitor.session.reject(request.id, Rejection::Denied, why);
                said.unwrap();
                while visitor.next().await.is_some() {}
                visits += 1;
            }
            visits
        })
    };
    let mut visitor = Visitor::hearing(&good).await;
    let report = refused.until("refused again", |r| r.failures == 2).await;
    let error = report.error.unwrap();
    assert!(error.contains("NetStream.Publish.Denied"), "{error}");
    for secret in ["xyzzy", "sesame", "=K"] {
        assert!(!error.contains(secret), "{error}");
    }
    show.frames(1);
    visitor.hear_until("audio 60 #1").await;
    let report = pushing.status.report();
    assert_eq!((report.attempts, report.failures), (1, 0));
    is_done.store(true, Ordering::Relaxed);
    let visits = timeout(PATIENCE, refusing).await.unwrap().unwrap();
    assert!(visits >= 2);
    refused.stop().await;
    pushing.stop().await;
}

#[tokio::test]
async fn a_target_that_moves_is_left_politely_and_found_again() {
    let (_local, target, _show, pushing) = pushing(1).await;
    let mut visitor = Visitor::hearing(&target).await;
    assert!(visitor.session.request_reconnect("Moving."));
    assert_eq!(visitor.hear().await, "end");
    let _again = Visitor::hearing(&target).await;
    let report = pushing.running().await;
    assert_eq!((report.attempts, report.failures), (2, 0));
    pushing.stop().await;
}

/// Otherwise the rest of the input would pile up while the target continues to ask.
#[tokio::test]
async fn a_target_that_moves_before_it_accepts_is_left_at_once() {
    let (_local, target, _show, pushing) = pushing(1).await;
    let mut visitor = target.visitor().await;
    visitor.request().await;
    for _ in 0..1_000 {
        assert!(visitor.session.request_reconnect("Moving."));
        let output = visitor.session.output().split();
        // It may have gone by now.
        visitor.socket.write_all(&output).await.ok();
    }
    while visitor.next().await.is_some() {}
    let _again = Visitor::hearing(&target).await;
    let report = pushing.running().await;
    assert_eq!((report.attempts, report.failures), (2, 0));
    pushing.stop().await;
}

#[tokio::test]
async fn what_rtmp_cannot_carry_is_reported_and_not_tried() {
    let local = TestServer::new(Duration::ZERO, LINGER);
    let target = Target::new().await;
    let publisher = local.publish("radio", media::Container::Ogg);
    let pushing = Pushing::to(&local, "radio", &target.url);
    let report = pushing.until("failed", |r| r.failures > 0).await;
    assert_eq!(report.attempts, 0);
    assert_eq!(report.error, Some(Failure::Format.to_string()));
    pushing.stop().await;
    drop(publisher);
}

#[tokio::test]
async fn a_password_is_proved_when_the_target_asks() {
    let (_local, target, _show, pushing) = pushing(1).await;
    let config = Config {
        challenge: Some(Arc::new(Challenge {
            challenger: Challenger::new([5; 32]),
            is_demanded: true,
            epoch: now(),
        })),
    };
    // Without a user, and without an answer.
    for _ in 0..2 {
        let mut visitor = target.visitor_under(config.clone()).await;
        while let Some(event) = visitor.next().await {
            assert!(!matches!(event, Event::Publish(_)), "{event:?}");
        }
    }
    let mut visitor = target.visitor_under(config).await;
    let request = visitor.request().await;
    let proof = request.proof.expect("an answer");
    assert!(proof.verifies("sesame") && !proof.verifies("other"));
    visitor.session.accept_publish(request.id).unwrap();
    visitor.hear_until("audio 20 #0").await;
    let report = pushing.status.report();
    assert_eq!((report.attempts, report.failures), (1, 0));
    pushing.stop().await;
}
