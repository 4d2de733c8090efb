//! Handling of the server's commands, and the messages sent next.

use std::{borrow::Cow, time::Instant};

use super::{BUFFER_MILLIS, Phase, Purpose, START_LIVE, Session};
use crate::{
    amf0::Value,
    chunk::{CHUNK_SIZE_SHARED, Limits},
    client::{Error, Event, words::transaction},
    command::Command,
    words::{control, csid},
};

/// Characters of a status code that are kept.
const CODE_CHARS_MAX: usize = 64;
/// Characters of a description that are kept: a line in a log.
const DESCRIPTION_CHARS_MAX: usize = 256;
/// Text shown in place of one that repeats a secret.
const WITHHELD: &str = "(withheld, for it repeats a part of the address)";
/// Codes with which servers are known to refuse.
const CODES_KNOWN: [&str; 14] = [
    "NetConnection.Call.Failed",
    "NetConnection.Connect.AppShutdown",
    "NetConnection.Connect.Closed",
    "NetConnection.Connect.Failed",
    "NetConnection.Connect.InvalidApp",
    "NetConnection.Connect.Rejected",
    "NetStream.Failed",
    "NetStream.Play.Failed",
    "NetStream.Play.StreamNotFound",
    "NetStream.Publish.BadConnection",
    "NetStream.Publish.BadName",
    "NetStream.Publish.Denied",
    "NetStream.Publish.Failed",
    "NetStream.Publish.Rejected",
];
/// Longest description that is searched for a challenge, in bytes; ffmpeg reads 299 bytes.
const CHALLENGE_BYTES_MAX: usize = 1024;

