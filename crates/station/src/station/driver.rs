//! A station that runs: what it plays next, when, and to whom it gives way.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fanout::{PublishRefused, Publisher, Source};
use media::Item;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::{Command, Context, PROTOCOL, Settings, Station};
use crate::library::{ListError, Refused};
use crate::order::Order;
use crate::playout::{Need, Playout};
use crate::report::{Outcome, Phase, Playing, Report};
use crate::scan::{Library, scan};
use crate::track::Track;

/// What is read of a file at once: four seconds at 128 kb/s.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a station waits after nothing could be played, or when it may not publish: no operator wants it to be
/// faster, and a missing disk costs next to nothing so.
const RETRY: Duration = Duration::from_secs(5);

/// See the module's description.
pub(super) struct Driver {
    settings: Settings,
    context: Arc<Context>,
    commands: mpsc::Receiver<Command>,
    shown: watch::Sender<Arc<Report>>,
    report: Report,
    library: Library,
    order: Order,
    /// A scan that is under way.
    scanning: Option<JoinHandle<Scanned>>,
    /// The number of the next epoch's stream of Ogg.
    serial: u32,
    /// The last track that was begun.
    last: Option<Track>,
}

type Scanned = Result<Library, ListError>;

/// How a wait ended.
enum Waited<T> {
    /// What was waited for is there.
    Due(T),
    /// The operator wants the next track.
    Skip,
}

/// What a turn of play-out ended with.
enum Ending {
    /// Another publisher has the stream.
    Superseded,
    /// There is no next track, or it is of another format.
    Over,
}

impl Driver {
    pub(super) fn new(station: Station, context: Arc<Context>) -> Self {
        let Station {
            settings,
            commands,
            shown,
            seed,
        } = station;
        Self {
            order: Order::new(settings.order, settings.is_looped, 0, seed),
            settings,
            context,
            commands,
            shown,
            report: Report::default(),
            library: Library::default(),
            scanning: None,
            serial: seed as u32,
            last: None,
        }
    }

    pub(super) async fn run(mut self) {
        self.begin_scan();
        loop {
            if self.order.peek().is_none() {
                self.show(match self.library.tracks.is_empty() {
                    _ if self.scanning.is_some() => Phase::Scanning,
                    true => Phase::Empty,
                    false => Phase::Ended,
                });
                self.renewed().await;
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

    /// Begins an epoch; `None` when there is nothing to play any more.
    async fn take_stream(&mut self) -> Option<(Publisher, Playout)> {
        loop {
            let format = self.library.format()?;
            let permission = (self.context.permit)(&self.settings.stream);
            let (container, content_type) = Playout::container(format);
            let source = Source {
                protocol: PROTOCOL,
                peer: None,
                agent: self.context.agent.clone(),
                container,
                content_type: content_type.to_owned(),
                headers: Vec::new(),
            };
            let registry = &self.context.registry;
            let wait = match registry.publish(&permission, source, now()) {
                Ok(publisher) => {
                    tracing::info!(stream = %self.settings.stream, %format, "the station begins");
                    self.serial = self.serial.wrapping_add(1);
                    return Some((publisher, Playout::new(format, self.serial, now())));
                }
                Err(PublishRefused::Busy | PublishRefused::Replaced) => {
                    self.until_vacant().await;
                    continue;
                }
                Err(PublishRefused::Ended) => Duration::ZERO,
                Err(reason) => {
                    tracing::warn!(stream = %self.settings.stream, %reason, "the station cannot publish");
                    RETRY
                }
            };
            self.show(Phase::Refused);
            // A stream that is ending is gone by the next attempt.
            self.through(tokio::time::sleep(wait)).await;
        }
    }

    /// Waits until there has been no other publisher for the time of the linger.
    async fn until_vacant(&mut self) {
        self.show(Phase::Away);
        let (context, linger) = (Arc::clone(&self.context), self.settings.linger);
        let name = self.settings.stream.clone();
        loop {
            if let Some(stream) = context.registry.stream(&name) {
                self.through(stream.vacated()).await;
            }
            let wait = async {
                tokio::select! {
                    () = tokio::time::sleep(linger) => true,
                    _ = context.registry.live(&name) => false,
                }
            };
            if self.through(wait).await {
                return;
            }
        }
    }

    /// Plays one track after the other.
    async fn play(&mut self, mut publisher: Publisher, mut playout: Playout) -> Ending {
        let watch = publisher.epoch_watch();
        let mut items = Vec::new();
        playout.announce(&mut items);
        let mut file = None;
        // Tracks without sound in a row, and where the present one began.
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
                    match self.wait(due).await {
                        Waited::Due(true) => {}
                        Waited::Due(false) => return self.leave(),
                        Waited::Skip => {
                            playout.skip();
                            file = None;
                            self.end_track(Outcome::Skipped);
                        }
                    }
                }
                Need::Bytes => match read(file.take()).await {
                    Ok((open, bytes)) if !bytes.is_empty() => {
                        playout.push(&bytes);
                        file = Some(open);
                    }
                    Ok(_) => playout.finish(),
                    Err(error) => {
                        let track = self.report.current.as_ref().map(|track| &track.name);
                        tracing::warn!(stream = %self.settings.stream, ?track, %error, "a track cannot be read on");
                        playout.finish();
                    }
                },
                Need::Track => {
                    if !self.write(&mut publisher, &mut items) {
                        return self.leave();
                    }
                    let is_silent = playout.samples() == began;
                    silent = if is_silent { silent + 1 } else { 0 };
                    self.end_track(match is_silent {
                        true => Outcome::Failed,
                        false => Outcome::Played,
                    });
                    if silent > self.library.tracks.len() {
                        silent = 0;
                        self.through(tokio::time::sleep(RETRY)).await;
                    }
                    if self.library.format() != Some(playout.format()) {
                        return Ending::Over;
                    }
                    let Some(track) = self.next_track() else {
                        return Ending::Over;
                    };
                    began = playout.samples();
                    let opened = {
                        let track = track.clone();
                        spawn_blocking(move || open(&track)).await
                    };
                    match flat(opened) {
                        Ok(open) => {
                            file = Some(open);
                            playout.begin(&track);
                        }
                        Err(error) => self.refuse(&track, &error),
                    }
                }
            }
        }
    }

