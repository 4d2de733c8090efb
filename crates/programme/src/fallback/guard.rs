//! Guard of one stream: a task that waits for the publisher to leave, and then feeds the stream from the fallback.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fanout::events::EventKind;
use fanout::{Info, Phase, PublishRefused, Publisher, Source, Stream, Tap};
use media::{Container, Span, StreamName};
use tokio::sync::watch;

use crate::fallback::board::{Shown, State};
use crate::fallback::demand::Claim;
use crate::fallback::fit::{Misfit, Shape};
use crate::fallback::machine::{Here, Machine, Other, Outcome, Sight, Step};
use crate::fallback::splice::{Goes, Splice};
use crate::fallback::{Context, PROTOCOL, Rule};
use crate::{now, write};

/// Interval at which a guard checks whether anybody listens, and the state of its fallback: a small part of the second
/// within which the fallback is to begin.
const LOOK: Duration = Duration::from_millis(100);

/// Interval at which a guard checks whether the fallback would fit, while there is a publisher.
const LOOK_AHEAD: Duration = Duration::from_secs(10);

/// Time for which a publisher may take to announce all its tracks. Its stream is not judged before.
const TRACKS_AWAITED: Duration = Duration::from_secs(2);

/// Wait of a guard that may not publish: the causes, a block or the limit of publishers, last.
const RETRY: Duration = Duration::from_secs(5);

/// Guard of one stream; [`run`](Self::run) is its task.
pub(crate) struct Guard {
    context: Arc<Context>,
    name: StreamName,
    rule: Rule,
    /// Whether it continues while there is no such stream.
    is_named: bool,
    machine: Machine,
    /// Last publisher other than a guard, and the format that it sent.
    own: Option<(Arc<Source>, Shape)>,
    /// Misfit of the fallback that was reported while the publisher is present.
    foreseen: Option<Misfit>,
    /// Demand for the fallback, while it is wanted.
    claim: Option<Claim>,
    /// Receiver that changes with each request for a stream.
    wishes: watch::Receiver<()>,
    /// Receiver that changes with each order of the operator.
    orders: watch::Receiver<()>,
}

/// Feed that has its first items.
struct Feed {
    publisher: Publisher,
    tap: Tap,
    splice: Splice,
    /// Own stream, and the fallback.
    stream: Arc<Stream>,
    other: Arc<Stream>,
}

impl Guard {
    pub(crate) fn new(context: Arc<Context>, name: StreamName, rule: Rule, is_named: bool) -> Self {
        Self {
            machine: Machine::new(rule.after, rule.keep, rule.is_move),
            wishes: context.demand.news(),
            orders: context.orders.news(),
            context,
            name,
            rule,
            is_named,
            own: None,
            foreseen: None,
            claim: None,
        }
    }

    /// Guards its stream: forever, or until the stream has ended, or is to have no guard.
    pub(crate) async fn run(mut self) {
        self.show(State::Waiting);
        loop {
            let stream = self.stream();
            if stream.is_none() && !self.is_named {
                break;
            }
            self.orders.mark_unchanged();
            match (self.context.rules)(&self.name) {
                Some(rule) if rule == self.rule => {}
                Some(rule) => self.follow(rule),
                None => break,
            }
            let sight = self.sight(stream.as_ref());
            // A fallback that comes on demand needs to be requested in time.
            let is_due = sight.here != Here::Published || self.rule.is_move;
            let needs_other = is_due && sight.is_wanted;
            self.claim(needs_other);
            match self.machine.look(sight, now()) {
                Step::Rest => {
                    let state = self.foresee(stream.as_ref());
                    self.show(state);
                    self.rest(stream).await;
                }
                Step::Watch(until) => self.watch(until).await,
                Step::Refuse(misfit) => {
                    let (stream, fallback) = (&self.name, &self.rule.fallback);
                    tracing::warn!(%stream, %fallback, reason = %misfit, "a fallback cannot be heard");
                    self.tell(Outcome::Refused);
                    self.show(State::Refused(misfit.to_string()));
                    self.watch(None).await;
                }
                Step::Feed => self.feed().await,
            }
        }
        self.context.board.clear(&self.name);
    }

    /// Returns the state if the publisher left now. A fallback that does not fit is reported while both are present.
    fn foresee(&mut self, stream: Option<&Arc<Stream>>) -> State {
        let is_here = stream.is_some_and(|stream| stream.info().phase == Phase::Live);
        let Some(Other::Unfit(misfit)) = is_here.then(|| self.other()) else {
            self.foreseen = None;
            return State::Waiting;
        };
        let state = State::Refused(misfit.to_string());
        if self.foreseen.as_ref() != Some(&misfit) {
            let (stream, fallback) = (&self.name, &self.rule.fallback);
            tracing::warn!(%stream, %fallback, reason = %misfit, "the fallback could not be heard if the publisher left");
            self.foreseen = Some(misfit);
        }
        state
    }

