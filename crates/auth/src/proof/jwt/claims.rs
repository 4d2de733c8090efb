//! Claims of a signed token.
//!
//! | claim | origin | a permission |
//! |---|---|---|
//! | `carillon` | ours | `{"do": "play", "on": "live/*"}`; either may be an array; `"max_sessions": 1` counts players |
//! | `mediamtx_permissions` | MediaMTX | `{"action": "publish", "path": "live/show"}`; no path: all; `~` marks an expression |
//! | `video` | LiveKit | `{"room": "live/show", "roomJoin": true, "canPublish": …, "canSubscribe": …}` |

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::{LEEWAY, Refused, Rules};
use crate::proof::{Scope, Scopes};

/// Latest time accepted as a number, in seconds since 1970: the year 9999.
const SECONDS_MAX: f64 = 253_402_300_799.0;

/// Most permissions of a token that are considered. A token has no room for many more.
const PERMISSIONS_MAX: usize = 64;

/// Longest subject or identifier kept, in bytes; longer ones are ignored.
const SUBJECT_BYTES_MAX: usize = 128;

/// Most memory of one compiled expression, in bytes. Its author holds a key, but may err.
const EXPRESSION_BYTES_MAX: usize = 64 * 1024;

/// Claims of a token in force.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claims {
    /// Start of validity, less the [`LEEWAY`] for clocks; `None` if the token names none.
    pub begins: Option<SystemTime>,
    /// End of validity, plus the [`LEEWAY`].
    pub expires: SystemTime,
    /// Subject (`sub`), if given in at most 128 bytes.
    pub subject: Option<String>,
    /// Token identifier (`jti`), if given in at most 128 bytes.
    pub id: Option<String>,
    /// Permissions the token gives.
    pub permissions: Vec<Permission>,
}

/// One permission of a token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Permission {
    /// Permitted scopes.
    pub scopes: Scopes,
    /// Permitted streams.
    pub streams: Streams,
    /// Most players at a time; only in Carillon's own permissions.
    pub players_max: Option<NonZeroU32>,
}

/// Streams a permission is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Streams {
    /// All streams.
    All,
    /// One stream.
    Named(String),
    /// Streams that match a pattern, whose syntax is the caller's.
    Pattern(String),
    /// Streams whose names contain a match of a regular expression.
    Expression(String),
}

impl Claims {
    /// Checks that the token is in force.
    ///
    /// # Errors
    /// [`Refused::Expired`] or [`Refused::NotYet`].
    pub fn in_force(&self, now: SystemTime) -> Result<(), Refused> {
        in_force((self.begins, self.expires), now)
    }

    /// Returns the first permission for a scope whose streams `fits` accepts.
    pub fn permission(
        &self,
        scope: Scope,
        mut fits: impl FnMut(&Streams) -> bool,
    ) -> Option<&Permission> {
        let mut all = self.permissions.iter();
        all.find(|permission| permission.scopes.contains(scope) && fits(&permission.streams))
    }
}

impl Streams {
    /// Whether a stream is one of these. `fits` decides whether a pattern matches the stream.
    pub fn contain(&self, stream: &str, fits: impl FnOnce(&str) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::Named(name) => name == stream,
            Self::Pattern(pattern) => fits(pattern),
            Self::Expression(expression) => {
                compiled(expression).is_some_and(|compiled| compiled.is_match(stream))
            }
        }
    }
}

fn compiled(expression: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(expression);
    builder.size_limit(EXPRESSION_BYTES_MAX).build().ok()
}

/// Checks the claims of a token whose signature is right.
pub(super) fn judge(
    claims: &Map<String, Value>,
    rules: &Rules,
    now: SystemTime,
) -> Result<Claims, Refused> {
    let expires = time(claims, "exp")?.ok_or(Refused::Claim("exp"))?;
    let expires = expires + LEEWAY;
    let begins = time(claims, "nbf")?.map(|begins| begins - LEEWAY);
    in_force((begins, expires), now)?;
    if let Some(issuer) = &rules.issuer
        && claims.get("iss").and_then(Value::as_str) != Some(issuer)
    {
        return Err(Refused::OtherIssuer);
    }
    let audience = claims.get("aud");
    let is_for_us = match &rules.audience {
        Some(audience_here) => strings(audience).any(|name| name == audience_here),
        None => audience.is_none(),
    };
    if !is_for_us {
        return Err(Refused::OtherAudience);
    }
    let text = |name: &str| {
        let text = claims.get(name).and_then(Value::as_str);
        let text = text.filter(|text| text.len() <= SUBJECT_BYTES_MAX);
        text.map(str::to_owned)
    };
    let permissions = ours(claims)
        .chain(of_mediamtx(claims))
        .chain(of_livekit(claims));
    Ok(Claims {
        begins,
        expires,
        subject: text("sub"),
        id: text("jti"),
        permissions: permissions.take(PERMISSIONS_MAX).collect(),
    })
}

