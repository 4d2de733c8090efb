//! The state behind a stream's lock: its epochs, what its publisher announced, the recent past, and the writing
//! ends of its lanes, taps and spools.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use media::codec::captions::CaptionWatch;
use media::{Codec, Container, Item, Kind, Sample, Script, Span, Timestamp, Title, Track, TrackId};

use super::aside::Aside;
use super::backlog::{Backlog, Extent};
use super::derived::{DerivationId, Derived};
use super::keyframes::PictureGroups;
use super::meter::Meters;
use super::news::News;
use super::order::OrderWatch;
use super::own_titles::OwnTitles;
use super::replaced::Replaced;
use super::spool::SpoolWriter;
use super::tap::TapWriter;
use super::timed::TimedEvents;
use super::timeline::{TRACKS_MAX, Timeline};
use super::{DerivedOffer, DeriverCell, Keyframes, Phase, Played, Rate, Settings, Source};
use crate::events::{EndReason, StreamEvents};
use crate::gate::{Credential, Identity};
use crate::index::TitleChange;
use crate::keyframe::KeyframeWish;
use crate::lane::LaneWriter;
use crate::policy::{Class, Policy};

/// How long after an epoch began a stream without a video track counts as audio only: publishers announce both
/// tracks within the first packets.
const VIDEO_TRACK_AWAITED: Duration = Duration::from_secs(2);

/// How much sound a publisher may send before the pictures that it announces: encoders whose camera takes its time
/// begin with sound.
const PICTURES_AWAITED: Span = Span::from_millis(15_000);

/// The longest interval between keyframes while the stream has a listener that cannot request one, so that new
/// listeners find one. A browser sends none by itself for minutes.
const KEYFRAME_INTERVAL: Span = Span::from_millis(3_000);

pub(super) struct Core {
    pub(super) phase: Phase,
    pub(super) epoch: u32,
    /// The epoch in which the present publisher came.
    pub(super) turn: u32,
    /// The publisher that is not heard while this one has the stream.
    pub(super) aside: Option<Aside>,
    /// The present epoch is written by the publisher of the stream that this is a rendition of.
    pub(super) is_rendition: bool,
    pub(super) credential: Credential,
    /// The identity of the present publisher's permission.
    pub(super) identity: Option<Identity>,
    pub(super) source: Arc<Source>,
    pub(super) announced_type: Option<Arc<str>>,
    /// Container and media type that the present listeners were promised.
    pub(super) promised: (Container, String),
    pub(super) has_media: bool,
    pub(super) settings: Settings,
    pub(super) since: SystemTime,
    pub(super) began: Instant,
    /// When the publisher last sent, or the epoch began.
    pub(super) last_item: Instant,
    /// When a lingering stream ends; `None` from when its publisher leaves to the next
    /// [look](super::Stream::is_over) at it.
    pub(super) linger_until: Option<Instant>,
    /// When the present epoch began, if it did by taking over from another publisher.
    pub(super) taken_over: Option<Instant>,
    pub(super) replaced: Replaced,
    pub(super) tracks: Vec<Arc<Track>>,
    /// Codec, sample rate and channels of the sound, also that of the last publisher.
    pub(super) sound: Option<(Codec, u32, u8)>,
    pub(super) header: Option<Bytes>,
    pub(super) metadata: Option<Script>,
    pub(super) title: Option<Arc<Title>>,
    pub(super) own_titles: OwnTitles,
    /// The last titles, the newest first; at most [`PLAYED_MAX`](super::PLAYED_MAX).
    pub(super) played: VecDeque<Played>,
    /// Since when it is so; `None` before the first title.
    pub(super) title_change: Option<Arc<TitleChange>>,
    pub(super) backlog: Backlog,
    pub(super) picture_order: OrderWatch,
    pub(super) captions: CaptionWatch,
    pub(super) picture_groups: PictureGroups,
    pub(super) meters: Meters,
    pub(super) timeline: Timeline,
    pub(super) timed: TimedEvents,
    pub(super) lanes: Vec<LaneWriter>,
    pub(super) taps: Vec<TapWriter>,
    pub(super) spools: Vec<SpoolWriter>,
    pub(super) deriver: DeriverCell,
    pub(super) offer: DerivedOffer,
    pub(super) derived: Option<Derived>,
    /// The id of the next derivation.
    pub(super) next_turn: DerivationId,
    /// Wakes the present publisher when it has been superseded.
    pub(super) superseded: Option<Waker>,
    pub(super) news: Arc<News>,
    pub(super) wish: Arc<KeyframeWish>,
    pub(super) events: StreamEvents,
    pub(super) ingest_bytes: u64,
    pub(super) listeners_peak: usize,
}

