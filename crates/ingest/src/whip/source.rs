//! Source selection of a track.
//!
//! A track has one source at a time. Payload types distinguish tracks; under one payload type there may be
//! several sources that no description distinguishes: one video in several sizes. The source with the highest
//! bit rate is taken. Until the rates are known it is the first one that arrives. Where simulcast was agreed
//! on, the [map of its layers](super::layers) has chosen already, and a layer's track takes every packet that
//! it is passed.

use std::time::{Duration, Instant};

use container::rtp::Packet;
use webrtc::sdp::Group;

use super::agree::Chosen;

/// Silence of a source after which another may replace it: senders that stop a layer, or restart, do not
/// announce it.
const REPLACED_AFTER: Duration = Duration::from_millis(1_000);

/// Time for which sources are measured before they are compared.
const MEASURED_FOR: Duration = Duration::from_millis(1_000);

/// Rate, in per cent of the present source's, at which another source replaces it: the next layer mostly
/// sends two to four times as much. Each change costs listeners a moment of a frozen frame.
const BETTER_PERCENT: usize = 150;

/// Most sources known at a time; no sender has more layers.
const SOURCES_MAX: usize = 8;

/// Source of one track.
#[derive(Debug)]
pub(super) struct Source {
    groups: Vec<Group>,
    known: Vec<Known>,
    /// Present source.
    pub(super) taken: Option<u32>,
    /// Source that is taken over with its next packet.
    better: Option<u32>,
    measured_since: Option<Instant>,
    /// Whether several sources may be one video in several sizes.
    has_sizes: bool,
    /// Whether only packets of one layer arrive here.
    is_layer: bool,
}

/// A known source.
#[derive(Debug)]
struct Known {
    ssrc: u32,
    heard: Instant,
    /// Bytes since measuring began.
    bytes: usize,
}

/// Relation of a packet's source to the track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// The present source.
    Ours,
    /// The new source from this packet on.
    New,
    /// Another source.
    Other,
}

impl Source {
    pub(super) fn new(chosen: &Chosen) -> Self {
        Self {
            groups: chosen.groups.clone(),
            known: Vec::new(),
            taken: None,
            better: None,
            measured_since: None,
            has_sizes: chosen.kind == media::Kind::Video,
            is_layer: !chosen.layers.names.is_empty(),
        }
    }

    /// Decides on a media packet.
    pub(super) fn judge(&mut self, packet: &Packet<'_>, now: Instant) -> Verdict {
        let ssrc = packet.header.ssrc;
        if self.is_layer {
            let is_ours = self.taken.replace(ssrc) == Some(ssrc);
            return if is_ours { Verdict::Ours } else { Verdict::New };
        }
        let is_alive = self.is_alive(now);
        self.note(packet, now);
        if self.has_sizes {
            self.compare(now);
        }
        if self.taken == Some(ssrc) {
            return Verdict::Ours;
        }
        let is_better = self.better.take_if(|better| *better == ssrc).is_some();
        if is_alive && !is_better {
            return Verdict::Other;
        }
        self.taken = Some(ssrc);
        Verdict::New
    }

    /// Whether a repeated packet belongs to the source.
    pub(super) fn repeats(&self, packet: &Packet<'_>) -> bool {
        let Some(taken) = self.taken else {
            return false;
        };
        if self.is_layer {
            return true;
        }
        match self.groups.iter().find(|group| group.media == taken) {
            Some(group) => group.rtx == packet.header.ssrc,
            // The packet does not name its source; with only one source that is clear.
            None => !self.has_others(taken),
        }
    }

    /// Handles the goodbye of a source.
    pub(super) fn leave(&mut self, ssrc: u32) {
        self.taken = self.taken.filter(|taken| *taken != ssrc);
        self.known.retain(|known| known.ssrc != ssrc);
    }

    fn is_alive(&self, now: Instant) -> bool {
        let taken = self
            .known
            .iter()
            .find(|known| Some(known.ssrc) == self.taken);
        taken.is_some_and(|taken| now.saturating_duration_since(taken.heard) < REPLACED_AFTER)
    }

    /// Whether others send besides a source.
    fn has_others(&self, ssrc: u32) -> bool {
        let heard = |known: &Known| known.heard + REPLACED_AFTER;
        let own = self.known.iter().find(|known| known.ssrc == ssrc);
        let mut others = self.known.iter().filter(|known| known.ssrc != ssrc);
        own.is_some_and(|own| others.any(|other| heard(other) > own.heard))
    }

    /// Records that a packet of a source arrived, and its size.
    fn note(&mut self, packet: &Packet<'_>, now: Instant) {
        let ssrc = packet.header.ssrc;
        let at = self.known.iter().position(|known| known.ssrc == ssrc);
        let at = at.unwrap_or_else(|| {
            if self.known.len() >= SOURCES_MAX {
                let oldest = (0..self.known.len()).min_by_key(|at| self.known[*at].heard);
                oldest.map(|at| self.known.swap_remove(at));
            }
            self.known.push(Known {
                ssrc,
                heard: now,
                bytes: 0,
            });
            self.known.len() - 1
        });
        let known = &mut self.known[at];
        known.heard = now;
        known.bytes = known.bytes.saturating_add(packet.payload.len());
    }

    /// Compares the sources' rates at intervals.
    fn compare(&mut self, now: Instant) {
        let since = *self.measured_since.get_or_insert(now);
        if now.saturating_duration_since(since) < MEASURED_FOR {
            return;
        }
        self.measured_since = Some(now);
        let taken = self
            .known
            .iter()
            .find(|known| Some(known.ssrc) == self.taken);
        let enough = taken.map_or(0, |taken| taken.bytes) / 100 * BETTER_PERCENT;
        let best = self.known.iter().max_by_key(|known| known.bytes);
        let best = best.filter(|best| Some(best.ssrc) != self.taken && best.bytes > enough);
        self.better = best.map(|best| best.ssrc);
        self.known.iter_mut().for_each(|known| known.bytes = 0);
    }
}
