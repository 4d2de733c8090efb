//! Issuer of JSON Web Tokens, and one that uses nothing but openssl.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::{Process, Tool, pyjwt};

use crate::support::titles::base64;
use crate::support::{DEADLINE, file, script, wait_until};

/// Secret with which it signs HS256 on request.
pub(crate) const SECRET: &str = "an-issuers-secret-of-32-characters";

/// Issuer, killed when dropped.
pub(crate) struct Issuer {
    _process: Process,
    port: u16,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(pyjwt());
        command.arg(script("token_issuer.py")).arg("0");
        let process = Process::start("the issuer", &mut command);
        let said = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the issuer's port", || said().contains('\n'));
        let port = said().lines().next().unwrap().parse().unwrap();
        Self {
            _process: process,
            port,
        }
    }

    /// Returns the address of its keys.
    pub(crate) fn jwks_url(&self) -> String {
        format!("http://127.0.0.1:{}/jwks", self.port)
    }

    /// Signs a token with its key `rsa`.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign("rsa", "RS256", claims, &json!({"kid": "rsa"}))
    }

    /// Signs a token with any key.
    pub(crate) fn sign(&self, key: &str, alg: &str, claims: &Value, header: &Value) -> String {
        let reported = json!({"key": key, "alg": alg, "claims": claims, "header": header});
        self.post("sign", &reported)
    }

    /// Sets the keys that it publishes from now on; `null` is none, and an error.
    pub(crate) fn publish(&self, keys: &Value) {
        self.post("publish", &json!({"keys": keys}));
    }

    /// Returns the number of requests for its keys.
    pub(crate) fn asked(&self) -> u32 {
        self.post("asked", &json!({})).parse().unwrap()
    }

    fn post(&self, path: &str, reported: &Value) -> String {
        let answer = Tool::new("curl")
            .args(["-sf", "-d", &reported.to_string()])
            .arg(format!("http://127.0.0.1:{}/{path}", self.port))
            .run(DEADLINE);
        String::from_utf8(answer).unwrap()
    }
}

/// Returns the seconds since 1970 of a time this much later than now.
pub(crate) fn later(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs() as i64 + seconds
}

/// Signs a token with HS256, by openssl.
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