/// State shared with readers that do not take the lock.
pub(super) struct Shared {
    pub(super) deriver: DeriverCell,
    pub(super) news: Arc<News>,
    pub(super) wish: Arc<KeyframeWish>,
    pub(super) events: StreamEvents,
    /// What the backlogs of all streams hold before their newest picture groups.
    pub(super) older_bytes: Arc<AtomicUsize>,
}

impl Core {
    pub(super) fn new(
        credential: Credential,
        source: Source,
        settings: Settings,
        shared: Shared,
        now: Instant,
    ) -> Self {
        let Shared {
            deriver,
            news,
            wish,
            events,
            older_bytes,
        } = shared;
        Self {
            phase: Phase::Lingering,
            epoch: 0,
            turn: 0,
            aside: None,
            is_rendition: false,
            credential,
            identity: None,
            promised: (source.container, source.content_type.clone()),
            source: Arc::new(source),
            announced_type: None,
            has_media: false,
            settings,
            since: SystemTime::now(),
            began: now,
            last_item: now,
            linger_until: None,
            taken_over: None,
            replaced: Replaced::default(),
            tracks: Vec::new(),
            sound: None,
            header: None,
            metadata: None,
            title: None,
            own_titles: OwnTitles::default(),
            played: VecDeque::new(),
            title_change: None,
            backlog: Backlog::new(older_bytes),
            picture_order: OrderWatch::default(),
            captions: CaptionWatch::default(),
            picture_groups: PictureGroups::default(),
            meters: Meters::default(),
            timeline: Timeline::default(),
            timed: TimedEvents::default(),
            lanes: Vec::new(),
            taps: Vec::new(),
            spools: Vec::new(),
            deriver,
            offer: DerivedOffer::Nothing,
            derived: None,
            next_turn: 0,
            superseded: None,
            news,
            wish,
            events,
            ingest_bytes: 0,
            listeners_peak: 0,
        }
    }

    /// Counts the listeners, and records the maximum.
    pub(super) fn listeners(&mut self) -> usize {
        let now = self.lanes.iter().map(|lane| lane.lane.audience()).sum();
        self.listeners_peak = self.listeners_peak.max(now);
        now
    }

    pub(super) fn video(&self) -> Option<TrackId> {
        self.tracks
            .iter()
            .find(|track| track.kind == Kind::Video)
            .map(|track| track.id)
    }

    /// Whether the publisher has announced pictures whose track it may yet send.
    pub(super) fn awaits_pictures(&self) -> bool {
        let metadata = self.metadata.as_ref();
        let are_announced =
            metadata.is_some_and(|script| Script::announces(&script.body, Kind::Video));
        let is_young = self.timeline.since_epoch() < PICTURES_AWAITED;
        are_announced && is_young && self.video().is_none()
    }

    /// The newest keyframe, and its track.
    pub(super) fn keyframe(&self) -> Option<(Arc<Track>, Sample)> {
        let track = self.tracks.iter().find(|track| track.kind == Kind::Video)?;
        let mut samples = self.backlog.newest_group();
        let picture = samples.find(|sample| sample.track == track.id && sample.keyframe)?;
        Some((Arc::clone(track), picture.clone()))
    }

    pub(super) fn keyframes(&self) -> Option<Keyframes> {
        self.video()?;
        Some(self.picture_groups.facts(self.wish.is_heeded()))
    }

    /// Whether there are lanes (listeners, or some not long ago), taps or spools.
    pub(super) fn is_followed(&self) -> bool {
        !self.lanes.is_empty() || !self.taps.is_empty() || self.is_recorded()
    }

    /// Whether a recorder takes its items.
    pub(super) fn is_recorded(&self) -> bool {
        self.spools.iter().any(SpoolWriter::is_read)
    }

