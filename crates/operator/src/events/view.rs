//! An event as JSON.

use std::net::SocketAddr;

use base::date;
use fanout::events::{Event, EventKind};
use reports::view::TrackView;
use serde::Serialize;

/// One event. Field names are those of the API's lists.
#[derive(Debug, Serialize)]
pub(super) struct EventView<'a> {
    sequence: u64,
    kind: &'static str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'a str>,
    #[serde(flatten)]
    facts: Facts<'a>,
}

/// Fields that are specific to a kind.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Facts<'a> {
    None {},
    Publisher {
        epoch: u32,
        protocol: &'static str,
        peer: Option<SocketAddr>,
        agent: &'a str,
        content_type: &'a str,
    },
    Tracks {
        epoch: u32,
        tracks: Vec<TrackView>,
    },
    Title {
        title: Option<&'a str>,
    },
    Left {
        epoch: u32,
        linger_seconds: f64,
    },
    Ended {
        reason: &'static str,
    },
    Joined {
        listener: u64,
        protocol: &'static str,
        format: &'static str,
        peer: SocketAddr,
    },
    Gone {
        listener: u64,
        protocol: &'static str,
        reason: &'static str,
        bytes: u64,
        skips: u32,
        seconds: f64,
    },
    Condition {
        listener: u64,
    },
    Fallback {
        fallback: &'a str,
        outcome: &'static str,
    },
    Audio {
        condition: &'static str,
        outcome: &'static str,
    },
    Refused {
        reason: &'static str,
        protocol: Option<&'static str>,
        peer: Option<SocketAddr>,
        /// Number of earlier refusals that were not reported.
        others: u64,
    },
    Link {
        direction: &'static str,
        url: &'a str,
    },
    Failure {
        direction: &'static str,
        url: &'a str,
        error: Option<&'a str>,
    },
}

impl<'a> EventView<'a> {
    pub(super) fn of(event: &'a Event) -> Self {
        Self {
            sequence: event.sequence,
            kind: event.kind.topic().label(),
            time: date::rfc3339_millis(event.at),
            stream: event.stream.as_ref().map(|name| name.as_str()),
            facts: Facts::of(&event.kind),
        }
    }
}

impl<'a> Facts<'a> {
    fn of(kind: &'a EventKind) -> Self {
        match kind {
            EventKind::Began => Self::None {},
            EventKind::EpochBegan { epoch, source } | EventKind::TakenOver { epoch, source } => {
                Self::Publisher {
                    epoch: *epoch,
                    protocol: source.protocol,
                    peer: source.peer,
                    agent: &source.agent,
                    content_type: &source.content_type,
                }
            }
            EventKind::TracksChanged { epoch, tracks } => Self::Tracks {
                epoch: *epoch,
                tracks: tracks
                    .iter()
                    .map(|track| TrackView::of(track, None, None))
                    .collect(),
            },
            EventKind::TitleChanged { title } => Self::Title {
                title: title.as_ref().map(|title| title.text.as_str()),
            },
            EventKind::PublisherLeft { epoch, linger } => Self::Left {
                epoch: *epoch,
                linger_seconds: linger.as_secs_f64(),
            },
            EventKind::Ended { reason } => Self::Ended {
                reason: reason.label(),
            },
            EventKind::ListenerJoined {
                listener,
                format,
                peer,
            } => Self::Joined {
                listener: listener.0,
                protocol: format.protocol.label(),
                format: format.name,
                peer: *peer,
            },
            EventKind::ListenerLeft {
                listener,
                protocol,
                reason,
                sent_bytes,
                skips,
                lasted,
            } => Self::Gone {
                listener: listener.0,
                protocol: protocol.label(),
                reason: reason.label(),
                bytes: *sent_bytes,
                skips: *skips,
                // Rounded to milliseconds; finer digits are clock noise.
                seconds: lasted.as_millis() as f64 / 1e3,
            },
            EventKind::Degraded { listener } | EventKind::Recovered { listener } => {
                Self::Condition {
                    listener: listener.0,
                }
            }
            EventKind::Fallback { fallback, outcome } => Self::Fallback {
                fallback: fallback.as_str(),
                outcome,
            },
            EventKind::Audio { condition, outcome } => Self::Audio { condition, outcome },
            EventKind::Refused(refusal) => Self::Refused {
                reason: refusal.reason,
                protocol: refusal.protocol,
                peer: refusal.peer,
                others: refusal.others,
            },
            EventKind::LinkUp { direction, url } => Self::Link { direction, url },
            EventKind::LinkDown {
                direction,
                url,
                error,
            } => Self::Failure {
                direction,
                url,
                error: error.as_deref(),
            },
        }
    }
}
