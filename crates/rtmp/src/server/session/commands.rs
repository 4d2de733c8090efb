//! Commands: what each does and how it is answered.

use std::time::Instant;

use super::{Connection, Session};
use crate::{
    Error,
    amf0::Value,
    chunk::{CHUNK_SIZE_INITIAL, CHUNK_SIZE_MAX, Limits},
    command::{self, Command},
    server::{
        event::{Connect, Event, Mode, Rejection, Request, RequestId},
        path::StreamPath,
        playback::Part,
        reply::{self, Level},
    },
};

/// Message streams a connection may have open. Encoders open one, Flash players two.
const STREAMS_MAX: usize = 8;
/// Text of `connect` that is kept: the address is asked for again with each stream.
const ADDRESS_BYTES_MAX: usize = 4 << 10;
/// Codecs a peer may name in `connect`; more are ignored.
const FOUR_CCS_MAX: usize = 64;
/// What is kept of a codec's name, which has four bytes or is an asterisk.
const FOUR_CC_BYTES_MAX: usize = 16;
/// The `capsEx` bit of a peer that obeys reconnect requests (Enhanced RTMP v2, CapsExMask).
const CAN_RECONNECT: u32 = 1;

impl Session {
    pub(super) fn command(
        &mut self,
        command: &Command<'_>,
        stream: u32,
        now: Instant,
    ) -> Result<Option<Event>, Error> {
        if self.connection.is_none() {
            return match &*command.name {
                "connect" => Ok(Some(self.connect(command))),
                _ => Err(Error::CommandBeforeConnect),
            };
        }
        let event = match &*command.name {
            "createStream" => {
                self.create_stream(command.transaction);
                None
            }
            "publish" => self.publish(command, stream),
            "play" | "play2" => self.play(command, stream, now),
            "pause" | "pauseRaw" => self.pause(command, stream),
            "receiveAudio" => self.select(command, stream, Part::Audio),
            "receiveVideo" => self.select(command, stream, Part::Video),
            "seek" => {
                self.seek(stream);
                None
            }
            "deleteStream" => {
                let deleted = command.stream_id(0).unwrap_or(stream);
                self.streams.retain(|&id| id != deleted);
                let event = self.end_stream(deleted, now);
                if self.player.id().is_none() {
                    self.player.select_all();
                }
                event
            }
            "closeStream" => self.end_stream(stream, now),
            "FCUnpublish" => self.fc_unpublish(command, now),
            // FMLE and its like publish only after the second answer, and some players of content
            // networks play only then.
            "FCPublish" => {
                let code = "NetStream.Publish.Start";
                self.answer_twice(
                    command.transaction,
                    "onFCPublish",
                    code,
                    "Ready to publish.",
                );
                None
            }
            "FCSubscribe" => {
                let code = "NetStream.Play.Start";
                self.answer_twice(command.transaction, "onFCSubscribe", code, "Ready to play.");
                None
            }
            "FCUnsubscribe" => {
                let code = "NetStream.Play.Stop";
                self.answer_twice(command.transaction, "onFCUnsubscribe", code, "Stopped.");
                None
            }
            "getStreamLength" => {
                self.replies.command("_result", command.transaction, |e| {
                    e.null().number(0.0);
                });
                None
            }
            "connect" => {
                let code = "NetConnection.Connect.Rejected";
                self.replies.command("_error", command.transaction, |e| {
                    command::information(e.null(), "error", code, "Already connected.");
                });
                None
            }
            // Answers to questions, of which we ask none; answering those could go on for ever.
            "_result" | "_error" | "onStatus" | "" => None,
            // releaseStream, _checkbw and whatever else clients wait for an answer to.
            _ => {
                if command.transaction > 0.0 {
                    self.replies.command("_result", command.transaction, |e| {
                        e.null().null();
                    });
                }
                None
            }
        };
        Ok(event)
    }

    fn connect(&mut self, command: &Command<'_>) -> Event {
        let text = |name| {
            let value = command
                .object
                .property(name)
                .and_then(Value::text)
                .unwrap_or_default();
            head(&value, ADDRESS_BYTES_MAX).to_owned()
        };
        let (app, tc_url) = (text("app"), text("tcUrl"));
        let four_ccs = four_ccs(&command.object);
        let capabilities = command.object.property("capsEx").and_then(Value::number);
        let is_enhanced = !four_ccs.is_empty() || capabilities.is_some();
        // Saturates, and NaN is 0.
        let capabilities = capabilities.unwrap_or_default() as u32;

        self.replies.window_ack_size(self.flow.announced);
        self.replies.peer_bandwidth(self.flow.announced);
        self.replies.set_chunk_size(
            self.config
                .chunk_size
                .clamp(CHUNK_SIZE_INITIAL, CHUNK_SIZE_MAX),
        );
        self.replies.command("_result", command.transaction, |e| {
            e.object();
            e.key("fmsVer").string("FMS/3,0,1,123");
            e.key("capabilities").number(31.0);
            if is_enhanced {
                reply::enhanced(e);
            }
            e.end();
            e.object();
            e.key("level").string("status");
            e.key("code").string("NetConnection.Connect.Success");
            e.key("description").string("Connection succeeded.");
            e.key("objectEncoding").number(0.0);
            e.end();
        });

        let event = Connect {
            // Without a stream's name the path is the application.
            app: StreamPath::resolve(&tc_url, &app, "").name,
            flash_version: head(&text("flashVer"), 256).to_owned(),
            four_ccs,
            capabilities,
        };
        self.connection = Some(Connection {
            app: app.into(),
            tc_url: tc_url.into(),
            reconnects: capabilities & CAN_RECONNECT != 0,
        });
        Event::Connect(Box::new(event))
    }

