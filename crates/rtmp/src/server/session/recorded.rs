//! Playing a recorded stream: the player's start position, its seeks, and the end.

use std::time::Duration;

use super::Session;
use crate::{
    amf0::Value,
    command::Command,
    server::{
        event::{Event, Passage, RequestId, Start, Withdrawn},
        playback::Playback,
    },
    words::control,
};

/// Reads the arguments of `play` after the name: start and duration. The specification has them in seconds;
/// on the wire they are milliseconds, except for the negative numbers, which are sent either way.
pub(super) fn passage(command: &Command<'_>) -> Passage {
    let number = |index| command.argument(index).and_then(Value::number);
    let start = match number(1) {
        Some(-1.0 | -1_000.0) => Start::Live,
        Some(start) if start >= 0.0 => Start::Recorded(millis(start)),
        _ => Start::LiveOrRecorded,
    };
    Passage {
        start,
        duration: number(2).filter(|duration| *duration >= 0.0).map(millis),
    }
}

/// Converts milliseconds. The conversion saturates: a request for a thousand years receives all there is.
fn millis(number: f64) -> Duration {
    Duration::from_millis(u64::from(number as u32))
}

impl Session {
    /// Lets a player begin with a recorded stream, as [`accept_play`](Self::accept_play) does with a live
    /// one.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request no longer exists.
    pub fn accept_recorded(&mut self, id: RequestId) -> Result<Playback, Withdrawn> {
        if self.is_closed() {
            return Err(Withdrawn);
        }
        let playback = self.player.accept_recorded(id).ok_or(Withdrawn)?;
        self.replies
            .user_control(control::STREAM_IS_RECORDED, &[id.stream]);
        self.say_started(&playback);
        Ok(playback)
    }

    /// Returns how much media the player wants to buffer.
    pub fn buffer(&self) -> Duration {
        self.player.buffer()
    }

    /// Answers [`Event::Seek`]: the media from the new position follows, or, if that position does not exist,
    /// the media that would have followed without the seek.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request is no longer playing.
    pub fn sought(&mut self, id: RequestId, is_found: bool) -> Result<(), Withdrawn> {
        self.expect_recorded(id)?;
        if !is_found {
            let code = "NetStream.Seek.InvalidTime";
            let description = "There is no such place.";
            self.replies.error(id.stream, code, description);
            return Ok(());
        }
        let (code, description) = ("NetStream.Seek.Notify", "Seeking.");
        self.replies.user_control(control::STREAM_EOF, &[id.stream]);
        self.replies.status(id.stream, code, description);
        self.replies
            .user_control(control::STREAM_IS_RECORDED, &[id.stream]);
        self.replies
            .user_control(control::STREAM_BEGIN, &[id.stream]);
        let (code, description) = ("NetStream.Play.Start", "Playing.");
        self.replies.status(id.stream, code, description);
        Ok(())
    }

    /// Announces to a player that it has received all of its stream, of this length. It may seek back, or
    /// request another.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request is no longer playing.
    pub fn complete(&mut self, id: RequestId, length: Duration) -> Result<(), Withdrawn> {
        self.expect_recorded(id)?;
        self.replies.data(id.stream, |e| {
            e.string("onPlayStatus").object();
            e.key("level").string("status");
            e.key("code").string("NetStream.Play.Complete");
            e.key("duration").number(length.as_secs_f64()).end();
        });
        let (code, description) = ("NetStream.Play.Stop", "That was all.");
        self.replies.status(id.stream, code, description);
        self.replies.user_control(control::STREAM_EOF, &[id.stream]);
        Ok(())
    }

    fn expect_recorded(&self, id: RequestId) -> Result<(), Withdrawn> {
        match !self.is_closed() && self.player.recorded() == Some(id) {
            true => Ok(()),
            false => Err(Withdrawn),
        }
    }

    /// Handles a seek: a recorded stream continues at another position. A live stream has no positions, yet
    /// ffmpeg and librtmp discard all media until they receive the confirmation of the seek, and an error
    /// makes ffmpeg leave.
    pub(super) fn seek(&mut self, command: &Command<'_>, stream: u32) -> Option<Event> {
        let id = self.playing_on(stream)?;
        self.playback()?;
        if self.player.recorded().is_none() {
            let code = "NetStream.Seek.Notify";
            let description = "The stream is live and continues.";
            self.replies.status(id.stream, code, description);
            return None;
        }
        let to = command.argument(0).and_then(Value::number).unwrap_or(0.0);
        let to = millis(to);
        Some(Event::Seek { id, to })
    }
}
