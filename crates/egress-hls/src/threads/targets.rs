//! What targets mean, and how they are answered at the moment.

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

/// Targets that a thread remembers. A stream has some tens at a time; where each viewer has a query of its own, those
/// of the last thousand requests. When there are more, all are forgotten.
const TARGETS_MAX: usize = 1_024;

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
    batch: u64,
    pub(super) channel: Option<Arc<Channel>>,
    /// The part that this batch's requests wait for.
    pub(super) awaited: Option<(u64, usize)>,
    answers: Vec<(Coding, bool, Arc<Prepared>)>,
}

impl Known {
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

    /// Forgets what may have changed since an earlier batch.
    fn renew(&mut self, batch: u64, context: &Context) {
        if self.batch == batch {
            return;
        }
        self.batch = batch;
        self.awaited = None;
        self.answers.clear();
        self.channel = match &self.target.resource {
            Resource::Media(packaging, _) => {
                let stream = &self.target.stream;
                context.channels.get(&context.registry, stream, *packaging)
            }
            Resource::Multivariant => None,
        };
    }
}

/// The targets that a thread knows.
#[derive(Debug, Default)]
pub(super) struct Targets {
    all: HashMap<Box<[u8]>, Known>,
    batch: u64,
}

impl Targets {
    /// What follows is another batch: other answers may be right.
    pub(super) fn begin_batch(&mut self) {
        self.batch += 1;
    }

    /// The target of a request; `None` if it is not for a thread.
    pub(super) fn get(
        &mut self,
        text: &[u8],
        context: &Context,
        site: &dyn Site,
    ) -> Option<&mut Known> {
        if !self.all.contains_key(text) {
            let target = Arc::new(Target::of(text, site)?);
            if self.all.len() >= TARGETS_MAX {
                self.all.clear();
            }
            let known = Known {
                target,
                batch: 0,
                channel: None,
                awaited: None,
                answers: Vec::new(),
            };
            self.all.insert(text.into(), known);
        }
        let known = self.all.get_mut(text)?;
        known.renew(self.batch, context);
        Some(known)
    }
}
