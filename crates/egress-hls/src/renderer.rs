//! The playlists of one channel, rendered and compressed once for each version, whatever viewers have of their own: see
//! [`Template`].
//!
//! Viewers of the present never wait for the text of a DVR window, which may be a thousand times as long: each of the two
//! lists has a lock of its own.

use std::sync::Arc;
use std::time::SystemTime;

use base::Lock;
use bytes::Bytes;
use fanout::{LaneIndex, Preamble, Segment, Segmentation};
use media::{StreamName, Timestamp};
use net::holdings::Holdings;

use crate::digest::digest;
use crate::dvr::{Past, Window};
use crate::keys::Keys;
use crate::packaging::Packaging;
use crate::playlist::{self, Sheet};
use crate::reload::Directives;
use crate::report::Report;
use crate::template::Template;
use crate::wall::Wall;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Renderer {
    stream: StreamName,
    packaging: Packaging,
    has_parts: bool,
    segmentation: Segmentation,
    /// See [`timeline`](crate::timeline).
    discontinuity_base: u64,
    keys: Option<Arc<Keys>>,
    holdings: Arc<Holdings>,
    facts: Lock<Facts>,
    /// Of the live playlist, and of the DVR window: the present version, whole and as a delta update.
    rendered: [Lock<[Option<Arc<Rendered>>; 2]>; 2],
}

/// What playlists are made of beside the lane's index.
#[derive(Clone, Debug, Default)]
struct Facts {
    wall: Wall,
    /// The digests of the lane's initialization segments; empty for an empty one.
    digests: Vec<(Arc<Preamble>, String)>,
}

/// A version of a playlist.
#[derive(Debug)]
pub(crate) struct Rendered {
    version: Version,
    reports: Vec<Report>,
    pub(crate) text: Template,
    /// The entity tag, good for each viewer: what is its own stands in the address.
    pub(crate) tag: String,
}

/// What tells the versions of a playlist apart, beside its reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Version {
    first: u64,
    last: u64,
    parts: usize,
    is_complete: bool,
    /// Events that wait for a segment.
    waiting: usize,
    /// Titles that do, and when the newest began.
    titles: (usize, Option<Timestamp>),
    /// See [`Past::revision`]; zero without a DVR window.
    revision: u64,
    is_ended: bool,
}

/// Which playlist is wanted.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// The stream's DVR window, if it has one.
    pub(crate) window: Option<&'a Window>,
    /// The playlist of that window, and not the live one.
    pub(crate) is_dvr: bool,
    pub(crate) directives: &'a Directives,
    /// Where the other playlists of the presentation end.
    pub(crate) reports: Vec<Report>,
}

impl Renderer {
    pub(crate) fn new(
        stream: StreamName,
        (packaging, has_parts): (Packaging, bool),
        segmentation: Segmentation,
        discontinuity_base: u64,
        keys: &Arc<Keys>,
        holdings: &Arc<Holdings>,
    ) -> Self {
        let is_encrypted = packaging == Packaging::Encrypted;
        Self {
            stream,
            packaging,
            has_parts,
            segmentation,
            discontinuity_base,
            keys: is_encrypted.then(|| Arc::clone(keys)),
            holdings: Arc::clone(holdings),
            facts: Lock::default(),
            rendered: Default::default(),
        }
    }

    /// The playlist of a lane that has `index`, whose newest media has just come.
    pub(crate) fn playlist(&self, index: &LaneIndex, wanted: Wanted<'_>) -> Arc<Rendered> {
        let past = match wanted.window {
            Some(window) if wanted.is_dvr => window.past(index),
            _ => Past::none(index),
        };
        let skipped = match wanted.directives.skips && !index.is_ended {
            true => playlist::skipped(&past.kept, past.present(index), &self.segmentation),
            false => 0,
        };
        let version = Version::of(&past, index);
        let (list, form) = (usize::from(wanted.is_dvr), usize::from(skipped > 0));
        // Held while the text is made, so that it is made once: all who wait here want it. A panic leaves an older one.
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
            // Weak, because the codings of a text differ in their bytes (RFC 9110 §8.8.3).
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
        // A window outlives channels, and its times are those of both playlists.
        let wall = wanted
            .window
            .map(|window| window.wall(index, SystemTime::now()));
        let sheet = Sheet {
            packaging: self.packaging,
            has_parts: self.has_parts,
            kept: &past.kept,
            segments: past.present(index),
            waiting: &index.waiting,
            waiting_titles: &index.waiting_titles,
            segmentation: self.segmentation,
            is_ended: index.is_ended,
            wall: wall.as_ref().unwrap_or(&facts.wall),
            digest: &|preamble| facts.digest(preamble),
            keys: self.keys.as_deref(),
            stream: &self.stream,
            discontinuity_base: self.discontinuity_base,
            reports: &wanted.reports,
            skipped,
        };
        sheet.to_string()
    }

    /// The initialization segment of a digest, of a lane that has `index`.
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
    /// Takes all that the lane has, of which the playlists list different segments.
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

    /// The digest of a preamble that was described.
    fn digest(&self, preamble: &Arc<Preamble>) -> &str {
        let mut known = self.digests.iter();
        let known = known.find(|(known, _)| Arc::ptr_eq(known, preamble));
        known.map_or("", |(_, digest)| digest)
    }
}
