//! Publishers in one thread: each sends its frames when they are due.

pub(crate) mod piece;
pub(crate) mod recording;
pub(crate) mod synthetic;

use std::os::fd::OwnedFd;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rml_rtmp::sessions::StreamMetadata;
use rustix::event::epoll::{self, EventFlags};

use crate::answer::AnswerReader;
use crate::clock::Clock;
use crate::conversation::{ClientConversation, Event, Wish};
use crate::group::{Behaviour, Context, Member, Outcome, Reason, Seat};
use crate::plan::Source;
use crate::socket;
use crate::target::{Protocol, Target};

use piece::{Performer, Piece, Script};

/// Maximum number of bytes buffered for a server that does not read: seconds of media, then the publisher gives up.
const UNSENT_BYTES_MAX: usize = 4 << 20;

/// State that the publishers of a group share.
pub(crate) struct Publishers {
    script: Script,
}

pub(crate) struct Publisher {
    socket: OwnedFd,
    server: Server,
    on_air: Option<OnAir>,
    /// Bytes that the socket has not taken yet.
    unsent: Vec<u8>,
    /// Whether the publisher waits for the socket to take more.
    awaits_room: bool,
}

/// Reader of the server's response; RTMP continues with its protocol.
enum Server {
    Icecast(AnswerReader),
    Rtmp(Box<ClientConversation>),
}

struct OnAir {
    performer: Performer,
    /// Time of the load at which the first piece was sent.
    since: u64,
}

impl Context<Publishers> {
    /// Takes the first `length` bytes of the buffer, which the server sent.
    fn take(&mut self, member: &mut Member<Publisher>, length: usize) -> Outcome {
        let publisher = &mut member.own;
        let bytes = &self.buffer[..length];
        let is_accepted = match &mut publisher.server {
            // The server may send 200 after 100.
            Server::Icecast(_) if publisher.on_air.is_some() => false,
            Server::Icecast(reader) => match reader.push(bytes)?.map(|(answer, _)| answer.status) {
                None => false,
                Some(100 | 200) => true,
                Some(status) => return Err(format!("status {status}").into()),
            },
            Server::Rtmp(conversation) => {
                let mut events = Vec::new();
                let heard = conversation.push(bytes, &mut events);
                publisher.unsent.extend(conversation.take_output());
                heard?;
                events.iter().any(|event| matches!(event, Event::Accepted))
            }
        };
        match is_accepted && publisher.on_air.is_none() {
            true => self.continue_air(member),
            false => Ok(()),
        }
    }

    fn continue_air(&mut self, member: &mut Member<Publisher>) -> Outcome {
        let Member {
            seat,
            own: publisher,
        } = member;
        self.now = self.clock.now();
        let source = self.plan.source(seat.number);
        let protocol = self.plan.target.protocol;
        let performer = Performer::new(self.own.script.clone(), protocol, source);
        let opening = performer.opening();
        if let Server::Rtmp(conversation) = &mut publisher.server {
            conversation.announce(&metadata(&opening))?;
            publisher.unsent.extend(conversation.take_output());
        }
        for piece in opening {
            publisher.say(piece, 0)?;
        }
        publisher.on_air = Some(OnAir {
            performer,
            since: self.now,
        });
        self.enter_join(seat, 0);
        Ok(())
    }

    /// Writes what the socket takes, and requests an event for when it takes more.
    fn flush(&mut self, member: &mut Member<Publisher>) -> Outcome {
        let publisher = &mut member.own;
        if !publisher.unsent.is_empty()
            && let Some(length) = socket::transmit(&publisher.socket, &publisher.unsent)?
        {
            publisher.unsent.drain(..length);
            self.enter_bytes(length);
        }
        if publisher.unsent.len() > UNSENT_BYTES_MAX {
            return Err("it does not read what is published".into());
        }
        if publisher.awaits_room == publisher.unsent.is_empty() {
            publisher.awaits_room = !publisher.awaits_room;
            let mut flags = EventFlags::IN;
            flags.set(EventFlags::OUT, publisher.awaits_room);
            let data = epoll::EventData::new_u64(member.seat.place as u64);
            epoll::modify(&self.epoll, &publisher.socket, data, flags)?;
        }
        Ok(())
    }
}

impl Behaviour for Publishers {
    type Own = Publisher;

