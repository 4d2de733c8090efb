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
use super::{credentials, identity, offer};
use crate::clock::Clock;
use crate::group::{Behaviour, Context, Member, Outcome, Reason, Seat};
use crate::plan::Source;
use crate::publish::piece::{Performer, Piece, Script, timestamp};
use crate::socket;
use crate::target::Protocol;

/// Maximum number of consecutive datagrams taken from a socket.
const DATAGRAMS_PER_EVENT: usize = 16;
/// Interval between two sender reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// State that the publishers of a group share.
pub(crate) struct Publishers {
    script: Script,
    identity: ClientIdentity,
}

impl Publishers {
    pub(crate) fn new(source: &Source) -> std::io::Result<Self> {
        Ok(Self {
            script: Script::read(source, Protocol::Whip)?,
            identity: identity()?,
        })
    }
}

pub(crate) struct Publisher {
    socket: OwnedFd,
    performer: Performer,
    offered: Vec<Offered>,
    phase: Phase,
}

enum Phase {
    Asking(Box<Asking>),
    Connected(Box<Session>),
}

/// State from the response on.
struct Session {
    connection: Connection,
    answer: Answer,
    on_air: Option<OnAir>,
}

/// State from the handshake on.
struct OnAir {
    sender: Sender,
    /// Time of the load at which the first piece was sent.
    since: u64,
    next_report: Instant,
}

impl Context<Publishers> {
    /// Reads the available datagrams.
    fn receive(&mut self, member: &mut Member<Publisher>) -> Outcome {
        let Member {
            seat,
            own: publisher,
        } = member;
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
                    let random = getrandom::u64()?;
                    let sender = Sender::new(&publisher.offered, &session.answer, &keys, random)?;
                    if !sender.is_wanted() {
                        return Err("the server takes none of the tracks".into());
                    }
                    self.now = self.clock.now();
                    session.on_air = Some(OnAir {
                        sender,
                        since: self.now,
                        next_report: Instant::now(),
                    });
                    self.enter_join(seat, 0);
                }
            } else if let (Some(on_air), true) = (&mut session.on_air, is_rtcp(datagram)) {
                let packets = &mut self.tally.packets;
                let asked = on_air.sender.rtcp(datagram, socket, packets)?;
                if asked.keyframe {
                    publisher.performer.ask_keyframe();
                }
                self.enter_bytes(asked.bytes);
            }
        }
        Ok(())
    }
}

impl Behaviour for Publishers {
    type Own = Publisher;

    /// Few enough that publishers already present stay on time.
    const JOINS_PER_ROUND: u64 = 4;
    const ROUND_TICKS: usize = 100;
    /// Longest datagram, and the bytes of a response read at once.
    const TAKE_BYTES: usize = 4 << 10;

    fn begin(context: &mut Context<Self>, seat: &Seat) -> Result<Publisher, Reason> {
        let (plan, identity) = (&context.plan, &context.own.identity);
        let (script, source) = (context.own.script.clone(), plan.source(seat.number));
        let performer = Performer::new(script, Protocol::Whip, source);
        let offered = offered(&performer.opening())?;
        let tracks = offered.iter().map(|offered| (offered.format, offered.ssrc));
        let tracks: Vec<_> = tracks.collect();
        let local = credentials()?;
        let text = offer::of_publisher(&local, identity, &tracks)?;
        let words = post(&plan.target, seat.number, &text);
        Ok(Publisher {
            socket: context.connect(seat, EventFlags::OUT, None)?,
            performer,
            offered,
            phase: Phase::Asking(Box::new(Asking::new(words, identity, local))),
        })
    }

    fn attend(context: &mut Context<Self>, member: &mut Member<Publisher>, _: usize) -> Outcome {
        let Phase::Asking(asking) = &mut member.own.phase else {
            return context.receive(member);
        };
        let socket = &mut member.own.socket;
        if let Some((answer, connection)) = asking.attend(context, &member.seat, socket)? {
            member.own.phase = Phase::Connected(Box::new(Session {
                connection,
                answer,
                on_air: None,
            }));
        }
        Ok(())
    }

    fn due(member: &Member<Publisher>, clock: Clock) -> Option<u64> {
        let Phase::Connected(session) = &member.own.phase else {
            return None;
        };
        let due = session.connection.due();
        Some(match &session.on_air {
            None => clock.time_of(due),
            Some(on_air) => {
                let own = clock.time_of(due.min(on_air.next_report));
                own.min(on_air.since + member.own.performer.due())
            }
        })
    }

    /// Sends the next piece, checks, repetitions and reports, if they are due.
    fn wake(context: &mut Context<Self>, member: &mut Member<Publisher>) -> Outcome {
        let Publisher {
            socket,
            performer,
            phase,
            ..
        } = &mut member.own;
        let Phase::Connected(session) = phase else {
            return Ok(());
        };
        let moment = Instant::now();
        session.connection.wake(socket, moment)?;
        let Some(on_air) = &mut session.on_air else {
            return Ok(());
        };
        if on_air.next_report <= moment {
            on_air.next_report = moment + REPORT_INTERVAL;
            let since = context.now.saturating_sub(on_air.since);
            let wall = context.clock.wall();
            on_air.sender.report(timestamp(since), wall, socket)?;
        }
        for piece in context.due_pieces(performer, on_air.since) {
            if let Piece::Sample(sample) = piece {
                context.tally.frames_sent += 1;
                let bytes = on_air.sender.sample(&sample, socket)?;
                context.enter_bytes(bytes);
            }
        }
        Ok(())
    }

    fn leave(_: &mut Context<Self>, member: &mut Member<Publisher>) {
        let Publisher { socket, phase, .. } = &mut member.own;
        if let Phase::Connected(session) = phase {
            session.connection.close(socket, Instant::now());
        }
    }
}

/// Returns the tracks of a script that go over RTP, each from its own source.
fn offered(opening: &[Piece]) -> Result<Vec<Offered>, getrandom::Error> {
    let mut offered: Vec<Offered> = Vec::new();
    for piece in opening {
        let Piece::Track(track) = piece else {
            continue;
        };
        let Some(format) = PayloadFormat::of(track) else {
            continue;
        };
        // One track of each kind: a server takes no more.
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
