//! A client that follows a live stream and records the responses.
//!
//! It reloads the playlist by blocking requests, one part after another, and requests each announced part on a thread of its
//! own before the part exists. Between reloads, it fetches whole segments and initialization sections, repeats requests for
//! resources shortly before they may disappear, and does what players do now and then: delta updates, compression, conditional
//! requests, and requests that must fail.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::history::{Answer, CodingTrial, DeltaTrial, History, Subject, Version};
use super::multivariant::MultivariantPlaylist;
use super::playlist::{MediaPlaylist, resolve};
use super::rules::Sightings;
use crate::http::{self, Response};
use crate::{DEADLINE, Tool, wait_until};

/// Number of reloads between two of the occasional trials.
const RELOADS_PER_TRIAL: u64 = 4;
/// Time before a listed resource may disappear at which it is fetched again.
const BEFORE_IT_GOES: Duration = Duration::from_secs(1);
/// Maximum number of requests in progress for announced parts: the server answers the oldest before it announces the next but
/// one.
const HINTS_MAX: usize = 16;
/// Number of attempts to get two equal playlists with another response between them.
const TRIES: usize = 10;

/// An active client.
#[derive(Debug)]
pub struct Watch {
    addr: SocketAddr,
    started: Instant,
    history: History,
    sightings: Sightings,
    /// Requests in progress for announced parts.
    hints: Vec<JoinHandle<Answer>>,
    /// Parts, segments and initialization sections that have been requested.
    asked: HashSet<String>,
    /// Resources to be fetched again, and the times.
    due: Vec<(Duration, String)>,
    reloads: u64,
}

impl Watch {
    /// Begins with the multivariant playlist at `path`, as soon as there is one, and its first variant.
    ///
    /// # Panics
    /// Panics if there is none in time, or if it is not a playlist.
    #[must_use]
    pub fn start(addr: SocketAddr, path: &str) -> Self {
        let mut watch = Self {
            addr,
            started: Instant::now(),
            history: History::default(),
            sightings: Sightings::default(),
            hints: Vec::new(),
            asked: HashSet::new(),
            due: Vec::new(),
            reloads: 0,
        };
        let mut text = String::new();
        wait_until(&format!("{path} at {addr}"), DEADLINE, || {
            let answer = watch.ask(Subject::Multivariant, path, None);
            text = answer.text();
            answer.status == 200
        });
        let parsed = MultivariantPlaylist::parse(&text);
        let parsed = parsed.unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
        let uris = parsed.variants.iter().map(|variant| &variant.uri);
        let mut uris = uris.chain(&parsed.renditions).map(|uri| resolve(path, uri));
        watch.history.playlist = uris.next().unwrap_or_default();
        watch.history.others = uris.collect();
        let playlist = watch.history.playlist.clone();
        wait_until(&format!("{playlist} at {addr}"), DEADLINE, || {
            watch.reload(Subject::Playlist, &playlist) == 200
        });
        watch
    }

    /// Follows the stream until `done` returns true for the history, the stream has ended, or it is gone.
    pub fn follow(&mut self, mut done: impl FnMut(&History) -> bool) {
        while !done(&self.history) {
            let Some(newest) = self.history.versions.last() else {
                return;
            };
            if newest.playlist.is_ended {
                return;
            }
            let (segment, part) = newest.playlist.next_part();
            let query = format!("_HLS_msn={segment}&_HLS_part={part}");
            let path = with_query(&self.history.playlist, &query);
            match self.reload(Subject::BlockingPlaylist, &path) {
                // The publisher is away, and may come back.
                200 | 503 => {}
                _ => {
                    let plain = self.history.playlist.clone();
                    if self.reload(Subject::Playlist, &plain) != 200 {
                        return;
                    }
                }
            }
            self.fetch_due();
            self.reloads += 1;
            if self.reloads.is_multiple_of(RELOADS_PER_TRIAL) {
                self.try_something(self.reloads / RELOADS_PER_TRIAL);
            }
        }
    }

