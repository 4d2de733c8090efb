//! Webhook messages: events of recordings, stations, streams and listeners. Their kinds are [`config::WEBHOOK_KINDS`].

use std::sync::Arc;
use std::time::SystemTime;

use base::date;
use fanout::events::{Event, EventKind};
use media::StreamName;
use outbound::uploads::Uploaded;
use outbound::webhooks::{Counts, Message, Teller};
use programme::station::Playing;
use recordings::Recording;
use recordings::archive::Event as RecordingEvent;
use serde_json::{Value, json};

use crate::view;

/// Sender of webhook messages; does nothing without a receiver.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// Handle that accepts messages; `None` without a receiver.
    pub teller: Option<Teller>,
    /// Counts of messages by result.
    pub counts: Arc<Counts>,
}

impl Hooks {
    /// Returns the callback for events of recordings.
    pub fn of_recordings(&self) -> recordings::archive::Tell {
        let teller = self.teller.clone();
        Box::new(move |event| {
            if let Some(teller) = &teller {
                teller.tell(of_recording(&event, SystemTime::now()));
            }
        })
    }

    /// Returns the callback for new copies of recordings.
    pub fn of_uploads(&self) -> outbound::uploads::Tell {
        let teller = self.teller.clone();
        Box::new(move |uploaded| {
            let teller = teller.clone();
            Box::pin(async move {
                match teller {
                    Some(teller) => {
                        let message = of_upload(&uploaded, SystemTime::now());
                        teller.tell_surely(message).await
                    }
                    None => true,
                }
            })
        })
    }

    /// Sends a message about a track that a station has begun, if there is a receiver.
    pub fn tell_of_track(&self, stream: &StreamName, track: &Playing) {
        if let Some(teller) = &self.teller {
            teller.tell(of_track(stream, track));
        }
    }

    /// Sends a message about a stream event, if there is a receiver and the event has a message.
    pub fn tell_of_stream(&self, event: &Event) {
        if let Some(teller) = &self.teller
            && let Some(message) = of_stream(event)
        {
            teller.tell(message);
        }
    }
}

fn message(kind: &'static str, stream: &StreamName, at: SystemTime, data: &Value) -> Message {
    let body = json!({
        "type": kind,
        "timestamp": date::rfc3339_millis(at),
        "data": data,
    });
    Message {
        kind,
        stream: Some(stream.as_str().to_owned()),
        body: body.to_string().into(),
        id: None,
    }
}

fn of_recording(event: &RecordingEvent, now: SystemTime) -> Message {
    let whole = |kind, recording: &Recording| {
        message(kind, &recording.stream, now, &view::recording(recording))
    };
    match event {
        RecordingEvent::Started(recording) => whole("recording.started", recording),
        RecordingEvent::Closed(recording) => whole("recording.closed", recording),
        RecordingEvent::Finalised(recording) => whole("recording.finalised", recording),
        RecordingEvent::Recovered(recording) => whole("recording.recovered", recording),
        RecordingEvent::Deleted { recording, why } => {
            let mut data = view::recording(recording);
            data["reason"] = why.label().into();
            message("recording.deleted", &recording.stream, now, &data)
        }
        RecordingEvent::Gap {
            stream,
            reason,
            seconds,
        } => {
            let data = json!({
                "stream": stream.as_str(),
                "reason": reason.label(),
                "seconds": seconds,
            });
            message("recording.gap", stream, now, &data)
        }
        RecordingEvent::Failed { stream, error } => {
            let data = json!({ "stream": stream.as_str(), "error": error });
            message("recording.failed", stream, now, &data)
        }
    }
}

fn of_upload(uploaded: &Uploaded, now: SystemTime) -> Message {
    let recording = &uploaded.recording;
    let mut data = view::recording(recording);
    data["location"] = uploaded.location.as_str().into();
    data["bucket"] = uploaded.bucket.as_str().into();
    data["key"] = uploaded.key.as_str().into();
    Message {
        // A fixed identifier, because a server that is killed at that moment sends the message again.
        id: Some(format!("msg_uploaded_{}", recording.id).into()),
        ..message("recording.uploaded", &recording.stream, now, &data)
    }
}

fn of_track(stream: &StreamName, track: &Playing) -> Message {
    let mut data = view::playing(track);
    data["stream"] = stream.as_str().into();
    message("station.track", stream, track.since, &data)
}

base::labels! {
    /// Kind of a message about sessions.
    pub enum Sessions {
        /// Sessions have begun.
        Started = "session.started",
        /// Sessions have ended.
        Ended = "session.ended",
    }
}

/// Builds a message about sessions of one stream, given as JSON objects separated by commas.
pub fn of_sessions(kind: Sessions, stream: &StreamName, at: SystemTime, sessions: &str) -> Message {
    let kind = kind.label();
    let at = date::rfc3339_millis(at);
    // Names of streams and kinds contain nothing that JSON would escape.
    let body = format!(
        "{{\"type\":\"{kind}\",\"timestamp\":\"{at}\",\"data\":{{\"stream\":\"{stream}\",\"sessions\":[{sessions}]}}}}"
    );
    Message {
        kind,
        stream: Some(stream.as_str().to_owned()),
        body: body.into(),
        id: None,
    }
}

