//! A WebRTC server for the tests: a viewer at `/show/whep` receives a synthetic stream, and the media published at `/show/whip`
//! is checked.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use container::rtp::{PAYLOAD_BYTES, Packetizer, PayloadFormat, Payloads, Sequencer};
use media::{Sample, Track, TrackId};
use webrtc::client::Accepted;
use webrtc::dtls::ServerIdentity;
use webrtc::ice::{Path, Transport};
use webrtc::mux::{Event, Handle, Mux, NewSession, Received};
use webrtc::rtcp::{self, SenderReport};
use webrtc::sdp::{Answer, Candidate, MediaKind, Offer, Section};
use webrtc::srtp::{RTP_OVERHEAD_MAX, Rollover, Sealer};

use super::packets::Packets;
use super::receiver::{Moment, Receiver};
use crate::clock;
use crate::ledger::Findings;
use crate::publish::piece::{Performer, Piece, Script};
use crate::publish::synthetic::{Audio, Program};
use crate::target::Protocol;

/// Near the end of 16 bits, so that they wrap in every test.
const FIRST: u16 = 65_400;
/// SSRCs of audio and video.
const SSRCS: [u32; 2] = [11, 22];
const OWN_SSRC: u32 = 33;
/// Plain packets that can be sent again.
const HISTORY_MAX: usize = 2_000;

/// Behaviour of the server towards its peers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manners {
    /// One in this many packets is not sent until it is requested.
    pub(super) loses: Option<u64>,
    /// The server says goodbye to all peers after that.
    pub(super) closes_after: Option<Duration>,
    /// Interval of asking publishers for keyframes, and for packets that arrived.
    pub(super) asks_every: Option<Duration>,
}

/// Observations of the server.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Report blocks, and the packets they report lost.
    pub(super) reports: u64,
    pub(super) lost: i64,
    /// Reports that name a sender report.
    pub(super) timed: u64,
    pub(super) keyframes_asked: u64,
    pub(super) repeated: u64,
    pub(super) goodbyes: u64,
    /// Findings on the published media.
    pub(super) findings: Findings,
    pub(super) packets: Packets,
    pub(super) sender_reports: u64,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) http: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Server {
    pub(super) fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        let http = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || PeerTable::new(listener, manners).run(&stop)
        });
        Self { http, stop, thread }
    }

    pub(super) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic")
    }
}

/// A session that has been agreed on.
struct Agreed {
    sections: Vec<Accepted>,
    watches: bool,
}

struct Viewer {
    handle: Handle,
    path: Path,
    sealer: Sealer,
    /// By track.
    rollovers: [Option<Rollover>; 2],
    types: [u8; 2],
}

struct Publishing {
    handle: Handle,
    receiver: Receiver,
    /// The newest packet, by its source, to be requested again.
    newest: Option<(u32, u16)>,
}

struct Lane {
    id: TrackId,
    packetizer: Packetizer,
    sequencer: Sequencer,
    history: VecDeque<(u64, Vec<u8>)>,
    packets: u32,
}

struct PeerTable {
    listener: TcpListener,
    manners: Manners,
    identity: ServerIdentity,
    mux: Mux,
    udp: UdpSocket,
    agreed: HashMap<Handle, Agreed>,
    viewers: Vec<Viewer>,
    publishing: Vec<Publishing>,
    performer: Performer,
    /// Audio, then video.
    lanes: [Lane; 2],
    began: Instant,
    sent: u64,
    next_second: Duration,
    next_ask: Duration,
    seen: Seen,
}

impl Lane {
    fn new(track: &Track, ssrc: u32) -> Self {
        let format = PayloadFormat::of(track).expect("a format");
        Self {
            id: track.id,
            packetizer: Packetizer::new(format, track, PAYLOAD_BYTES),
            sequencer: Sequencer::new(ssrc, FIRST, 1 << 31, format.clock_rate()),
            history: VecDeque::new(),
            packets: 0,
        }
    }
}

