//! Publication of a connection's one stream: the request, the caller's decision, and the end.

use std::collections::VecDeque;

use bytes::Bytes;

use super::event::{Event, Media, RequestId, RequestState};
use crate::{
    amf0::{Decoder, Value},
    message::{Aggregate, Kind, Message},
};

/// Most bytes held while the caller decides: configuration of some tracks, and metadata.
const HELD_BYTES_MAX: usize = 32 << 10;
/// Most messages held while the caller decides.
const HELD_MESSAGES_MAX: usize = 16;
/// Most values before the name of a data message; some cameras send two numbers.
const LEADING_VALUES_MAX: usize = 4;

/// Converter of a publisher's messages into events.
///
/// Invariant: nothing is held and no aggregate is open while `state` is `Idle`.
#[derive(Debug, Default)]
pub(super) struct Publication {
    state: RequestState,
    held: VecDeque<Event>,
    held_bytes: usize,
    aggregate: Option<Aggregate>,
}

impl Publication {
    pub(super) fn id(&self) -> Option<RequestId> {
        self.state.id()
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, RequestState::Accepted(_))
    }

    pub(super) fn request(&mut self, id: RequestId) {
        *self = Self {
            state: RequestState::Pending(id),
            ..Self::default()
        };
    }

    /// Makes a pending request live.
    pub(super) fn accept(&mut self, id: RequestId) -> bool {
        let pending = self.state == RequestState::Pending(id);
        if pending {
            self.state = RequestState::Accepted(id);
        }
        pending
    }

    /// Ends the publication or withdraws the request.
    pub(super) fn end(&mut self) -> Option<RequestId> {
        std::mem::take(self).id()
    }

    /// Returns an event that follows from messages read before.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        if !self.is_live() {
            return None;
        }
        if let Some(event) = self.held.pop_front() {
            return Some(event);
        }
        let event = self.aggregate.as_mut()?.find_map(event);
        if event.is_none() {
            self.aggregate = None;
        }
        event
    }

    /// Handles an audio, video, data or aggregate message.
    pub(super) fn message(&mut self, message: Message) -> Option<Event> {
        match self.state {
            RequestState::Idle => None,
            RequestState::Accepted(_) if message.kind == Kind::Aggregate => {
                self.aggregate = Some(Aggregate::new(message));
                self.next_event()
            }
            RequestState::Accepted(_) => event(message),
            RequestState::Pending(_) => {
                if let Some(event) = event(message) {
                    self.hold(event);
                }
                None
            }
        }
    }

    /// Keeps the messages that a decoder cannot do without; frames of an undecided publisher are lost.
    fn hold(&mut self, event: Event) {
        let bytes = match &event {
            Event::Audio(media) if configures_audio(&media.payload) => media.payload.len(),
            Event::Video(media) if configures_video(&media.payload) => media.payload.len(),
            Event::Metadata(media) => media.payload.len(),
            _ => return,
        };
        if self.held.len() < HELD_MESSAGES_MAX && self.held_bytes + bytes <= HELD_BYTES_MAX {
            self.held_bytes += bytes;
            self.held.push_back(event);
        }
    }
}

fn event(message: Message) -> Option<Event> {
    let timestamp = message.timestamp;
    match message.kind {
        // Some encoders send empty messages to keep the connection alive; a tag needs at least one
        // byte.
        _ if message.payload.is_empty() => None,
        Kind::Audio => Some(Event::Audio(message.into_media())),
        Kind::Video => Some(Event::Video(message.into_media())),
        Kind::DataAmf0 | Kind::DataAmf3 => data(timestamp, &message.amf0()),
        _ => None,
    }
}

/// Finds the name of a data message and the data after it. Bytes in which no name is found are passed on
/// unchanged.
fn data(timestamp: u32, body: &Bytes) -> Option<Event> {
    let mut decoder = Decoder::new(body);
    let media = |at: &[u8]| Media {
        timestamp,
        payload: body.slice_ref(at),
    };
    for _ in 0..=LEADING_VALUES_MAX {
        let at = decoder.rest();
        let name = match decoder.value() {
            Ok(Some(Value::String(name))) => name,
            Ok(Some(_)) => continue,
            Ok(None) | Err(_) => break,
        };
        return match name {
            b"onMetaData" => Some(Event::Metadata(media(at))),
            b"@setDataFrame" => {
                let at = decoder.rest();
                match decoder.value() {
                    Ok(Some(Value::String(b"onMetaData"))) => Some(Event::Metadata(media(at))),
                    Ok(None) => None,
                    _ => Some(Event::Data(media(at))),
                }
            }
            // Addressed to the server, which replaces metadata when new metadata arrives.
            b"@clearDataFrame" => None,
            _ => Some(Event::Data(media(at))),
        };
    }
    Some(Event::Data(media(body)))
}

/// Whether an audio tag body carries decoder configuration: AAC, or Enhanced RTMP's SequenceStart and
/// MultichannelConfig, or anything wrapped for multitrack.
fn configures_audio(payload: &[u8]) -> bool {
    match (payload.first().map_or(0, |b| b >> 4), payload) {
        (10, [_, packet, ..]) => *packet == 0,
        (9, [head, ..]) => matches!(head & 0x0f, 0 | 4 | 5 | 7),
        _ => false,
    }
}

/// Whether a video tag body carries decoder configuration: AVC or HEVC in the old form, or Enhanced
/// RTMP's SequenceStart, Metadata, MPEG2TSSequenceStart, or anything wrapped for multitrack.
fn configures_video(payload: &[u8]) -> bool {
    match payload {
        [head, ..] if head & 0x80 != 0 => matches!(head & 0x0f, 0 | 4..=7),
        [head, packet, ..] => matches!(head & 0x0f, 7 | 12) && *packet == 0,
        _ => false,
    }
}