fn of_stream(event: &Event) -> Option<Message> {
    let stream = event.stream.as_ref()?;
    let (kind, data) = match &event.kind {
        EventKind::EpochBegan { epoch, source } => {
            let data = json!({
                "stream": stream.as_str(),
                "epoch": epoch,
                "protocol": source.protocol,
                "peer": source.peer,
                "agent": source.agent,
            });
            ("stream.published", data)
        }
        EventKind::Ended { reason } => {
            let data = json!({ "stream": stream.as_str(), "reason": reason.label() });
            ("stream.ended", data)
        }
        EventKind::Fallback { fallback, outcome } => {
            let data = json!({
                "stream": stream.as_str(),
                "fallback": fallback.as_str(),
                "outcome": outcome,
            });
            ("stream.fallback", data)
        }
        EventKind::PublisherLeft { epoch, linger } => {
            let data = json!({
                "stream": stream.as_str(),
                "epoch": epoch,
                "linger_seconds": linger.as_secs_f64(),
            });
            ("stream.unpublished", data)
        }
        EventKind::Audio { condition, outcome } => {
            let data = json!({
                "stream": stream.as_str(),
                "condition": condition,
                "outcome": outcome,
            });
            ("stream.sound", data)
        }
        _ => return None,
    };
    Some(message(kind, stream, event.at, &data))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use config::WEBHOOK_KINDS;
    use fanout::events::EndReason;
    use recordings::archive::{GapReason, Removal};
    use recordings::{Container, RecordingId, State};

    use programme::station::By;

    use super::*;

    fn stream() -> StreamName {
        StreamName::parse("live/show").expect("a name")
    }

    fn event(kind: EventKind) -> Event {
        Event {
            sequence: 1,
            at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_512),
            stream: Some(stream()),
            kind,
        }
    }

    #[test]
    fn every_kind_is_one_of_those_that_can_be_configured() {
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let recording = Arc::new(Recording {
            id: RecordingId::new(&stream(), started, 0),
            stream: stream(),
            path: "/rec/a.mp4".into(),
            is_local: true,
            started,
            duration: Duration::from_secs(9),
            bytes: 99,
            state: State::Closed,
            container: Container::Mp4,
            is_pinned: false,
            upload: recordings::Upload::Never,
        });
        let one = || Arc::clone(&recording);
        let of_recordings = [
            RecordingEvent::Started(one()),
            RecordingEvent::Closed(one()),
            RecordingEvent::Finalised(one()),
            RecordingEvent::Recovered(one()),
            RecordingEvent::Deleted {
                recording: one(),
                why: Removal::Retention,
            },
            RecordingEvent::Gap {
                stream: stream(),
                reason: GapReason::Slow,
                seconds: Some(1.5),
            },
            RecordingEvent::Failed {
                stream: stream(),
                error: "full".to_owned(),
            },
        ];
        let uploaded = Uploaded {
            recording: Recording::clone(&recording),
            bucket: "radio".to_owned(),
            key: "live/show/a.mp4".to_owned(),
            location: "s3://radio/live/show/a.mp4".to_owned(),
        };
        let track = Playing {
            title: "A".to_owned(),
            name: "a.mp3".to_owned(),
            since: started,
            length: None,
            by: By::Rotation,
        };
        let source = fanout::Source {
            protocol: "rtmp",
            peer: None,
            agent: "obs".to_owned(),
            container: media::Container::Tracks,
            content_type: String::new(),
            headers: Vec::new(),
        };
        let (epoch, source) = (2, Arc::new(source));
        let of_streams = [
            event(EventKind::EpochBegan { epoch, source }),
            event(EventKind::Ended {
                reason: EndReason::Operator,
            }),
            event(EventKind::Fallback {
                fallback: StreamName::parse("live/backup").expect("a name"),
                outcome: "began",
            }),
            event(EventKind::PublisherLeft {
                epoch,
                linger: Duration::from_secs(15),
            }),
            event(EventKind::Audio {
                condition: "silence",
                outcome: "began",
            }),
        ];
        let messages = of_recordings
            .iter()
            .map(|event| of_recording(event, started));
        let messages = messages
            .chain([of_track(&stream(), &track), of_upload(&uploaded, started)])
            .chain(of_streams.iter().filter_map(of_stream))
            .chain(
                [Sessions::Started, Sessions::Ended]
                    .map(|kind| of_sessions(kind, &stream(), started, "{\"id\":\"r-1\"},{}")),
            );
        let mut kinds = Vec::new();
        for message in messages {
            let body: Value = serde_json::from_slice(&message.body).expect("JSON");
            assert_eq!(body["type"], message.kind);
            assert_eq!(body["data"]["stream"], "live/show", "{body}");
            let at = body["timestamp"].as_str().expect("a time");
            assert!(at.starts_with("2027-01-15T08:00:00."), "{at}");
            kinds.push(message.kind);
        }
        kinds.sort_unstable();
        assert_eq!(kinds, WEBHOOK_KINDS);
        assert!(of_stream(&event(EventKind::Began)).is_none());
    }
}