    /// Whether what arrives is wanted at once: there are taps, or lanes that are not for recorders alone.
    pub(super) fn is_awaited(&self) -> bool {
        let mut lanes = self.lanes.iter();
        !self.taps.is_empty() || lanes.any(|lane| !lane.lane.log.is_only_held())
    }

    /// Whether there are listeners that cannot request a keyframe, and none recent enough for the next joiner.
    pub(super) fn wants_keyframe(&self) -> bool {
        let is_old = self.picture_groups.lack_keyframe_since(KEYFRAME_INTERVAL);
        let lacks_one = |lane: &LaneWriter| is_old || lane.has_lost_join();
        let mut lanes = self.lanes.iter();
        let is_lacking = lanes.any(|lane| lane.depends_on_joins() && lacks_one(lane));
        is_lacking || is_old && self.is_recorded()
    }

    pub(super) fn class(&self, now: Instant) -> Class {
        let has_video = self.video().is_some();
        let is_young = now.saturating_duration_since(self.began) < VIDEO_TRACK_AWAITED;
        let may_get_video =
            self.source.container == Container::Tracks && (is_young || self.tracks.is_empty());
        if has_video || may_get_video {
            Class::Video
        } else {
            Class::Audio
        }
    }

    pub(super) fn policy(&self, class: Class) -> Policy {
        match class {
            Class::Audio => self.settings.audio,
            Class::Video => self.settings.video,
        }
    }

    /// Brings a lane that has just opened to the present.
    pub(super) fn replay(&self, lane: &mut LaneWriter, now: Instant) {
        let is_segmented = lane.lane.index.is_some();
        let takes_bytes = lane.lane.policy.burst_bytes > 0;
        let since = self.burst_begins().filter(|_| !takes_bytes);
        let oldest = self.past(is_segmented, since).next();
        let begins = oldest.map(|oldest| oldest.dts);
        if let Some(begins) = begins {
            for event in self.timed.since(begins) {
                lane.tell(event, now);
            }
        }
        if let Some(change) = self.title_change.as_ref().filter(|_| self.title.is_some()) {
            lane.note_title(change);
        }
        let derived = self.derived.as_ref().filter(|_| lane.takes_derived);
        let mut track = derived.and_then(|derived| derived.track.clone());
        let mut samples = derived
            .into_iter()
            .flat_map(|derived| derived.samples())
            .skip_while(|sample| {
                begins.is_some_and(|begins| sample.dts + sample.duration <= begins)
            })
            .peekable();
        self.recall(is_segmented, since, |item, _| {
            // After the publisher's own tracks, and each sample before later ones of other tracks.
            let is_track = matches!(item, Item::Track(_));
            if let Some(track) = track.take_if(|_| !is_track) {
                lane.push(&Item::Track(track), now);
            }
            if let Item::Sample(own) = item {
                while let Some(earlier) = samples.next_if(|sample| sample.dts < own.dts) {
                    lane.push(&Item::Sample(earlier.clone()), now);
                }
            }
            lane.push(item, now);
        });
        if let Some(track) = track {
            lane.push(&Item::Track(track), now);
        }
        for later in samples {
            lane.push(&Item::Sample(later.clone()), now);
        }
        lane.publish();
    }

    /// The recent past of a stream of sound alone begins here, for readers whose burst is a time: at the newest sample that
    /// is as old and at which decoders can begin, as in [a lane](crate::cursor::start). `None` if there is none, and with
    /// pictures.
    pub(super) fn burst_begins(&self) -> Option<Timestamp> {
        if self.video().is_some() {
            return None;
        }
        let mut samples = self.backlog.samples().rev();
        let since = samples.clone().next()?.dts - self.settings.audio.burst;
        let begins = samples.find(|sample| sample.keyframe && sample.dts <= since)?;
        Some(begins.dts)
    }

    /// What was sent recently, from `since` on.
    fn past(&self, is_segmented: bool, since: Option<Timestamp>) -> impl Iterator<Item = &Sample> {
        let recent = self.backlog.recent(is_segmented);
        recent.skip_while(move |sample| since.is_some_and(|since| sample.dts < since))
    }