    /// Adopts a rule that the operator has changed.
    fn follow(&mut self, rule: Rule) {
        self.machine.follow(rule.after, rule.is_move);
        self.rule = rule;
        self.claim = None;
        self.show(State::Waiting);
    }

    fn stream(&self) -> Option<Arc<Stream>> {
        let stream = self.context.registry.stream(&self.name)?;
        (stream.info().phase != Phase::Ended).then_some(stream)
    }

    fn sight(&mut self, stream: Option<&Arc<Stream>>) -> Sight {
        let is_demanded = self.context.demand.has(&self.name, now());
        let info = stream.map(|stream| stream.info());
        let here = match info.as_ref().map(|info| info.phase) {
            None | Some(Phase::Ended) => Here::Absent,
            Some(Phase::Live) => Here::Published,
            Some(Phase::Lingering) => Here::Vacant,
        };
        match &info {
            None => self.own = None,
            Some(info) => self.remember(info),
        }
        let is_heard = info.is_some_and(|info| info.listeners > 0);
        Sight {
            here,
            is_wanted: is_demanded || is_heard,
            other: match here {
                Here::Published if !self.rule.is_move => Other::Away,
                _ => self.other(),
            },
        }
    }

    /// Remembers the format that a publisher has promised listeners.
    fn remember(&mut self, info: &Info) {
        if info.source.protocol != PROTOCOL && info.has_media {
            self.own = Some((Arc::clone(&info.source), Shape::of(info)));
        }
    }

    fn other(&self) -> Other {
        let stream = self.context.registry.stream(&self.rule.fallback);
        let info = stream.map(|stream| stream.info());
        let Some(info) = info.filter(Info::is_on_air) else {
            return Other::Away;
        };
        let own = self.own.as_ref().filter(|(_, shape)| shape.is_known());
        let misfit = own.and_then(|(_, shape)| shape.misfit(&Shape::of(&info)));
        let is_allowed = |misfit: &Misfit| self.rule.any_format && misfit.is_stated_by_frames();
        match misfit.filter(|misfit| !is_allowed(misfit)) {
            None => Other::Ready,
            // The fallback may still announce the missing tracks.
            Some(_) if is_young(&info) => Other::Away,
            Some(misfit) => Other::Unfit(misfit),
        }
    }

    fn claim(&mut self, is_needed: bool) {
        match is_needed {
            false => self.claim = None,
            true if self.claim.is_none() => {
                self.claim = Some(self.context.demand.claim(&self.rule.fallback));
            }
            true => {}
        }
    }

    /// Waits until there is something to observe.
    async fn rest(&mut self, stream: Option<Arc<Stream>>) {
        match stream {
            Some(stream) if stream.info().phase == Phase::Live => {
                tokio::select! {
                    () = stream.vacated() => {}
                    _ = self.orders.changed() => {}
                    () = tokio::time::sleep(LOOK_AHEAD) => {}
                }
            }
            // The publisher has left this very moment, or nobody listens.
            Some(_) => tokio::time::sleep(LOOK).await,
            None => {
                let registry = &self.context.registry;
                tokio::select! {
                    _ = registry.appearance(&self.name) => {}
                    _ = self.wishes.changed() => {}
                    _ = self.orders.changed() => {}
                }
            }
        }
    }

    async fn watch(&self, until: Option<Instant>) {
        let soon = now() + LOOK;
        let until = until.map_or(soon, |until| until.min(soon));
        tokio::time::sleep_until(until.into()).await;
    }

    /// Feeds the stream until a publisher, or the end of the fallback, ends the feed.
    async fn feed(&mut self) {
        let Some(feed) = self.begin().await else {
            return;
        };
        self.machine.begin();
        let (stream, fallback) = (&self.name, &self.rule.fallback);
        tracing::info!(%stream, %fallback, "the fallback is heard");
        self.tell(Outcome::Began);
        self.show(State::Playing);
        let outcome = self.carry(feed).await;
        let (stream, fallback) = (&self.name, &self.rule.fallback);
        tracing::info!(%stream, %fallback, outcome = outcome.label(), "the fallback is not heard any more");
        self.machine.end(outcome, now());
        self.tell(outcome);
        self.show(State::Waiting);
    }

