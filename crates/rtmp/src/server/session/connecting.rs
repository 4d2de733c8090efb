//! `connect`: the peer's software, its capabilities, and whether it must prove a password first.

use std::{fmt, sync::Arc, time::Instant};

use super::Session;
use crate::{
    amf0::Value,
    auth::{self, Challenger, Proof},
    chunk::CHUNK_SIZE_SHARED,
    command::{self, Command},
    server::{
        event::{Connect, CredentialRequest, Event, TurnedAway},
        path::{self, StreamPath},
    },
    words,
};

/// Most bytes of `connect` text that are kept: the address is needed again for each stream.
const ADDRESS_BYTES_MAX: usize = 4 << 10;
/// Bytes kept of the names of the peer's software and of its page.
const NAME_BYTES_MAX: usize = 256;
/// Most codecs that a peer may name in `connect`; more are ignored.
const FOUR_CCS_MAX: usize = 64;
/// Bytes kept of a codec's name, which has four or is an asterisk.
const FOUR_CC_BYTES_MAX: usize = 16;
/// `capsEx` bits of this server: reconnect requests 1, multitrack 2, ModEx 4, nanosecond offsets 8.
const CAPABILITIES: f64 = 15.0;
/// `capsEx` bit of a peer that follows reconnect requests (Enhanced RTMP v2, CapsExMask).
const CAN_RECONNECT: u32 = 1;
/// Query parameter that carries a key; no password is requested of a client with a key.
const KEY_PARAMETER: &str = "key";
/// Fields that players send in `connect`, and that ffmpeg, librtmp and GStreamer omit when they publish.
const PLAYERS_MEMBERS: [&str; 5] = ["fpad", "audioCodecs", "videoCodecs", "swfUrl", "pageUrl"];

/// Configuration of password requests ([`auth`]).
///
/// A challenge is answered on another connection, so all sessions of a server share this one.
#[derive(Debug)]
pub struct Challenge {
    /// Maker and reader of challenges.
    pub challenger: Challenger,
    /// Whether every client that seems about to publish is challenged, unless its address contains a password
    /// or a key. A key in the stream's name comes too late for that. Otherwise only clients that request it
    /// are challenged.
    pub is_demanded: bool,
    /// Time at which the challenger's clock was zero.
    pub epoch: Instant,
}

/// Data of `connect` that later requests need. `Debug` shows no credentials.
pub(super) struct Connection {
    app: Box<str>,
    tc_url: Box<str>,
    /// Whether the peer follows reconnect requests.
    pub(super) reconnects: bool,
    /// Answer to a challenge.
    pub(super) proof: Option<Box<Proof>>,
}

