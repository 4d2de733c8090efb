//! Permissions that the gate grants by a configuration.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use auth::link::{Action as LinkAction, Link, Target};
use auth::{Authority, AuthorityGate};
use base::holdings::Holdings;
use config::Config;
use fanout::gate::{
    ANSWER_TIMEOUT, Action, Authorized, Credential, Denied, Gate, Proof, Publish, Request,
};
use fanout::{Config as Workers, Fanout, Registry};
use media::StreamName;
use net::link::Connector;
use net::tls::testing::TestTls;
use tokio::task::JoinSet;

use super::authorities::{Late, permissive_hook};

const KEY: &str = "bells-at-noon-41";
const PASSWORD: &str = "tower-warden-77";
const OWN_KEY: &str = "only-for-own-93";

fn authority_gate() -> AuthorityGate {
    guarded(None)
}

fn guarded(authority: Option<Arc<dyn Authority>>) -> AuthorityGate {
    configured_by(
        "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\n\
         [[auth.key]]\nname = \"studio\"\nkey = \"studio-bells-12\"\nmatch = \"live/*\"\n\
         [[auth.key]]\nname = \"van\"\nkey = \"van-on-the-road\"\nmatch = \"**\"\n\
         [[stream]]\nmatch = \"own/*\"\npublish_key = \"only-for-own-93\"\n",
        authority,
    )
}

pub(crate) fn configured_by(source: &str, authority: Option<Arc<dyn Authority>>) -> AuthorityGate {
    let config = Config::parse("test", source, std::iter::empty());
    let mut config = config.expect("a valid configuration");
    config.fanout.workers = 1;
    let workers = Workers {
        workers: 1,
        target_utilisation: 0.02,
        log_bytes_max: 1 << 20,
    };
    let (fanout, _departures) = Fanout::start(&workers, || {
        net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>)
    })
    .expect("workers");
    let (registry, gatekeeper) = Registry::new(fanout, 0, Box::new(|_| Default::default()));
    registry.fanout().stop();
    let connector = Connector::new(Arc::clone(&TestTls::new().client));
    let fanout = Arc::clone(registry.fanout());
    let holdings = Holdings::new(0);
    let asking = (&connector, &holdings);
    AuthorityGate::new(Arc::new(config), gatekeeper, authority, asking, &fanout)
        .expect("randomness")
}

/// A link to a stream that expires in so many seconds, which may be past.
pub(crate) fn link_to(action: LinkAction, stream: &str, seconds: i64) -> Link {
    let now = SystemTime::now();
    let span = Duration::from_secs(seconds.unsigned_abs());
    Link {
        action,
        target: Target::Stream(name(stream)),
        expires: if seconds < 0 { now - span } else { now + span },
        address: None,
        players_max: None,
        name: None,
    }
}

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

pub(super) fn peer(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 1))
}

fn request<'a>(stream: &'a StreamName, host: u8, secret: Option<&'a str>) -> Request<'a> {
    Request {
        token: secret,
        ..Request::new(stream, "test", peer(host))
    }
}

type Answer = Result<Authorized<Publish>, Denied>;

async fn publish(gate: &AuthorityGate, stream: &str, host: u8, secret: Option<&str>) -> Answer {
    gate.publish(&request(&name(stream), host, secret)).await
}

/// Answers a challenge as a client that knows a word, and returns the gate's decision.
async fn prove(
    gate: &AuthorityGate,
    stream: &str,
    host: u8,
    secret: Option<&str>,
    word: &'static str,
) -> Answer {
    let (stream, proof) = (name(stream), Knows(word));
    let request = Request {
        user: Some("anybody"),
        proof: Some(&proof),
        ..request(&stream, host, secret)
    };
    gate.publish(&request).await
}

async fn update(gate: &AuthorityGate, stream: &str, host: u8, key: Option<&str>) -> Option<Denied> {
    let stream = name(stream);
    let request = request(&stream, host, key);
    gate.update_metadata(&request).await.err()
}

