//! Publishers in one thread: each sends its frames when they are due.

pub(crate) mod piece;
pub(crate) mod recording;
pub(crate) mod schedule;
pub(crate) mod synthetic;

use std::os::fd::OwnedFd;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rml_rtmp::sessions::StreamMetadata;
use rustix::event::epoll;

use crate::answer::AnswerReader;
use crate::clock::Clock;
use crate::conversation::{ClientConversation, Event, Wish};
use crate::muster::Muster;
use crate::plan::{Plan, Source};
use crate::socket::{self, Moved};
use crate::tally::{Progress, Tally};
use crate::target::{Protocol, Target};
use crate::worker::{self, Rounds};

use piece::{Performer, Piece, Script};
use schedule::Schedule;

/// Connections begun in a round, so that present publishers keep their time.
const JOINS_PER_ROUND: u64 = 16;
/// Pieces sent in a round: about two milliseconds' work, before sockets are looked at again.
const PIECES_PER_ROUND: usize = 1_024;
/// Servers send little to publishers.
const READ_BYTES: usize = 16 << 10;
/// The longest sleep.
const NAP: u64 = 20_000_000;
/// What is buffered for a server that does not read: seconds of media, then the publisher gives up.
const UNSENT_BYTES_MAX: usize = 4 << 20;

/// Runs this process's publishers to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    source: &Source,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    let script = Script::read(source, plan.target.protocol())?;
    worker::run_rounds(plan, PublisherGroup::new(plan, script)?, progress)
}

struct PublisherGroup<'a> {
    plan: &'a Plan,
    script: Script,
    clock: Clock,
    epoll: OwnedFd,
    publishers: Vec<Option<Publisher>>,
    /// When each publisher's next piece is due.
    due: Schedule,
    muster: Muster<'a>,
    in_window: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

struct Publisher {
    socket: OwnedFd,
    number: u64,
    began: u64,
    phase: Phase,
    /// What the socket has not taken yet.
    unsent: Vec<u8>,
    /// Whether the socket's owner asked to be told when it takes more.
    awaits_room: bool,
}

enum Phase {
    Asking(Asking),
    OnAir {
        performer: Performer,
        /// RTMP goes on in the protocol.
        conversation: Option<Box<ClientConversation>>,
        /// Time of the load when the first piece was sent.
        since: u64,
    },
}

enum Asking {
    Icecast(AnswerReader),
    Rtmp(Box<ClientConversation>),
}