    /// Follows the stream for `span`.
    pub fn follow_for(&mut self, span: Duration) {
        let end = Instant::now() + span;
        self.follow(|_| Instant::now() >= end);
    }

    /// Returns the history so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the history, once the requested announced parts have arrived.
    ///
    /// # Panics
    /// Panics if a request for one is not answered in time.
    pub fn finish(mut self) -> History {
        let hints = std::mem::take(&mut self.hints);
        self.history.answers.extend(hints.into_iter().map(answered));
        self.history
    }

    fn ask(&mut self, subject: Subject, path: &str, condition: Option<&str>) -> Response {
        let answer = ask(self.addr, self.started, subject, path, condition);
        let response = answer.response.clone();
        self.history.answers.push(answer);
        response
    }

    /// Requests the playlist and the new resources in it. Returns the status.
    fn reload(&mut self, subject: Subject, path: &str) -> u16 {
        let answer = self.ask(subject, path, None);
        if answer.status == 200
            && let Some(playlist) = self.parse(&answer)
        {
            let versions = self.history.versions.len();
            let at = self.started.elapsed();
            self.history.see(at, answer.text(), playlist);
            if let Some(version) = self.history.versions.get(versions) {
                let version = version.clone();
                self.take(&version);
            }
        }
        answer.status
    }

    fn parse(&mut self, answer: &Response) -> Option<MediaPlaylist> {
        let text = answer.text();
        match MediaPlaylist::parse(&text) {
            Ok(playlist) => Some(playlist),
            Err(error) => {
                self.history.unreadable.push(format!("{error}\n{text}"));
                None
            }
        }
    }

    fn take(&mut self, version: &Version) {
        let hint = version.playlist.hinted_part();
        if let Some(path) = hint.map(|uri| self.history.path(uri))
            && self.asked.insert(path.clone())
        {
            self.reap();
            let (addr, started) = (self.addr, self.started);
            self.hints.push(std::thread::spawn(move || {
                ask(addr, started, Subject::Media, &path, None)
            }));
        }
        let (new, removed) = self.sightings.see(&self.history.playlist, version);
        for path in new {
            if self.asked.insert(path.clone()) {
                self.ask(Subject::Media, &path, None);
            }
        }
        let now = self.started.elapsed();
        for obligation in removed {
            let at = obligation
                .until
                .map(|until| until.saturating_sub(BEFORE_IT_GOES));
            self.due
                .extend(at.filter(|at| *at > now).map(|at| (at, obligation.path)));
        }
    }

    /// Collects the announced parts that have arrived.
    fn reap(&mut self) {
        let come = self.hints.extract_if(.., |hint| hint.is_finished());
        self.history.answers.extend(come.map(answered));
        assert!(
            self.hints.len() < HINTS_MAX,
            "{}: {HINTS_MAX} announced parts are not answered",
            self.history.playlist
        );
    }

