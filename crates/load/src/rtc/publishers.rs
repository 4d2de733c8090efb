//! WHIP publishers in one thread: each sends its frames when they are due.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use container::rtp::PayloadFormat;
use rustix::event::epoll::EventFlags;
use webrtc::client::{Answer, ClientIdentity, is_media};
use webrtc::rtcp::is_rtcp;

use super::sender::{Offered, Sender};
use super::session::Connection;
use super::signal::{Asking, post};
use super::{identity, offer, random};
use crate::clock::Clock;
use crate::group::{Behaviour, Group, Member, Reason};
use crate::listen::role::Role;
use crate::plan::{Listening, Plan, Source};
use crate::publish::piece::{Performer, Piece, Script, timestamp};
use crate::socket;
use crate::tally::{Progress, Tally};

/// Datagrams taken from a socket in a row.
const DATAGRAMS_PER_EVENT: usize = 16;
/// Between two reports of a sender.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs this process's publishers to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    source: &Source,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    let publishers = Publishers {
        script: Script::read(source, plan.target.protocol())?,
        identity: identity()?,
    };
    Group::new(plan, &Listening::default(), publishers)?.run(progress)
}

/// What the publishers of a group share.
struct Publishers {
    script: Script,
    identity: ClientIdentity,
}

struct Publisher {
    socket: OwnedFd,
    number: u64,
    began: u64,
    performer: Performer,
    offered: Vec<Offered>,
    phase: Phase,
}

enum Phase {
    Asking(Box<Asking>),
    Connected(Box<Session>),
}

/// From the answer on.
struct Session {
    connection: Connection,
    answer: Answer,
    on_air: Option<OnAir>,
}

/// From the handshake on.
struct OnAir {
    sender: Sender,
    /// Time of the load when the first piece was sent.
    since: u64,
    next_report: Instant,
}

impl Group<'_, Publishers> {
    /// Reads the datagrams that are there.
    fn receive(&mut self, place: usize) -> Result<(), Reason> {
        let Some(publisher) = self.members.at_mut(place) else {
            return Ok(());
        };
        let Phase::Connected(session) = &mut publisher.phase else {
            return Ok(());
        };
        let socket = &publisher.socket;
        for _ in 0..DATAGRAMS_PER_EVENT {
            let Some(length) = socket::receive_datagram(socket, &mut self.buffer)? else {
                break;
            };
            let datagram = &mut self.buffer[..length];
            if !is_media(datagram) {
                let keys = session
                    .connection
                    .receive(datagram, socket, Instant::now())?;
                if let Some(keys) = keys
                    && session.on_air.is_none()
                {
                    let random = random::number()?;
                    let sender = Sender::new(&publisher.offered, &session.answer, &keys, random)?;
                    if !sender.is_wanted() {
                        return Err("the server takes none of the tracks".into());
                    }
                    let since = self.clock.now();
                    session.on_air = Some(OnAir {
                        sender,
                        since,
                        next_report: Instant::now(),
                    });
                    self.tally.enter_join(publisher.began, since);
                }
            } else if let (Some(on_air), true) = (&mut session.on_air, is_rtcp(datagram)) {
                let packets = &mut self.tally.packets;
                let asked = on_air.sender.rtcp(datagram, socket, packets)?;
                if asked.keyframe {
                    publisher.performer.ask_keyframe();
                }
                self.tally.enter_bytes(asked.bytes, self.in_window);
            }
        }
        Ok(())
    }
}

impl Behaviour for Publishers {
    type Member = Publisher;

    /// So few that present publishers keep their time.
    const JOINS_PER_ROUND: u64 = 4;
    const ROUND_TICKS: usize = 100;
    /// The longest datagram, and the bytes of an answer read at once.
    const TAKE_BYTES: usize = 4 << 10;