impl<'a> PublisherGroup<'a> {
    fn new(plan: &'a Plan, script: Script) -> std::io::Result<Self> {
        let clock = Clock::new(plan.begin_at);
        Ok(Self {
            plan,
            script,
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            publishers: Vec::new(),
            due: Schedule::default(),
            muster: Muster::new(plan, clock),
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; READ_BYTES],
        })
    }

    fn begin_due(&mut self, now: u64) {
        for _ in 0..JOINS_PER_ROUND {
            let Some(number) = self.muster.next(now) else {
                return;
            };
            self.tally.begun += 1;
            if let Err(reason) = self.connect(number) {
                self.tally.failed.count(&reason);
            }
        }
    }

    fn connect(&mut self, number: u64) -> Result<(), String> {
        let target = &self.plan.target;
        let (unsent, asking) = match target.protocol() {
            Protocol::Rtmp => {
                let conversation = ClientConversation::new(target, number, Wish::Publish);
                let mut conversation = conversation.map_err(|error| error.to_string())?;
                (
                    conversation.take_output(),
                    Asking::Rtmp(Box::new(conversation)),
                )
            }
            _ => {
                let words = put(target, number, self.content_type());
                (words.into_bytes(), Asking::Icecast(AnswerReader::default()))
            }
        };
        let began = self.clock.now();
        let socket = socket::connect(target.addr(), number, None);
        let socket = socket.map_err(|error| format!("no connection: {error}"))?;
        let data = epoll::EventData::new_u64(self.publishers.len() as u64);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        epoll::add(&self.epoll, &socket, data, flags).map_err(|error| error.to_string())?;
        self.publishers.push(Some(Publisher {
            socket,
            number,
            began,
            phase: Phase::Asking(asking),
            unsent,
            awaits_room: true,
        }));
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        match &self.script {
            Script::Recording(recording) => recording.content_type,
            Script::Synthetic(program) => program.sound.content_type(),
        }
    }

    /// Sends what is due by now.
    fn send_due(&mut self) {
        for _ in 0..PIECES_PER_ROUND {
            let now = self.clock.now();
            let Some((at, place)) = self.due.pop(now) else {
                return;
            };
            if let Some(Some(_)) = self.publishers.get(place) {
                self.tally.lateness.record(now - at);
                let outcome = self.send_next(place);
                self.settle(place, outcome);
            }
        }
    }

    fn send_next(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let Phase::OnAir {
            performer,
            conversation,
            since,
        } = &mut publisher.phase
        else {
            return Ok(());
        };
        let millis = (performer.due() / 1_000_000) as u32;
        let mut pieces = Vec::new();
        performer.perform(self.clock.wall(), &mut |piece| pieces.push(piece));
        let next = *since + performer.due();
        for piece in pieces {
            self.tally.frames_sent += 1;
            say(
                conversation.as_deref_mut(),
                piece,
                millis,
                &mut publisher.unsent,
            )?;
        }
        self.due.push(next, place);
        self.flush(place)
    }

    fn look_at(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let connected = socket::connect_result(&publisher.socket);
        connected.map_err(|error| format!("no connection: {error}"))?;
        match socket::receive(&publisher.socket, &mut self.buffer) {
            Moved::Bytes(length) => self.hear(place, length)?,
            Moved::Later => {}
            Moved::Gone(why) => return Err(why.to_owned()),
        }
        self.flush(place)
    }

    /// Takes the first `length` bytes of the buffer, which the server sent.
    fn hear(&mut self, place: usize, length: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let bytes = &self.buffer[..length];
        let mut events = Vec::new();
        let is_accepted = match &mut publisher.phase {
            Phase::Asking(Asking::Icecast(reader)) => {
                let read = reader.push(bytes).map_err(|error| error.to_string())?;
                match read.map(|(answer, _)| answer.status) {
                    None => false,
                    Some(100 | 200) => true,
                    Some(status) => return Err(format!("status {status}")),
                }
            }
            Phase::Asking(Asking::Rtmp(conversation)) => {
                let heard = conversation.push(bytes, &mut events);
                publisher.unsent.extend(conversation.take_output());
                heard.map_err(|error| error.to_string())?;
                events.iter().any(|event| matches!(event, Event::Accepted))
            }
            Phase::OnAir {
                conversation: Some(conversation),
                ..
            } => {
                let heard = conversation.push(bytes, &mut events);
                publisher.unsent.extend(conversation.take_output());
                return heard.map_err(|error| error.to_string());
            }
            // An Icecast server may send 200 after 100.
            Phase::OnAir { .. } => false,
        };
        if is_accepted {
            self.go_on_air(place)?;
        }
        Ok(())
    }

    fn go_on_air(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let now = self.clock.now();
        let source = self.plan.source(publisher.number);
        let performer = Performer::new(self.script.clone(), self.plan.target.protocol(), source);
        let opening = performer.opening();
        let asked = std::mem::replace(
            &mut publisher.phase,
            Phase::OnAir {
                performer,
                conversation: None,
                since: now,
            },
        );
        let mut conversation = match asked {
            Phase::Asking(Asking::Rtmp(conversation)) => Some(conversation),
            _ => None,
        };
        if let Some(conversation) = &mut conversation {
            let announced = conversation.announce(&metadata(&opening));
            announced.map_err(|error| error.to_string())?;
            publisher.unsent.extend(conversation.take_output());
        }
        for piece in opening {
            say(conversation.as_deref_mut(), piece, 0, &mut publisher.unsent)?;
        }
        if let Phase::OnAir {
            conversation: kept, ..
        } = &mut publisher.phase
        {
            *kept = conversation;
        }
        self.tally.enter_join(publisher.began, now);
        self.due.push(now, place);
        Ok(())
    }

    /// Writes what the socket takes, and asks to be told when it takes more.
    fn flush(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        if !publisher.unsent.is_empty() {
            match socket::transmit(&publisher.socket, &publisher.unsent) {
                Moved::Bytes(length) => {
                    publisher.unsent.drain(..length);
                    self.tally.enter_bytes(length, self.in_window);
                }
                Moved::Later => {}
                Moved::Gone(why) => return Err(why.to_owned()),
            }
        }
        if publisher.unsent.len() > UNSENT_BYTES_MAX {
            return Err("it does not read what is published".to_owned());
        }
        if publisher.awaits_room == publisher.unsent.is_empty() {
            publisher.awaits_room = !publisher.awaits_room;
            let mut flags = epoll::EventFlags::IN;
            flags.set(epoll::EventFlags::OUT, publisher.awaits_room);
            let data = epoll::EventData::new_u64(place as u64);
            epoll::modify(&self.epoll, &publisher.socket, data, flags)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn settle(&mut self, place: usize, outcome: Result<(), String>) {
        let Err(reason) = outcome else {
            return;
        };
        let publisher = self.publishers.get_mut(place).and_then(Option::take);
        match publisher.map(|publisher| publisher.phase) {
            Some(Phase::Asking(_)) => self.tally.failed.count(&reason),
            Some(Phase::OnAir { .. }) => self.tally.lost.count(&reason),
            None => {}
        }
    }
}

impl Rounds for PublisherGroup<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Whether all publishers have come and gone.
    fn is_over(&self) -> bool {
        self.muster.is_complete() && self.publishers.iter().all(Option::is_none)
    }

    fn begin_window(&mut self) {
        self.in_window = true;
    }

    fn look_after(&mut self, now: u64) {
        self.begin_due(now);
        self.send_due();
    }

    /// The time until something is due.
    fn pause(&self, now: u64) -> u64 {
        let next = self.due.next_at().min(self.muster.next_at());
        next.saturating_sub(now).min(NAP)
    }

    fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    fn attend(&mut self, place: usize, _now: u64) {
        let outcome = self.look_at(place);
        self.settle(place, outcome);
    }

    fn end(&mut self) {
        let there = self.publishers.iter().flatten();
        let is_on_air = |publisher: &&Publisher| matches!(publisher.phase, Phase::OnAir { .. });
        self.tally.alive = there.clone().filter(is_on_air).count() as u64;
        for _ in there.filter(|publisher| !is_on_air(publisher)) {
            self.tally.failed.count(&"not yet at the end");
        }
    }
}