    /// Another publisher has the stream.
    fn leave(&mut self) -> Ending {
        tracing::info!(stream = %self.settings.stream, "the station gives way to a publisher");
        self.end_track(Outcome::Interrupted);
        Ending::Superseded
    }

    /// Whether the stream is still the station's.
    fn write(&self, publisher: &mut Publisher, items: &mut Vec<Item>) -> bool {
        if items.is_empty() {
            return true;
        }
        let sizes = items.iter().map(|item| match item {
            Item::Sample(sample) => sample.bytes() as u64,
            _ => 0,
        });
        let bytes = sizes.sum();
        let is_written = publisher.write(items, now()).is_ok();
        if is_written {
            self.context.stats.wrote(bytes);
        }
        is_written
    }

    fn next_track(&mut self) -> Option<Track> {
        let track = self.library.tracks.get(self.order.advance()?)?.clone();
        let playing = Playing {
            title: track.title.clone(),
            name: track.name.clone(),
            since: SystemTime::now(),
            length: track.length,
        };
        (self.context.tell)(&self.settings.stream, &playing);
        self.report.current = Some(playing);
        self.last = Some(track.clone());
        tracing::info!(stream = %self.settings.stream, name = ?track.name, title = ?track.title, "a track begins");
        self.show(Phase::Playing);
        Some(track)
    }

    fn end_track(&mut self, outcome: Outcome) {
        if self.report.end_track(outcome) {
            self.context.stats.ended(outcome);
            self.show(self.report.phase);
        }
    }

    /// A file has gone, or cannot be read any more.
    fn refuse(&mut self, track: &Track, error: &io::Error) {
        let refused = Refused {
            name: track.name.clone(),
            reason: format!("it cannot be read: {error}"),
        };
        self.tell(&refused);
        if !self.library.refused.contains(&refused) {
            self.library.refuse(refused);
        }
    }

    fn tell(&self, refused: &Refused) {
        let Refused { name, reason } = refused;
        tracing::warn!(stream = %self.settings.stream, ?name, reason, "the station does not play a file");
    }

    fn begin_scan(&mut self) {
        if self.scanning.is_none() {
            let catalogue = self.settings.catalogue.clone();
            self.scanning = Some(spawn_blocking(move || scan(&catalogue)));
        }
    }

