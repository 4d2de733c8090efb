//! Events of a client session for its driver, and their making from messages of a played stream.

use bytes::Bytes;

use super::Address;
use crate::{
    amf0::{Decoder, Value},
    message::{Kind, Message},
    server::Media,
};

/// An event that the driver has to know of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Publishing or playing has begun, on this message stream.
    Ready {
        /// Message stream on which media must be sent.
        message_stream: u32,
    },
    /// An audio message: one FLV audio tag body, never empty.
    Audio(Media),
    /// A video message: one FLV video tag body, never empty.
    Video(Media),
    /// The stream's metadata: the string `onMetaData` and the value after it, byte for byte.
    Metadata(Media),
    /// Any other data message, byte for byte: AMF0, beginning with a name.
    Data(Media),
    /// The server has ended the stream. The session is closed.
    Ended {
        /// Status code, or `StreamEOF`.
        code: String,
        /// Text of the server; as in [`Error::Refused`](super::Error::Refused).
        description: String,
    },
    /// The server asks the client to leave soon, for another address if it names one. Returned only once the
    /// stream was requested.
    Reconnect {
        /// URL of the new server and application, as the server wrote it: relative to [`Address::server`],
        /// and to be passed in parts to [`Address::moved_to`].
        tc_url: Option<String>,
    },
    /// The server requests a proof of the password: connect again with this address. The session is closed.
    Challenged(Address),
}

/// Returns the event for a message of a played stream; `None` for empty messages and for data messages that
/// servers send to players themselves.
pub(super) fn of(message: Message) -> Option<Event> {
    let timestamp = message.timestamp;
    if message.payload.is_empty() {
        return None;
    }
    match message.kind {
        Kind::Audio => Some(Event::Audio(message.into_media())),
        Kind::Video => Some(Event::Video(message.into_media())),
        Kind::DataAmf0 | Kind::DataAmf3 => data(timestamp, message.amf0()),
        _ => None,
    }
}

fn data(timestamp: u32, body: Bytes) -> Option<Event> {
    let mut decoder = Decoder::new(&body);
    let mut at = decoder.rest();
    let mut name = decoder.value();
    // Some servers pass the publisher's wrapping through.
    if name == Ok(Some(Value::String(b"@setDataFrame"))) {
        at = decoder.rest();
        name = decoder.value();
    }
    let media = Media {
        timestamp,
        payload: body.slice_ref(at),
    };
    match name {
        Ok(Some(Value::String(b"onMetaData"))) => Some(Event::Metadata(media)),
        Ok(Some(Value::String(b"|RtmpSampleAccess" | b"onStatus" | b"@clearDataFrame"))) => None,
        Ok(Some(Value::String(_))) => Some(Event::Data(media)),
        _ => None,
    }
}