impl Session {
    pub(super) fn command(
        &mut self,
        command: &Command<'_>,
        now: Instant,
    ) -> Result<Option<Event>, Error> {
        match &*command.name {
            "_result" => self.result(command, now).map(|()| None),
            "_error" => self.error(command),
            "onStatus" => self.status(command),
            // Adobe's server sends this before it closes the connection.
            "close" => Ok(match self.phase {
                Phase::Running(_) => Some(self.ended("close".to_owned(), String::new())),
                _ => None,
            }),
            // A request whose reply measures the round trip; servers make no other request to clients.
            "_onbwcheck" if command.transaction > 0.0 => {
                self.words.command("_result", command.transaction, |e| {
                    e.null().null();
                });
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn result(&mut self, command: &Command<'_>, now: Instant) -> Result<(), Error> {
        match self.phase {
            Phase::Connecting if command.transaction == transaction::CONNECT => {
                self.connected(now);
            }
            Phase::Creating if command.transaction == transaction::CREATE_STREAM => {
                let stream = command.stream_id(0).unwrap_or_default();
                if !(1..u32::MAX).contains(&stream) {
                    return Err(Error::StreamId(stream));
                }
                self.created(stream, now);
            }
            _ => {}
        }
        Ok(())
    }

    fn connected(&mut self, now: Instant) {
        self.words.window_ack_size(self.flow.announced);
        self.words.set_chunk_size(CHUNK_SIZE_SHARED);
        if self.purpose == Purpose::Publish {
            let name = self.address.stream();
            // Commands of Adobe's encoder; some servers recognise a publisher by them.
            for (command, transaction) in [
                ("releaseStream", transaction::RELEASE_STREAM),
                ("FCPublish", transaction::FC_PUBLISH),
            ] {
                self.words.command(command, transaction, |e| {
                    e.null().string(&name);
                });
            }
        }
        self.words
            .command("createStream", transaction::CREATE_STREAM, |e| {
                e.null();
            });
        self.await_answer(Phase::Creating, now);
    }

    fn created(&mut self, stream: u32, now: Instant) {
        let name = self.address.stream();
        match self.purpose {
            Purpose::Publish => {
                self.words
                    .command_on((csid::STREAM, stream), "publish", transaction::START, |e| {
                        e.null().string(&name).string("live");
                    });
            }
            Purpose::Play => {
                self.words
                    .command_on((csid::STREAM, stream), "play", transaction::START, |e| {
                        e.null().string(&name).number(START_LIVE);
                    });
                let values = [stream, BUFFER_MILLIS];
                self.words.user_control(control::SET_BUFFER_LENGTH, &values);
                self.reader.set_limits(Limits::PUBLISHER);
            }
        }
        self.await_answer(Phase::Starting(stream), now);
    }

    fn error(&mut self, command: &Command<'_>) -> Result<Option<Event>, Error> {
        let asked = match self.phase {
            Phase::Connecting => transaction::CONNECT,
            Phase::Creating => transaction::CREATE_STREAM,
            Phase::Starting(_) => transaction::START,
            _ => return Ok(None),
        };
        // An error for releaseStream or FCPublish is no reason to give up.
        if command.transaction != asked {
            return Ok(None);
        }
        if matches!(self.phase, Phase::Connecting)
            && let Some(event) = self.challenge(command)
        {
            return Ok(Some(event));
        }
        Err(self.refused(command))
    }

    fn status(&mut self, command: &Command<'_>) -> Result<Option<Event>, Error> {
        let (level, code, description) = self.information(command);
        if code == "NetConnection.Connect.ReconnectRequest" {
            // Before a stream was requested there is nothing to move.
            if !matches!(self.phase, Phase::Starting(_) | Phase::Running(_)) {
                return Ok(None);
            }
            let tc_url = information(command)
                .and_then(|info| info.property("tcUrl"))
                .and_then(Value::text)
                .map(Cow::into_owned);
            return Ok(Some(Event::Reconnect { tc_url }));
        }
        if level.eq_ignore_ascii_case("error") {
            if matches!(self.phase, Phase::Connecting)
                && let Some(event) = self.challenge(command)
            {
                return Ok(Some(event));
            }
            return Err(self.refused(command));
        }
        let is_running = matches!(self.phase, Phase::Running(_));
        Ok(match (self.purpose, &*code) {
            (Purpose::Publish, "NetStream.Publish.Start")
            | (Purpose::Play, "NetStream.Play.Start" | "NetStream.Play.PublishNotify") => {
                match self.phase {
                    Phase::Starting(stream) => Some(self.ready(stream)),
                    _ => None,
                }
            }
            (
                Purpose::Play,
                "NetStream.Play.UnpublishNotify"
                | "NetStream.Play.Stop"
                | "NetStream.Play.Complete",
            )
            | (Purpose::Publish, "NetStream.Unpublish.Success")
            | (_, "NetConnection.Connect.Closed" | "NetConnection.Connect.AppShutdown")
                if is_running =>
            {
                Some(self.ended(code, description))
            }
            _ => None,
        })
    }

    /// Returns the event for a request for a proof, if this address can provide one.
    fn challenge(&mut self, command: &Command<'_>) -> Option<Event> {
        let description = information(command)?.property("description")?.text()?;
        if description.len() > CHALLENGE_BYTES_MAX {
            return None;
        }
        let address = self.address.answering(&description, self.nonce)?;
        self.close();
        Some(Event::Challenged(address))
    }

    /// Returns the error of a session that was refused. Unknown codes may quote the address as the
    /// description may; similarities between well-known codes and the address are chance.
    fn refused(&self, command: &Command<'_>) -> Error {
        let (_, code, description) = self.information(command);
        let whole = text(command, "code");
        let repeats = |text| self.address.is_repeated_in(text);
        let is_secret = !CODES_KNOWN.contains(&&*code) && (repeats(&whole) || repeats(&code));
        Error::Refused {
            code: if is_secret { WITHHELD.to_owned() } else { code },
            description,
        }
    }

    /// Returns level and code, for comparison, and the description, fit to be shown.
    fn information(&self, command: &Command<'_>) -> (String, String, String) {
        let word = |name| {
            text(command, name)
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
                .take(CODE_CHARS_MAX)
                .collect()
        };
        let description = text(command, "description");
        let description = match self.address.is_repeated_in(&description) {
            true => WITHHELD.to_owned(),
            false => description
                .chars()
                .filter(|c| !c.is_control())
                .take(DESCRIPTION_CHARS_MAX)
                .collect(),
        };
        (word("level"), word("code"), description)
    }
}

/// Returns the information object of a status; some servers omit the null before it.
fn information<'a, 'b>(command: &'a Command<'b>) -> Option<&'a Value<'b>> {
    let argument = command.argument(0).filter(|v| v.properties().is_some());
    argument.or(Some(&command.object))
}

/// Returns a text of a status; empty if it is missing.
fn text<'a>(command: &'a Command<'_>, name: &str) -> Cow<'a, str> {
    information(command)
        .and_then(|info| info.property(name))
        .and_then(Value::text)
        .unwrap_or_default()
}