/// An answer to a challenge by a client that knows a word.
struct Knows(&'static str);

impl Proof for Knows {
    fn verifies(&self, secret: &str) -> bool {
        secret == self.0
    }
}

fn credential(permission: Answer) -> Credential {
    permission.expect("permitted").action().credential
}

#[tokio::test]
async fn each_secret_opens_its_own_door() {
    let gate = authority_gate();
    let (wrong, missing) = (Some(Denied::Wrong), Some(Denied::Missing));
    for (stream, secret, publishes, updates) in [
        ("live/a", Some(KEY), None, None),
        ("live/a", Some(PASSWORD), wrong, None),
        ("live/a", Some(OWN_KEY), wrong, wrong),
        ("live/a", Some("studio-bells-12"), None, None),
        ("live/a", Some("van-on-the-road"), None, None),
        ("own/a", Some(OWN_KEY), None, None),
        ("own/a", Some(KEY), wrong, wrong),
        ("own/a", Some(PASSWORD), wrong, None),
        ("own/a", Some("studio-bells-12"), wrong, wrong),
        ("own/a", Some("van-on-the-road"), None, None),
        ("live/a", None, missing, missing),
        ("live/a", Some(""), missing, missing),
    ] {
        let answer = publish(&gate, stream, 1, secret).await.err();
        assert_eq!(answer, publishes, "{stream} {secret:?}");
        let answer = update(&gate, stream, 1, secret).await;
        assert_eq!(answer, updates, "{stream} {secret:?}");
        let stream = name(stream);
        assert!(gate.play(&request(&stream, 1, secret)).await.is_ok());
    }
    let peer = peer(1).ip();
    for (secret, administers) in [
        (Some(PASSWORD), None),
        (Some(KEY), wrong),
        (None, missing),
        (Some(""), missing),
    ] {
        let answer = gate.administer(peer, secret).await.err();
        assert_eq!(answer, administers, "{secret:?}");
    }
}

#[tokio::test]
async fn a_credential_names_its_secret_and_not_the_stream() {
    let gate = authority_gate();
    let of = async |gate: &AuthorityGate, stream: &str, key: &'static str| {
        credential(publish(gate, stream, 1, Some(key)).await)
    };
    let shared = of(&gate, "live/a", KEY).await;
    assert_eq!(shared, of(&gate, "live/b", KEY).await);
    assert_ne!(shared, of(&gate, "own/a", OWN_KEY).await);
    let another = of(&authority_gate(), "live/a", KEY).await;
    assert_ne!(shared, another, "the key is the process's own");
}

#[tokio::test]
async fn each_named_key_is_a_credential_and_an_identity() {
    let gate = authority_gate();
    let mut credentials = Vec::new();
    for (secret, expected) in [
        (KEY, None),
        ("studio-bells-12", Some("studio")),
        ("van-on-the-road", Some("van")),
    ] {
        let permission = publish(&gate, "live/a", 1, Some(secret)).await;
        let permission = permission.expect("it may");
        let identity = permission.identity().map(|identity| identity.as_str());
        assert_eq!(identity, expected);
        assert_eq!(permission.until(), None, "keys do not end");
        let credential = permission.action().credential;
        assert!(!credentials.contains(&credential), "{secret}");
        credentials.push(credential);
    }
}

#[tokio::test]
async fn a_proof_is_as_good_as_the_key_and_no_better() {
    let gate = authority_gate();
    let by_key = publish(&gate, "live/a", 1, Some(KEY)).await;
    let by_proof = prove(&gate, "live/a", 1, None, KEY).await;
    let (by_key, by_proof) = (credential(by_key), credential(by_proof));
    assert_eq!(by_key, by_proof, "one may take over from the other");
    let other = prove(&gate, "own/a", 1, None, KEY).await;
    assert_eq!(other.err(), Some(Denied::Wrong));
    let both = prove(&gate, "live/a", 1, Some("guess"), KEY).await;
    assert_eq!(both.err(), Some(Denied::Wrong));

    let mut refused = None;
    for _ in 0..100 {
        refused = prove(&gate, "live/a", 5, None, "guess").await.err();
    }
    assert_eq!(refused, Some(Denied::TooManyAttempts));
    let right = publish(&gate, "live/a", 5, Some(KEY)).await.err();
    assert_eq!(right, Some(Denied::TooManyAttempts), "the allowance is one");
}