/// Encodes a piece for the protocol.
fn say(
    conversation: Option<&mut ClientConversation>,
    piece: Piece,
    millis: u32,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    match (piece, conversation) {
        (Piece::Tag { is_video, body }, Some(conversation)) => {
            let published = conversation.publish(is_video, millis, body);
            published.map_err(|error| error.to_string())?;
            out.extend(conversation.take_output());
        }
        (Piece::Raw(bytes), _) => out.extend_from_slice(&bytes),
        (Piece::Tag { .. }, None) | (Piece::Track(_) | Piece::Sample(_), _) => {}
    }
    Ok(())
}

/// A source's request, as libshout and ffmpeg make it.
fn put(target: &Target, number: u64, content_type: &str) -> String {
    format!(
        "PUT /{} HTTP/1.1\r\nHost: {}\r\nAuthorization: Basic {}\r\nUser-Agent: carillon-load\r\n\
         Content-Type: {content_type}\r\nice-public: 0\r\nExpect: 100-continue\r\n\r\n",
        target.path(number),
        target.authority(),
        BASE64_STANDARD.encode(target.credentials())
    )
}

/// What players are told before the media: the kinds of track.
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
mod tests {
    use super::*;

    #[test]
    fn a_source_asks_with_its_password() {
        let target = "icecast://source:key@127.0.0.1:8000/radio{n}.mp3";
        let request = put(&target.parse().expect("an address"), 3, "audio/mpeg");
        assert!(request.starts_with("PUT /radio3.mp3 HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"));
        assert!(request.contains("Authorization: Basic c291cmNlOmtleQ==\r\n"));
    }
}
