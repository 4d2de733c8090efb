//! Driver of a running station: its activity over time, and its retreat before other publishers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fanout::{PublishRefused, Publisher, Source};
use media::Item;

use super::control::{Control, Waited};
use super::file::OpenFile;
use super::{Context, PROTOCOL, Station};
use crate::now;
use crate::station::playout::{Need, Playout};
use crate::station::report::{Outcome, Phase};

/// Wait after nothing could be played, or when the station may not publish: no operator needs it to be shorter, and at
/// this rate a missing disk costs next to nothing.
const RETRY: Duration = Duration::from_secs(5);

/// Driver of one station; [`run`](Self::run) is its loop.
pub(super) struct Driver {
    control: Control,
    /// Serial number of the next epoch's Ogg stream.
    serial: u32,
}

/// End of a turn of play-out.
enum Ending {
    /// Another publisher has the stream.
    Superseded,
    /// There is no next track, or it has another format.
    Over,
}

impl Driver {
    pub(super) fn new(station: Station, context: Arc<Context>) -> Self {
        Self {
            serial: station.seed as u32,
            control: Control::new(station, context),
        }
    }

    pub(super) async fn run(mut self) {
        self.control.begin_scan();
        loop {
            if !self.control.has_next() {
                self.control.show_idle();
                self.control.renewed().await;
                continue;
            }
            let Some((publisher, playout)) = self.take_stream().await else {
                continue;
            };
            match self.play(publisher, playout).await {
                Ending::Over => {}
                Ending::Superseded => self.until_vacant().await,
            }
        }
    }

    /// Begins an epoch; `None` if there is nothing left to play.
    async fn take_stream(&mut self) -> Option<(Publisher, Playout)> {
        loop {
            let format = self.control.format()?;
            let permission = (self.control.context.permit)(&self.control.settings.stream);
            let (container, content_type) = Playout::container(format);
            let source = Source {
                protocol: PROTOCOL,
                peer: None,
                agent: self.control.context.agent.clone(),
                container,
                content_type: content_type.to_owned(),
                headers: Vec::new(),
            };
            let registry = &self.control.context.registry;
            let wait = match registry.publish(&permission, source, now()) {
                Ok(publisher) => {
                    tracing::info!(stream = %self.control.settings.stream, %format, "the station begins");
                    self.serial = self.serial.wrapping_add(1);
                    return Some((publisher, Playout::new(format, self.serial, now())));
                }
                Err(PublishRefused::Busy | PublishRefused::Replaced) => {
                    self.until_vacant().await;
                    continue;
                }
                Err(PublishRefused::Ended) => Duration::ZERO,
                Err(reason) => {
                    tracing::warn!(stream = %self.control.settings.stream, %reason, "the station cannot publish");
                    RETRY
                }
            };
            self.control.show(Phase::Refused);
            // A stream that is ending will be gone at the next attempt.
            self.control.through(tokio::time::sleep(wait)).await;
        }
    }

    /// Waits until there has been no other publisher for the linger time.
    async fn until_vacant(&mut self) {
        self.control.show(Phase::Away);
        let (context, linger) = (
            Arc::clone(&self.control.context),
            self.control.settings.linger,
        );
        let name = self.control.settings.stream.clone();
        loop {
            if let Some(stream) = context.registry.stream(&name) {
                self.control.through(stream.vacated()).await;
            }
            let wait = async {
                tokio::select! {
                    () = tokio::time::sleep(linger) => true,
                    _ = context.registry.live(&name) => false,
                }
            };
            if self.control.through(wait).await {
                return;
            }
        }
    }

    /// Plays one track after another.
    async fn play(&mut self, mut publisher: Publisher, mut playout: Playout) -> Ending {
        let watch = publisher.epoch_watch();
        let mut items = Vec::new();
        playout.announce(&mut items);
        let mut file = None;
        // Number of successive tracks without samples, and the sample count at the start of the current one.
        let (mut silent, mut began) = (0, 0);
        loop {
            match playout.step(now(), &mut items) {
                Need::Time(at) => {
                    if !self.write(&mut publisher, &mut items) {
                        return self.leave();
                    }
                    let due = async {
                        tokio::select! {
                            () = tokio::time::sleep_until(at.into()) => true,
                            _ = watch.superseded() => false,
                        }
                    };
                    match self.control.wait(due).await {
                        Waited::Due(true) => {}
                        Waited::Due(false) => return self.leave(),
                        Waited::Skip => {
                            playout.skip();
                            file = None;
                            self.control.end_track(Outcome::Skipped);
                        }
                    }
                }
                Need::Items => match read(file.take()).await {
                    Ok((open, read)) if !read.is_empty() => {
                        playout.push(read);
                        file = Some(open);
                    }
                    Ok(_) => playout.finish(),
                    Err(error) => {
                        self.control.tell_cut(&error);
                        playout.finish();
                    }
                },
                Need::Track => {
                    if !self.write(&mut publisher, &mut items) {
                        return self.leave();
                    }
                    let is_silent = playout.samples() == began;
                    silent = if is_silent { silent + 1 } else { 0 };
                    self.control.end_track(match is_silent {
                        true => Outcome::Failed,
                        false => Outcome::Played,
                    });
                    if silent > self.control.tracks() {
                        silent = 0;
                        self.control.through(tokio::time::sleep(RETRY)).await;
                    }
                    if self.control.format() != Some(playout.format()) {
                        return Ending::Over;
                    }
                    let Some(track) = self.control.next_track() else {
                        return Ending::Over;
                    };
                    began = playout.samples();
                    match OpenFile::open(&track).await {
                        Ok(open) => {
                            file = Some(open);
                            playout.begin(&track);
                        }
                        Err(error) => self.control.refuse(&track, error),
                    }
                }
            }
        }
    }

    /// Gives way to another publisher.
    fn leave(&mut self) -> Ending {
        tracing::info!(stream = %self.control.settings.stream, "the station gives way to a publisher");
        self.control.end_track(Outcome::Interrupted);
        Ending::Superseded
    }

    /// Writes items; returns whether the station still has the stream.
    fn write(&self, publisher: &mut Publisher, items: &mut Vec<Item>) -> bool {
        crate::write(publisher, items, &self.control.context.stats.bytes)
    }
}

/// Reads the next items of an open file.
async fn read(file: Option<OpenFile>) -> io::Result<(OpenFile, Vec<Item>)> {
    file.ok_or(io::ErrorKind::UnexpectedEof)?.read().await
}
