//! Playing: its requests and their replies.

use std::time::Instant;

use super::recorded::passage;
use super::{REQUEST_TIMEOUT, Session};
use crate::{
    amf0::Value,
    chunk::Limits,
    command::Command,
    server::{
        event::{Event, Passage, Request, RequestId, Withdrawn},
        playback::{Part, Playback},
    },
    words::control,
};

/// Message stream that the first `createStream` of a connection returns. A player that sends its requests on
/// the connection itself also plays on it: such a player ignores the number.
const FIRST: u32 = 1;

impl Session {
    /// Lets a player begin: announces that its stream starts. The media follows, written by the caller as
    /// messages on message stream [`RequestId::stream`] with full headers, in chunks of
    /// [`CHUNK_SIZE_SHARED`](crate::chunk::CHUNK_SIZE_SHARED), between (never inside) the messages in
    /// [`output`](Self::output).
    ///
    /// Returns the player's wishes; it may have paused before it was accepted.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request no longer exists.
    pub fn accept_play(&mut self, id: RequestId) -> Result<Playback, Withdrawn> {
        if self.is_closed() {
            return Err(Withdrawn);
        }
        let playback = self.player.accept(id).ok_or(Withdrawn)?;
        self.say_started(&playback);
        Ok(playback)
    }

    /// Announces to a player that its stream starts.
    pub(super) fn say_started(&mut self, playback: &Playback) {
        let stream = playback.id.stream;
        self.replies.user_control(control::STREAM_BEGIN, &[stream]);
        let status = [
            ("NetStream.Play.Reset", "Resetting."),
            ("NetStream.Play.Start", "Playing."),
        ];
        for (code, description) in status {
            self.replies.status(stream, code, description);
        }
        // Flash lets a page draw and analyse only media that it is given access to.
        self.replies.data(stream, |e| {
            e.string("|RtmpSampleAccess").boolean(true).boolean(true);
        });
        self.replies.data(stream, |e| {
            e.string("onStatus").object();
            e.key("code").string("NetStream.Data.Start").end();
        });
        if playback.is_paused {
            self.say_paused(stream, true);
        }
    }

    /// Returns the present wishes of the accepted player.
    pub fn playback(&self) -> Option<Playback> {
        self.player.playback()
    }

    /// Announces to a player that its stream is over. The session stays open: another request may follow.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request is no longer playing.
    pub fn end_play(
        &mut self,
        id: RequestId,
        description: &str,
        now: Instant,
    ) -> Result<(), Withdrawn> {
        if self.is_closed() || self.playback().is_none_or(|playback| playback.id != id) {
            return Err(Withdrawn);
        }
        self.player.end();
        self.clock.deadline = Some(now + REQUEST_TIMEOUT);
        let code = "NetStream.Play.UnpublishNotify";
        self.replies.status(id.stream, code, description);
        self.replies.user_control(control::STREAM_EOF, &[id.stream]);
        Ok(())
    }

    /// Answers `play` and `play2`.
    pub(super) fn play(
        &mut self,
        command: &Command<'_>,
        stream: u32,
        now: Instant,
    ) -> Option<Event> {
        let stream = if stream == 0 { FIRST } else { stream };
        let refusal = match (self.publication.id(), self.player.id()) {
            (Some(_), _) => Some("This connection publishes."),
            (_, Some(current)) if current.stream != stream => Some("One stream per connection."),
            _ => None,
        };
        if let Some(description) = refusal {
            let code = "NetStream.Play.Failed";
            self.replies.error(stream, code, description);
            return None;
        }
        let mut passage = passage(command);
        let name = match command.argument(0) {
            // Flash's way to stop.
            Some(Value::Boolean(false)) => return self.end_stream(stream, now),
            Some(options @ Value::Object(_)) => {
                passage = Passage::default();
                let name = options.property("streamName");
                name.and_then(Value::text).unwrap_or_default()
            }
            _ => command.text(0),
        };
        let request = Request {
            passage,
            ..self.request(&name, stream)
        };
        self.reader.set_limits(Limits::PLAYER);
        self.player.request(request.id);
        Some(Event::Play(Box::new(request)))
    }

    /// Answers `pause` and `pauseRaw`.
    pub(super) fn pause(&mut self, command: &Command<'_>, stream: u32) -> Option<Event> {
        let id = self.playing_on(stream)?;
        let is_paused = match command.argument(0) {
            Some(Value::Boolean(is_paused)) => *is_paused,
            // Flash's `togglePause`.
            _ => self.playback().is_none_or(|playback| !playback.is_paused),
        };
        let is_new = self.player.pause(is_paused);
        self.playback()?;
        self.say_paused(id.stream, is_paused);
        let event = match is_paused {
            true => Event::Pause(id),
            false => Event::Resume(id),
        };
        is_new.then_some(event)
    }

    /// Answers `receiveAudio` and `receiveVideo` (RTMP 1.0 §7.2.2.4, §7.2.2.5).
    pub(super) fn select(
        &mut self,
        command: &Command<'_>,
        stream: u32,
        part: Part,
    ) -> Option<Event> {
        let Some(&Value::Boolean(is_wanted)) = command.argument(0) else {
            return None;
        };
        if self.player.id().is_some() {
            self.playing_on(stream)?;
        }
        let is_new = self.player.select(part, is_wanted);
        let Playback {
            id, audio, video, ..
        } = self.playback()?;
        if is_wanted {
            let status = [
                ("NetStream.Seek.Notify", "The stream continues."),
                ("NetStream.Play.Start", "Playing."),
            ];
            for (code, description) in status {
                self.replies.status(id.stream, code, description);
            }
        }
        is_new.then_some(Event::Select { id, audio, video })
    }

    /// Returns the request that commands on this message stream refer to. Some players make their request, or
    /// refer to it, on the connection itself.
    pub(super) fn playing_on(&self, stream: u32) -> Option<RequestId> {
        self.player
            .id()
            .filter(|id| id.stream == stream || stream == 0 || id.stream == 0)
    }

    fn say_paused(&mut self, stream: u32, is_paused: bool) {
        let (code, description, event) = match is_paused {
            true => ("NetStream.Pause.Notify", "Paused.", control::STREAM_EOF),
            false => (
                "NetStream.Unpause.Notify",
                "Going on.",
                control::STREAM_BEGIN,
            ),
        };
        self.replies.status(stream, code, description);
        self.replies.user_control(event, &[stream]);
    }
}
