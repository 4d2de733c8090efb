//! Adobe's challenge and response, by which `rtmp://user:password@…` proves a password without sending it.
//! Both sides, without I/O; ffmpeg, librtmp, OBS and GStreamer implement the client's.
//!
//! ```text
//!  connect app                              ► _error  code=403 need auth; authmod=adobe
//!  connect app?authmod=adobe&user=U         ► _error  ?reason=needauth&user=U&salt=S&challenge=C&opaque=O
//!  connect app?authmod=adobe&user=U&challenge=K&response=R&opaque=O
//!                                           ► _result, or _error ?reason=authfailed
//!
//!  R = base64(md5(base64(md5(U + S + password)) + O + K))
//! ```
//!
//! Each attempt is a connection of its own, so a server would have to remember its challenges between
//! connections. [`Challenger`] does not: the challenge carries the salt and the time, and a MAC that proves
//! that this server made it. A recorded answer is valid as long as its challenge, [`VALID_SECONDS`]: the
//! scheme protects the password, not the connection, which is TLS's work.
//!
//! Called by [`server::Session`](crate::server::Session) and [`client::Session`](crate::client::Session).

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use md5::{Digest, Md5};

use crate::handshake::hmac;

/// Seconds for which a challenge may be answered: one more connection over a slow uplink.
pub const VALID_SECONDS: u64 = 120;
/// Longest accepted user name, in bytes; ffmpeg reads 299 bytes of a challenge.
pub const USER_BYTES_MAX: usize = 64;
/// Description for a client that names no user: [`answer`] begins here.
pub const NEED_AUTH: &str = "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : ";
/// Description for a wrong response.
pub const AUTH_FAILED: &str = "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=authfailed";

const SALT_BYTES: usize = 8;
const TIME_BYTES: usize = 8;
const MAC_BYTES: usize = 16;
/// Length of time, salt and MAC.
const OPAQUE_BYTES: usize = TIME_BYTES + SALT_BYTES + MAC_BYTES;

/// Returns the description that carries a query: a challenge from [`Challenger::ask`].
pub fn reject(query: &str) -> String {
    format!("[ AccessManager.Reject ] : [ authmod=adobe ] : ?{query}")
}

/// Returns the user that a query of `connect` names for this scheme, as sent. `None` if the query is not of
/// this scheme, or the name is empty or longer than [`USER_BYTES_MAX`].
pub fn user(query: &str) -> Option<&str> {
    if value(query, "authmod")? != "adobe" {
        return None;
    }
    value(query, "user").filter(|user| (1..=USER_BYTES_MAX).contains(&user.len()))
}

/// Server's side: makes challenges and reads answers, and remembers nothing between the two.
#[derive(Clone)]
pub struct Challenger {
    key: [u8; 32],
}

impl Challenger {
    /// Creates a challenger that recognises its challenges by `key`: 32 random bytes.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Returns the challenge for a user, as a query; [`reject`] turns it into a description. `now_seconds` is
    /// on the same clock, of any origin, as for [`read`](Self::read); `nonce` is random.
    pub fn ask(&self, user: &str, now_seconds: u64, nonce: [u8; SALT_BYTES]) -> String {
        let mut opaque = [0; OPAQUE_BYTES];
        opaque[..TIME_BYTES].copy_from_slice(&now_seconds.to_be_bytes());
        opaque[TIME_BYTES..][..SALT_BYTES].copy_from_slice(&nonce);
        let mac = self.mac(user, &opaque[..TIME_BYTES + SALT_BYTES]);
        opaque[TIME_BYTES + SALT_BYTES..].copy_from_slice(&mac);
        let salt = hex(&nonce);
        let opaque = hex(&opaque);
        // Some clients hash `challenge` although `opaque` is there: with one value for both, either
        // is right.
        format!("reason=needauth&user={user}&salt={salt}&challenge={opaque}&opaque={opaque}")
    }

