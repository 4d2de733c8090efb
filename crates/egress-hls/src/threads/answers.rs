//! Answers to the requests of a thread: each is made once per batch.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use fanout::Segmentation;
use http::HeaderMap;

use super::Site;
use super::connection::Connection;
use super::head::Profile;
use super::prepared::Prepared;
use super::targets::{Known, Target, Targets};
use crate::answer::{Answer, Refused};
use crate::channel::Channel;
use crate::respond::{AtOnce, at_once};
use crate::share::Share;
use crate::{Context, playlist};

/// Source of a thread's answers: call [`begin_batch`](Self::begin_batch), then [`find`](Self::find) for each request.
pub(super) struct Answers {
    context: Arc<Context>,
    site: Arc<dyn Site>,
    /// Headers that all answers have.
    headers: HeaderMap,
    targets: Targets,
    /// Whether the server is about to leave; tasks answer then.
    is_leaving: bool,
}

/// Decision about a request.
pub(super) enum Verdict {
    Answer(Arc<Prepared>, Arc<Target>),
    /// Request that waits for a part of a segment.
    Awaits(Arc<Channel>, (u64, usize), Arc<Target>),
    /// Request that the connection's task has to answer.
    Elsewhere,
}

/// Decision shared by all requests of a batch that have the same target and equivalent heads.
enum Common {
    Answer(Arc<Prepared>),
    Awaits((u64, usize)),
    Elsewhere,
}

impl Answers {
    pub(super) fn new(context: Arc<Context>, site: Arc<dyn Site>) -> Self {
        Self {
            headers: site.headers(),
            context,
            site,
            targets: Targets::default(),
            is_leaving: false,
        }
    }

    /// Begins a batch, in which other answers may be right.
    pub(super) fn begin_batch(&mut self) {
        self.end_batch();
        self.is_leaving = self.site.is_leaving();
    }

    /// Drops the answers of a batch.
    pub(super) fn end_batch(&mut self) {
        self.targets.end_batch();
    }

    /// Forgets the parsed targets.
    pub(super) fn forget(&mut self) {
        self.targets.forget();
    }

    /// Returns the number of bytes remembered, approximately.
    pub(super) fn bytes(&self) -> usize {
        self.targets.bytes()
    }

    /// Returns the decision about a request on a connection.
    pub(super) fn find(
        &mut self,
        connection: &mut Connection,
        target: &[u8],
        profile: &Arc<Profile>,
        now: Instant,
    ) -> Verdict {
        let Some(known) = self.targets.get(target, &self.context, &*self.site) else {
            return Verdict::Elsewhere;
        };
        let Some(channel) = known.channel.clone() else {
            return Verdict::Elsewhere;
        };
        let target = Arc::clone(&known.target);
        let viewer = connection.viewer(&target, profile);
        // New viewers have to pass the gate in their task.
        if self.is_leaving || !connection.count(&channel, now) {
            return Verdict::Elsewhere;
        }
        let common = known.common(profile).unwrap_or_else(|| {
            let request = connection.request(&target, profile);
            let whose = (&*channel, &viewer);
            let found = at_once(&self.context, &request, &target.directives, whose);
            let share = Share::of(&self.context, &request);
            keep(known, found, profile, &self.headers, (&channel, share))
        });
        match common {
            Common::Answer(answer) => {
                let viewers = channel.viewers();
                match viewers.sent(&viewer, answer.body_len, &target.resource, now) {
                    true => Verdict::Answer(answer, target),
                    // The viewer was removed, or has left meanwhile; the task sends the refusal.
                    false => Verdict::Elsewhere,
                }
            }
            Common::Awaits(part) => Verdict::Awaits(channel, part, target),
            Common::Elsewhere => Verdict::Elsewhere,
        }
    }

    /// Returns the refusal for a request with a head like `profile` that waited in vain.
    pub(super) fn not_in_time(&self, profile: &Profile) -> Option<Arc<Prepared>> {
        let answer = Refused::NotInTime.answer();
        // The refusal is the same for every client, and is cached for a moment only.
        let caching = (&self.context.segmentation, !profile.is_private);
        prepare(answer, caching, &self.headers)
    }
}

impl Known {
    /// Returns the decision about an earlier request of this batch.
    fn common(&self, profile: &Profile) -> Option<Common> {
        match (self.awaited, self.answer(profile)) {
            (Some(part), _) => Some(Common::Awaits(part)),
            (None, answer) => answer.map(Common::Answer),
        }
    }
}

/// Keeps a decision for the other requests of the batch.
fn keep(
    known: &mut Known,
    found: AtOnce,
    profile: &Profile,
    headers: &HeaderMap,
    (channel, share): (&Channel, Share<'_>),
) -> Common {
    match found {
        AtOnce::Answer(answer) => {
            let answer = answer.in_memory(share).ok();
            let caching = (channel.segmentation(), share.is_public());
            let answer = answer.and_then(|answer| prepare(answer, caching, headers));
            let Some(answer) = answer else {
                return Common::Elsewhere;
            };
            // No other viewer requests an answer with this viewer's own query.
            if known.target.suffix.is_empty() {
                known.keep(profile, &answer);
            }
            Common::Answer(answer)
        }
        AtOnce::Awaits(number, part) => {
            known.awaited = Some((number, part));
            Common::Awaits((number, part))
        }
        AtOnce::Elsewhere => Common::Elsewhere,
    }
}

/// Prepares an answer for sending; `is_shared` states whether caches may give it to other clients.
fn prepare(
    answer: Answer,
    (segmentation, is_shared): (&Segmentation, bool),
    common: &HeaderMap,
) -> Option<Arc<Prepared>> {
    let target = playlist::target_seconds(segmentation);
    let answer = answer.cached_by(target, is_shared);
    Prepared::new(answer, common, SystemTime::now()).map(Arc::new)
}