#[test]
fn the_demo_gives_way_to_every_key() {
    let gate = authority_gate();
    let own = gate.publish_until_replaced(&name("live/a"));
    assert_eq!(own.action().credential, Credential::YIELDS);
    let other = gate.publish_without_key(&name("live/a"));
    assert_ne!(other.action().credential, Credential::YIELDS);
}

#[tokio::test]
async fn guessing_locks_out_the_address_and_no_other() {
    let gate = authority_gate();
    let mut refused = None;
    for _ in 0..100 {
        refused = publish(&gate, "live/a", 7, Some("guess")).await.err();
    }
    assert_eq!(refused, Some(Denied::TooManyAttempts));
    let answer = publish(&gate, "live/a", 7, Some(KEY)).await.err();
    assert_eq!(answer, refused, "right and wrong are told apart");
    assert!(publish(&gate, "live/a", 8, Some(KEY)).await.is_ok());
    // The operator may share the encoder's address.
    assert!(gate.administer(peer(7).ip(), Some(PASSWORD)).await.is_ok());
    assert_eq!(update(&gate, "live/a", 7, Some(KEY)).await, None);
}

#[tokio::test]
async fn guesses_do_not_lock_out_a_client_that_was_right_from_the_same_address() {
    let gate = authority_gate();
    let administer = async |host, password| {
        let answer = gate.administer(peer(host).ip(), Some(password)).await;
        answer.err()
    };
    assert!(publish(&gate, "live/a", 7, Some(KEY)).await.is_ok());
    assert_eq!(administer(7, PASSWORD).await, None);
    let refused = Some(Denied::TooManyAttempts);
    for host in [7, 8] {
        for _ in 0..100 {
            publish(&gate, "live/a", host, Some("guess")).await.err();
            administer(host, "guess").await;
        }
        let answer = publish(&gate, "live/a", host, Some("guess")).await;
        assert_eq!(answer.err(), refused);
        assert_eq!(administer(host, "guess").await, refused);
    }
    let again = publish(&gate, "live/a", 7, Some(KEY)).await;
    assert!(again.is_ok(), "it was right before");
    assert_eq!(administer(7, PASSWORD).await, None);
    assert!(prove(&gate, "live/a", 7, None, KEY).await.is_ok());
    let elsewhere = publish(&gate, "live/a", 8, Some(KEY)).await.err();
    assert_eq!(elsewhere, refused, "elsewhere it is a guess");
    let other = publish(&gate, "live/a", 7, Some(PASSWORD)).await.err();
    assert_eq!(other, refused, "for another door");
    let own = publish(&gate, "own/a", 7, Some(OWN_KEY)).await;
    assert_eq!(own.err(), refused);
}

/// Asks `count` times for `late/a`, all at once, and waits until all questions are pending.
async fn ask_late(
    gate: &Arc<AuthorityGate>,
    late: &Late,
    host: u8,
    secrets: impl Iterator<Item = &'static str>,
) -> JoinSet<Option<Denied>> {
    let mut asked = JoinSet::new();
    let before = late.waiting();
    for secret in secrets {
        let gate = Arc::clone(gate);
        asked.spawn(async move { publish(&gate, "late/a", host, Some(secret)).await.err() });
    }
    while late.waiting() < before + asked.len() {
        tokio::task::yield_now().await;
    }
    asked
}

#[tokio::test]
async fn guesses_side_by_side_are_worth_no_more_than_in_a_row() {
    let late = Arc::new(Late::new(KEY));
    let gate = Arc::new(guarded(Some(Arc::clone(&late) as _)));
    let guesses = std::iter::repeat_n("guess", 100);
    let guesses = ask_late(&gate, &late, 7, guesses).await;
    let honest = ask_late(&gate, &late, 8, std::iter::repeat_n(KEY, 100)).await;
    late.open();
    let guesses = guesses.join_all().await;
    let count = |denied| guesses.iter().filter(|one| **one == Some(denied)).count();
    assert_eq!(count(Denied::Wrong), 20, "{guesses:?}");
    assert_eq!(count(Denied::TooManyAttempts), 80, "{guesses:?}");
    let right = publish(&gate, "late/a", 7, Some(KEY)).await.err();
    assert_eq!(right, Some(Denied::TooManyAttempts));
    let honest = honest.join_all().await;
    let all_may = honest.iter().all(Option::is_none);
    assert!(all_may, "waiting is no guess: {honest:?}");
}

