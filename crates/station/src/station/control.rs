//! What a station plays next, and what it shows: its tracks and their order, the scans that find them, the operator's
//! commands, and the report.
//!
//! The driver asks it for tracks, and waits through it, so that commands are carried out whatever it waits for.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::{Command, Context, Settings, Station};
use crate::library::{ListError, Refused};
use crate::order::Order;
use crate::report::{Change, Outcome, Phase, Playing, Report};
use crate::scan::{Library, scan};
use crate::track::{Format, Track};

/// See the module's description.
pub(super) struct Control {
    pub(super) settings: Settings,
    pub(super) context: Arc<Context>,
    commands: mpsc::Receiver<Command>,
    shown: watch::Sender<Arc<Report>>,
    report: Report,
    library: Library,
    order: Order,
    /// A scan that is under way.
    scanning: Option<JoinHandle<Scanned>>,
    /// The last track that was begun.
    last: Option<Track>,
}

type Scanned = Result<Library, ListError>;

/// How a wait ended.
pub(super) enum Waited<T> {
    /// What was waited for is there.
    Due(T),
    /// The operator wants the next track.
    Skip,
}

impl Control {
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
            last: None,
        }
    }

    /// The format of all tracks; `None` without tracks.
    pub(super) fn format(&self) -> Option<Format> {
        self.library.format()
    }

    /// How many tracks there are.
    pub(super) fn tracks(&self) -> usize {
        self.library.tracks.len()
    }

    /// Whether there is a next track.
    pub(super) fn has_next(&self) -> bool {
        self.order.peek().is_some()
    }

    /// Shows that there is nothing to play, and why.
    pub(super) fn show_idle(&mut self) {
        self.show(match self.library.tracks.is_empty() {
            _ if self.scanning.is_some() => Phase::Scanning,
            true => Phase::Empty,
            false => Phase::Ended,
        });
    }

    /// Goes on to the next track.
    pub(super) fn next_track(&mut self) -> Option<Track> {
        let track = self.library.tracks.get(self.order.advance()?)?.clone();
        let playing = Playing {
            title: track.title.clone(),
            name: track.name.clone(),
            since: SystemTime::now(),
            length: track.length,
        };
        (self.context.tell)(&self.settings.stream, Change::Began(&playing));
        self.report.current = Some(playing);
        self.last = Some(track.clone());
        self.show(Phase::Playing);
        Some(track)
    }

    /// The present track has ended, if there is one.
    pub(super) fn end_track(&mut self, outcome: Outcome) {
        let Some(played) = self.report.end_track(outcome) else {
            return;
        };
        (self.context.tell)(&self.settings.stream, Change::Ended(played));
        self.context.stats.ended(outcome);
        self.show(self.report.phase);
    }

    /// The present track cannot be read on.
    pub(super) fn tell_cut(&self, error: &io::Error) {
        let track = self.report.current.as_ref().map(|track| &track.name);
        tracing::warn!(stream = %self.settings.stream, ?track, %error, "a track cannot be read on");
    }

    /// A file has gone, or cannot be read any more.
    pub(super) fn refuse(&mut self, track: &Track, error: &io::Error) {
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

    /// Has the files looked into, unless that is under way.
    pub(super) fn begin_scan(&mut self) {
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

    /// Shows what the station is doing.
    pub(super) fn show(&mut self, phase: Phase) {
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
    pub(super) async fn wait<T>(&mut self, until: impl Future<Output = T>) -> Waited<T> {
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
    pub(super) async fn through<T>(&mut self, until: impl Future<Output = T>) -> T {
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
    pub(super) async fn renewed(&mut self) {
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
