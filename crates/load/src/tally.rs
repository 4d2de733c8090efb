//! Observations of a process, in a form that adds up over processes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::hls::record::Record;
use crate::ledger::Findings;
use crate::rtc::packets::Packets;
use crate::sums::{Sum, sums};

/// Maximum number of different reasons that are kept apart.
const REASONS_MAX: usize = 32;
/// Maximum length of a reason in letters; servers' texts can be long.
const REASON_LETTERS_MAX: usize = 120;

/// Number of occurrences of each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Reasons(BTreeMap<String, u64>);

sums! {
    /// Counts of the members of a load by outcome.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Members {
        /// Connections begun, replacements included.
        pub(crate) begun: u64,
        /// Members that received media, or were allowed to publish.
        pub(crate) joined: u64,
        /// Joined members that were connected at the end.
        pub(crate) alive: u64,
        /// Listeners that stopped reading.
        pub(crate) stalled: u64,
        /// Listeners that read slower than the stream.
        pub(crate) slow: u64,
        /// Listeners that left by themselves, and were replaced.
        pub(crate) churned: u64,
    }
}

sums! {
    /// Observations of the members of a load. Spans are in nanoseconds.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Tally {
        pub(crate) members: Members,
        /// Members that never joined, by reason.
        pub(crate) failed: Reasons,
        /// Members that joined and were lost, by reason.
        pub(crate) lost: Reasons,
        /// Bytes of media, received or sent.
        pub(crate) bytes: u64,
        /// Bytes of media within the window.
        pub(crate) window_bytes: u64,
        /// Frames that publishers sent.
        pub(crate) frames_sent: u64,
        /// Bits per second over the window, of each listener that was there for all of it.
        pub(crate) rate: Histogram,
        /// Time from the connect to the first media, or to the server's acceptance.
        pub(crate) join: Histogram,
        /// Longest wait of each listener.
        pub(crate) gap: Histogram,
        /// Longest wait of each listener that began in the window or overlapped it.
        pub(crate) window_gap: Histogram,
        /// Longest wait of each WebRTC viewer for a video packet, among those that overlapped the window.
        pub(crate) picture_gap: Histogram,
        /// Every wait that ended in the window.
        pub(crate) waits: Histogram,
        /// Delay with which publishers sent each frame.
        pub(crate) lateness: Histogram,
        pub(crate) checked: u64,
        pub(crate) findings: Findings,
        /// Packets of WebRTC viewers; for publishers, the requests that they received.
        pub(crate) packets: Packets,
        /// Observations of HLS players.
        pub(crate) hls: Record,
        pub(crate) generators: Vec<Generator>,
    }
}

/// Measurements of a process by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Generator {
    /// Share of one core, over the window.
    pub(crate) cpu: f64,
    /// Duration of each round of its loop in nanoseconds, which bounds how late the process noticed events.
    pub(crate) lag: Histogram,
    pub(crate) descriptor_limit: u64,
}

sums! {
    /// Progress so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Progress {
        pub(crate) begun: u64,
        pub(crate) joined: u64,
        pub(crate) failed: u64,
        pub(crate) lost: u64,
        pub(crate) bytes: u64,
    }
}

impl Reasons {
    pub(crate) fn count(&mut self, reason: &dyn fmt::Display) {
        let mut reason: String = reason.to_string();
        if let Some((end, _)) = reason.char_indices().nth(REASON_LETTERS_MAX) {
            reason.truncate(end);
        }
        self.enter(reason, 1);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (&reason[..], *count))
    }

    fn enter(&mut self, reason: String, count: u64) {
        let is_known = self.0.contains_key(&reason);
        let reason = if is_known || self.0.len() < REASONS_MAX {
            reason
        } else {
            "other reasons".to_owned()
        };
        *self.0.entry(reason).or_default() += count;
    }
}

impl Sum for Reasons {
    fn add(&mut self, other: Self) {
        for (reason, count) in other.0 {
            self.enter(reason, count);
        }
    }
}

impl Tally {
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            begun: self.members.begun,
            joined: self.members.joined,
            failed: self.failed.total(),
            lost: self.lost.total(),
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let part = |joined, reason: &str| {
            let mut tally = Tally::default();
            tally.members.joined = joined;
            tally.failed.count(&reason);
            tally.join.record(joined);
            tally
        };
        let mut whole = part(3, "status 404");
        whole.add(part(4, "status 404"));
        whole.add(part(5, "status 503"));
        assert_eq!(whole.progress().joined, 12);
        let failed: Vec<_> = whole.failed.iter().collect();
        assert_eq!(failed, [("status 404", 2), ("status 503", 1)]);
        assert_eq!((whole.join.count(), whole.join.max()), (3, 5));
    }

    #[test]
    fn reasons_are_bounded() {
        let mut reasons = Reasons::default();
        (0..1_000).for_each(|number| reasons.count(&format!("{number} {}", "é".repeat(500))));
        assert!(reasons.iter().count() <= REASONS_MAX + 1);
        assert_eq!(reasons.total(), 1_000);
    }
}
