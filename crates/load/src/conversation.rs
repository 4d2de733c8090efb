//! The dialogue of an RTMP player or publisher with a server, spoken by `rml_rtmp`: bytes in, bytes and events out.

use std::fmt;

use bytes::Bytes;
use media::Kind;
use rml_rtmp::handshake::{Handshake, HandshakeProcessResult, PeerType};
use rml_rtmp::sessions::{
    ClientSession, ClientSessionConfig, ClientSessionEvent, ClientSessionResult,
    PublishRequestType, StreamMetadata,
};
use rml_rtmp::time::RtmpTimestamp;

use crate::target::Target;

/// Request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Play,
    Publish,
}

/// An event in the bytes that the server sent.
#[derive(Debug)]
pub(crate) enum Event {
    /// The request was granted.
    Accepted,
    /// The body of an FLV tag of audio or video, and its time in milliseconds.
    Tag(Kind, u32, Bytes),
}

/// Reasons why the conversation is over, in few words: reports count by these words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// Refused with the server's status code or description.
    #[error("refused: {0}")]
    Refused(String),
    #[error("its RTMP makes no sense: {0}")]
    Broken(String),
}

/// A single connection's conversation.
pub(crate) struct ClientConversation {
    wish: Wish,
    app: String,
    name: String,
    /// The handshake, until it is complete.
    handshake: Option<Handshake>,
    session: ClientSession,
    output: Vec<u8>,
}

impl ClientConversation {
    /// Begins a conversation about stream `number` of `target`; its first message is in the output.
    pub(crate) fn new(target: &Target, number: u64, wish: Wish) -> Result<Self, Trouble> {
        let (app, name) = target.app_and_name(number);
        let mut handshake = Handshake::new(PeerType::Client);
        let output = handshake.generate_outbound_p0_and_p1().map_err(broken)?;
        let mut config = ClientSessionConfig::new();
        config.flash_version = "carillon-load".to_owned();
        config.tc_url = Some(format!("rtmp://{}/{app}", target.authority));
        let (session, results) = ClientSession::new(config).map_err(broken)?;
        let mut conversation = Self {
            wish,
            app,
            name,
            handshake: Some(handshake),
            session,
            output,
        };
        conversation.obey(results, &mut Vec::new())?;
        Ok(conversation)
    }

    /// Takes the bytes to be sent.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Takes bytes that the server sent, and appends the events in them to `events`.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Trouble> {
        let Some(handshake) = &mut self.handshake else {
            return self.hear(bytes, events);
        };
        match handshake.process_bytes(bytes).map_err(broken)? {
            HandshakeProcessResult::InProgress { response_bytes } => {
                self.output.extend(response_bytes);
                Ok(())
            }
            HandshakeProcessResult::Completed {
                response_bytes,
                remaining_bytes,
            } => {
                self.output.extend(response_bytes);
                self.handshake = None;
                let asked = self.session.request_connection(self.app.clone());
                self.obey(vec![asked.map_err(broken)?], events)?;
                self.hear(&remaining_bytes, events)
            }
        }
    }

    /// Announces the media to be published.
    pub(crate) fn announce(&mut self, metadata: &StreamMetadata) -> Result<(), Trouble> {
        let result = self.session.publish_metadata(metadata).map_err(broken)?;
        self.obey(vec![result], &mut Vec::new())
    }

    /// Publishes the body of an FLV tag.
    pub(crate) fn publish(
        &mut self,
        is_video: bool,
        millis: u32,
        body: Bytes,
    ) -> Result<(), Trouble> {
        let at = RtmpTimestamp::new(millis);
        let result = if is_video {
            self.session.publish_video_data(body, at, false)
        } else {
            self.session.publish_audio_data(body, at, false)
        };
        self.obey(vec![result.map_err(broken)?], &mut Vec::new())
    }

    fn hear(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Trouble> {
        let results = self.session.handle_input(bytes).map_err(broken)?;
        self.obey(results, events)
    }

    fn obey(
        &mut self,
        results: Vec<ClientSessionResult>,
        events: &mut Vec<Event>,
    ) -> Result<(), Trouble> {
        for result in results {
            match result {
                ClientSessionResult::OutboundResponse(packet) => self.output.extend(packet.bytes),
                ClientSessionResult::RaisedEvent(event) => self.notice(event, events)?,
                ClientSessionResult::UnhandleableMessageReceived(_) => {}
            }
        }
        Ok(())
    }

    fn notice(
        &mut self,
        event: ClientSessionEvent,
        events: &mut Vec<Event>,
    ) -> Result<(), Trouble> {
        match event {
            ClientSessionEvent::ConnectionRequestAccepted => {
                let name = self.name.clone();
                let asked = match self.wish {
                    Wish::Play => self.session.request_playback(name),
                    Wish::Publish => self
                        .session
                        .request_publishing(name, PublishRequestType::Live),
                };
                self.obey(vec![asked.map_err(broken)?], events)?;
            }
            ClientSessionEvent::PlaybackRequestAccepted
            | ClientSessionEvent::PublishRequestAccepted => events.push(Event::Accepted),
            ClientSessionEvent::AudioDataReceived { timestamp, data } => {
                events.push(Event::Tag(Kind::Audio, timestamp.value, data));
            }
            ClientSessionEvent::VideoDataReceived { timestamp, data } => {
                events.push(Event::Tag(Kind::Video, timestamp.value, data));
            }
            ClientSessionEvent::ConnectionRequestRejected { description } => {
                return Err(Trouble::Refused(description));
            }
            ClientSessionEvent::UnhandleableOnStatusCode { code } if is_refusal(&code) => {
                return Err(Trouble::Refused(code));
            }
            _ => {}
        }
        Ok(())
    }
}

impl fmt::Debug for ClientConversation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name may contain a key.
        let mut shown = formatter.debug_struct("ClientConversation");
        shown.field("wish", &self.wish).finish_non_exhaustive()
    }
}

/// Returns whether a status code is a refusal; `Play.Reset` and similar codes precede the acceptance.
fn is_refusal(code: &str) -> bool {
    ["Failed", "StreamNotFound", "Rejected", "Denied", "BadName"]
        .iter()
        .any(|end| code.ends_with(end))
}

fn broken(error: impl fmt::Debug) -> Trouble {
    Trouble::Broken(format!("{error:?}"))
}
