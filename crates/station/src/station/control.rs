//! What a station plays next, and what it shows: its programme, the scans that find its tracks, the
//! operator's commands, and the report.
//!
//! The driver asks it for tracks, and waits through it, so that commands are carried out whatever it waits for.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::driver::now;
use super::handle::Message;
use super::{Command, Context, Settings, Station};
use crate::library::{ListError, Refused};
use crate::programme::{Moment, Programme, RequestRefused, minute_of_week};
use crate::report::{Change, Outcome, Phase, Playing, Report};
use crate::scan::{Library, scan};
use crate::track::{Format, Track};

/// See the module's description.
pub(super) struct Control {
    pub(super) settings: Settings,
    pub(super) context: Arc<Context>,
    commands: mpsc::Receiver<Message>,
    shown: watch::Sender<Arc<Report>>,
    report: Report,
    /// What is not played; what is, is in the programme.
    library: Library,
    programme: Programme,
    /// A scan that is under way.
    scanning: Option<JoinHandle<Scanned>>,
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
        let lists = settings
            .lists
            .iter()
            .map(|list| (list.role, list.order, list.hours.clone()));
        Self {
            programme: Programme::new(lists, settings.is_looped, settings.distances, seed),
            settings,
            context,
            commands,
            shown,
            report: Report::default(),
            library: Library::default(),
            scanning: None,
        }
    }

    /// The format of all tracks; `None` without tracks.
    pub(super) fn format(&self) -> Option<Format> {
        self.report.format
    }

    /// How many tracks there are.
    pub(super) fn tracks(&self) -> usize {
        self.report.tracks
    }

    /// Whether there is a next track.
    pub(super) fn has_next(&self) -> bool {
        self.programme.peek(moment()).is_some()
    }

    /// Shows that there is nothing to play, and why.
    pub(super) fn show_idle(&mut self) {
        self.show(match self.report.tracks == 0 {
            _ if self.scanning.is_some() => Phase::Scanning,
            true => Phase::Empty,
            false => Phase::Ended,
        });
    }

    /// Goes on to the next track.
    pub(super) fn next_track(&mut self) -> Option<Track> {
        let (track, by) = self.programme.advance(moment())?;
        let playing = Playing {
            title: track.title.clone(),
            name: track.name.clone(),
            since: SystemTime::now(),
            length: track.length,
            by,
        };
        (self.context.tell)(&self.settings.stream, Change::Began(&playing));
        self.report.current = Some(playing);
        self.show(Phase::Playing);
        Some(track)
    }

    /// The present track has ended, if there is one.
    pub(super) fn end_track(&mut self, outcome: Outcome) {
        let Some(played) = self.report.end_track(outcome) else {
            return;
        };
        (self.context.tell)(&self.settings.stream, Change::Ended(played));
        self.context.stats.tracks.count(outcome);
        self.show(self.report.phase);
    }

    /// The present track cannot be read on.
    pub(super) fn tell_cut(&self, error: &io::Error) {
        let track = self.report.current.as_ref().map(|track| &track.name);
        tracing::warn!(stream = %self.settings.stream, ?track, %error, "a track cannot be read on");
    }

    /// A file has gone, or cannot be read any more.
    pub(super) fn refuse(&mut self, track: &Track, error: io::Error) {
        let refused = Refused::new(track.name.clone(), &error.into());
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
            let lists = self.settings.lists.iter();
            let catalogues: Vec<_> = lists.map(|list| list.catalogue.clone()).collect();
            self.scanning = Some(spawn_blocking(move || scan(&catalogues)));
        }
    }

    /// Goes on with what a scan has found. The present track is not affected.
    fn adopt(&mut self, scanned: Result<Scanned, JoinError>) {
        let stream = &self.settings.stream;
        let mut library = match scanned {
            Ok(Ok(library)) => library,
            Ok(Err(error)) => return self.scan_failed(&error),
            Err(error) => return self.scan_failed(&error),
        };
        let (tracks, refused) = (library.tracks(), library.refused_count);
        tracing::info!(%stream, tracks, refused, "the station has looked into its files");
        library.refused.iter().for_each(|one| self.tell(one));
        self.report.format = library.format();
        self.report.tracks = tracks;
        self.programme.renew(std::mem::take(&mut library.lists));
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
        let next = self.programme.peek(moment());
        let report = &mut self.report;
        report.phase = phase;
        report.next = next.map(|(track, _)| track.title.clone());
        let requests = self.programme.requests();
        report.requests = requests.map(|track| track.name.clone()).collect();
        report.refused.clone_from(&self.library.refused);
        report.refused_count = self.library.refused_count;
        self.shown.send_replace(Arc::new(report.clone()));
    }

    fn request(&mut self, name: &str, answer: oneshot::Sender<Result<usize, RequestRefused>>) {
        let answered = self.programme.request(name, now());
        // Who has gone needs no answer.
        let _gone = answer.send(answered);
        self.show(self.report.phase);
    }

    /// Waits for something, and carries out the operator's commands meanwhile.
    pub(super) async fn wait<T>(&mut self, until: impl Future<Output = T>) -> Waited<T> {
        let mut until = pin!(until);
        loop {
            tokio::select! {
                done = &mut until => return Waited::Due(done),
                Some(message) = self.commands.recv() => match message {
                    Message::Command(Command::Skip) => return Waited::Skip,
                    Message::Command(Command::Reload) => self.begin_scan(),
                    Message::Request { name, answer } => self.request(&name, answer),
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
                    self.programme.advance(moment());
                    self.show(self.report.phase);
                }
            }
        }
    }

    /// Waits for the end of a scan, also for one that is still to be commanded, or for a request.
    pub(super) async fn renewed(&mut self) {
        loop {
            tokio::select! {
                Some(message) = self.commands.recv() => match message {
                    Message::Command(Command::Skip) => {}
                    Message::Command(Command::Reload) => {
                        self.begin_scan();
                        self.show(Phase::Scanning);
                    }
                    Message::Request { name, answer } => {
                        self.request(&name, answer);
                        if self.has_next() {
                            return;
                        }
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

/// The present.
fn moment() -> Moment {
    Moment {
        now: now(),
        minute: minute_of_week(SystemTime::now()),
    }
}
