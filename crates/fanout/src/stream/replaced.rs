//! Publishers that were replaced recently.
//!
//! Two encoders with one key that both reconnect automatically would take a stream from each other for ever. So a
//! replaced publisher may not take it back while its replacement sends. An encoder whose own dead connection was
//! replaced is nevertheless admitted again, as soon as that connection is silent.
//!
//! A publisher is identified by its address, without the port, and by the name of its program. Two publishers with the
//! same address and program count as one here.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Bounded;
use media::StreamName;

use super::incumbent::Incumbent;
use super::{Core, Source};
use crate::gate::Credential;
use crate::takeover::{PublishRefused, STALLED_AFTER};

/// Upper bound on remembered publishers: more than would compete for one stream at once. Beyond it, the one that has
/// been quiet for longest is forgotten.
const REPLACED_MAX: usize = 8;

/// Recently replaced publishers, with the time at which each is forgotten.
#[derive(Debug)]
pub(super) struct Replaced(Bounded<Identity, Entry>);

type Identity = (Option<IpAddr>, String);

#[derive(Debug)]
struct Entry {
    until: Instant,
    /// Whether its attempt to take the stream back has been logged.
    is_reported: bool,
}

/// Attempt of a replaced publisher to take its stream back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Again {
    /// Whether this is the first attempt.
    is_news: bool,
}

impl Default for Replaced {
    fn default() -> Self {
        Self(Bounded::new(REPLACED_MAX))
    }
}

impl Replaced {
    /// Remembers a replaced publisher for `time`.
    fn note(&mut self, source: &Source, time: Duration, now: Instant) {
        let entry = Entry {
            until: now + time,
            is_reported: false,
        };
        self.0.insert(identity(source), entry);
    }

    /// Returns the attempt if the publisher was replaced recently, and remembers it for `time` again: a publisher that
    /// keeps trying stays out.
    fn tries(&mut self, source: &Source, time: Duration, now: Instant) -> Option<Again> {
        self.0.drop_while(|entry| entry.until <= now);
        let entry = self.0.renew(&identity(source))?;
        entry.until = now + time;
        let is_news = !std::mem::replace(&mut entry.is_reported, true);
        Some(Again { is_news })
    }
}

impl Core {
    /// Checks whether another publisher may replace the current one.
    pub(super) fn permits(
        &mut self,
        name: &StreamName,
        other: &Incumbent,
        now: Instant,
    ) -> Result<(), PublishRefused> {
        let (source, settings) = (&*other.source, &other.settings);
        if other.credential == Credential::YIELDS {
            // Such a publisher has given way, or will: it does not replace one that is only silent.
            return Err(PublishRefused::Busy);
        }
        if self.aside.is_some() {
            // The stream has its publisher, though its media is ignored.
            return Err(PublishRefused::Busy);
        }
        if self.incumbent.credential == Credential::YIELDS {
            return Ok(());
        }
        let silent_for = now.saturating_duration_since(self.incumbent.last_item);
        if !settings
            .takeover
            .permits(self.incumbent.credential == other.credential, silent_for)
        {
            return Err(PublishRefused::Busy);
        }
        let is_sending = silent_for < STALLED_AFTER;
        let back = settings.takeover_back;
        if is_sending && let Some(again) = self.replaced.tries(source, back, now) {
            if again.is_news {
                tracing::warn!(
                    stream = %name,
                    peer = ?source.peer,
                    agent = ?source.agent,
                    present = ?self.incumbent.source.peer,
                    present_agent = ?self.incumbent.source.agent,
                    "a publisher that was replaced wants its stream back, and is refused while the \
                     other one sends: two encoders use one key"
                );
            }
            return Err(PublishRefused::Replaced);
        }
        match self.clocks.was_just_taken_over(now) {
            true => Err(PublishRefused::Busy),
            false => Ok(()),
        }
    }

    /// Remembers and logs that the current publisher is replaced.
    pub(super) fn replace(&mut self, name: &StreamName, other: &Incumbent, now: Instant) {
        let source = &*other.source;
        let before = Arc::clone(&self.incumbent.source);
        if self.incumbent.credential == Credential::YIELDS {
            self.tell_takeover();
            let (peer, agent, protocol) = (source.peer, &source.agent, before.protocol);
            tracing::info!(stream = %name, ?peer, ?agent, protocol, "a publisher takes over from the server's own");
            return;
        }
        self.replaced
            .note(&before, other.settings.takeover_back, now);
        self.tell_takeover();
        let (peer, agent) = (source.peer, &source.agent);
        let (before_peer, before_agent) = (before.peer, &before.agent);
        if identity(&before) == identity(source) {
            // Most likely its own earlier connection, which the server does not know to be dead.
            tracing::info!(stream = %name, ?peer, ?agent, ?before_peer, "a publisher takes over from itself");
        } else {
            tracing::warn!(stream = %name, ?peer, ?agent, ?before_peer, ?before_agent, "another publisher takes over");
        }
    }
}

/// Returns the identity of a publisher.
fn identity(source: &Source) -> Identity {
    (source.peer.map(|peer| peer.ip()), source.agent.clone())
}