    /// Reads an answer from the query of `connect`. `None` if the query has none, or none to a valid
    /// challenge of this challenger.
    pub fn read(&self, query: &str, now_seconds: u64) -> Option<Proof> {
        let user = user(query)?;
        let client_challenge = value(query, "challenge")?;
        let response = value(query, "response")?;
        let opaque = value(query, "opaque")?;
        let bytes = unhex::<OPAQUE_BYTES>(opaque)?;
        let (said, mac) = bytes.split_at(TIME_BYTES + SALT_BYTES);
        if !equal(mac, &self.mac(user, said)) {
            return None;
        }
        let asked = u64::from_be_bytes(*said.first_chunk()?);
        if !(asked..=asked.saturating_add(VALID_SECONDS)).contains(&now_seconds) {
            return None;
        }
        Some(Proof {
            user: user.to_owned(),
            salt: hex(&said[TIME_BYTES..]),
            opaque: opaque.to_owned(),
            client_challenge: client_challenge.to_owned(),
            response: response.to_owned(),
        })
    }

    fn mac(&self, user: &str, said: &[u8]) -> [u8; MAC_BYTES] {
        // `said` has a fixed length, so the two cannot run into each other.
        let full = hmac(&self.key, &[said, user.as_bytes()]);
        std::array::from_fn(|at| full[at])
    }
}

impl fmt::Debug for Challenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenger").finish_non_exhaustive()
    }
}

/// An answer to a challenge of this server. Only the password can show whether it is right. `Debug` shows the
/// user alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof {
    user: String,
    salt: String,
    opaque: String,
    client_challenge: String,
    response: String,
}

impl Proof {
    /// Returns the user that answered, as sent. Untrusted text until the proof was verified.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Whether the sender knew `password`. Compares in constant time.
    pub fn verifies(&self, password: &str) -> bool {
        let expected = respond(
            &self.user,
            password,
            &self.salt,
            &self.opaque,
            &self.client_challenge,
        );
        equal(expected.as_bytes(), self.response.as_bytes())
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Next step of a client after a rejection: to connect again with this query added to the application.
/// `Debug` shows no proof.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    /// Query, without a question mark.
    pub query: String,
    /// Whether it holds the proof: a client that is rejected once more has the wrong password.
    pub is_proof: bool,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("is_proof", &self.is_proof)
            .finish_non_exhaustive()
    }
}

/// Returns the next step after `connect` was rejected with this description. `client_challenge` is random.
/// `None` if the server requests nothing that this scheme can provide, or reports the answer as wrong.
pub fn answer(
    user: &str,
    password: &str,
    description: &str,
    client_challenge: [u8; 4],
) -> Option<Step> {
    if !description.contains("authmod=adobe") {
        return None;
    }
    let (_, query) = description.split_once('?').unwrap_or_default();
    match value(query, "reason") {
        Some("needauth") => {
            let user = value(query, "user").unwrap_or(user);
            let salt = value(query, "salt")?;
            let opaque = value(query, "opaque");
            let challenge = opaque.or_else(|| value(query, "challenge"))?;
            let client_challenge = hex(&client_challenge);
            let response = respond(user, password, salt, challenge, &client_challenge);
            let mut query = format!(
                "authmod=adobe&user={user}&challenge={client_challenge}&response={response}"
            );
            if let Some(opaque) = opaque {
                query.push_str("&opaque=");
                query.push_str(opaque);
            }
            Some(Step {
                query,
                is_proof: true,
            })
        }
        Some(_) => None,
        None => description.contains("code=403 need auth").then(|| Step {
            query: format!("authmod=adobe&user={user}"),
            is_proof: false,
        }),
    }
}

fn respond(user: &str, password: &str, salt: &str, challenge: &str, client: &str) -> String {
    let salted = digest(&[user, salt, password]);
    digest(&[&salted, challenge, client])
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Md5::new();
    for part in parts {
        hash.update(part.as_bytes());
    }
    STANDARD.encode(hash.finalize())
}

