//! Viewers of a channel, identified by what their requests have in common.
//!
//! A viewer is one address with one program and one set of credentials, since HLS has no connection to count. Its first
//! request passes the gate and the limits, and makes it a listener with a record, like any other. It leaves when it has
//! requested nothing for longer than any player that still plays. A viewer that an operator has removed is refused for
//! [`REMOVED_FOR`], because its player would only repeat its request.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use base::Lock;
use fanout::{Choice, Info, ListenerHandle, Reason, Waits, join};
use http::header;
use http1::OWN_QUERY_BYTES_MAX;

use crate::answer::Refused;
use crate::channel::Channel;
use crate::packaging::Packaging;
use crate::reload::Directives;
use crate::timeline::discontinuity_base;
use crate::{Context, Request, Resource};

/// Time for which a removed viewer is refused.
const REMOVED_FOR: Duration = Duration::from_secs(60);

/// Most viewers of one channel. Each takes about a kilobyte, including its record.
const VIEWERS_MAX: usize = 65_536;

/// Most connections of one viewer that threads carry. Several people behind one router who use the same program are one
/// viewer, and a browser keeps six connections to a server. Each connection holds a descriptor, which limits do not
/// count.
const CARRIED_MAX: u32 = 64;

/// Hasher state, random for each run, so that no client can choose requests that collide.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Identity that the requests of one viewer have in common.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    key: (IpAddr, u64),
    /// Query of its own, with its question mark; the addresses in its playlists repeat it.
    pub(crate) suffix: String,
}

/// Bytes allowed for directives beside a viewer's own query: several times what players send.
const DIRECTIVES_BYTES_MAX: usize = 256;

/// Returns whether a query is too long to be repeated in playlists, or to be remembered.
pub(crate) fn is_too_long(query: &str) -> bool {
    // The own query includes its question mark.
    query.len() > OWN_QUERY_BYTES_MAX + DIRECTIVES_BYTES_MAX
        || own_query(query).len() > 1 + OWN_QUERY_BYTES_MAX
}

impl Viewer {
    /// Returns the viewer that makes a request.
    pub(crate) fn of(request: &Request<'_>) -> Self {
        let suffix = own_query(request.query);
        let mut hasher = HASHES.build_hasher();
        suffix.hash(&mut hasher);
        for name in [header::USER_AGENT, header::AUTHORIZATION] {
            request
                .headers
                .get(name)
                .map(AsRef::<[u8]>::as_ref)
                .hash(&mut hasher);
        }
        Self {
            key: (request.peer.ip(), hasher.finish()),
            suffix,
        }
    }
}

/// Returns the viewer's own part of a query, with its question mark; empty if the query has directives only.
pub(crate) fn own_query(query: &str) -> String {
    let parameters = query.split('&');
    let own: Vec<_> = parameters
        .filter(|parameter| !parameter.is_empty() && !Directives::is_one(parameter))
        .collect();
    match own.is_empty() {
        true => String::new(),
        // A quotation mark would end the attribute that contains the address.
        false => format!("?{}", own.join("&").replace('"', "%22")),
    }
}

/// Registration of a viewer as a listener.
#[derive(Debug)]
pub(crate) struct Listener {
    handle: ListenerHandle,
    /// Time at which its permission ends, if it does.
    until: Option<Instant>,
}

/// Joins a viewer to its stream: the gate, the stream, the limits, and the channel of the chosen packaging. Returns
/// that channel and the registration.
///
/// # Errors
/// The reason for which the viewer may not join, or cannot.
pub(crate) async fn introduce(
    context: &Context,
    request: &Request<'_>,
    choose: impl Fn(&Info) -> Choice<Packaging>,
) -> Result<(Arc<Channel>, Listener), Refused> {
    let shown = request.shown();
    let permit = context.admission.admit(request.peer)?;
    let joined = join(
        &context.registry,
        &*context.gate,
        request.wish(&shown, request.stream),
        Waits::default(),
        choose,
    )
    .await?;
    let (mut subscription, packaging) = (joined.subscription, joined.choice);
    if subscription.stream().name() != request.stream {
        // Addresses of playlists and segments belong to the stream that was requested.
        return Err(Refused::NoSuchStream);
    }
    subscription.set_permit(permit);
    let now = Instant::now();
    let base = discontinuity_base(&context.variants, &context.registry, subscription.stream());
    let channel = context.channels.open(&subscription, packaging, base, now)?;
    let lane = channel.lane(&subscription, now)?;
    let record = subscription.record(&lane);
    let until = record.until;
    let handle = context.registry.fanout().handle(record, lane);
    Ok((channel, Listener { handle, until }))
}

/// Viewers of one channel. A request calls [`touch`](Self::touch), [`enter`](Self::enter) if the viewer is new, and
/// [`sent`](Self::sent).
#[derive(Debug)]
pub(crate) struct Viewers {
    /// Time without requests after which a viewer has left.
    silent_for: Duration,
    state: Lock<State>,
}

#[derive(Debug)]
struct State {
    present: HashMap<(IpAddr, u64), ViewerState>,
    /// Time at which a viewer was last present.
    seen: Instant,
}

/// Standing of a viewer.
#[derive(Debug)]
enum ViewerState {
    Watching {
        listener: Listener,
        seen: Instant,
        /// Number of its connections that threads carry.
        carried: u32,
    },
    Removed {
        at: Instant,
    },
}