impl PeerTable {
    fn new(listener: TcpListener, manners: Manners) -> Self {
        let program = Program::of(Audio::Opus, 64_000, Some(1_000_000));
        let picture = program.picture.expect("video");
        let identity = ServerIdentity::generate().expect("an identity");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        udp.set_nonblocking(true).expect("a socket");
        Self {
            listener,
            manners,
            mux: Mux::new(&identity),
            identity,
            udp,
            agreed: HashMap::new(),
            viewers: Vec::new(),
            publishing: Vec::new(),
            performer: Performer::new(Script::Synthetic(program), Protocol::Whip, 9),
            lanes: [
                Lane::new(&program.audio.track().expect("Opus"), SSRCS[0]),
                Lane::new(&picture.track(), SSRCS[1]),
            ],
            began: Instant::now(),
            sent: 0,
            next_second: Duration::ZERO,
            next_ask: Duration::ZERO,
            seen: Seen::default(),
        }
    }

    fn run(mut self, stop: &AtomicBool) -> Seen {
        while !stop.load(Ordering::Relaxed) {
            while let Ok((socket, _)) = self.listener.accept() {
                self.answer(socket);
            }
            self.receive();
            self.mux.handle_timeout(Instant::now());
            self.flush();
            self.perform();
            self.ask();
            let is_late = |after| self.began.elapsed() > after;
            if self.manners.closes_after.is_some_and(is_late) {
                for viewer in std::mem::take(&mut self.viewers) {
                    self.mux.close(viewer.handle, Instant::now());
                }
                self.flush();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // Datagrams that arrived before the stop still count.
        self.receive();
        self.seen
    }

    /// Reads a request and answers it. The whole request arrives at once.
    fn answer(&mut self, mut socket: TcpStream) {
        socket.set_nonblocking(false).expect("a socket");
        let mut request = Vec::new();
        let mut buffer = [0; 4_096];
        let (head, body) = loop {
            let length = socket.read(&mut buffer).expect("a request");
            request.extend_from_slice(&buffer[..length]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let mut lines = head.lines();
            let announced = lines.find_map(|line| line.strip_prefix("Content-Length: "));
            let announced: usize = announced.and_then(|text| text.parse().ok()).expect("it");
            if body.len() >= announced {
                break (head.to_owned(), body.to_owned());
            }
        };
        assert!(head.contains("\r\nContent-Type: application/sdp\r\n"));
        let reply = if head.starts_with("POST /show/") {
            let answer = self.agree(&body, head.starts_with("POST /show/whep"));
            let length = answer.len();
            format!(
                "HTTP/1.1 201 Created\r\nLocation: /session/1\r\nContent-Type: application/sdp\r\n\
                 Content-Length: {length}\r\n\r\n{answer}"
            )
        } else {
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned()
        };
        socket.write_all(reply.as_bytes()).expect("written");
    }

    fn agree(&mut self, offer: &str, watches: bool) -> String {
        let offer = Offer::parse(offer).expect("an offer");
        let local = super::credentials().expect("randomness");
        let sections: Vec<_> = offer
            .media
            .iter()
            .map(|media| {
                let format = &media.formats[0];
                match (watches, media.kind) {
                    (false, _) => Section::Receives {
                        format,
                        parameters: None,
                        more: &[],
                        layers: &[],
                        extensions: &[],
                    },
                    (true, kind) => Section::Sends {
                        format,
                        parameters: None,
                        ssrc: SSRCS[usize::from(kind == MediaKind::Video)],
                        rtx_ssrc: None,
                    },
                }
            })
            .collect();
        let answer = Answer {
            offer: &offer,
            sections: &sections,
            session_id: 1,
            ice: &local,
            fingerprint: self.identity.fingerprint(),
            candidates: &[Candidate {
                address: self.udp.local_addr().expect("an address"),
                transport: Transport::Udp,
            }],
            stream: "show",
            cname: "x",
        }
        .to_string();
        let session = NewSession {
            local,
            remote_ufrag: offer.ice.ufrag().into(),
            fingerprint: offer.fingerprint,
            setup: offer.setup,
        };
        let handle = self.mux.adopt(session, Instant::now()).expect("room");
        let read = webrtc::client::Answer::parse(&answer).expect("an answer");
        let sections = read.media;
        self.agreed.insert(handle, Agreed { sections, watches });
        answer
    }

    fn receive(&mut self) {
        let mut buffer = [0; 2_000];
        while let Ok((length, from)) = self.udp.recv_from(&mut buffer) {
            let now = Instant::now();
            let received = self
                .mux
                .receive(Path::udp(from), &mut buffer[..length], now);
            match received {
                Received::Rtcp { session, packet } => {
                    let packet = packet.to_vec();
                    self.rtcp(session, &packet);
                }
                Received::Rtp {
                    session, packet, ..
                } => {
                    let of = |publishing: &&mut Publishing| publishing.handle == session;
                    let publishing = self.publishing.iter_mut().find(of);
                    let publishing = publishing.expect("viewers send no media");
                    let header = webrtc::rtp::Header::parse(packet).expect("a header");
                    publishing.newest = Some((header.ssrc, header.sequence));
                    let at = Moment {
                        now,
                        wall: clock::wall(),
                    };
                    let Seen {
                        findings, packets, ..
                    } = &mut self.seen;
                    publishing.receiver.rtp(packet, at, findings, packets);
                }
                _ => {}
            }
            self.flush();
        }
    }

    fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        for packet in rtcp::packets(compound) {
            match packet {
                rtcp::Packet::ReceiverReport { reports, .. } => {
                    for report in reports {
                        self.seen.reports += 1;
                        self.seen.lost = self.seen.lost.max(report.lost.into());
                        self.seen.timed += u64::from(report.last_report != 0);
                    }
                }
                rtcp::Packet::SenderReport { .. } => self.seen.sender_reports += 1,
                rtcp::Packet::PictureLoss { .. } => self.seen.keyframes_asked += 1,
                rtcp::Packet::Nack { media, lost } => {
                    let at = SSRCS.iter().position(|ssrc| *ssrc == media);
                    let at = at.expect("a source of ours");
                    for sequence in lost {
                        self.repeat(session, at, sequence);
                    }
                }
                _ => {}
            }
        }
    }

    fn repeat(&mut self, session: Handle, at: usize, sequence: u16) {
        let viewer = self.viewers.iter_mut().find(|one| one.handle == session);
        let history = &self.lanes[at].history;
        let found = history
            .iter()
            .find(|(number, _)| *number as u16 == sequence);
        if let (Some(viewer), Some((number, packet))) = (viewer, found) {
            self.seen.repeated += 1;
            viewer.send(&self.udp, at, *number, packet);
        }
    }

    fn flush(&mut self) {
        while let Some((handle, event)) = self.mux.poll_event() {
            match event {
                Event::Connected { keys, path } => {
                    let agreed = self.agreed.remove(&handle).expect("agreed on");
                    let number = |kind| {
                        let mut sections = agreed.sections.iter();
                        let section = sections.find(|section| section.kind == kind);
                        section
                            .and_then(|section| section.payload_type)
                            .unwrap_or(0)
                    };
                    if agreed.watches {
                        self.viewers.push(Viewer {
                            handle,
                            path,
                            sealer: Sealer::new(&keys).expect("keys"),
                            rollovers: [None; 2],
                            types: [number(MediaKind::Audio), number(MediaKind::Video)],
                        });
                    } else {
                        self.publishing.push(Publishing {
                            handle,
                            receiver: Receiver::new(&agreed.sections, 0),
                            newest: None,
                        });
                    }
                }
                Event::Moved { .. } => {}
                Event::Closed { .. } => {
                    self.seen.goodbyes += 1;
                    self.viewers.retain(|viewer| viewer.handle != handle);
                    self.publishing.retain(|one| one.handle != handle);
                }
            }
        }
        while let Some(transmit) = self.mux.poll_transmit() {
            let sent = self.udp.send_to(&transmit.datagram, transmit.path.remote);
            sent.expect("sent");
        }
    }

    /// Sends what is due, and a report for each track every second.
    fn perform(&mut self) {
        let elapsed = self.began.elapsed();
        while Duration::from_nanos(self.performer.due()) <= elapsed {
            for piece in self.performer.perform(clock::wall()) {
                let Piece::Sample(sample) = piece else {
                    panic!("no sample: {piece:?}");
                };
                self.sample(&sample);
            }
        }
        if elapsed >= self.next_second {
            self.next_second = elapsed + Duration::from_secs(1);
            for lane in &self.lanes {
                let at = crate::publish::piece::timestamp(elapsed.as_nanos() as u64);
                let report = SenderReport {
                    ssrc: SSRCS[usize::from(lane.id == TrackId::VIDEO)],
                    ntp: 1 << 40,
                    rtp_timestamp: lane.sequencer.timestamp(at),
                    packets: lane.packets,
                    octets: 0,
                };
                let mut compound = Vec::new();
                report.write(&mut compound);
                for viewer in &self.viewers {
                    let sent = self.mux.send_rtcp(viewer.handle, &compound);
                    sent.expect("connected");
                }
            }
            self.flush();
        }
    }

    fn sample(&mut self, sample: &Sample) {
        let at = usize::from(sample.track == TrackId::VIDEO);
        let lane = &mut self.lanes[at];
        let mut payloads = Payloads::default();
        lane.packetizer
            .push(sample, &mut payloads)
            .expect("a frame");
        let timestamp = lane.sequencer.timestamp(sample.pts);
        for payload in payloads.packets() {
            let number = lane.sequencer.next();
            let header = lane.sequencer.number(payload, timestamp);
            let bytes = &payloads.bytes()[payload.range.clone()];
            let packet = [&header[..], bytes].concat();
            lane.packets += 1;
            self.sent += 1;
            let is_kept_back = |every: u64| self.sent.is_multiple_of(every);
            if !self.manners.loses.is_some_and(is_kept_back) {
                for viewer in &mut self.viewers {
                    viewer.send(&self.udp, at, number, &packet);
                }
            }
            if lane.history.len() == HISTORY_MAX {
                lane.history.pop_front();
            }
            lane.history.push_back((number, packet));
        }
    }

    /// Asks publishers for what they need not send, to see that they do.
    fn ask(&mut self) {
        let elapsed = self.began.elapsed();
        let Some(every) = self.manners.asks_every else {
            return;
        };
        if elapsed < self.next_ask {
            return;
        }
        self.next_ask = elapsed + every;
        for publishing in &self.publishing {
            let Some((media, sequence)) = publishing.newest else {
                continue;
            };
            let mut compound = Vec::new();
            rtcp::write_receiver_report(&mut compound, OWN_SSRC, &[]);
            rtcp::write_pli(&mut compound, OWN_SSRC, media);
            rtcp::write_nack(&mut compound, OWN_SSRC, media, &[sequence]);
            let sent = self.mux.send_rtcp(publishing.handle, &compound);
            sent.expect("connected");
        }
        self.flush();
    }
}

impl Viewer {
    fn send(&mut self, udp: &UdpSocket, at: usize, number: u64, packet: &[u8]) {
        let rollover = *self.rollovers[at].get_or_insert_with(|| Rollover::starting_at(number));
        let Some(index) = rollover.index(number) else {
            return;
        };
        let (header, payload) = packet.split_at(12);
        let mut header = header.to_vec();
        header[1] |= self.types[at];
        let mut out = vec![0; packet.len() + RTP_OVERHEAD_MAX];
        let length = self.sealer.seal(index, &header, payload, &mut out);
        let sealed = &out[..length.expect("sealed")];
        // A viewer that has gone is noticed by its silence.
        udp.send_to(sealed, self.path.remote).ok();
    }
}
