//! Whose packets a track takes.
//!
//! A track has one source at a time. Payload types tell tracks apart; of several sources under one
//! payload type, which is what simulcast is when a sender does not care for the answer, the one is
//! taken that names the wanted layer, or else the first that is heard.

use std::time::{Duration, Instant};

use container::rtp::Packet;
use webrtc::sdp::Group;

use super::agree::{Chosen, Layer};

/// A source that was silent for this long may be replaced by another: senders that stop a layer, or
/// begin anew, do not say so.
const REPLACED_AFTER: Duration = Duration::from_millis(1_000);

/// One track's source.
#[derive(Debug)]
pub(super) struct Source {
    layer: Option<Layer>,
    groups: Vec<Group>,
    taken: Option<Taken>,
    has_others: bool,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    ssrc: u32,
    heard: Instant,
}

/// What a packet's source is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// The one that is taken.
    Ours,
    /// The one that is taken from now on.
    New,
    /// Another one.
    Other,
}

impl Source {
    pub(super) fn new(chosen: &Chosen) -> Self {
        Self {
            layer: chosen.layer.clone(),
            groups: chosen.groups.clone(),
            taken: None,
            has_others: false,
        }
    }

    /// The source that is taken.
    pub(super) fn ssrc(&self) -> Option<u32> {
        self.taken.map(|taken| taken.ssrc)
    }

    /// Decides on a packet of media.
    pub(super) fn judge(&mut self, packet: &Packet<'_>, now: Instant) -> Verdict {
        let ssrc = packet.header.ssrc;
        if let Some(taken) = self.taken.as_mut().filter(|taken| taken.ssrc == ssrc) {
            taken.heard = now;
            return Verdict::Ours;
        }
        let is_alive = self
            .taken
            .is_some_and(|taken| now.saturating_duration_since(taken.heard) < REPLACED_AFTER);
        let extension = self.layer.as_ref().and_then(|layer| layer.extension);
        if is_alive || self.is_other_layer(packet, extension) {
            self.has_others = true;
            return Verdict::Other;
        }
        self.taken = Some(Taken { ssrc, heard: now });
        Verdict::New
    }

    /// Whether a repeated packet is one of the source's.
    pub(super) fn repeats(&self, packet: &Packet<'_>) -> bool {
        let Some(taken) = self.taken else {
            return false;
        };
        if let Some(group) = self.groups.iter().find(|group| group.media == taken.ssrc) {
            return group.rtx == packet.header.ssrc;
        }
        let extension = self
            .layer
            .as_ref()
            .and_then(|layer| layer.repeated_extension);
        let names_layer = extension.is_some_and(|id| packet.elements().any(|(of, _)| of == id));
        match names_layer {
            true => !self.is_other_layer(packet, extension),
            // Nothing says of whom; that is well as long as there is one.
            false => !self.has_others,
        }
    }

    /// The source says goodbye.
    pub(super) fn leave(&mut self, ssrc: u32) {
        self.taken = self.taken.filter(|taken| taken.ssrc != ssrc);
    }

    /// Whether a packet names a layer that is not wanted.
    fn is_other_layer(&self, packet: &Packet<'_>, extension: Option<u8>) -> bool {
        let Some((layer, id)) = self.layer.as_ref().zip(extension) else {
            return false;
        };
        let named = packet.elements().find(|(of, _)| *of == id);
        named.is_some_and(|(_, name)| name != layer.name.as_bytes())
    }
}