    fn fetch_due(&mut self) {
        let now = self.started.elapsed();
        let due: Vec<_> = self.due.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, path) in due {
            self.ask(Subject::Media, &path, None);
        }
    }

    /// Tries one thing after another; `None` if what it needs is not there.
    fn try_something(&mut self, turn: u64) -> Option<()> {
        match turn % 5 {
            0 => self.try_delta(),
            1 => self.try_coding("gzip"),
            2 => self.try_coding("br"),
            3 => self.try_conditions(),
            _ => self.try_failures(),
        }
    }

    /// Sends a plain request for the playlist, which counts as a reload.
    fn plain(&mut self) -> Option<(Response, MediaPlaylist)> {
        let path = self.history.playlist.clone();
        self.reload(Subject::Playlist, &path);
        let mut answers = self.history.answers.iter().rev();
        let answer = answers.find(|answer| answer.path == path)?;
        let response = answer.response.clone();
        let playlist = MediaPlaylist::parse(&response.text()).ok()?;
        Some((response, playlist))
    }

    fn try_delta(&mut self) -> Option<()> {
        for _ in 0..TRIES {
            let (_, before) = self.plain()?;
            before.can_skip_until()?;
            let path = with_query(&self.history.playlist, "_HLS_skip=YES");
            let delta = self.ask(Subject::Playlist, &path, None);
            let delta = self.parse(&delta)?;
            let (_, whole) = self.plain()?;
            let end = |playlist: &MediaPlaylist| (playlist.sequence, playlist.next_part());
            if end(&delta) == end(&whole) {
                self.history.deltas.push(DeltaTrial {
                    before,
                    delta,
                    whole,
                });
                break;
            }
        }
        Some(())
    }

    fn try_coding(&mut self, coding: &str) -> Option<()> {
        for _ in 0..TRIES {
            let (plain, _) = self.plain()?;
            let url = format!("http://{}{}", self.addr, self.history.playlist);
            let said = Tool::new("curl")
                .args(["--silent", "--show-error", "--include", "--compressed"])
                .args(["--header", &format!("Accept-Encoding: {coding}"), &url])
                .run(DEADLINE);
            let coded = Response::parse(&said);
            let (again, _) = self.plain()?;
            if plain.body == again.body {
                self.history.codings.push(CodingTrial {
                    coding: coding.to_owned(),
                    plain,
                    coded,
                });
                break;
            }
        }
        Some(())
    }

    /// Requests the playlist and the newest segment again, if they have changed.
    fn try_conditions(&mut self) -> Option<()> {
        let (playlist, _) = self.plain()?;
        let is_segment =
            |answer: &&Answer| answer.subject == Subject::Media && answer.response.status == 200;
        let segment = self.history.answers.iter().rev().find(is_segment);
        let segment = segment.map(|answer| (answer.path.clone(), answer.response.clone()));
        let path = self.history.playlist.clone();
        if let Some(tag) = playlist.header("etag") {
            self.ask(Subject::Playlist, &path, Some(tag));
        }
        let (path, response) = segment?;
        self.ask(Subject::Media, &path, Some(response.header("etag")?));
        Some(())
    }

    /// Sends requests that must fail; the rules apply to the headers of these responses, too.
    fn try_failures(&mut self) -> Option<()> {
        let path = with_query(&self.history.playlist, "_HLS_part=1");
        self.ask(Subject::BlockingPlaylist, &path, None);
        self.ask(Subject::Media, &self.history.path("nothing.mp4"), None);
        Some(())
    }
}

/// Counts of responses, for tests that require having seen them.
impl History {
    /// Returns the number of responses with a status, by subject.
    pub fn count(&self, status: u16) -> HashMap<Subject, usize> {
        let mut counts = HashMap::new();
        for answer in &self.answers {
            if answer.response.status == status {
                *counts.entry(answer.subject).or_default() += 1;
            }
        }
        counts
    }
}

fn ask(
    addr: SocketAddr,
    started: Instant,
    subject: Subject,
    path: &str,
    condition: Option<&str>,
) -> Answer {
    let more = condition.map(|tag| format!("If-None-Match: {tag}\r\n"));
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n{}\r\n",
        more.unwrap_or_default()
    );
    let asked = started.elapsed();
    let response = http::request(addr, head.as_bytes(), DEADLINE);
    Answer {
        asked,
        answered: started.elapsed(),
        subject,
        path: path.to_owned(),
        condition: condition.map(str::to_owned),
        response,
    }
}

fn answered(hint: JoinHandle<Answer>) -> Answer {
    let answer = hint.join();
    answer.unwrap_or_else(|_| panic!("a request for an announced part was not answered"))
}

/// Returns a path with an additional query.
fn with_query(path: &str, query: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_added() {
        assert_eq!(with_query("/a", "b=1"), "/a?b=1");
        assert_eq!(with_query("/a?k=x", "b=1"), "/a?k=x&b=1");
    }
}