    fn begin(
        group: &mut Group<'_, Self>,
        number: u64,
        _: Role,
        place: usize,
    ) -> Result<Publisher, Reason> {
        let target = &group.plan.target;
        let source = group.plan.source(number);
        let performer = Performer::new(group.own.script.clone(), target.protocol(), source);
        let offered = offered(&performer.opening())?;
        let local = random::credentials()?;
        let tracks = offered.iter().map(|offered| (offered.format, offered.ssrc));
        let tracks: Vec<_> = tracks.collect();
        let text = offer::of_publisher(&local, &group.own.identity, &tracks)?;
        let words = post(target, number, &text);
        let began = group.clock.now();
        let socket = socket::connect(target.addr(), number, None)?;
        socket::watch(&group.epoll, &socket, place, EventFlags::OUT)?;
        Ok(Publisher {
            socket,
            number,
            began,
            performer,
            offered,
            phase: Phase::Asking(Box::new(Asking::new(words, local))),
        })
    }

    fn attend(group: &mut Group<'_, Self>, place: usize, _: u64) -> Result<(), Reason> {
        let Some(publisher) = group.members.at_mut(place) else {
            return Ok(());
        };
        let Phase::Asking(asking) = &mut publisher.phase else {
            return group.receive(place);
        };
        let answered = asking.attend(&publisher.socket, &group.epoll, place, &mut group.buffer)?;
        let Some((answer, local)) = answered else {
            return Ok(());
        };
        // The server has accepted: its UDP port replaces its HTTP port.
        let (identity, own) = (&group.own.identity, (&answer, local));
        let opened = Connection::open(
            group.plan,
            identity,
            own,
            publisher.number,
            &group.epoll,
            place,
        )?;
        publisher.socket = opened.0;
        publisher.phase = Phase::Connected(Box::new(Session {
            connection: opened.1,
            answer,
            on_air: None,
        }));
        Ok(())
    }

    /// Sends the next piece, checks, repetitions and reports, if they are due.
    fn wake(group: &mut Group<'_, Self>, place: usize, now: u64) -> Result<(), Reason> {
        let Some(publisher) = group.members.at_mut(place) else {
            return Ok(());
        };
        let Phase::Connected(session) = &mut publisher.phase else {
            return Ok(());
        };
        let (socket, performer) = (&publisher.socket, &mut publisher.performer);
        let moment = Instant::now();
        session.connection.wake(socket, moment)?;
        let Some(on_air) = &mut session.on_air else {
            return Ok(());
        };
        if on_air.next_report <= moment {
            on_air.next_report = moment + REPORT_INTERVAL;
            let since = now.saturating_sub(on_air.since);
            let wall = group.clock.wall();
            on_air.sender.report(timestamp(since), wall, socket)?;
        }
        let Some(late) = now.checked_sub(on_air.since + performer.due()) else {
            return Ok(());
        };
        group.tally.lateness.record(late);
        let mut pieces = Vec::new();
        performer.perform(group.clock.wall(), &mut |piece| pieces.push(piece));
        for piece in pieces {
            if let Piece::Sample(sample) = piece {
                group.tally.frames_sent += 1;
                let bytes = on_air.sender.sample(&sample, socket)?;
                group.tally.enter_bytes(bytes, group.in_window);
            }
        }
        Ok(())
    }

    /// It says goodbye.
    fn leave(_: &mut Group<'_, Self>, mut publisher: Publisher, _: u64) {
        if let Phase::Connected(session) = &mut publisher.phase {
            session.connection.close(&publisher.socket, Instant::now());
        }
    }
}

impl Member for Publisher {
    fn has_media(&self) -> bool {
        matches!(&self.phase, Phase::Connected(session) if session.on_air.is_some())
    }

    fn due(&self, clock: Clock) -> Option<u64> {
        let Phase::Connected(session) = &self.phase else {
            return None;
        };
        let due = session.connection.due();
        Some(match &session.on_air {
            None => clock.time_of(due),
            Some(on_air) => {
                let own = clock.time_of(due.min(on_air.next_report));
                own.min(on_air.since + self.performer.due())
            }
        })
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
