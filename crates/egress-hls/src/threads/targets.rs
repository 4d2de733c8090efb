//! What targets mean, and how they are answered at the moment.
//!
//! What a target means is remembered, if all viewers may ask for it; how it is answered is known for one batch and no
//! longer: an answer is megabytes, and most are never asked for again.

use std::collections::HashMap;
use std::sync::Arc;

use media::StreamName;

use super::Site;
use super::head::Profile;
use super::prepared::Prepared;
use crate::channel::Channel;
use crate::encoding::Coding;
use crate::reload::Directives;
use crate::viewers;
use crate::{Context, Resource};

/// Targets that a thread remembers, and bytes of each: together two megabytes. A stream has some tens at a time, of less
/// than a hundred bytes. When there are more, all are forgotten; those with a viewer's own query are not remembered.
const TARGETS_MAX: usize = 1_024;
const TARGET_BYTES_MAX: usize = 512;

/// Targets that a batch's answers may be kept room for.
const BATCH_KEPT: usize = 1_024;

/// What a target means.
#[derive(Debug)]
pub(super) struct Target {
    /// As it was sent.
    pub(super) text: String,
    pub(super) stream: StreamName,
    pub(super) resource: Resource,
    pub(super) query: String,
    pub(super) directives: Directives,
    /// The viewer's own query; see [`Viewer::suffix`](viewers::Viewer::suffix).
    pub(super) suffix: String,
}

impl Target {
    /// `None` if it is not for a thread.
    fn of(text: &[u8], site: &dyn Site) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        // No name of ours needs to be encoded.
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

/// A target, and what is known of it in one batch.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) target: Arc<Target>,
    pub(super) channel: Option<Arc<Channel>>,
    /// The part that this batch's requests wait for.
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

    /// The answer to this batch's requests with heads like `profile`.
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

/// The targets that a thread knows.
#[derive(Debug, Default)]
pub(super) struct Targets {
    remembered: HashMap<Box<[u8]>, Arc<Target>>,
    /// Those of this batch.
    batch: HashMap<Box<[u8]>, Known>,
}

impl Targets {
    /// The batch is over: other answers may be right in the next, and these are let go of.
    pub(super) fn end_batch(&mut self) {
        self.batch.clear();
        self.batch.shrink_to(BATCH_KEPT);
    }

    /// Forgets what targets mean: old ones are not asked for again.
    pub(super) fn forget(&mut self) {
        self.remembered = HashMap::new();
    }

    /// The target of a request; `None` if it is not for a thread.
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

    /// Bytes that are remembered, about.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |text: &[u8]| 3 * text.len() + size_of::<Target>();
        let remembered = self.remembered.keys().map(|text| bytes(text));
        remembered.sum()
    }
}
