//! Targets of requests: their meaning, and the current answers to them.
//!
//! The meaning of a target is remembered if all viewers may request it. The answer is kept for one batch only: an
//! answer has megabytes, and most are never requested again.

use std::collections::HashMap;
use std::sync::Arc;

use media::StreamName;

use super::Site;
use super::answers::Prepared;
use super::head::Profile;
use crate::channel::Channel;
use crate::encoding::Coding;
use crate::reload::Directives;
use crate::viewers;
use crate::{Context, Resource};

/// Most targets that a thread remembers, and the most bytes of each: two megabytes together. A stream has some tens at
/// a time, of less than a hundred bytes each. If there are more, all are forgotten; targets with a viewer's own query
/// are not remembered.
const TARGETS_MAX: usize = 1_024;
const TARGET_BYTES_MAX: usize = 512;

/// Number of targets for whose answers a batch's map keeps its capacity.
const BATCH_KEPT: usize = 1_024;

/// Parsed target of a request.
#[derive(Debug)]
pub(super) struct Target {
    /// Target as it was sent.
    pub(super) text: String,
    pub(super) stream: StreamName,
    pub(super) resource: Resource,
    pub(super) query: String,
    pub(super) directives: Directives,
    /// Query of the viewer's own; see [`Viewer::suffix`](viewers::Viewer).
    pub(super) suffix: String,
}

impl Target {
    /// Parses a target; `None` if threads do not serve it.
    fn of(text: &[u8], site: &dyn Site) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        // No name of this server needs encoding.
        if path.contains('%') {
            return None;
        }
        if viewers::is_too_long(query) {
            return None;
        }
        let (stream, resource) = site.resource(path)?;
        Some(Self {
            text: text.to_owned(),
            stream,
            resource,
            query: query.to_owned(),
            directives: Directives::parse(query).ok()?,
            suffix: viewers::own_query(query),
        })
    }
}

/// Target, and the results of one batch for it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) target: Arc<Target>,
    pub(super) channel: Option<Arc<Channel>>,
    /// Part that this batch's requests wait for.
    pub(super) awaited: Option<(u64, usize)>,
    answers: Vec<(Coding, bool, Arc<Prepared>)>,
}

impl Known {
    fn new(target: Arc<Target>, context: &Context) -> Self {
        let channel = match &target.resource {
            Resource::Media(packaging, _) => {
                let stream = &target.stream;
                context.channels.get(&context.registry, stream, *packaging)
            }
            Resource::Multivariant => None,
        };
        Self {
            target,
            channel,
            awaited: None,
            answers: Vec::new(),
        }
    }

    /// Returns the answer to this batch's requests with heads like `profile`.
    pub(super) fn answer(&self, profile: &Profile) -> Option<Arc<Prepared>> {
        let is_it = |(coding, is_private, _): &&(Coding, bool, Arc<Prepared>)| {
            *coding == profile.coding && *is_private == profile.is_private
        };
        self.answers
            .iter()
            .find(is_it)
            .map(|(_, _, answer)| Arc::clone(answer))
    }

    /// Keeps an answer for this batch.
    pub(super) fn keep(&mut self, profile: &Profile, answer: &Arc<Prepared>) {
        self.answers
            .push((profile.coding, profile.is_private, Arc::clone(answer)));
    }
}

/// Targets that a thread knows.
#[derive(Debug, Default)]
pub(super) struct Targets {
    remembered: HashMap<Box<[u8]>, Arc<Target>>,
    /// Targets of this batch.
    batch: HashMap<Box<[u8]>, Known>,
}

impl Targets {
    /// Ends the batch and drops its answers, because others may be right in the next.
    pub(super) fn end_batch(&mut self) {
        self.batch.clear();
        self.batch.shrink_to(BATCH_KEPT);
    }

    /// Forgets the parsed targets, because old ones are not requested again.
    pub(super) fn forget(&mut self) {
        self.remembered = HashMap::new();
    }

    /// Returns the target of a request; `None` if threads do not serve it.
    pub(super) fn get(
        &mut self,
        text: &[u8],
        context: &Context,
        site: &dyn Site,
    ) -> Option<&mut Known> {
        if !self.batch.contains_key(text) {
            let target = self.target(text, site)?;
            self.batch.insert(text.into(), Known::new(target, context));
        }
        self.batch.get_mut(text)
    }

    fn target(&mut self, text: &[u8], site: &dyn Site) -> Option<Arc<Target>> {
        if let Some(target) = self.remembered.get(text) {
            return Some(Arc::clone(target));
        }
        let target = Arc::new(Target::of(text, site)?);
        if target.suffix.is_empty() && text.len() <= TARGET_BYTES_MAX {
            if self.remembered.len() >= TARGETS_MAX {
                self.remembered.clear();
            }
            self.remembered.insert(text.into(), Arc::clone(&target));
        }
        Some(target)
    }

    /// Returns the number of bytes remembered, approximately.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |text: &[u8]| 3 * text.len() + size_of::<Target>();
        let remembered = self.remembered.keys().map(|text| bytes(text));
        remembered.sum()
    }
}