#[tokio::test(start_paused = true)]
async fn an_authority_that_does_not_answer_in_time_denies() {
    let late = Arc::new(Late::new(KEY));
    let gate = guarded(Some(Arc::clone(&late) as _));
    let began = tokio::time::Instant::now();
    let answer = publish(&gate, "late/a", 1, Some(KEY)).await.err();
    assert_eq!(answer, Some(Denied::Unavailable));
    assert_eq!(began.elapsed(), ANSWER_TIMEOUT);
    assert_eq!(late.waiting(), 0, "it is not asked any longer");
    assert!(publish(&gate, "live/a", 1, Some(KEY)).await.is_ok());
}

#[tokio::test]
async fn a_question_that_is_dropped_is_taken_back() {
    let late = Arc::new(Late::new(KEY));
    let gate = guarded(Some(Arc::clone(&late) as _));
    let stream = name("late/a");
    let request = request(&stream, 1, None);
    let mut decision = gate.play(&request);
    assert!(net::wait::at_once(&mut decision).is_none());
    assert_eq!(late.waiting(), 1);
    drop(decision);
    assert_eq!(late.waiting(), 0);
}

/// Memory that a pending question takes besides the connection: the borrowed request, and the futures of gate and authority
/// with all that they hold, of which only the latter is the test's own.
#[tokio::test]
async fn ten_thousand_waiting_requests_cost_little() {
    const EACH_BYTES_MAX: usize = 2 * 1024;
    let late = Arc::new(Late::new(KEY));
    let gate = guarded(Some(Arc::clone(&late) as _));
    let stream = name("late/a");
    let requests = vec![request(&stream, 1, None); 10_000];
    let mut waiting: Vec<_> = requests.iter().map(|request| gate.play(request)).collect();
    for decision in &mut waiting {
        assert!(net::wait::at_once(decision).is_none());
    }
    assert_eq!(late.waiting(), 10_000);
    let verdict = late.decide(Action::Play, &requests[0]);
    let each = size_of_val(&requests[0]) + size_of_val(&*waiting[0]) + size_of_val(&*verdict);
    assert!(each <= EACH_BYTES_MAX, "{each} bytes");
}

/// Each scope has a key of its own. Of the last one, for all, the hash is missing.
const SCOPED: &str = "[auth]\nadmin_password = \"tower-warden-77\"\nplay = \"key\"\n\
     [[auth.key]]\nname = \"van\"\nkey = \"van-on-the-road\"\nmatch = \"live/*\"\n\
     [[auth.key]]\nname = \"ear\"\nkey = \"ear-to-the-ground\"\nmatch = \"live/*\"\nscopes = [\"play\"]\n\
     [[auth.key]]\nname = \"desk\"\nkey = \"desk-by-the-door\"\nmatch = \"**\"\nscopes = [\"admin\"]\n\
     [[auth.key]]\nname = \"past\"\nkey = \"past-the-midnight\"\nmatch = \"**\"\nexpires = \"2020-01-01T00:00:00Z\"\n\
     [[auth.key]]\nname = \"far\"\nkey = \"far-in-the-future\"\nmatch = \"**\"\nscopes = [\"play\", \"publish\"]\nexpires = 2999-01-01T00:00:00Z\n\
     [[stream]]\nmatch = \"free/*\"\nplay = \"open\"\n\
     [auth.link]\nsecret = \"an-hmac-secret-of-32-characters!\"\n\
     [[auth.key]]\nname = \"hash\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\", \"admin\"]\n";

fn scoped_gate() -> AuthorityGate {
    let hash = include_str!("../../../auth/src/proof/hash.phc").trim();
    configured_by(&format!("{SCOPED}key = \"{hash}\"\n"), None)
}