    /// Few enough that publishers already present stay on time.
    const JOINS_PER_ROUND: u64 = 16;
    /// About two milliseconds' work.
    const WAKES_PER_ROUND: usize = 1_024;
    const ROUND_TICKS: usize = 100;
    /// Servers send little to publishers.
    const TAKE_BYTES: usize = 16 << 10;

    fn begin(context: &mut Context<Self>, seat: &Seat) -> Result<Publisher, Reason> {
        let (target, number) = (&context.plan.target, seat.number);
        let (unsent, server) = match target.protocol {
            Protocol::Rtmp => {
                let mut conversation = ClientConversation::new(target, number, Wish::Publish)?;
                let output = conversation.take_output();
                (output, Server::Rtmp(Box::new(conversation)))
            }
            _ => {
                let words = put(target, number, context.own.content_type());
                (words.into_bytes(), Server::Icecast(AnswerReader::default()))
            }
        };
        Ok(Publisher {
            socket: context.connect(seat, EventFlags::IN | EventFlags::OUT, None)?,
            server,
            on_air: None,
            unsent,
            awaits_room: true,
        })
    }

    fn attend(context: &mut Context<Self>, member: &mut Member<Publisher>, _: usize) -> Outcome {
        let socket = &member.own.socket;
        socket::connect_result(socket)?;
        if let Some(length) = socket::receive(socket, &mut context.buffer)? {
            context.take(member, length)?;
        }
        context.flush(member)
    }

    fn due(member: &Member<Publisher>, _: Clock) -> Option<u64> {
        let on_air = member.own.on_air.as_ref()?;
        Some(on_air.since + on_air.performer.due())
    }

    /// Sends the next piece, if it is due.
    fn wake(context: &mut Context<Self>, member: &mut Member<Publisher>) -> Outcome {
        let Some(OnAir { performer, since }) = &mut member.own.on_air else {
            return Ok(());
        };
        let millis = (performer.due() / 1_000_000) as u32;
        for piece in context.due_pieces(performer, *since) {
            context.tally.frames_sent += 1;
            member.own.say(piece, millis)?;
        }
        context.flush(member)
    }
}

impl Publishers {
    pub(crate) fn new(source: &Source, protocol: Protocol) -> std::io::Result<Self> {
        let script = Script::read(source, protocol)?;
        Ok(Self { script })
    }

    fn content_type(&self) -> &'static str {
        match &self.script {
            Script::Recording(recording) => recording.content_type,
            Script::Synthetic(program) => program.audio.content_type(),
        }
    }
}

impl Publisher {
    /// Encodes a piece for the protocol and queues it.
    fn say(&mut self, piece: Piece, millis: u32) -> Outcome {
        match (piece, &mut self.server) {
            (Piece::Tag { is_video, body }, Server::Rtmp(conversation)) => {
                conversation.publish(is_video, millis, body)?;
                self.unsent.extend(conversation.take_output());
            }
            (Piece::Raw(bytes), _) => self.unsent.extend_from_slice(&bytes),
            (Piece::Tag { .. }, Server::Icecast(_)) | (Piece::Track(_) | Piece::Sample(_), _) => {}
        }
        Ok(())
    }
}

/// Returns a source's request, as libshout and ffmpeg send it.
fn put(target: &Target, number: u64, content_type: &str) -> String {
    format!(
        "PUT /{} HTTP/1.1\r\nHost: {}\r\nAuthorization: Basic {}\r\nUser-Agent: carillon-load\r\n\
         Content-Type: {content_type}\r\nice-public: 0\r\nExpect: 100-continue\r\n\r\n",
        target.path(number),
        target.authority,
        BASE64_STANDARD.encode(&target.credentials)
    )
}

/// Returns the metadata that precedes the media: the kinds of track.
fn metadata(opening: &[Piece]) -> StreamMetadata {
    let mut metadata = StreamMetadata::new();
    metadata.encoder = Some("carillon load".to_owned());
    let has_pictures = opening
        .iter()
        .any(|piece| matches!(piece, Piece::Tag { is_video: true, .. }));
    if has_pictures {
        metadata.video_codec_id = Some(7);
        metadata.video_width = Some(640);
        metadata.video_height = Some(360);
    }
    metadata
}

#[cfg(test)]
mod tests;
