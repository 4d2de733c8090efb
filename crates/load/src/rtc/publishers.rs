//! WHIP publishers in one thread: each sends its frames when they are due.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use container::rtp::PayloadFormat;
use rustix::event::epoll;
use webrtc::client::{self, ClientIdentity, Event, Peer, is_media};
use webrtc::ice::Credentials;
use webrtc::rtcp::is_rtcp;
use webrtc::srtp::Profile;

use super::reach::reach;
use super::sender::{Offered, Sender, send};
use super::signal::{SignalReader, post};
use super::{offer, random};
use crate::clock::{Clock, nanoseconds};
use crate::muster::Muster;
use crate::plan::{Plan, Source};
use crate::publish::piece::{Performer, Piece, Script, timestamp};
use crate::publish::schedule::Schedule;
use crate::socket::{self, Moved};
use crate::tally::{Progress, Tally};
use crate::timers::Timers;
use crate::worker::{self, Rounds};

/// Connections begun in a round, so that present publishers keep their time.
const JOINS_PER_ROUND: u64 = 4;
/// Pieces sent in a round: about two milliseconds' work, before sockets are looked at again.
const PIECES_PER_ROUND: usize = 256;
/// Datagrams taken from a socket in a row.
const DATAGRAMS_PER_EVENT: usize = 16;
/// The longest datagram, and the bytes of an answer read at once.
const TAKE_BYTES: usize = 4 << 10;
/// The longest sleep.
const NAP: u64 = 20_000_000;
/// Between two reports of a sender.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs this process's publishers to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    source: &Source,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    let script = Script::read(source, plan.target.protocol())?;
    worker::run_rounds(plan, WhipGroup::new(plan, script)?, progress)
}

struct WhipGroup<'a> {
    plan: &'a Plan,
    script: Script,
    clock: Clock,
    epoll: OwnedFd,
    identity: ClientIdentity,
    publishers: Vec<Option<Publisher>>,
    /// When each publisher's next piece is due.
    due: Schedule,
    timers: Timers<Instant>,
    muster: Muster<'a>,
    in_window: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

struct Publisher {
    socket: OwnedFd,
    number: u64,
    began: u64,
    performer: Performer,
    local: Credentials,
    offered: Vec<Offered>,
    phase: Phase,
}

enum Phase {
    /// With its first message.
    Connecting(Vec<u8>),
    Asking(SignalReader),
    Agreeing(Box<Session>),
    OnAir(Box<Session>, Box<OnAir>),
}

/// From the answer on.
struct Session {
    peer: Peer,
    server: SocketAddr,
    answer: client::Answer,
}

struct OnAir {
    sender: Sender,
    /// Time of the load when the first piece was sent.
    since: u64,
    next_report: Instant,
}