    /// Goes on with what a scan has found. The present track is not affected.
    fn adopt(&mut self, scanned: Result<Scanned, JoinError>) {
        let stream = &self.settings.stream;
        let library = match scanned {
            Ok(Ok(library)) => library,
            Ok(Err(error)) => return self.scan_failed(&error),
            Err(error) => return self.scan_failed(&error),
        };
        let (tracks, refused) = (library.tracks.len(), library.refused_count);
        tracing::info!(%stream, tracks, refused, "the station has looked into its files");
        library.refused.iter().for_each(|one| self.tell(one));
        let is_last = |track: &Track| {
            self.last
                .as_ref()
                .is_some_and(|last| last.path == track.path)
        };
        // After its end a station begins again.
        let last = library.tracks.iter().position(is_last);
        let last = last.filter(|_| self.order.peek().is_some());
        self.order.renew(tracks, last);
        self.library = library;
        self.report.error = None;
        self.show(self.report.phase);
    }

    /// What was found before is kept.
    fn scan_failed(&mut self, error: &dyn std::error::Error) {
        tracing::error!(stream = %self.settings.stream, %error, "the station cannot read its catalogue");
        self.report.error = Some(error.to_string());
        self.show(self.report.phase);
    }

    fn show(&mut self, phase: Phase) {
        let next = self.order.peek().and_then(|at| self.library.tracks.get(at));
        let report = &mut self.report;
        report.phase = phase;
        report.next = next.map(|track| track.title.clone());
        report.format = self.library.format();
        report.tracks = self.library.tracks.len();
        report.refused.clone_from(&self.library.refused);
        report.refused_count = self.library.refused_count;
        self.shown.send_replace(Arc::new(report.clone()));
    }

    /// Waits for something, and carries out the operator's commands meanwhile.
    async fn wait<T>(&mut self, until: impl Future<Output = T>) -> Waited<T> {
        let mut until = pin!(until);
        loop {
            tokio::select! {
                done = &mut until => return Waited::Due(done),
                Some(command) = self.commands.recv() => match command {
                    Command::Skip => return Waited::Skip,
                    Command::Reload => self.begin_scan(),
                },
                scanned = ended(&mut self.scanning) => {
                    self.scanning = None;
                    self.adopt(scanned);
                }
            }
        }
    }

    /// The same where no track is played; a skip leaves out the next one.
    async fn through<T>(&mut self, until: impl Future<Output = T>) -> T {
        let mut until = pin!(until);
        loop {
            match self.wait(&mut until).await {
                Waited::Due(done) => return done,
                Waited::Skip => {
                    self.order.advance();
                    self.show(self.report.phase);
                }
            }
        }
    }

    /// Waits for the end of a scan, or for one that is still to be commanded.
    async fn renewed(&mut self) {
        loop {
            tokio::select! {
                Some(command) = self.commands.recv() => match command {
                    Command::Skip => {}
                    Command::Reload => {
                        self.begin_scan();
                        self.show(Phase::Scanning);
                    }
                },
                scanned = ended(&mut self.scanning) => {
                    self.scanning = None;
                    return self.adopt(scanned);
                }
            }
        }
    }
}

/// Waits for a scan; for ever if there is none.
async fn ended(scanning: &mut Option<JoinHandle<Scanned>>) -> Result<Scanned, JoinError> {
    match scanning {
        Some(scanning) => scanning.await,
        None => std::future::pending().await,
    }
}

/// Opens a track where its sound begins.
fn open(track: &Track) -> io::Result<File> {
    // A link that has been put in its place since the scan may lead elsewhere.
    if track.path.canonicalize()? != track.path || !track.path.metadata()?.is_file() {
        return Err(io::Error::other("it is another file than before"));
    }
    let mut file = File::open(&track.path)?;
    file.seek(SeekFrom::Start(track.start))?;
    Ok(file)
}

/// The next bytes of a file; none at its end.
async fn read(file: Option<File>) -> io::Result<(File, Vec<u8>)> {
    let mut file = file.ok_or(io::ErrorKind::UnexpectedEof)?;
    let reading = spawn_blocking(move || {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        (&mut file)
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut bytes)?;
        Ok((file, bytes))
    });
    flat(reading.await)
}

fn flat<T>(done: Result<io::Result<T>, JoinError>) -> io::Result<T> {
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The present, by the clock of the runtime's timers.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
