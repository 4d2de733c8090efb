use std::net::SocketAddr;

use fanout::gate::Proof;
use fanout::{Config as Workers, Fanout, Registry};
use tokio::task::JoinSet;

use super::testing::Late;
use super::*;

const KEY: &str = "bells-at-noon-41";
const PASSWORD: &str = "tower-warden-77";
const OWN_KEY: &str = "only-for-own-93";

fn authority_gate() -> AuthorityGate {
    guarded(None)
}

fn guarded(authority: Option<Arc<dyn Authority>>) -> AuthorityGate {
    let mut config = Config::parse(
        "test",
        "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\n\
         [[auth.key]]\nname = \"studio\"\nkey = \"studio-bells-12\"\nmatch = \"live/*\"\n\
         [[auth.key]]\nname = \"van\"\nkey = \"van-on-the-road\"\nmatch = \"**\"\n\
         [[stream]]\nmatch = \"own/*\"\npublish_key = \"only-for-own-93\"\n",
        std::iter::empty(),
    )
    .expect("a valid configuration");
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
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let connector = Connector::new(Arc::new(tls));
    AuthorityGate::new(Arc::new(config), gatekeeper, authority, &connector).expect("randomness")
}

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

fn peer(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 1))
}

fn request<'a>(stream: &'a StreamName, host: u8, secret: Option<&'a str>) -> Request<'a> {
    Request {
        token: secret,
        ..Request::new(stream, "test", peer(host))
    }
}

async fn publish(
    gate: &AuthorityGate,
    stream: &str,
    host: u8,
    secret: Option<&str>,
) -> Result<Authorized<Publish>, Denied> {
    gate.publish(&request(&name(stream), host, secret)).await
}

/// The same with an answer to a challenge, by a client that knows a word.
async fn prove(
    gate: &AuthorityGate,
    stream: &str,
    host: u8,
    secret: Option<&str>,
    word: &'static str,
) -> Result<Authorized<Publish>, Denied> {
    let (stream, proof) = (name(stream), Knows(word));
    let request = Request {
        user: Some("anybody"),
        proof: Some(&proof),
        ..request(&stream, host, secret)
    };
    gate.publish(&request).await
}

async fn update(
    gate: &AuthorityGate,
    stream: &str,
    host: u8,
    secret: Option<&str>,
) -> Option<Denied> {
    let stream = name(stream);
    let request = request(&stream, host, secret);
    gate.update_metadata(&request).await.err()
}

/// An answer to a challenge by a client that knows a word.
struct Knows(&'static str);

impl Proof for Knows {
    fn verifies(&self, secret: &str) -> bool {
        secret == self.0
    }
}

fn credential(permission: Result<Authorized<Publish>, Denied>) -> Credential {
    permission.expect("permitted").action().credential
}

#[tokio::test]
async fn each_secret_opens_its_own_door() {
    let gate = authority_gate();
    let wrong = Some(Denied::Wrong);
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
        ("live/a", None, Some(Denied::Missing), Some(Denied::Missing)),
        (
            "live/a",
            Some(""),
            Some(Denied::Missing),
            Some(Denied::Missing),
        ),
    ] {
        let answer = publish(&gate, stream, 1, secret).await.err();
        assert_eq!(answer, publishes, "{stream} {secret:?}");
        let answer = update(&gate, stream, 1, secret).await;
        assert_eq!(answer, updates, "{stream} {secret:?}");
        let stream = name(stream);
        assert!(gate.play(&request(&stream, 1, secret)).await.is_ok());
    }
    let peer = peer(1).ip();
    assert!(gate.administer(peer, Some(PASSWORD)).is_ok());
    assert_eq!(gate.administer(peer, Some(KEY)).err(), wrong);
    assert_eq!(gate.administer(peer, None).err(), Some(Denied::Missing));
    assert_eq!(gate.administer(peer, Some("")).err(), Some(Denied::Missing));
}

#[tokio::test]
async fn a_credential_names_its_secret_and_not_the_stream() {
    let gate = authority_gate();
    let shared = credential(publish(&gate, "live/a", 1, Some(KEY)).await);
    assert_eq!(
        shared,
        credential(publish(&gate, "live/b", 1, Some(KEY)).await)
    );
    assert_ne!(
        shared,
        credential(publish(&gate, "own/a", 1, Some(OWN_KEY)).await)
    );
    assert_ne!(
        shared,
        authority_gate().fingerprints.of(KEY),
        "the key is the process's own"
    );
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
        let permission = publish(&gate, "live/a", 1, Some(secret))
            .await
            .expect("it may");
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
    for secret in [KEY, OWN_KEY, NO_KEY, OPEN] {
        assert_ne!(gate.fingerprints.of(secret), Credential::YIELDS);
    }
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
    assert_eq!(
        answer,
        Some(Denied::TooManyAttempts),
        "a right guess is not told from a wrong one"
    );
    assert!(publish(&gate, "live/a", 8, Some(KEY)).await.is_ok());
    assert!(
        gate.administer(peer(7).ip(), Some(PASSWORD)).is_ok(),
        "the operator may share the encoder's address"
    );
    assert_eq!(update(&gate, "live/a", 7, Some(KEY)).await, None);
}

#[tokio::test]
async fn guesses_do_not_lock_out_a_client_that_was_right_from_the_same_address() {
    let gate = authority_gate();
    let administer = |host, password| gate.administer(peer(host).ip(), Some(password)).err();
    assert!(publish(&gate, "live/a", 7, Some(KEY)).await.is_ok());
    assert_eq!(administer(7, PASSWORD), None);
    let refused = Some(Denied::TooManyAttempts);
    for host in [7, 8] {
        for _ in 0..100 {
            publish(&gate, "live/a", host, Some("guess")).await.err();
            administer(host, "guess");
        }
        let answer = publish(&gate, "live/a", host, Some("guess")).await;
        assert_eq!(answer.err(), refused);
        assert_eq!(administer(host, "guess"), refused);
    }
    let again = publish(&gate, "live/a", 7, Some(KEY)).await;
    assert!(again.is_ok(), "it was right before");
    assert_eq!(administer(7, PASSWORD), None);
    assert!(prove(&gate, "live/a", 7, None, KEY).await.is_ok());
    let elsewhere = publish(&gate, "live/a", 8, Some(KEY)).await.err();
    assert_eq!(elsewhere, refused, "elsewhere it is a guess");
    let other = publish(&gate, "live/a", 7, Some(PASSWORD)).await.err();
    assert_eq!(other, refused, "for another door");
    assert_eq!(
        publish(&gate, "own/a", 7, Some(OWN_KEY)).await.err(),
        refused
    );
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
    assert!(
        honest.iter().all(Option::is_none),
        "waiting is no guess: {honest:?}"
    );
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

/// What a pending question costs besides the connection: the borrowed request, and the futures of gate and
/// authority with all that they hold, of which only the latter is the test's own.
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