fn in_force(
    (begins, expires): (Option<SystemTime>, SystemTime),
    now: SystemTime,
) -> Result<(), Refused> {
    if expires <= now {
        return Err(Refused::Expired);
    }
    match begins.is_some_and(|begins| begins > now) {
        true => Err(Refused::NotYet),
        false => Ok(()),
    }
}

/// Reads a time (RFC 7519 §2, "NumericDate"), if there is one.
fn time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<SystemTime>, Refused> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value
        .as_f64()
        .filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
    let seconds = seconds.ok_or(Refused::Claim(name))?;
    Ok(Some(
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds),
    ))
}

/// Returns a text, or the texts of an array.
fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> + Clone {
    let one = value.and_then(Value::as_str);
    let many = value.and_then(Value::as_array).into_iter().flatten();
    one.into_iter().chain(many.filter_map(Value::as_str))
}

fn ours(claims: &Map<String, Value>) -> impl Iterator<Item = Permission> {
    let all = claims.get("carillon").and_then(Value::as_array);
    all.into_iter().flatten().flat_map(|permission| {
        let scopes = strings(permission.get("do")).filter_map(Scope::of);
        let scopes = scopes.fold(Scopes::NONE, |scopes, scope| match scope {
            // A publisher of a stream also sets its titles.
            Scope::Publish => scopes.with(scope).with(Scope::Metadata),
            _ => scopes.with(scope),
        });
        // An invalid number permits nothing, rather than any number of players.
        let players_max = match permission.get("max_sessions") {
            None => Some(None),
            Some(value) => {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                number.and_then(NonZeroU32::new).map(Some)
            }
        };
        let patterns = strings(permission.get("on"));
        players_max.into_iter().flat_map(move |players_max| {
            patterns.clone().map(move |pattern| Permission {
                scopes,
                streams: Streams::Pattern(pattern.to_owned()),
                players_max,
            })
        })
    })
}

/// MediaMTX accepts its permissions as an array, or as a text that contains the array.
fn of_mediamtx(claims: &Map<String, Value>) -> impl Iterator<Item = Permission> {
    let all = claims.get("mediamtx_permissions");
    let all = match all.and_then(Value::as_str) {
        Some(text) => serde_json::from_str(text).ok(),
        None => all.cloned(),
    };
    let all = match all {
        Some(Value::Array(all)) => all,
        _ => vec![],
    };
    all.into_iter().filter_map(|permission| {
        let scopes = match permission.get("action")?.as_str()? {
            "publish" => Scopes::OF_PUBLISHERS,
            "read" | "playback" => Scopes::NONE.with(Scope::Play),
            _ => return None,
        };
        let path = permission.get("path").map_or(Some(""), Value::as_str)?;
        let streams = match path.strip_prefix('~') {
            Some(expression) => Streams::Expression(expression.to_owned()),
            None if path.is_empty() => Streams::All,
            None => Streams::Named(path.to_owned()),
        };
        Some(Permission {
            scopes,
            streams,
            players_max: None,
        })
    })
}

fn of_livekit(claims: &Map<String, Value>) -> impl Iterator<Item = Permission> {
    let video = claims.get("video");
    let of = move |name: &str| video.and_then(|video| video.get(name));
    // A permission that the grant does not mention is given to everyone who may join.
    let may = move |name: &str| of(name).is_none_or(|value| value.as_bool() == Some(true));
    let joins = of("roomJoin").and_then(Value::as_bool) == Some(true);
    let room = of("room").and_then(Value::as_str).filter(|_| joins);
    room.into_iter().map(move |room| {
        let mut scopes = Scopes::NONE;
        if may("canPublish") {
            scopes = scopes.with(Scope::Publish).with(Scope::Metadata);
        }
        if may("canSubscribe") {
            scopes = scopes.with(Scope::Play);
        }
        Permission {
            scopes,
            streams: Streams::Named(room.to_owned()),
            players_max: None,
        }
    })
}
