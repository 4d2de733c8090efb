//! An issuer of JSON Web Tokens, and one who has nothing but openssl.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::{Process, Tool, pyjwt, wait_until};

use crate::support::titles::base64;
use crate::support::{DEADLINE, file};

/// What it signs with HS256, where it is told to.
pub(crate) const SECRET: &str = "an-issuers-secret-of-32-characters";

/// An issuer, killed when dropped.
pub(crate) struct Issuer {
    _process: Process,
    port: u16,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(pyjwt());
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/scenarios/support/token_issuer.py"
        );
        command.args([script, "0"]);
        let process = Process::start("the issuer", &mut command);
        let said = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the issuer's port", DEADLINE, || said().contains('\n'));
        let port = said().lines().next().unwrap().parse().unwrap();
        Self {
            _process: process,
            port,
        }
    }

    /// Where its keys are.
    pub(crate) fn jwks_url(&self) -> String {
        format!("http://127.0.0.1:{}/jwks", self.port)
    }

    /// A token of its key `rsa`.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign("rsa", "RS256", claims, &json!({"kid": "rsa"}))
    }

    /// A token of some key.
    pub(crate) fn sign(&self, key: &str, alg: &str, claims: &Value, header: &Value) -> String {
        let told = json!({"key": key, "alg": alg, "claims": claims, "header": header});
        self.post("sign", &told)
    }

    /// The keys that it publishes from now on; `null` is none, and an error.
    pub(crate) fn publish(&self, keys: &Value) {
        self.post("publish", &json!({"keys": keys}));
    }

    /// How often it was asked for its keys.
    pub(crate) fn asked(&self) -> u32 {
        self.post("asked", &json!({})).parse().unwrap()
    }

    fn post(&self, path: &str, told: &Value) -> String {
        let answer = Tool::new("curl")
            .args(["-sf", "-d", &told.to_string()])
            .arg(format!("http://127.0.0.1:{}/{path}", self.port))
            .run(DEADLINE);
        String::from_utf8(answer).unwrap()
    }
}

/// Seconds since 1970, so much later than now.
pub(crate) fn later(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs() as i64 + seconds
}

/// A token that is signed with HS256, by openssl.
pub(crate) fn hs256(secret: &str, claims: &Value) -> String {
    let part = |bytes: &[u8]| {
        let text = base64(bytes).replace('+', "-").replace('/', "_");
        text.trim_end_matches('=').to_owned()
    };
    let header = json!({"alg": "HS256", "typ": "JWT"});
    let [header, claims] = [&header, claims].map(|json| part(json.to_string().as_bytes()));
    let signed = format!("{header}.{claims}");
    let signature = Tool::new("openssl")
        .args(["dgst", "-sha256", "-hmac", secret, "-binary"])
        .arg(file(signed.as_bytes()).path())
        .run(DEADLINE);
    format!("{signed}.{}", part(&signature))
}
