//! The state behind a stream's lock.
//!
//! Each part has a file of its own and owns the state it is named after; operations that concern several parts are
//! here: an item is written, an epoch begins, the stream ends. Under the lock, parts are changed before `news` is rung,
//! so that a woken task sees the change.

use std::sync::Arc;
use std::time::Instant;

use media::{Container, Item, Kind, Span, StreamName, Track, TrackId};

use super::announced::{Announced, Noted};
use super::aside::Aside;
use super::backlog::Extent;
use super::clocks::Clocks;
use super::derived::Derived;
use super::incumbent::Incumbent;
use super::news::News;
use super::observed::Observed;
use super::outputs::Outputs;
use super::publisher::EpochOver;
use super::recent::Recent;
use super::replaced::Replaced;
use super::timeline::TRACKS_MAX;
use super::titles::Titles;
use super::{Commons, Phase};
use crate::events::{EndReason, StreamEvents};
use crate::keyframe::KeyframeWish;

/// Longest interval between keyframes while the stream has a listener that cannot request one, so that new listeners
/// find one. A browser sends none by itself for minutes.
const KEYFRAME_INTERVAL: Span = Span::from_millis(3_000);

/// All state of a stream that its lock protects.
pub(super) struct Core {
    pub(super) phase: Phase,
    /// Number of epochs so far.
    pub(super) epoch: u32,
    pub(super) incumbent: Incumbent,
    /// The displaced publisher, whose media is ignored while the incumbent has the stream.
    pub(super) aside: Option<Aside>,
    pub(super) replaced: Replaced,
    pub(super) announced: Announced,
    pub(super) titles: Titles,
    pub(super) observed: Observed,
    pub(super) recent: Recent,
    pub(super) clocks: Clocks,
    pub(super) derived: Derived,
    pub(super) outputs: Outputs,
    /// `news` and `wish` are shared with readers that do not take the lock.
    pub(super) news: Arc<News>,
    pub(super) wish: Arc<KeyframeWish>,
    pub(super) events: StreamEvents,
}

impl Core {
    /// Returns why an epoch is over that no longer has the stream.
    pub(super) fn why_over(&self) -> EpochOver {
        match self.phase {
            Phase::Ended => EpochOver::Ended,
            Phase::Live | Phase::Lingering => EpochOver::Superseded,
        }
    }

    pub(super) fn new(
        name: &StreamName,
        incumbent: Incumbent,
        commons: &Commons,
        now: Instant,
    ) -> Self {
        Self {
            phase: Phase::Lingering,
            epoch: 0,
            aside: None,
            replaced: Replaced::default(),
            announced: Announced::default(),
            titles: Titles::default(),
            observed: Observed::default(),
            recent: Recent::new(Arc::clone(commons.budget.older_bytes())),
            clocks: Clocks::new(now),
            derived: Derived::new(Arc::clone(&commons.deriver)),
            outputs: Outputs::new(&incumbent.source),
            incumbent,
            news: Arc::default(),
            wish: Arc::default(),
            events: StreamEvents::new(&commons.events, name),
        }
    }

    /// Whether the publisher of `epoch` has the stream.
    pub(super) fn is_held_by(&self, epoch: u32) -> bool {
        self.phase == Phase::Live && self.incumbent.epoch == epoch
    }

    /// Whether the publisher has announced video whose track it may yet send.
    pub(super) fn awaits_pictures(&self) -> bool {
        self.clocks.may_bring_pictures() && self.announced.lacks_pictures()
    }

    /// Whether there are listeners that cannot request a keyframe, and no keyframe recent enough for the next joiner.
    pub(super) fn wants_keyframe(&self) -> bool {
        let groups = &self.observed.groups;
        self.outputs
            .want_keyframe(groups.lack_keyframe_since(KEYFRAME_INTERVAL))
    }

    /// Places items on the timeline, and passes them, in order, to every lane, tap and spool.
    pub(super) fn write(&mut self, items: &mut Vec<Item>, now: Instant) {
        self.clocks.place(items, now);
        self.write_placed(items, now);
    }