    /// Replays what the publisher announced and sent recently, from `since` on, for a reader of segments or of anything
    /// else; each sample with the kind of its track.
    pub(super) fn recall(
        &self,
        is_segmented: bool,
        since: Option<Timestamp>,
        mut tell: impl FnMut(&Item, Option<Kind>),
    ) {
        for track in &self.tracks {
            tell(&Item::Track(Arc::clone(track)), None);
        }
        if let Some(header) = &self.header {
            tell(&Item::Header(header.clone()), None);
        }
        if let Some(metadata) = &self.metadata {
            tell(&Item::Metadata(metadata.clone()), None);
        }
        if let Some(title) = &self.title {
            tell(&Item::Title(Arc::clone(title)), None);
        }
        for sample in self.past(is_segmented, since) {
            let kind = self.kind(sample.track);
            tell(&Item::Sample(sample.clone()), kind);
        }
    }

    pub(super) fn kind(&self, id: TrackId) -> Option<Kind> {
        let track = self.tracks.iter().find(|track| track.id == id);
        track.map(|track| track.kind)
    }

    /// Takes over items, in order, and passes them to every lane, tap and spool.
    pub(super) fn write(&mut self, items: &mut Vec<Item>, now: Instant) {
        self.place(items, now);
        self.write_placed(items, now);
    }

    /// Moves items that came `now` onto the stream's timeline.
    pub(super) fn place(&mut self, items: &mut [Item], now: Instant) {
        for item in items {
            match item {
                Item::Sample(sample) if sample.track == TrackId::DERIVED => {}
                Item::Sample(sample) => self.timeline.place(sample, now),
                Item::Metadata(script) | Item::Script(script) => {
                    self.timeline.place_script(script);
                }
                Item::Event(event) => self.timeline.place_event(Arc::make_mut(event)),
                Item::Epoch | Item::Header(_) | Item::Title(_) | Item::Track(_) => {}
            }
        }
    }