/// The answers to publishing, to listening, to a title and to administration, as letters: permitted, missing, wrong, unfit.
async fn answers(gate: &AuthorityGate, stream: &str, secret: Option<&str>) -> String {
    let stream = name(stream);
    let request = request(&stream, 1, secret);
    let all = [
        gate.publish(&request).await.err(),
        gate.play(&request).await.err(),
        gate.update_metadata(&request).await.err(),
        gate.administer(peer(1).ip(), secret).await.err(),
    ];
    let letter = |denied| match denied {
        None => 'p',
        Some(Denied::Missing) => 'm',
        Some(Denied::Wrong) => 'w',
        Some(Denied::Unfit) => 'u',
        Some(_) => '?',
    };
    all.map(letter).into_iter().collect()
}

#[tokio::test]
async fn each_key_is_for_its_scopes() {
    let gate = scoped_gate();
    for (stream, secret, expected) in [
        ("live/a", None, "mmmm"),
        ("live/a", Some("van-on-the-road"), "pwpw"),
        ("live/a", Some("ear-to-the-ground"), "wpww"),
        ("radio", Some("ear-to-the-ground"), "wwww"),
        ("live/a~720p", Some("ear-to-the-ground"), "wpww"),
        ("live/a", Some("desk-by-the-door"), "wwpp"),
        ("live/a", Some("past-the-midnight"), "uwuw"),
        ("live/a", Some("far-in-the-future"), "ppww"),
        ("live/a", Some("open-sesame-41"), "pppp"),
        ("live/a", Some("tower-warden-77"), "wwpp"),
        ("free/a", None, "mpmm"),
    ] {
        let answers = answers(&gate, stream, secret).await;
        assert_eq!(answers, expected, "{stream} {secret:?}");
    }
}

#[tokio::test]
async fn a_permission_ends_with_its_key() {
    let gate = scoped_gate();
    let stream = name("live/a");
    let request = request(&stream, 1, Some("far-in-the-future"));
    let permitted = gate.play(&request).await.expect("permitted");
    assert!(permitted.until().is_some() && !permitted.is_over(Instant::now()));
    let identity = permitted.identity().map(|identity| identity.as_str());
    assert_eq!(identity, Some("far"));
}

#[tokio::test]
async fn guessing_at_a_hash_costs_no_more_than_the_allowance() {
    let gate = scoped_gate();
    let mut answers = Vec::new();
    for number in 0..40 {
        let guess = format!("guess-number-{number}");
        answers.push(publish(&gate, "live/a", 9, Some(&guess)).await.err());
    }
    let wrong = answers.iter().filter(|one| **one == Some(Denied::Wrong));
    assert!((20..=22).contains(&wrong.count()), "{answers:?}");
    assert_eq!(answers.last(), Some(&Some(Denied::TooManyAttempts)));
    let right = publish(&gate, "live/a", 9, Some("open-sesame-41")).await;
    assert_eq!(right.err(), Some(Denied::TooManyAttempts));
}

mod links {
    use super::*;

    const SECRET: &str = "an-hmac-secret-of-32-characters!";

    fn token(action: LinkAction, stream: &str, seconds: i64, secret: &str) -> String {
        link_to(action, stream, seconds).sign(secret)
    }

    type Until = Result<Option<Instant>, Denied>;

    async fn plays(gate: &AuthorityGate, stream: &str, token: &str) -> Until {
        let (stream, query) = (name(stream), format!("a=b&link={token}"));
        let request = Request {
            query: &query,
            ..Request::new(&stream, "test", peer(3))
        };
        Ok(gate.play(&request).await?.until())
    }

