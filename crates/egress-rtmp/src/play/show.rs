//! Playback of a file: its player's task receives from it and sends to it at the same time.

use std::io;
use std::time::{Duration, Instant};

use ::rtmp::server::{Event, Passage, Playback, RequestId, Start};
use bytes::{Buf, BytesMut};
use fanout::Guest;
use net::{closing, wait};
use packagers::rtmp::Shape;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::allowance::{Allowance, Rate};
use super::reel::{Given, Reel};
use super::session::{Next, PlayerSession};
use crate::films::Film;
use crate::{Error, now};

/// Bytes per read from a player that is being sent to.
const READ_BYTES: usize = 512;

/// Longest time that a player may take nothing; equal to that for a live stream.
const PATIENCE: Duration = net::tcp::USER_TIMEOUT;

/// Longest time that a player that has received all of a file may take to seek back, or to request another.
const AFTER_END: Duration = Duration::from_secs(60);

/// Seeks of a player: someone who drags a slider makes some in a second. Each is a read from the disk.
const SEEKS: Rate = Rate {
    burst: 30.0,
    per_second: 3.0,
};

/// Playback of one file for one player.
pub(crate) struct Show {
    id: RequestId,
    reel: Reel,
    /// Player in the list of listeners: it ends with its permission, or when it is removed.
    listener: Guest,
    seeks: Allowance,
    /// Time at which the player had received everything.
    ended: Option<Instant>,
    /// Bytes being sent: whole messages, except for the first of them.
    unsent: BytesMut,
    /// Whether TLS may still hold back bytes that were written to it.
    is_unflushed: bool,
}

/// Next step.
enum Step {
    /// Continue.
    On,
    /// Wait until this time, for ever if there is none, or until the player sends something.
    Wait(Option<Instant>),
}

impl Show {
    /// Creates the playback of a file that stands at the beginning of the passage, for a player that was
    /// accepted.
    pub(super) fn new(
        film: Box<dyn Film>,
        playback: Playback,
        passage: Passage,
        listener: Guest,
    ) -> Self {
        let shape = Shape {
            message_stream: playback.id.stream(),
            audio: playback.audio,
            video: playback.video,
            wraps_metadata: false,
        };
        let start = match passage.start {
            Start::Recorded(start) => start,
            Start::Live | Start::LiveOrRecorded => Duration::ZERO,
        };
        let mut reel = Reel::new(film, shape, (start, passage.duration));
        if playback.is_paused {
            reel.pause(true, tokio::time::Instant::now());
        }
        Self {
            id: playback.id,
            reel,
            listener,
            seeks: Allowance::new(SEEKS, Instant::now()),
            ended: None,
            unsent: BytesMut::new(),
            is_unflushed: false,
        }
    }
}

impl PlayerSession {
    /// Sends a file until something else must be done; `None` when the player has left, or must leave.
    pub(super) async fn show<S>(
        &mut self,
        socket: &mut S,
        mut show: Show,
    ) -> Result<Option<Next>, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut input, mut output) = tokio::io::split(socket);
        let mut moved = now();
        let ended = show.listener.ended().clone();
        loop {
            while let Some(event) = self.next_event()? {
                if let Some(other) = self.decide(&mut show, event).await? {
                    // The reply follows whole messages.
                    closing::write(&mut output, &show.unsent).await?;
                    return Ok(Some(Next::Event(other)));
                }
            }
            let step = match show.unsent.is_empty() && !show.is_unflushed {
                true => self.refill(&mut show).await?,
                false => Step::Wait(Some(moved + PATIENCE)),
            };
            let is_sending = !show.unsent.is_empty() || show.is_unflushed;
            let until = match step {
                Step::On => {
                    moved = now();
                    Some(moved + PATIENCE)
                }
                Step::Wait(until) => until,
            };
            if self.connection.session.is_closed() && !is_sending {
                return Ok(None);
            }
            self.connection.unread.reserve(READ_BYTES);
            let (unsent, has_unsent) = (&show.unsent, !show.unsent.is_empty());
            // Nothing is lost if this future is dropped: bytes that were not written are still unsent.
            let write = async {
                match has_unsent {
                    true => output.write(unsent).await,
                    false => output.flush().await.map(|()| 0),
                }
            };
            tokio::select! {
                written = write, if is_sending => match (written, has_unsent) {
                    (Ok(0), true) => return Ok(None),
                    (Ok(count), _) => {
                        show.listener.sent(count as u64, 1);
                        show.unsent.advance(count);
                        show.is_unflushed = has_unsent;
                        moved = now();
                    }
                    (Err(error), _) => return gone(error),
                },
                read = input.read_buf(&mut self.connection.unread) => {
                    let count = closing::hung_up(read)?;
                    if count == 0 || !self.may_say(count, now()) {
                        return Ok(None);
                    }
                }
                () = wait::change(&mut self.leaving) => self.connection.ask_to_reconnect(),
                () = wait::at(until) => {
                    let has_ended = show.ended.is_some_and(|ended| now() >= ended + AFTER_END);
                    if is_sending || has_ended {
                        return Ok(None);
                    }
                }
                () = ended.revoked() => return Err(Error::Ended),
            }
        }
    }

    /// Handles an event; returns it if it is not about this file.
    async fn decide(&mut self, show: &mut Show, event: Event) -> Result<Option<Event>, Error> {
        let now = tokio::time::Instant::now();
        match event {
            Event::Pause(id) if id == show.id => show.reel.pause(true, now),
            Event::Resume(id) if id == show.id => show.reel.pause(false, now),
            Event::Select { id, audio, video } if id == show.id => show.reel.select(audio, video),
            Event::Seek { id, to } if id == show.id => {
                if !show.seeks.spend(1, now.into_std()) {
                    return Err(Error::Restless);
                }
                let is_found = to <= show.reel.length();
                if is_found {
                    show.reel.seek(to, now).await.map_err(Error::File)?;
                    show.ended = None;
                }
                // The event refers to the played request, so the request cannot have been withdrawn.
                self.connection.session.sought(id, is_found).ok();
            }
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    /// Prepares more bytes to send: the session's output, or else media.
    async fn refill(&mut self, show: &mut Show) -> Result<Step, Error> {
        let session = &mut self.connection.session;
        if !session.output().is_empty() {
            show.unsent = session.output().split();
            return Ok(Step::On);
        }
        if let Some(ended) = show.ended {
            return Ok(Step::Wait(Some(ended + AFTER_END)));
        }
        let given = show.reel.give(session.buffer(), &mut show.unsent).await;
        match given.map_err(Error::File)? {
            Given::Some => Ok(Step::On),
            Given::Later(due) => Ok(Step::Wait(Some(due.into_std()))),
            Given::Paused => Ok(Step::Wait(None)),
            Given::End => {
                show.ended = Some(now());
                session.complete(show.id, show.reel.length()).ok();
                show.unsent = session.output().split();
                Ok(Step::On)
            }
        }
    }
}

/// Handles a hang-up of the peer, or a broken connection.
fn gone(error: io::Error) -> Result<Option<Next>, Error> {
    closing::hung_up(Err(error))?;
    Ok(None)
}