    /// Takes over items that are on the stream's timeline.
    pub(super) fn write_placed(&mut self, items: &mut Vec<Item>, now: Instant) {
        let video = self.video();
        let audio = self.settings.audio.in_order();
        let extent = Extent {
            burst: audio.burst,
            burst_bytes: audio.burst_bytes,
            segment: self.settings.segment,
        };
        let mut has_new_tracks = false;
        for item in items.drain(..) {
            let mut is_other_sound = false;
            match &item {
                // Only the stream itself writes it.
                Item::Epoch => continue,
                // That number is reserved.
                Item::Track(track) if track.id == TrackId::DERIVED => continue,
                Item::Sample(sample) if sample.track == TrackId::DERIVED => continue,
                Item::Track(track) => {
                    has_new_tracks |= self.remember_track(track, now);
                    is_other_sound = self.is_other_sound(track);
                }
                Item::Header(header) => {
                    // What was sent under the old header cannot be decoded with this one.
                    self.backlog.clear();
                    self.header = Some(header.clone());
                }
                Item::Metadata(script) => self.metadata = Some(script.clone()),
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
                    let mut is_news = !std::mem::replace(&mut self.has_media, true);
                    self.timeline.wrote(sample);
                    self.ingest_bytes += sample.bytes() as u64;
                    self.meters.push(sample);
                    if self.video() == Some(sample.track) {
                        is_news |= self.picture_order.saw(sample);
                        is_news |= self.captions.saw(sample);
                    }
                    if is_news {
                        self.news.ring();
                    }
                }
            }
            for lane in &mut self.lanes {
                lane.push(&item, now);
                if is_other_sound {
                    lane.change_sound();
                }
            }
            if !self.taps.is_empty() {
                let kind = match &item {
                    Item::Sample(sample) => self.kind(sample.track),
                    _ => None,
                };
                self.taps.iter().for_each(|tap| tap.push(&item, kind));
            }
            self.spools.iter().for_each(|spool| spool.push(&item, now));
            if let Item::Sample(sample) = item {
                let video = video.or_else(|| self.video());
                if video == Some(sample.track) {
                    self.picture_groups.push(&sample);
                    if sample.keyframe {
                        self.wish.clear();
                    }
                }
                self.backlog.push(sample, video, extent);
            }
        }
        if has_new_tracks {
            self.tell_tracks();
        }
        self.publish_lanes();
        self.taps.iter().for_each(TapWriter::publish);
    }

    /// Makes what was pushed readable, and closes lanes that there is no memory for.
    pub(super) fn publish_lanes(&mut self) {
        self.lanes.retain_mut(|lane| {
            lane.publish();
            if lane.has_failed() {
                tracing::warn!(
                    format = lane.lane.format.name,
                    "a format of a stream is closed: the memory for streams (fanout.log_mib) is used up"
                );
            }
            !lane.has_failed()
        });
    }

    pub(super) fn rates(&self) -> Vec<Option<Rate>> {
        let tracks = self.tracks.iter();
        tracks.map(|track| self.meters.rate(track.id)).collect()
    }

    /// Whether it is a new one.
    pub(super) fn remember_track(&mut self, track: &Arc<Track>, now: Instant) -> bool {
        if self.tracks.contains(track) {
            return false;
        }
        if self.tracks.is_empty() {
            // Between a publisher's admission and its first track may lie a handshake; the wait for the other
            // tracks is counted from here.
            self.began = now;
            self.since = SystemTime::now();
        }
        let is_news = self.note_track(track);
        self.offer = match self.deriver.get() {
            Some(deriver) => deriver.offer(self.source.container, &self.tracks),
            None => DerivedOffer::Nothing,
        };
        self.news.ring();
        is_news
    }

    /// Whether a track that has just been remembered is the sound, and coded otherwise than what was sent before.
    fn is_other_sound(&mut self, track: &Track) -> bool {
        let mut audio = self.tracks.iter().filter(|track| track.kind == Kind::Audio);
        if audio.next().is_none_or(|first| first.id != track.id) {
            return false;
        }
        let form = (track.codec, track.sample_rate, track.channels);
        let former = self.sound.replace(form);
        former.is_some_and(|former| former != form)
    }

    /// Whether there was room for it.
    pub(super) fn note_track(&mut self, track: &Arc<Track>) -> bool {
        let count = self.tracks.len();
        match self.tracks.iter_mut().find(|known| known.id == track.id) {
            Some(known) => {
                *known = Arc::clone(track);
                // What was coded under the old configuration cannot be decoded with this one.
                self.backlog.clear();
                if track.kind == Kind::Video {
                    self.picture_order = OrderWatch::default();
                }
            }
            None if count < TRACKS_MAX => self.tracks.push(Arc::clone(track)),
            None => {
                tracing::warn!(
                    track = track.id.0,
                    "a track beyond the limit is not announced"
                );
                return false;
            }
        }
        if self.video() == Some(track.id) && !self.captions.has_captions() {
            self.captions = CaptionWatch::of(track);
        }
        true
    }

    /// Another publisher's epoch begins, with a number above that of the last one.
    pub(super) fn begin_epoch(
        &mut self,
        epoch: u32,
        credential: Credential,
        source: Source,
        settings: Settings,
        now: Instant,
    ) {
        if let Some(waker) = self.superseded.take() {
            waker.wake();
        }
        self.promise(&source);
        // Each epoch announces its own; a video track that does not come back must not be waited for, and the
        // last programme's title is not the next one's.
        let had_title = self.title.take().is_some();
        self.own_titles = OwnTitles::default();
        self.header = None;
        self.tracks.clear();
        self.metadata = None;
        self.offer = DerivedOffer::Nothing;
        self.backlog.clear();
        self.picture_order = OrderWatch::default();
        self.captions = CaptionWatch::default();
        self.picture_groups = PictureGroups::default();
        self.meters = Meters::default();
        self.wish.set_heeded(false);
        self.timeline.begin_epoch();
        for lane in &mut self.lanes {
            lane.begin_epoch(epoch, now);
        }
        if had_title {
            self.change_title(epoch);
        }
        self.begin_derived_epoch(now);
        for tap in &self.taps {
            tap.push(&Item::Epoch, None);
            tap.publish();
        }
        self.spools
            .iter()
            .for_each(|spool| spool.push(&Item::Epoch, now));
        self.taken_over = (self.phase == Phase::Live).then_some(now);
        self.phase = Phase::Live;
        let is_first = self.epoch == 0;
        self.epoch = epoch;
        self.turn = epoch;
        self.is_rendition = false;
        self.credential = credential;
        self.source = Arc::new(source);
        self.announced_type = None;
        self.has_media = false;
        self.settings = settings;
        self.since = SystemTime::now();
        self.began = now;
        self.last_item = now;
        self.tell_epoch(is_first);
        self.news.ring();
    }

    /// Listeners that were promised another format are closed, and may ask again. For a source of unknown
    /// format its first bytes decide.
    pub(super) fn promise(&mut self, source: &Source) {
        if source.container == Container::Unknown {
            return;
        }
        let (container, content_type) = &self.promised;
        let is_same = *container == source.container && *content_type == source.content_type;
        if !is_same && *container != Container::Unknown {
            self.lanes.clear();
            self.spools.clear();
        }
        self.promised = (source.container, source.content_type.clone());
    }

    /// The present publisher's bytes are of this kind, whatever it declared.
    pub(super) fn identify(&mut self, container: Container, content_type: &str) {
        let mut source = (*self.source).clone();
        source.container = container;
        let announced = std::mem::replace(&mut source.content_type, content_type.to_owned());
        if announced != content_type {
            self.announced_type = Some(announced.into());
        }
        self.promise(&source);
        self.source = Arc::new(source);
        self.news.ring();
    }

    /// Lanes that take the derived track.
    pub(super) fn takers(&mut self) -> impl Iterator<Item = &mut LaneWriter> {
        self.lanes.iter_mut().filter(|lane| lane.takes_derived)
    }

    pub(super) fn derived_wanted(&self) -> usize {
        let takers = self.lanes.iter().filter(|lane| lane.takes_derived);
        takers.map(|lane| lane.lane.connected()).sum()
    }

    /// Whether a derived track is on offer that has no writer.
    pub(super) fn lacks_derived(&self) -> bool {
        self.derived.is_none() && self.offer.track().is_some()
    }

    pub(super) fn is_derived_by(&self, turn: DerivationId) -> bool {
        let derived = self.derived.as_ref();
        derived.is_some_and(|derived| derived.turn == turn)
    }

    /// Whether a derived track is announced.
    pub(super) fn is_deriving(&self) -> bool {
        let derived = self.derived.as_ref();
        derived.is_some_and(|derived| derived.track.is_some())
    }

    pub(super) fn announce_derived(&mut self, turn: DerivationId, track: Arc<Track>, now: Instant) {
        let Some(derived) = self.derived.as_mut().filter(|one| one.turn == turn) else {
            return;
        };
        if derived.track.as_ref() != Some(&track) {
            derived.forget();
        }
        derived.track = Some(Arc::clone(&track));
        let item = Item::Track(track);
        for lane in self.takers() {
            lane.push(&item, now);
            lane.publish();
        }
    }

    pub(super) fn write_derived(&mut self, turn: DerivationId, sample: Sample, now: Instant) {
        let derived = self.derived.as_mut().filter(|one| one.turn == turn);
        let Some(derived) = derived.filter(|one| one.track.is_some()) else {
            return;
        };
        let sample = derived.place(sample);
        derived.keep(sample.clone(), &self.backlog);
        let item = Item::Sample(sample);
        for lane in self.takers() {
            lane.push(&item, now);
            lane.publish();
        }
    }

    /// The derived track goes on in the new epoch.
    pub(super) fn begin_derived_epoch(&mut self, now: Instant) {
        let Some(derived) = &mut self.derived else {
            return;
        };
        derived.forget();
        if let Some(track) = derived.track.clone() {
            let item = Item::Track(track);
            self.takers().for_each(|lane| lane.push(&item, now));
        }
    }

    pub(super) fn end_derived(&mut self, turn: DerivationId) {
        if !self.is_derived_by(turn) {
            return;
        }
        self.derived = None;
        // What an idle lane holds is the past; the next listener begins with the present.
        self.lanes
            .retain(|lane| !lane.takes_derived || lane.lane.listeners() > 0);
    }

    pub(super) fn end(&mut self, reason: EndReason) {
        self.tell_end(reason);
        self.phase = Phase::Ended;
        self.lanes.clear();
        self.taps.clear();
        self.spools.clear();
        self.derived = None;
        // Remaining references to the stream hold no media.
        self.backlog.clear();
        self.news.ring();
        if let Some(waker) = self.superseded.take() {
            waker.wake();
        }
        self.drop_aside();
    }
}