/// Returns the value of the first parameter with this name, as sent: no client escapes Base64.
fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .trim()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// Compares in constant time, wherever the two differ.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    /// Returns the query of a client that knows the password, after both rejections.
    fn proved(challenger: &Challenger, password: &str, now: u64) -> String {
        let first = answer("me", password, NEED_AUTH, [1, 2, 3, 4]).unwrap();
        assert!(!first.is_proof);
        let named = user(&first.query).unwrap();
        let asked = reject(&challenger.ask(named, now, [9; 8]));
        let second = answer("me", password, &asked, [1, 2, 3, 4]).unwrap();
        assert!(second.is_proof);
        second.query
    }

    #[test]
    fn the_password_and_no_other_verifies() {
        let challenger = Challenger::new(KEY);
        let proof = challenger
            .read(&proved(&challenger, "sesame", 1_000), 1_001)
            .unwrap();
        assert_eq!(proof.user(), "me");
        assert!(proof.verifies("sesame"));
        for wrong in ["", "Sesame", "sesame ", "sesam"] {
            assert!(!proof.verifies(wrong));
        }
    }

    /// Computed with Python's hashlib from the formula in ffmpeg's `do_adobe_auth`.
    #[test]
    fn the_response_is_the_one_other_clients_make() {
        let got = respond("user", "pass", "c2FsdA==", "b3BhcXVl", "0badcafe");
        assert_eq!(got, "JlBUcR0T5LwT3bTteKw+eA==");
    }

    #[test]
    fn a_challenge_expires_and_is_bound_to_user_and_key() {
        let challenger = Challenger::new(KEY);
        let query = proved(&challenger, "sesame", 1_000);
        assert!(challenger.read(&query, 1_000 + VALID_SECONDS).is_some());
        assert!(challenger.read(&query, 1_001 + VALID_SECONDS).is_none());
        assert!(challenger.read(&query, 999).is_none());
        assert!(Challenger::new([8; 32]).read(&query, 1_000).is_none());
        let other = query.replace("user=me", "user=us");
        assert!(challenger.read(&other, 1_000).is_none());
        for at in 0..OPAQUE_BYTES * 2 {
            let start = query.find("opaque=").unwrap() + 7 + at;
            let digit = if &query[start..=start] == "0" {
                "1"
            } else {
                "0"
            };
            let mut forged = query.clone();
            forged.replace_range(start..=start, digit);
            assert!(challenger.read(&forged, 1_000).is_none());
        }
    }

    #[test]
    fn other_queries_are_no_answers() {
        let challenger = Challenger::new(KEY);
        for query in [
            "",
            "key=K",
            "authmod=adobe",
            "authmod=adobe&user=me",
            "authmod=llnw&user=me&nonce=x&response=y",
            "authmod=adobe&user=me&challenge=x&response=y",
            "authmod=adobe&user=me&challenge=x&response=y&opaque=zz",
            "authmod=adobe&user=me&challenge=x&response=y&opaque=\u{20ac}",
        ] {
            assert_eq!(challenger.read(query, 0), None, "{query}");
        }
        assert_eq!(user("authmod=adobe&user="), None);
        let long = format!("authmod=adobe&user={}", "x".repeat(USER_BYTES_MAX + 1));
        assert_eq!(user(&long), None);
    }

    #[test]
    fn a_client_gives_up_when_the_server_has_decided() {
        for description in [
            AUTH_FAILED,
            "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=nosuchuser&user=me",
            "[ AccessManager.Reject ] : [ code=403 need auth; authmod=llnw ] : ",
            "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=needauth&user=me",
            "No such application.",
            "",
        ] {
            let got = answer("me", "p", description, [0; 4]);
            assert_eq!(got, None, "{description}");
        }
    }

    #[test]
    fn a_challenge_without_opaque_is_answered_by_challenge() {
        let asked = "[ authmod=adobe ] : ?reason=needauth&user=me&salt=s==&challenge=c==";
        let step = answer("me", "p", asked, [0; 4]).unwrap();
        let expected = respond("me", "p", "s==", "c==", "00000000");
        assert_eq!(value(&step.query, "response"), Some(expected.as_str()));
        assert_eq!(value(&step.query, "opaque"), None);
    }

    #[test]
    fn ffmpegs_buffer_holds_the_longest_challenge() {
        let user = "u".repeat(USER_BYTES_MAX);
        assert!(Challenger::new(KEY).ask(&user, u64::MAX, [255; 8]).len() < 299);
    }

    #[test]
    fn debug_shows_no_secrets() {
        let challenger = Challenger::new(KEY);
        let query = proved(&challenger, "sesame", 1_000);
        let proof = challenger.read(&query, 1_000).unwrap();
        let step = Step {
            query,
            is_proof: true,
        };
        let shown = format!("{challenger:?} {proof:?} {step:?}");
        for secret in [
            &proof.response,
            &proof.opaque,
            &proof.salt,
            "sesame",
            "7, 7",
        ] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