    /// Passes on items that are already on the stream's timeline.
    pub(super) fn write_placed(&mut self, items: &mut Vec<Item>, now: Instant) {
        let video = self.announced.video();
        let extent = Extent::of(&self.incumbent.settings);
        let mut has_new_tracks = false;
        for item in items.drain(..) {
            match &item {
                // Only the stream itself writes this item.
                Item::Epoch => continue,
                // This number is reserved.
                Item::Track(track) if track.id == TrackId::DERIVED => continue,
                Item::Sample(sample) if sample.track == TrackId::DERIVED => continue,
                Item::Track(track) => has_new_tracks |= self.remember_track(track, now),
                Item::Header(header) => {
                    // Samples sent under the old header cannot be decoded with this one.
                    self.recent.backlog.clear();
                    self.announced.header = Some(header.clone());
                }
                Item::Metadata(script) => self.announced.metadata = Some(script.clone()),
                Item::Script(_) => {}
                Item::Event(event) => {
                    self.tell_event(Arc::clone(event), now);
                    continue;
                }
                Item::Title(title) => {
                    if std::mem::take(&mut has_new_tracks) {
                        self.tell_tracks();
                    }
                    self.remember_title(title);
                }
                Item::Sample(sample) => {
                    self.clocks.timeline.wrote(sample);
                    let is_picture = self.announced.video() == Some(sample.track);
                    if self.observed.saw(sample, is_picture) {
                        self.news.ring();
                    }
                }
            }
            self.outputs.push(&item, &self.announced, now);
            match item {
                Item::Track(track) => self.heed_audio(&track),
                Item::Sample(sample) => {
                    let video = video.or_else(|| self.announced.video());
                    if video == Some(sample.track) {
                        self.observed.groups.push(&sample);
                        if sample.keyframe {
                            self.wish.clear();
                        }
                    }
                    self.recent.backlog.push(sample, video, extent);
                }
                _ => {}
            }
        }
        if has_new_tracks {
            self.tell_tracks();
        }
        self.outputs.publish();
    }

    /// Handles a written track: lanes are notified if it is the audio, and encoded differently from before.
    fn heed_audio(&mut self, track: &Track) {
        let audio = self.announced.first(Kind::Audio);
        if audio.is_some_and(|audio| audio.id == track.id) {
            self.outputs.note_audio(track);
        }
    }

    /// Records a track; returns whether it is new.
    fn remember_track(&mut self, track: &Arc<Track>, now: Instant) -> bool {
        if self.announced.tracks.contains(track) {
            return false;
        }
        if self.announced.tracks.is_empty() {
            self.clocks.began_to_send(now);
        }
        let is_news = self.note_track(track);
        let container = self.incumbent.source.container;
        self.derived.offer_beside(container, &self.announced.tracks);
        self.news.ring();
        is_news
    }

    /// Stores a track; returns whether there was room for it.
    fn note_track(&mut self, track: &Arc<Track>) -> bool {
        match self.announced.note_track(track, TRACKS_MAX) {
            Noted::New => {}
            Noted::Changed => {
                // Samples encoded under the old configuration cannot be decoded with this one.
                self.recent.backlog.clear();
                if track.kind == Kind::Video {
                    self.observed.forget_order();
                }
            }
            Noted::Full => {
                tracing::warn!(
                    track = track.id.0,
                    "a track beyond the limit is not announced"
                );
                return false;
            }
        }
        if self.announced.video() == Some(track.id) {
            self.observed.describe_pictures(track);
        }
        true
    }

    /// Admits a publisher and begins its epoch, with the next number or `at_least`, whichever is larger. Returns that
    /// number.
    pub(super) fn admit(&mut self, mut publisher: Incumbent, at_least: u32, now: Instant) -> u32 {
        let epoch = at_least.max(self.epoch + 1);
        publisher.epoch = epoch;
        self.begin_epoch(epoch, publisher, now);
        epoch
    }

    /// Begins another publisher's epoch, with a number above that of the last one.
    pub(super) fn begin_epoch(&mut self, epoch: u32, publisher: Incumbent, now: Instant) {
        self.incumbent.supersede();
        self.outputs.promise(&publisher.source);
        // Each epoch announces its own: a video track that does not come back must not be waited for, and the last
        // programme's title is not the next one's.
        let had_title = std::mem::take(&mut self.announced).title.is_some();
        self.titles.begin_epoch();
        self.observed.begin_epoch();
        self.recent.backlog.clear();
        self.clocks.begin_epoch(self.phase == Phase::Live, now);
        self.wish.set_heeded(false);
        self.outputs.begin_epoch(epoch, now);
        if had_title {
            self.change_title(epoch);
        }
        self.derived.begin_epoch(&mut self.outputs, now);
        self.phase = Phase::Live;
        let is_first = self.epoch == 0;
        self.epoch = epoch;
        self.incumbent = publisher;
        self.tell_epoch(is_first);
        self.news.ring();
    }

    /// Records the actual container and type of the current publisher's bytes, whatever it declared.
    pub(super) fn identify(&mut self, container: Container, content_type: &str) {
        self.incumbent.identify(container, content_type);
        self.outputs.promise(&self.incumbent.source);
        self.news.ring();
    }

    /// Handles the departure of the publisher, when there is no other.
    pub(super) fn publisher_left(&mut self) {
        self.phase = Phase::Lingering;
        self.clocks.publisher_left();
        self.incumbent.superseded = None;
        self.outputs.pause();
        self.tell_left();
        self.news.ring();
    }

    pub(super) fn end(&mut self, reason: EndReason) {
        self.tell_end(reason);
        self.phase = Phase::Ended;
        self.outputs.close();
        self.derived.end();
        // Remaining references to the stream hold no media.
        self.recent.backlog.clear();
        self.news.ring();
        self.incumbent.supersede();
        self.drop_aside();
    }
}
