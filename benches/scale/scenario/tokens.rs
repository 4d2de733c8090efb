//! Listeners that join at ten thousand per second, each with a token that must be verified, compared with as many that need
//! none.
//!
//! Each listener has its own token, as viewers of a site do, or all share one, as when the token is embedded in a page: a
//! shared token is verified once. The server and the listeners share the machine, so the time of a join is what both need for
//! it.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;
use testkit::Server;

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::figure::{Target, Unit};
use crate::source;

const JOINS: u64 = 10_000;
/// Joins per second.
const RAMP: u64 = 10_000;
const JOIN_P99_MAX: f64 = 0.02;
/// Secret for HS256.
const SECRET: &str = "an-issuers-secret-of-32-characters";

/// Token that listeners present.
#[derive(Clone, Copy, Debug)]
enum Presented {
    Nothing,
    Hmac,
    Signature,
    /// One signature shared by all.
    SharedSignature,
}

impl Presented {
    const ALL: [Self; 4] = [
        Self::Nothing,
        Self::Hmac,
        Self::Signature,
        Self::SharedSignature,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no token",
            Self::Hmac => "HS256",
            Self::Signature => "ES256",
            Self::SharedSignature => "one of ES256",
        }
    }

    /// Returns the queries with the tokens, one per line, if the server has their key in `jwks`.
    fn queries(self, key: &EncodingKey) -> String {
        let count = match self {
            Self::Nothing => 0,
            Self::Hmac | Self::Signature => JOINS,
            Self::SharedSignature => 1,
        };
        let queries = (0..count).map(|number| format!("jwt={}\n", self.token(key, number)));
        queries.collect()
    }

    fn token(self, key: &EncodingKey, number: u64) -> String {
        let hmac = EncodingKey::from_secret(SECRET.as_bytes());
        let (algorithm, key) = match self {
            Self::Nothing | Self::Hmac => (Algorithm::HS256, &hmac),
            Self::Signature | Self::SharedSignature => (Algorithm::ES256, key),
        };
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let permissions = json!([{"do": "play", "on": "*"}]);
        let subject = format!("viewer-{number}");
        let claims = json!({"sub": subject, "exp": now.as_secs() + 3_600, "carillon": permissions});
        let token = encode(&Header::new(algorithm), &claims, key);
        token.unwrap_or_else(|error| panic!("a token: {error}"))
    }
}

pub(crate) fn joins(bench: &mut Bench) {
    let way = Way::Mount("radio.mp3");
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("a folder: {error}"));
    let key = signing_key(&folder.path().join("jwks.json"));
    let file = format!("{:?}", folder.path().join("jwks.json"));
    let secret = format!("{SECRET:?}");
    let keys = [
        ("auth.jwt", "secret", &*secret),
        ("auth.jwt", "jwks_file", &*file),
    ];
    let mut joins = Presented::ALL.map(|_| Vec::new());
    let mut lost = Vec::new();
    for round in 0..bench.rounds() {
        let mut order: Vec<usize> = (0..Presented::ALL.len()).collect();
        // The order rotates, so that none is always the first.
        order.rotate_left(round % Presented::ALL.len());
        for at in order {
            let presented = Presented::ALL[at];
            let mut settings = Vec::new();
            if !matches!(presented, Presented::Nothing) {
                settings.push(("auth", "play", "\"key\""));
                settings.extend(keys);
            }
            let server = serve(bench, &settings);
            let queries = folder.path().join("queries");
            std::fs::write(&queries, presented.queries(&key))
                .unwrap_or_else(|error| panic!("{}: {error}", queries.display()));
            let report = join(&server, way, &queries);
            bench.note(round, presented.name(), &[&report]);
            joins[at].push(report.join_p99());
            lost.push(report.missing());
        }
    }
    let [nothing, hmac, signature, shared] = joins;
    let target = Some(Target::AtMost(JOIN_P99_MAX));
    for (what, values) in [
        ("join p99 with HS256", hmac),
        ("join p99 with ES256", signature),
        ("join p99 with one token of ES256", shared),
    ] {
        bench.figure(what, Unit::Seconds, values, None, target);
    }
    bench.figure(
        "join p99 without a token",
        Unit::Seconds,
        nothing,
        None,
        None,
    );
    bench.losses(lost);
}

/// Lets listeners join, each with one of the queries of a file, if it has any.
fn join(server: &Server, way: Way, queries: &Path) -> crate::audience::Report {
    let _publisher = source::publish(&way.source_url(server), &super::mp3_media());
    source::wait_for_publisher(server);
    let plan = ListenPlan::new(JOINS, RAMP, Duration::from_secs(2)).settle(1);
    let plan = plan.option(&format!("--queries={}", queries.display()));
    plan.start(&way.url(server), &[server.pid()]).finish()
}

/// Generates a P-256 key, and writes a key set with its public half.
fn signing_key(jwks: &Path) -> EncodingKey {
    let made = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256);
    let made = made.unwrap_or_else(|error| panic!("a key: {error}"));
    let key = EncodingKey::from_ec_der(&made.serialize_der());
    let public = Jwk::from_encoding_key(&key, Algorithm::ES256);
    let public = public.unwrap_or_else(|error| panic!("its public half: {error}"));
    let set = json!({ "keys": [public] }).to_string();
    std::fs::write(jwks, set).unwrap_or_else(|error| panic!("{}: {error}", jwks.display()));
    key
}