    #[tokio::test]
    async fn a_link_permits_until_it_expires_and_its_end_is_no_guess() {
        let gate = scoped_gate();
        let link = token(LinkAction::Play, "live/a", 60, SECRET);
        let until = plays(&gate, "live/a", &link).await.expect("permitted");
        let left = until.expect("an end") - Instant::now();
        assert!(left <= Duration::from_secs(60), "{left:?}");
        assert!(plays(&gate, "live/a~720p", &link).await.is_ok());
        let expired = token(LinkAction::Play, "live/a", -60, SECRET);
        let other = token(LinkAction::Publish, "live/a", 60, SECRET);
        for _ in 0..100 {
            for unfit in [&expired, &other] {
                let answer = plays(&gate, "live/a", unfit).await;
                assert_eq!(answer, Err(Denied::Unfit));
            }
        }
        assert!(plays(&gate, "live/a", &link).await.is_ok());
        let other = "another-secret-of-32-characters!";
        let forged = token(LinkAction::Play, "live/a", 60, other);
        let mut last = None;
        for _ in 0..100 {
            last = plays(&gate, "live/a", &forged).await.err();
        }
        assert_eq!(last, Some(Denied::TooManyAttempts));
    }

    #[tokio::test]
    async fn a_link_is_taken_in_the_place_of_a_key_and_renewed_ones_are_one_credential() {
        let gate = scoped_gate();
        let first = token(LinkAction::Publish, "live/a", 60, SECRET);
        let second = token(LinkAction::Publish, "live/a", 600, SECRET);
        let first = publish(&gate, "live/a", 1, Some(&first)).await;
        let again = publish(&gate, "live/a", 1, Some(&second)).await;
        assert_eq!(credential(first), credential(again));
        assert_eq!(update(&gate, "live/a", 1, Some(&second)).await, None);
        let other = token(LinkAction::Publish, "live/b", 60, SECRET);
        let other = publish(&gate, "live/b", 1, Some(&other)).await;
        let second = publish(&gate, "live/a", 1, Some(&second)).await;
        assert_ne!(credential(other), credential(second));
    }

    #[tokio::test]
    async fn without_a_secret_there_are_no_links() {
        let gate = authority_gate();
        let link = token(LinkAction::Publish, "live/a", 60, SECRET);
        let answer = publish(&gate, "live/a", 1, Some(&link)).await;
        assert_eq!(answer.err(), Some(Denied::Wrong));
    }
}

#[tokio::test]
async fn a_hook_that_permits_all_opens_no_stream_of_a_file_of_users() {
    // Every question has that in it.
    let (port, asked) = permissive_hook("").await;
    let users = tempfile::NamedTempFile::new().expect("a file");
    let source = |more: &str| {
        format!(
            "[auth]\npublish_key = \"bells-at-noon-41\"\n\
             [auth.hook]\nurl = \"http://127.0.0.1:{port}/\"\nmatch = [\"free\", \"paid\"]\n\
             [[auth.htpasswd]]\nfile = \"{}\"\nmatch = \"paid\"\n{more}\
             [[stream]]\nmatch = \"paid\"\nplay = \"key\"\n",
            users.path().display()
        )
    };
    let play = async |gate: &AuthorityGate, stream: &str| {
        gate.play(&request(&name(stream), 1, None)).await.err()
    };
    let gate = configured_by(&source(""), None);
    assert_eq!(play(&gate, "paid").await, Some(Denied::Missing));
    // Nothing is said of it, so it is open.
    assert_eq!(play(&gate, "other").await, None);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert_eq!(play(&gate, "free").await, None);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let gate = configured_by(&source("ask_hook = true\n"), None);
    assert_eq!(play(&gate, "paid").await, None);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// Password hash of `open-sesame-41`, by libxcrypt.
const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuDzgiI6IA0KylwJIv.80Lj0PeLOydFL.";

#[tokio::test]
async fn the_password_of_another_permits_nothing() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("ann:{HASH}\n")).expect("written");
    std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o600)).expect("set");
    let source = format!(
        "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\nplay = \"key\"\n\
         [[auth.htpasswd]]\nfile = {:?}\n",
        file.path()
    );
    let gate = configured_by(&source, None);
    let stream = StreamName::parse("live/a").expect("a name");
    let peer = SocketAddr::from(([192, 0, 2, 1], 1));
    for (user, expected) in [("ann", None), ("bob", Some(Denied::Wrong))] {
        let request = Request {
            user: Some(user),
            password: Some("open-sesame-41"),
            ..Request::new(&stream, "http", peer)
        };
        assert_eq!(gate.play(&request).await.err(), expected, "{user}");
    }
}
