//! Commands: the effect of each, and its reply.

use std::time::Instant;

use super::{REQUEST_TIMEOUT, Session};
use crate::{
    Error,
    chunk::Limits,
    command::{self, Command},
    server::{
        event::{Event, Mode, Passage, Rejection, Request, RequestId},
        path::StreamPath,
        playback::Part,
    },
};

/// Most message streams that a connection may have open. Encoders open one, Flash players two.
const STREAMS_MAX: usize = 8;

impl Session {
    pub(super) fn command(
        &mut self,
        command: &Command<'_>,
        stream: u32,
        now: Instant,
    ) -> Result<Option<Event>, Error> {
        if self.connection.is_none() {
            return match &*command.name {
                "connect" => Ok(self.connect(command, now)),
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
            "seek" => self.seek(command, stream),
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
            // FMLE and similar encoders publish only after the second answer, and some players of
            // content networks play only then.
            name @ ("FCPublish" | "FCSubscribe" | "FCUnsubscribe") => {
                let (code, description) = match name {
                    "FCPublish" => ("NetStream.Publish.Start", "Ready to publish."),
                    "FCSubscribe" => ("NetStream.Play.Start", "Ready to play."),
                    _ => ("NetStream.Play.Stop", "Stopped."),
                };
                self.answer_twice(command, code, description);
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
            // Replies to questions, of which the server asks none; answering them could continue for ever.
            "_result" | "_error" | "onStatus" | "" => None,
            // releaseStream, _checkbw and whatever else clients wait for a reply to.
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
            match (current.stream == stream, self.publication.is_live()) {
                // The reply to the request is also that to its repetition.
                (true, false) => {}
                (true, true) => self.tell_publishing(stream),
                (false, _) => {
                    let code = Rejection::BadName.code();
                    let why = "One stream per connection.";
                    self.replies.error(stream, code, why);
                }
            }
            return None;
        }
        if self.player.id().is_some() {
            let code = Rejection::Rejected.code();
            self.replies.error(stream, code, "This connection plays.");
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

    /// Numbers a request and finds its stream; the peer has sent it in time.
    pub(super) fn request(&mut self, name: &str, stream: u32) -> Request {
        self.serial = self.serial.wrapping_add(1);
        self.clock.deadline = None;
        let (path, proof) = match &self.connection {
            Some(connection) => (connection.path(name), connection.proof.as_deref().cloned()),
            None => (StreamPath::default(), None),
        };
        Request {
            id: RequestId {
                stream,
                serial: self.serial,
            },
            path,
            mode: Mode::Live,
            passage: Passage::default(),
            proof,
        }
    }

    fn fc_unpublish(&mut self, command: &Command<'_>, now: Instant) -> Option<Event> {
        let (code, description) = ("NetStream.Unpublish.Success", "Stopped publishing.");
        self.answer_twice(command, code, description);
        let stream = self.publication.id()?.stream;
        let event = self.end_stream(stream, now);
        self.replies.status(stream, code, description);
        event
    }

    /// Answers a call with an empty result, and with a status call that holds more.
    fn answer_twice(&mut self, command: &Command<'_>, code: &str, description: &str) {
        self.replies.command("_result", command.transaction, |e| {
            e.null().undefined();
        });
        let name = format!("on{}", command.name);
        self.replies.command(&name, 0.0, |e| {
            command::information(e.null(), "status", code, description);
        });
    }

    /// Ends the request on a message stream.
    pub(super) fn end_stream(&mut self, stream: u32, now: Instant) -> Option<Event> {
        // A request made on the connection itself ends with any stream.
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
            self.clock.deadline = Some(now + REQUEST_TIMEOUT);
        }
        event
    }
}
