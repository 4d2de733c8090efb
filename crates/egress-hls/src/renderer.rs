//! Playlists of one channel, rendered and compressed once per version, whatever each viewer has of its own: see
//! [`Template`].
//!
//! Viewers of the live playlist never wait while the text of a DVR window is rendered, which may be a thousand times as
//! long: each of the two lists has its own lock.

use std::sync::Arc;
use std::time::SystemTime;

use base::Lock;
use base::holdings::Holdings;
use bytes::Bytes;
use fanout::{LaneIndex, Preamble, Segment};
use media::Timestamp;

use crate::digest::digest;
use crate::dvr::{Past, Window};
use crate::playlist::{self, Sheet};
use crate::promise::Promise;
use crate::reload::Directives;
use crate::report::Report;
use crate::template::Template;
use crate::wall::Wall;

/// Renderer and cache of one channel's playlists; call [`playlist`](Self::playlist) for the current version.
#[derive(Debug)]
pub(crate) struct Renderer {
    holdings: Arc<Holdings>,
    facts: Lock<Facts>,
    /// Current versions of the live playlist and of the DVR window, each whole and as a delta update.
    rendered: [Lock<[Option<Arc<Rendered>>; 2]>; 2],
}

/// Facts that playlists need beyond the lane's index.
#[derive(Clone, Debug, Default)]
struct Facts {
    wall: Wall,
    /// Digests of the lane's initialization segments; empty for an empty one.
    digests: Vec<(Arc<Preamble>, String)>,
}

/// One version of a playlist.
#[derive(Debug)]
pub(crate) struct Rendered {
    version: Version,
    reports: Vec<Report>,
    pub(crate) text: Template,
    /// Entity tag, the same for every viewer: the viewer's own part stands in the address.
    pub(crate) tag: String,
}

/// State that distinguishes versions of a playlist, apart from its reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Version {
    first: u64,
    last: u64,
    parts: usize,
    is_complete: bool,
    /// Number of events that wait for a segment.
    waiting: usize,
    /// Number of titles that wait for a segment, and the start of the newest.
    titles: (usize, Option<Timestamp>),
    /// See [`Past::revision`]; zero without a DVR window.
    revision: u64,
    is_ended: bool,
}

/// Request for a playlist.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) promise: &'a Promise,
    /// DVR window of the stream, if it has one.
    pub(crate) window: Option<&'a Window>,
    /// Whether the playlist of that window is requested, rather than the live one.
    pub(crate) is_dvr: bool,
    pub(crate) directives: &'a Directives,
    /// Ends of the other playlists of the presentation.
    pub(crate) reports: Vec<Report>,
}

impl Renderer {
    pub(crate) fn new(holdings: &Arc<Holdings>) -> Self {
        Self {
            holdings: Arc::clone(holdings),
            facts: Lock::default(),
            rendered: Default::default(),
        }
    }

    /// Returns the playlist of a lane that has `index`, whose newest media has just arrived.
    pub(crate) fn playlist(&self, index: &LaneIndex, wanted: Wanted<'_>) -> Arc<Rendered> {
        let past = match wanted.window {
            Some(window) if wanted.is_dvr => window.past(index),
            _ => Past::none(index),
        };
        let segmentation = &wanted.promise.segmentation;
        let skipped = match wanted.directives.skips && !index.is_ended {
            true => playlist::skipped(&past.kept, past.present(index), segmentation),
            false => 0,
        };
        let version = Version::of(&past, index);
        let (list, form) = (usize::from(wanted.is_dvr), usize::from(skipped > 0));
        // The lock is held while the text is rendered, so that it is rendered once: all who wait here need it. A panic
        // leaves an older version.
        let mut present = self.rendered[list].lock();
        if let Some(known) = &present[form]
            && known.version == version
            && known.reports == wanted.reports
        {
            return Arc::clone(known);
        }
        let facts = {
            let mut facts = self.facts.lock();
            facts.describe(&index.segments);
            facts.clone()
        };
        let text = self.text(&facts, index, &past, skipped, &wanted);
        let rendered = Arc::new(Rendered {
            version,
            reports: wanted.reports,
            // The tag is weak, because the codings of a text differ in their bytes (RFC 9110 §8.8.3).
            tag: format!("W/\"{}\"", digest(text.as_bytes())),
            text: Template::new(&text, &self.holdings),
        });
        present[form] = Some(Arc::clone(&rendered));
        rendered
    }

    fn text(
        &self,
        facts: &Facts,
        index: &LaneIndex,
        past: &Past,
        skipped: usize,
        wanted: &Wanted<'_>,
    ) -> String {
        // A window outlives channels, so both playlists take their times from it.
        let wall = wanted
            .window
            .map(|window| window.wall(index, SystemTime::now()));
        let sheet = Sheet {
            promise: wanted.promise,
            kept: &past.kept,
            segments: past.present(index),
            waiting: &index.waiting,
            waiting_titles: &index.waiting_titles,
            is_ended: index.is_ended,
            wall: wall.as_ref().unwrap_or(&facts.wall),
            digest: &|preamble| facts.digest(preamble),
            reports: &wanted.reports,
            skipped,
        };
        sheet.to_string()
    }

    /// Returns the initialization segment with this digest, from a lane that has `index`.
    pub(crate) fn init(&self, index: &LaneIndex, digest: &str) -> Option<Bytes> {
        let mut facts = self.facts.lock();
        facts.describe(&index.segments);
        let found = facts.digests.iter().find(|(_, known)| known == digest);
        found.map(|(preamble, _)| preamble.bytes.clone())
    }
}

impl Version {
    fn of(past: &Past, index: &LaneIndex) -> Self {
        let mut all = playlist::all(&past.kept, past.present(index));
        let last = all.clone().next_back();
        Self {
            first: all.next().map_or(0, |segment| segment.number),
            last: last.map_or(0, |segment| segment.number),
            parts: last.map_or(0, |segment| segment.parts.len()),
            is_complete: last.is_some_and(|segment| segment.is_complete),
            waiting: index.waiting.len(),
            titles: (
                index.waiting_titles.len(),
                index.waiting_titles.last().map(|change| change.at),
            ),
            revision: past.revision,
            is_ended: index.is_ended,
        }
    }
}

impl Facts {
    /// Records the facts of all the lane's segments; the two playlists list different ones of them.
    fn describe(&mut self, segments: &[Arc<Segment>]) {
        self.wall.observe(segments, SystemTime::now());
        let is_there = |preamble: &Arc<Preamble>| {
            segments
                .iter()
                .any(|segment| Arc::ptr_eq(&segment.preamble, preamble))
        };
        self.digests.retain(|(preamble, _)| is_there(preamble));
        for segment in segments {
            let preamble = &segment.preamble;
            if !self
                .digests
                .iter()
                .any(|(known, _)| Arc::ptr_eq(known, preamble))
            {
                let digest = match preamble.bytes.is_empty() {
                    true => String::new(),
                    false => digest(&preamble.bytes),
                };
                self.digests.push((Arc::clone(preamble), digest));
            }
        }
    }

    /// Returns the digest of a recorded initialization segment.
    fn digest(&self, preamble: &Arc<Preamble>) -> &str {
        let mut known = self.digests.iter();
        let known = known.find(|(known, _)| Arc::ptr_eq(known, preamble));
        known.map_or("", |(_, digest)| digest)
    }
}