impl<'a> WhipGroup<'a> {
    fn new(plan: &'a Plan, script: Script) -> std::io::Result<Self> {
        let clock = Clock::new(plan.begin_at);
        let identity = ClientIdentity::generate(&[Profile::Aes128Gcm, Profile::Aes128CmSha1_80]);
        Ok(Self {
            plan,
            script,
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            identity: identity.map_err(std::io::Error::other)?,
            publishers: Vec::new(),
            due: Schedule::default(),
            timers: Timers::default(),
            muster: Muster::new(plan, clock),
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; TAKE_BYTES],
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
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let target = &self.plan.target;
        let source = self.plan.source(number);
        let performer = Performer::new(self.script.clone(), target.protocol(), source);
        let offered = offered(&performer.opening()).map_err(|error| told(&error))?;
        let local = random::credentials().map_err(|error| told(&error))?;
        let tracks: Vec<_> = offered
            .iter()
            .map(|offered| (offered.format, offered.ssrc))
            .collect();
        let text = offer::of_publisher(&local, &self.identity, &tracks);
        let words = post(target, number, &text.map_err(|error| told(&error))?);
        let began = self.clock.now();
        let socket = socket::connect(target.addr(), number, None);
        let socket = socket.map_err(|error| format!("no connection: {error}"))?;
        let data = epoll::EventData::new_u64(self.publishers.len() as u64);
        epoll::add(&self.epoll, &socket, data, epoll::EventFlags::OUT)
            .map_err(|error| told(&error))?;
        self.publishers.push(Some(Publisher {
            socket,
            number,
            began,
            performer,
            local,
            offered,
            phase: Phase::Connecting(words.into_bytes()),
        }));
        Ok(())
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
        let Phase::OnAir(_, on_air) = &mut publisher.phase else {
            return Ok(());
        };
        let performer = &mut publisher.performer;
        let mut pieces = Vec::new();
        performer.perform(self.clock.wall(), &mut |piece| pieces.push(piece));
        let next = on_air.since + performer.due();
        let mut bytes = 0;
        for piece in pieces {
            if let Piece::Sample(sample) = piece {
                self.tally.frames_sent += 1;
                bytes += on_air.sender.sample(&sample, &publisher.socket)?;
            }
        }
        self.due.push(next, place);
        self.tally.enter_bytes(bytes, self.in_window);
        Ok(())
    }

    fn look_at(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        match &mut publisher.phase {
            Phase::Connecting(words) => {
                socket::greet(&publisher.socket, words, &self.epoll, place)?;
                publisher.phase = Phase::Asking(SignalReader::default());
                Ok(())
            }
            Phase::Asking(reader) => {
                let answer = match socket::receive(&publisher.socket, &mut self.buffer) {
                    Moved::Bytes(length) => reader.push(&self.buffer[..length]),
                    Moved::Later => return Ok(()),
                    Moved::Gone(_) => reader.finish().map(Some),
                };
                match answer.map_err(|error| error.to_string())? {
                    Some(answer) => self.agree(place, answer),
                    None => Ok(()),
                }
            }
            Phase::Agreeing(_) | Phase::OnAir(..) => self.receive(place),
        }
    }

    /// The server has accepted: its UDP port replaces its HTTP port.
    fn agree(&mut self, place: usize, answer: client::Answer) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let random = random::number().map_err(|error| error.to_string())?;
        let (socket, server) = reach(self.plan, &answer, publisher.number, &self.epoll, place)?;
        publisher.socket = socket;
        let (local, now) = (publisher.local.clone(), Instant::now());
        let session = Session {
            peer: Peer::new(&self.identity, local, &answer, random, now),
            server,
            answer,
        };
        publisher.phase = Phase::Agreeing(Box::new(session));
        self.wake(place)
    }

    /// Reads the datagrams that are there.
    fn receive(&mut self, place: usize) -> Result<(), String> {
        for _ in 0..DATAGRAMS_PER_EVENT {
            let Some(Some(publisher)) = self.publishers.get_mut(place) else {
                return Ok(());
            };
            let length = match socket::receive_datagram(&publisher.socket, &mut self.buffer) {
                Moved::Bytes(length) => length,
                Moved::Later => break,
                Moved::Gone(why) => return Err(why.to_owned()),
            };
            let datagram = &mut self.buffer[..length];
            if is_media(datagram) {
                if let (Phase::OnAir(_, on_air), true) = (&mut publisher.phase, is_rtcp(datagram)) {
                    let packets = &mut self.tally.packets;
                    let asked = on_air.sender.rtcp(datagram, &publisher.socket, packets)?;
                    if asked.keyframe {
                        publisher.performer.ask_keyframe();
                    }
                    self.tally.enter_bytes(asked.bytes, self.in_window);
                }
                continue;
            }
            let (Phase::Agreeing(session) | Phase::OnAir(session, _)) = &mut publisher.phase else {
                return Ok(());
            };
            let heard = session
                .peer
                .receive(datagram, session.server, Instant::now());
            session.flush(&publisher.socket)?;
            match heard.map_err(|error| error.to_string())? {
                None => {}
                Some(Event::Closed) => return Err("closed by the server".to_owned()),
                Some(Event::Connected(keys)) => self.go_on_air(place, &keys)?,
            }
        }
        Ok(())
    }