    /// Begins a feed with its first items; `None` if the state has to be observed again.
    async fn begin(&self) -> Option<Feed> {
        let registry = &self.context.registry;
        let other = registry.stream(&self.rule.fallback)?;
        let info = other.info();
        let mut tap = other.tap(None)?;
        let missed = self.machine.silence(now());
        let missed = match self.own {
            Some(_) => missed.unwrap_or_default().into(),
            // New listeners begin with a burst.
            None => Span::from_millis(i64::from(i32::MAX)),
        };
        let mut splice = Splice::new(info.source.container, missed);
        let (mut tapped, mut items) = (Vec::new(), Vec::new());
        while !splice.has_begun() {
            let is_open = tokio::select! {
                is_open = tap.take_all(&mut tapped) => is_open,
                // Another publisher has the stream.
                _ = registry.live(&self.name), if !self.rule.is_move => return None,
            };
            if !is_open || splice.push(&mut tapped, &mut items) == Goes::Another {
                return None;
            }
        }
        let mut publisher = match self.publish(&info) {
            Ok(publisher) => publisher,
            Err(PublishRefused::Busy | PublishRefused::Replaced | PublishRefused::Ended) => {
                return None;
            }
            Err(reason) => {
                let stream = &self.name;
                tracing::warn!(%stream, %reason, "a fallback may not be heard");
                self.show(State::Refused(reason.to_string()));
                tokio::time::sleep(RETRY).await;
                return None;
            }
        };
        let stream = Arc::clone(publisher.stream());
        let is_written = write(&mut publisher, &mut items, &self.context.stats.bytes);
        is_written.then_some(Feed {
            publisher,
            tap,
            splice,
            stream,
            other,
        })
    }

    fn publish(&self, other: &Info) -> Result<Publisher, PublishRefused> {
        let permission = (self.context.permit)(&self.name, self.rule.yields);
        let container = other.source.container;
        // Listeners keep the description of their stream, above all its name.
        let own = self.own.as_ref().map_or(&other.source, |(own, _)| own);
        let is_same = own.container == container && container != Container::Tracks;
        let reported = if is_same { own } else { &other.source };
        let source = Source {
            protocol: PROTOCOL,
            peer: None,
            agent: self.context.agent.clone(),
            container,
            content_type: reported.content_type.clone(),
            headers: own.headers.clone(),
        };
        let registry = &self.context.registry;
        let is_here = self.rule.is_move && self.stream().is_some();
        match is_here {
            true => registry.divert(&permission, source, now()),
            false => registry.publish(&permission, source, now()),
        }
    }

    /// Passes items on until the feed ends.
    async fn carry(&mut self, feed: Feed) -> Outcome {
        let Feed {
            mut publisher,
            mut tap,
            mut splice,
            stream,
            other,
        } = feed;
        let watch = publisher.epoch_watch();
        let mut looks = tokio::time::interval(LOOK);
        let (mut tapped, mut items) = (Vec::new(), Vec::new());
        loop {
            tokio::select! {
                _ = watch.superseded() => return Outcome::Returned,
                is_open = tap.take_all(&mut tapped) => {
                    let goes = splice.push(&mut tapped, &mut items);
                    if !write(&mut publisher, &mut items, &self.context.stats.bytes) {
                        return Outcome::Returned;
                    }
                    if !is_open || goes == Goes::Another {
                        return Outcome::Ended;
                    }
                }
                _ = looks.tick() => {
                    let is_heard = stream.info().listeners > 0;
                    let is_wanted = is_heard || self.context.demand.has(&self.name, now());
                    let is_live = other.info().phase == Phase::Live;
                    if let Some(outcome) = self.machine.look_at_feed(is_wanted, is_live, now()) {
                        return outcome;
                    }
                    if (self.context.rules)(&self.name).as_ref() != Some(&self.rule) {
                        return Outcome::Ended;
                    }
                }
            }
        }
    }

    fn tell(&self, outcome: Outcome) {
        self.context.stats.outcomes.count(outcome);
        let events = self.context.registry.fanout().events();
        let event = EventKind::Fallback {
            fallback: self.rule.fallback.clone(),
            outcome: outcome.label(),
        };
        events.emit(Some(&self.name), event);
    }

    fn show(&self, state: State) {
        let shown = Shown {
            fallback: self.rule.fallback.clone(),
            is_move: self.rule.is_move,
            state,
        };
        self.context.board.show(&self.name, shown);
    }
}

fn is_young(info: &Info) -> bool {
    let age = SystemTime::now().duration_since(info.since);
    age.unwrap_or_default() < TRACKS_AWAITED
}