    fn create_stream(&mut self, transaction: f64) {
        // Never 0, which GStreamer refuses, and 1 for the first, which the shared bytes of a player need.
        let free = (1..).find(|id| !self.streams.contains(id)).unwrap_or(1);
        if self.streams.len() < STREAMS_MAX {
            self.streams.push(free);
            self.replies.command("_result", transaction, |e| {
                e.null().number(f64::from(free));
            });
        } else {
            self.replies.command("_error", transaction, |e| {
                let code = "NetConnection.Call.Failed";
                command::information(e.null(), "error", code, "Too many streams.");
            });
        }
    }

    fn publish(&mut self, command: &Command<'_>, stream: u32) -> Option<Event> {
        if let Some(current) = self.publication.id() {
            // A repetition of what is under way needs no answer; another stream does.
            if current.stream != stream {
                let code = Rejection::BadName.code();
                let why = "One stream per connection.";
                self.replies.status(stream, Level::Error, code, why);
            }
            return None;
        }
        if self.player.id().is_some() {
            let code = Rejection::Rejected.code();
            self.replies
                .status(stream, Level::Error, code, "This connection plays.");
            return None;
        }
        let request = self.request(&command.text(0), stream);
        let mode = command.text(1);
        let mode = match () {
            () if mode.eq_ignore_ascii_case("record") => Mode::Record,
            () if mode.eq_ignore_ascii_case("append") => Mode::Append,
            () => Mode::Live,
        };
        self.publication.request(request.id);
        Some(Event::Publish(Box::new(Request { mode, ..request })))
    }

    /// Numbers a request and finds its stream; the peer has asked in time.
    pub(super) fn request(&mut self, name: &str, stream: u32) -> Request {
        self.serial = self.serial.wrapping_add(1);
        self.clock.deadline = None;
        let path = self
            .connection
            .as_ref()
            .map_or_else(StreamPath::default, |connection| {
                let name = head(name, ADDRESS_BYTES_MAX);
                StreamPath::resolve(&connection.tc_url, &connection.app, name)
            });
        Request {
            id: RequestId {
                stream,
                serial: self.serial,
            },
            path,
            mode: Mode::Live,
        }
    }

    fn fc_unpublish(&mut self, command: &Command<'_>, now: Instant) -> Option<Event> {
        let code = "NetStream.Unpublish.Success";
        self.answer_twice(
            command.transaction,
            "onFCUnpublish",
            code,
            "Stopped publishing.",
        );
        let stream = self.publication.id()?.stream;
        let event = self.end_stream(stream, now);
        self.replies
            .status(stream, Level::Status, code, "Stopped publishing.");
        event
    }

    /// Answers a call with an empty result, and with a call back that says more.
    fn answer_twice(&mut self, transaction: f64, name: &str, code: &str, description: &str) {
        self.replies.command("_result", transaction, |e| {
            e.null().undefined();
        });
        self.replies.command(name, 0.0, |e| {
            command::information(e.null(), "status", code, description);
        });
    }

    /// Ends what is done on a message stream.
    pub(super) fn end_stream(&mut self, stream: u32, now: Instant) -> Option<Event> {
        // What is done on the connection itself ends with any stream.
        let on_stream = |id: &RequestId| id.stream == stream || id.stream == 0;
        let event = if self.player.id().as_ref().is_some_and(on_stream) {
            self.player.end().map(Event::Stop)
        } else if self.publication.id().as_ref().is_some_and(on_stream) {
            self.reader.set_limits(Limits::STRANGER);
            self.publication.end().map(Event::Unpublish)
        } else {
            None
        };
        if event.is_some() {
            self.clock.deadline = Some(now + self.config.request_timeout);
        }
        event
    }
}

/// The codecs that a `connect` names, in a list or as the keys of a map (Enhanced RTMP v1 and v2).
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

/// At most `max` bytes from the front of `text`, whole characters.
fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