    fn go_on_air(&mut self, place: usize, keys: &webrtc::srtp::Keys) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let random = random::number().map_err(|error| error.to_string())?;
        // A placeholder for as long as it takes.
        let empty = Phase::Connecting(Vec::new());
        let phase = std::mem::replace(&mut publisher.phase, empty);
        let Phase::Agreeing(session) = phase else {
            publisher.phase = phase;
            return Ok(());
        };
        let sender = Sender::new(&publisher.offered, &session.answer, keys, random);
        let sender = sender.map_err(|error| error.to_string())?;
        if !sender.is_wanted() {
            publisher.phase = Phase::Agreeing(session);
            return Err("the server takes none of the tracks".to_owned());
        }
        let now = self.clock.now();
        let on_air = OnAir {
            sender,
            since: now,
            next_report: Instant::now(),
        };
        publisher.phase = Phase::OnAir(session, Box::new(on_air));
        self.tally.enter_join(publisher.began, now);
        self.due.push(now, place);
        Ok(())
    }

    fn wake_due(&mut self) {
        let now = Instant::now();
        for _ in 0..PIECES_PER_ROUND {
            let Some(place) = self.timers.pop(now) else {
                return;
            };
            let outcome = self.wake(place);
            self.settle(place, outcome);
        }
    }

    /// Sends checks, repetitions and reports that are due.
    fn wake(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(publisher)) = self.publishers.get_mut(place) else {
            return Ok(());
        };
        let (Phase::Agreeing(session) | Phase::OnAir(session, _)) = &mut publisher.phase else {
            return Ok(());
        };
        let now = Instant::now();
        if session.peer.timeout() <= now {
            let woken = session.peer.handle_timeout(now);
            woken.map_err(|error| error.to_string())?;
            session.flush(&publisher.socket)?;
        }
        if let Phase::OnAir(_, on_air) = &mut publisher.phase
            && on_air.next_report <= now
        {
            on_air.next_report = now + REPORT_INTERVAL;
            let since = self.clock.now().saturating_sub(on_air.since);
            let wall = self.clock.wall();
            on_air
                .sender
                .report(timestamp(since), wall, &publisher.socket)?;
        }
        Ok(())
    }

    /// After something happened: the publisher at `place` is lost, or woken when it is due.
    fn settle(&mut self, place: usize, outcome: Result<(), String>) {
        let Err(reason) = outcome else {
            let publisher = self.publishers.get(place).and_then(Option::as_ref);
            if let Some(due) = publisher.and_then(Publisher::due) {
                self.timers.set(place, due);
            }
            return;
        };
        self.timers.clear(place);
        let publisher = self.publishers.get_mut(place).and_then(Option::take);
        match publisher.map(|publisher| publisher.phase) {
            Some(Phase::OnAir(..)) => self.tally.lost.count(&reason),
            Some(_) => self.tally.failed.count(&reason),
            None => {}
        }
    }
}

impl Rounds for WhipGroup<'_> {
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
        self.wake_due();
    }

    /// The time until something is due.
    fn pause(&self, now: u64) -> u64 {
        let next = self.due.next_at().min(self.muster.next_at());
        let timer = self.timers.next().map_or(u64::MAX, |due| {
            nanoseconds(due.saturating_duration_since(Instant::now()))
        });
        next.saturating_sub(now).min(timer).min(NAP)
    }

    fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    fn attend(&mut self, place: usize, _now: u64) {
        let outcome = self.look_at(place);
        self.settle(place, outcome);
    }

    /// All publishers disconnect.
    fn end(&mut self) {
        for mut publisher in std::mem::take(&mut self.publishers).into_iter().flatten() {
            if let Phase::OnAir(session, _) = &mut publisher.phase {
                self.tally.alive += 1;
                session.peer.close(Instant::now());
                // A server that is gone need not be told.
                session.flush(&publisher.socket).ok();
            } else {
                self.tally.failed.count(&"not yet at the end");
            }
        }
    }
}

impl Publisher {
    /// When it has to do something by the clock, other than its frames.
    fn due(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Connecting(_) | Phase::Asking(_) => None,
            Phase::Agreeing(session) => Some(session.peer.timeout()),
            Phase::OnAir(session, on_air) => Some(session.peer.timeout().min(on_air.next_report)),
        }
    }
}

impl Session {
    fn flush(&mut self, socket: &OwnedFd) -> Result<(), &'static str> {
        while let Some(datagram) = self.peer.poll_transmit() {
            send(socket, &datagram)?;
        }
        Ok(())
    }
}

/// The tracks of a script that go over RTP, each from a source of its own.
fn offered(opening: &[Piece]) -> Result<Vec<Offered>, getrandom::Error> {
    let mut offered: Vec<Offered> = Vec::new();
    for piece in opening {
        let Piece::Track(track) = piece else {
            continue;
        };
        let Some(format) = PayloadFormat::of(track) else {
            continue;
        };
        // One of each kind: a server takes no more.
        if offered
            .iter()
            .all(|other| other.format.kind() != format.kind())
        {
            offered.push(Offered {
                track: Arc::clone(track),
                format,
                ssrc: getrandom::u32()?,
            });
        }
    }
    Ok(offered)
}