impl Connection {
    /// Returns the stream that this name means.
    pub(super) fn path(&self, name: &str) -> StreamPath {
        StreamPath::resolve(&self.tc_url, &self.app, head(name, ADDRESS_BYTES_MAX))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("reconnects", &self.reconnects)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn connect(&mut self, command: &Command<'_>, now: Instant) -> Option<Event> {
        let object = &command.object;
        let text = |name, bytes_max| {
            let value = object.property(name).and_then(Value::text);
            head(&value.unwrap_or_default(), bytes_max).to_owned()
        };
        let app = text("app", ADDRESS_BYTES_MAX);
        let tc_url = text("tcUrl", ADDRESS_BYTES_MAX);
        let flash_version = text("flashVer", NAME_BYTES_MAX);
        let page_url = text("pageUrl", NAME_BYTES_MAX);
        let (app, answer) = path::split_answer(&app);
        let (tc_url, same_answer) = path::split_answer(&tc_url);
        // Without a stream's name the path is the application.
        let address = StreamPath::resolve(tc_url, app, "");

        let proof = match self.config.challenge.clone() {
            None => None,
            Some(challenge) => {
                let is_asked = challenge.is_demanded
                    && is_publisher(object, &flash_version)
                    && !brings_credentials(&address);
                match self.examine(&challenge, answer.or(same_answer), is_asked, now) {
                    Ok(proof) => proof,
                    Err((why, description)) => {
                        self.turn_away(command.transaction, &description);
                        return Some(Event::TurnedAway(Box::new(TurnedAway {
                            app: address.name,
                            flash_version,
                            why,
                        })));
                    }
                }
            }
        };

        let four_ccs = four_ccs(object);
        let capabilities = object.property("capsEx").and_then(Value::number);
        let is_enhanced = !four_ccs.is_empty() || capabilities.is_some();
        // Saturates, and NaN is 0.
        let capabilities = capabilities.unwrap_or_default() as u32;
        self.welcome(command.transaction, is_enhanced);

        let page_url = page_url.split(['?', '#']).next().unwrap_or_default();
        let event = Connect {
            app: address.name,
            flash_version,
            page_url: page_url.to_owned(),
            four_ccs,
            capabilities,
        };
        self.connection = Some(Connection {
            app: app.into(),
            tc_url: tc_url.into(),
            reconnects: capabilities & CAN_RECONNECT != 0,
            proof: proof.map(Box::new),
        });
        Some(Event::Connect(Box::new(event)))
    }

    fn welcome(&mut self, transaction: f64, is_enhanced: bool) {
        self.replies.window_ack_size(self.flow.announced);
        self.replies.peer_bandwidth(self.flow.announced);
        self.replies.set_chunk_size(CHUNK_SIZE_SHARED);
        self.replies.command("_result", transaction, |e| {
            e.object();
            e.key("fmsVer").string("FMS/3,0,1,123");
            e.key("capabilities").number(31.0);
            if is_enhanced {
                words::enhanced(e, CAPABILITIES);
            }
            e.end();
            e.object();
            e.key("level").string("status");
            e.key("code").string("NetConnection.Connect.Success");
            e.key("description").string("Connection succeeded.");
            e.key("objectEncoding").number(0.0);
            e.end();
        });
    }

    /// Checks the part of `connect` for a challenge. Returns the proof, if there is one; otherwise the reply
    /// with which the client is refused, and after which it connects again.
    fn examine(
        &self,
        challenge: &Arc<Challenge>,
        answer: Option<&str>,
        is_asked: bool,
        now: Instant,
    ) -> Result<Option<Proof>, (CredentialRequest, String)> {
        let need_auth = || (CredentialRequest::Password, auth::NEED_AUTH.to_owned());
        let Some(answer) = answer else {
            return match is_asked {
                true => Err(need_auth()),
                false => Ok(None),
            };
        };
        let seconds = now.saturating_duration_since(challenge.epoch).as_secs();
        let challenger = &challenge.challenger;
        if let Some(proof) = challenger.read(answer, seconds) {
            return Ok(Some(proof));
        }
        Err(match auth::user(answer) {
            // At another request librtmp would answer for ever.
            Some(_) if answer.contains("&response=") => {
                (CredentialRequest::Again, auth::AUTH_FAILED.to_owned())
            }
            Some(user) => {
                let question = challenger.ask(user, seconds, self.nonce);
                (CredentialRequest::Proof, auth::reject(&question))
            }
            None => need_auth(),
        })
    }

    fn turn_away(&mut self, transaction: f64, description: &str) {
        let code = "NetConnection.Connect.Rejected";
        self.replies.command("_error", transaction, |e| {
            command::information(e.null(), "error", code, description);
        });
        self.close();
    }
}

/// Whether the peer seems about to publish, which it states only later.
fn is_publisher(object: &Value<'_>, flash_version: &str) -> bool {
    let kind = object.property("type").and_then(Value::text);
    kind.is_some_and(|kind| kind == "nonprivate")
        || flash_version.starts_with("FMLE/")
        || PLAYERS_MEMBERS
            .iter()
            .all(|name| object.property(name).is_none())
}

fn brings_credentials(path: &StreamPath) -> bool {
    let has_password = path
        .user
        .as_ref()
        .is_some_and(|(_, password)| !password.is_empty());
    has_password || path.parameter(KEY_PARAMETER).is_some()
}

/// Returns the codecs that a `connect` names, in a list or as the keys of a map (Enhanced RTMP v1 and v2).
fn four_ccs(object: &Value<'_>) -> Vec<String> {
    let list = match object.property("fourCcList") {
        Some(Value::StrictArray(items)) => &items[..],
        _ => &[],
    };
    let maps = ["videoFourCcInfoMap", "audioFourCcInfoMap"];
    let keys = maps
        .into_iter()
        .filter_map(|map| object.property(map)?.properties())
        .flatten()
        .map(|(key, _)| String::from_utf8_lossy(key));
    let mut names: Vec<String> = Vec::new();
    for name in list.iter().filter_map(Value::text).chain(keys) {
        let name = head(&name, FOUR_CC_BYTES_MAX);
        if names.len() < FOUR_CCS_MAX && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns at most `max` bytes from the front of `text`, in whole characters.
fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