impl Viewers {
    /// Makes an empty set. Viewers leave when they have requested nothing for `silent_for`.
    pub(crate) fn new(silent_for: Duration, now: Instant) -> Self {
        let state = State {
            present: HashMap::new(),
            seen: now,
        };
        Self {
            silent_for,
            state: Lock::new(state),
        }
    }

    /// Records a request of a viewer. Returns false if the viewer has to be introduced.
    ///
    /// # Errors
    /// If the viewer was removed.
    pub(crate) fn touch(&self, viewer: &Viewer, now: Instant) -> Result<bool, Refused> {
        let mut state = self.state.lock();
        state.seen = now;
        let Entry::Occupied(mut entry) = state.present.entry(viewer.key) else {
            return Ok(false);
        };
        if !entry.get_mut().settle(now) {
            entry.remove();
            return Ok(false);
        }
        match entry.get_mut() {
            ViewerState::Watching { seen, .. } => {
                *seen = now;
                Ok(true)
            }
            ViewerState::Removed { .. } => Err(Refused::Removed),
        }
    }

    /// Adds a viewer that was introduced, unless another of its requests was faster.
    ///
    /// # Errors
    /// If there are [`VIEWERS_MAX`] viewers.
    pub(crate) fn enter(
        &self,
        viewer: &Viewer,
        listener: Listener,
        now: Instant,
    ) -> Result<(), Refused> {
        let mut state = self.state.lock();
        state.seen = now;
        if state.present.len() >= VIEWERS_MAX {
            return Err(Refused::Full);
        }
        if let Entry::Vacant(entry) = state.present.entry(viewer.key) {
            entry.insert(ViewerState::Watching {
                listener,
                seen: now,
                carried: 0,
            });
        }
        Ok(())
    }

    /// Counts the bytes of an answer to a viewer. Returns false if the viewer has to be introduced again, or was
    /// removed.
    pub(crate) fn sent(
        &self,
        viewer: &Viewer,
        bytes: u64,
        resource: &Resource,
        now: Instant,
    ) -> bool {
        let mut state = self.state.lock();
        // The request may have waited for longer than a viewer may be silent.
        let Some((listener, _)) = state.watching(viewer, now) else {
            return false;
        };
        listener.handle.sent(bytes, 1);
        if resource.is_media() {
            listener.handle.began(now);
        }
        true
    }

    /// Counts one more connection of a viewer that a thread carries. Returns false if the viewer may not have it.
    pub(crate) fn carry(&self, viewer: &Viewer, now: Instant) -> bool {
        match self.state.lock().watching(viewer, now) {
            Some((_, carried)) if *carried < CARRIED_MAX => {
                *carried += 1;
                true
            }
            _ => false,
        }
    }

    /// Counts one connection less. A viewer that has left meanwhile has none.
    pub(crate) fn put_down(&self, viewer: &Viewer) {
        if let Some(ViewerState::Watching { carried, .. }) =
            self.state.lock().present.get_mut(&viewer.key)
        {
            *carried = carried.saturating_sub(1);
        }
    }

    /// Removes viewers that have left.
    pub(crate) fn expire(&self, now: Instant) {
        let since = |at: Instant| now.saturating_duration_since(at);
        let mut state = self.state.lock();
        state.present.retain(|_, viewer| {
            viewer.settle(now)
                && match viewer {
                    ViewerState::Watching { seen, .. } => since(*seen) < self.silent_for,
                    ViewerState::Removed { at } => since(*at) < REMOVED_FOR,
                }
        });
    }

    /// Removes all viewers, because the stream has ended.
    pub(crate) fn end(&self) {
        for (_, viewer) in self.state.lock().present.drain() {
            if let ViewerState::Watching { mut listener, .. } = viewer {
                listener.handle.ends_by(Reason::Ended);
            }
        }
    }

    /// Returns whether there has been no viewer for `time`.
    pub(crate) fn is_idle(&self, now: Instant, time: Duration) -> bool {
        let mut state = self.state.lock();
        let is_watched = |viewer: &ViewerState| matches!(viewer, ViewerState::Watching { .. });
        if state.present.values().any(is_watched) {
            state.seen = now;
        }
        now.saturating_duration_since(state.seen) >= time
    }
}

impl State {
    /// Returns the listener of a viewer that requests something or receives it, and the number of its connections that
    /// threads carry. `None` if the viewer does not watch.
    fn watching(&mut self, viewer: &Viewer, now: Instant) -> Option<(&mut Listener, &mut u32)> {
        self.seen = now;
        let watching = self.present.get_mut(&viewer.key)?;
        match watching.settle(now).then_some(watching)? {
            ViewerState::Watching {
                listener,
                seen,
                carried,
            } => {
                *seen = now;
                Some((listener, carried))
            }
            ViewerState::Removed { .. } => None,
        }
    }
}

impl ViewerState {
    /// Releases the listener if it was removed. Returns false if its permission has ended, so that the viewer may be
    /// introduced again.
    fn settle(&mut self, now: Instant) -> bool {
        if let Self::Watching { listener, .. } = self
            && listener.handle.is_kicked()
        {
            listener.handle.ends_by(Reason::Kicked);
            if listener.until.is_some_and(|until| until <= now) {
                return false;
            }
            *self = Self::Removed { at: now };
        }
        true
    }
}
