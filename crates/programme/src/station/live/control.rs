//! Control of a station: its programme, the scans that find its tracks, the operator's commands, and the report.
//!
//! The driver gets its tracks here, and waits through it, so that commands are carried out during every wait.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::handle::Message;
use super::{Command, Context, Settings, Station};
use crate::now;
use crate::station::library::{ListError, Refused};
use crate::station::programme::{Moment, Programme, RequestRefused, minute_of_week};
use crate::station::report::{Change, Outcome, Phase, Playing, Report};
use crate::station::scan::{Library, scan};
use crate::station::track::{Format, Track};

/// Control of one station; [`next_track`](Self::next_track) chooses tracks, and [`wait`](Self::wait) carries out
/// commands.
pub(super) struct Control {
    pub(super) settings: Settings,
    pub(super) context: Arc<Context>,
    commands: mpsc::Receiver<Message>,
    shown: watch::Sender<Arc<Report>>,
    report: Report,
    /// Result of the last scan, without the tracks, which are in the programme.
    library: Library,
    programme: Programme,
    /// Scan in progress.
    scanning: Option<JoinHandle<Scanned>>,
}

type Scanned = Result<Library, ListError>;

/// Result of a wait.
pub(super) enum Waited<T> {
    /// Result of the awaited future.
    Due(T),
    /// Command to skip the track.
    Skip,
}

impl Control {
    pub(super) fn new(station: Station, context: Arc<Context>) -> Self {
        let settings = station.settings;
        let lists = settings
            .lists
            .iter()
            .map(|list| (list.role, list.order, list.hours.clone()));
        Self {
            programme: Programme::new(lists, settings.is_looped, settings.distances, station.seed),
            settings,
            context,
            commands: station.commands,
            shown: station.shown,
            report: Report::default(),
            library: Library::default(),
            scanning: None,
        }
    }

    /// Returns the format of all tracks; `None` if there are none.
    pub(super) fn format(&self) -> Option<Format> {
        self.report.format
    }

    /// Returns the number of tracks.
    pub(super) fn tracks(&self) -> usize {
        self.report.tracks
    }

    /// Returns whether there is a next track.
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

    /// Takes the next track and reports it as the current one.
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

    /// Ends the current track, if there is one.
    pub(super) fn end_track(&mut self, outcome: Outcome) {
        let Some(played) = self.report.end_track(outcome) else {
            return;
        };
        (self.context.tell)(&self.settings.stream, Change::Ended(played));
        self.context.stats.tracks.count(outcome);
        self.show(self.report.phase);
    }

    /// Logs that the current track cannot be read to its end.
    pub(super) fn tell_cut(&self, error: &io::Error) {
        let track = self.report.current.as_ref().map(|track| &track.name);
        tracing::warn!(stream = %self.settings.stream, ?track, %error, "a track cannot be read on");
    }

    /// Refuses a file that is gone, or can no longer be read.
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

    /// Starts a scan, unless one is in progress.
    pub(super) fn begin_scan(&mut self) {
        if self.scanning.is_none() {
            let lists = self.settings.lists.iter();
            let catalogues: Vec<_> = lists.map(|list| list.catalogue.clone()).collect();
            self.scanning = Some(spawn_blocking(move || scan(&catalogues)));
        }
    }

    /// Adopts the result of a scan. The current track is not affected.
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

    /// Shows that a scan has failed; the earlier result is kept.
    fn scan_failed(&mut self, error: &dyn std::error::Error) {
        tracing::error!(stream = %self.settings.stream, %error, "the station cannot read its catalogue");
        self.report.error = Some(error.to_string());
        self.show(self.report.phase);
    }

    /// Shows the current activity.
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
        // If the client is gone, it needs no answer.
        let _gone = answer.send(answered);
        self.show(self.report.phase);
    }

    /// Waits for a future, and carries out the operator's commands meanwhile.
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

    /// Waits for a future while no track is played; a skip omits the next track.
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

    /// Waits for the end of a scan, which may still have to be commanded, or for a request.
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

/// Waits for a scan; forever if there is none.
async fn ended(scanning: &mut Option<JoinHandle<Scanned>>) -> Result<Scanned, JoinError> {
    match scanning {
        Some(scanning) => scanning.await,
        None => std::future::pending().await,
    }
}

/// Returns the present time.
fn moment() -> Moment {
    Moment {
        now: now(),
        minute: minute_of_week(SystemTime::now()),
    }
}
