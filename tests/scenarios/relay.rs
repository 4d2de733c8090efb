//! The smallest WebRTC server: one peer, one socket, one thread. To whoever wants to watch it plays a file
//! over and over; of whoever publishes it counts the packets.
//!
//! It drives `webrtc` the way a worker does and has nothing of the server's own: what it shows is that
//! answers, checks, handshakes and sealed packets are what real peers expect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rtc_rtp::codec::h264::H264Payloader;
use rtc_rtp::packetizer::Payloader;
use testkit::{Clip, Tool};
use webrtc::dtls::Identity;
use webrtc::ice::{Credentials, Path, RANDOM_LEN, Transport};
use webrtc::mux::{Event, Handle, Mux, NewSession, Received};
use webrtc::rtcp::{Packet, SenderReport, packets, write_sdes};
use webrtc::sdp::{Answer, Candidate, MediaKind, Offer, ProfileLevelId, Section, Wanted};
use webrtc::srtp::{Profile, RTP_OVERHEAD_MAX, Rollover, Sealer};

use crate::relay_wire::Wire;

/// The clip's pictures per second.
const FRAME_RATE: u32 = 25;
/// An Opus packet of 20 ms of silence in stereo.
const SILENCE: [u8; 3] = [0xfc, 0xff, 0xfe];
const SOUNDS_PER_SECOND: u32 = 50;
/// Payload bytes of a packet, so that header and tag stay below 1,200.
const PAYLOAD_MAX: usize = 1_160;
const VIDEO_SSRC: u32 = 2_222;
const AUDIO_SSRC: u32 = 1_111;
/// Both tracks begin shortly before their sequence numbers wrap, and after they wrapped before.
const FIRST_SEQUENCE: u64 = (3 << 16) - 300;

/// What the relay saw of its viewer.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// How packets were protected; nothing when the viewer never connected.
    pub(crate) profile: Option<Profile>,
    pub(crate) sent: u64,
    pub(crate) nacked: usize,
    pub(crate) keyframes_asked: usize,
    /// Packets lost by the viewer's own count.
    pub(crate) lost: i32,
    pub(crate) reports: usize,
    /// Authentic packets of the peer's sound and picture.
    pub(crate) sounds: usize,
    pub(crate) pictures: usize,
    /// Packets of the peer that were not authentic.
    pub(crate) refused: u64,
    pub(crate) closed: bool,
    /// Whether the peer uses the names of a restart.
    pub(crate) restarted: bool,
}

impl Report {
    fn read(&mut self, compound: &[u8]) {
        for packet in packets(compound) {
            match packet {
                Packet::ReceiverReport { reports, .. } => {
                    self.reports += 1;
                    for report in reports {
                        self.lost = self.lost.max(report.lost);
                    }
                }
                Packet::Nack { lost, .. } => self.nacked += lost.count(),
                Packet::PictureLoss { .. } | Packet::FullIntra { .. } => {
                    self.keyframes_asked += 1;
                }
                _ => {}
            }
        }
    }
}

/// A relay that runs until it is asked for its report.
pub(crate) struct Relay {
    identity: Identity,
    candidate: Candidate,
    answer: String,
    restarts: SyncSender<(Credentials, String)>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

impl Relay {
    /// Answers an offer and waits for its peer, over UDP.
    pub(crate) fn start(offer: &str) -> Self {
        Self::start_over(Transport::Udp, offer)
    }

    /// Likewise over UDP or TCP.
    pub(crate) fn start_over(transport: Transport, offer: &str) -> Self {
        let offer = Offer::parse(offer).unwrap();
        let identity = Identity::generate().unwrap();
        let wire = Wire::open(transport);
        let candidate = Candidate {
            address: wire.address(),
            transport,
        };
        let local = Credentials::generate(&random());
        let tracks = Tracks::choose(&offer);
        let sends = tracks.sends;
        let answer = tracks.answer(&offer, &local, &identity, candidate);
        let session = NewSession {
            local,
            remote_ufrag: offer.ice.ufrag().into(),
            fingerprint: offer.fingerprint,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (restarts, asked) = sync_channel(1);
        let worker = Worker {
            mux: Mux::new(&identity),
            wire,
            pictures: pictures(),
            video: Track::new(VIDEO_SSRC, 90_000 / FRAME_RATE, tracks.video),
            audio: Track::new(AUDIO_SSRC, 48_000 / SOUNDS_PER_SECOND, tracks.audio),
            viewer: None,
            sends,
            report: Report::default(),
        };
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || worker.run(session, &asked, &stop)
        });
        Self {
            identity,
            candidate,
            restarts,
            answer,
            stop,
            thread,
        }
    }

    pub(crate) fn answer(&self) -> &str {
        &self.answer
    }

    /// Answers another offer of the same peer: an ICE restart.
    pub(crate) fn restart(&self, offer: &str) -> String {
        let offer = Offer::parse(offer).unwrap();
        let local = Credentials::generate(&random());
        let tracks = Tracks::choose(&offer);
        let answer = tracks.answer(&offer, &local, &self.identity, self.candidate);
        let names = (local, offer.ice.ufrag().to_owned());
        self.restarts.send(names).unwrap();
        answer
    }

    /// Says goodbye to the viewer.
    pub(crate) fn stop(self) -> Report {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn random() -> [u8; RANDOM_LEN] {
    let mut random = [0; RANDOM_LEN];
    let mut seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    for byte in &mut random {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *byte = (seed >> 56) as u8;
    }
    random
}

/// The clip's pictures, each in the byte stream format.
fn pictures() -> Vec<Bytes> {
    let clip = Clip::Flv.seconds(20);
    let stdout = Tool::ffmpeg()
        .arg("-i")
        .arg(&clip)
        .args([
            "-an",
            "-c:v",
            "copy",
            "-bsf:v",
            "h264_mp4toannexb,h264_metadata=aud=insert",
        ])
        .args(["-f", "h264", "-"])
        .run(Duration::from_secs(60));
    let bytes = Bytes::from(stdout);
    let delimiter = [0, 0, 0, 1, 9];
    let starts: Vec<_> = (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(&delimiter))
        .chain([bytes.len()])
        .collect();
    assert!(starts.len() > 100, "{} pictures", starts.len());
    starts
        .windows(2)
        .map(|pair| bytes.slice(pair[0]..pair[1]))
        .collect()
}

/// Which format each track has.
struct Tracks {
    audio: u8,
    video: u8,
    sends: bool,
}

impl Tracks {
    fn choose(offer: &Offer) -> Self {
        let first = |kind, wanted| {
            let (_, media) = offer.sections(kind).next().unwrap();
            let (format, _) = media.choose(wanted).unwrap();
            (format.payload_type, media.direction)
        };
        let baseline = ProfileLevelId([0x42, 0xc0, 0x0c]);
        let (audio, direction) = first(MediaKind::Audio, Wanted::Opus);
        let (video, _) = first(MediaKind::Video, Wanted::H264(baseline));
        Self {
            audio,
            video,
            sends: direction.receives(),
        }
    }

    fn answer(
        &self,
        offer: &Offer,
        ice: &Credentials,
        identity: &Identity,
        candidate: Candidate,
    ) -> String {
        let sections: Vec<_> = offer
            .media
            .iter()
            .map(|media| {
                let (number, ssrc) = match media.kind {
                    MediaKind::Audio => (self.audio, AUDIO_SSRC),
                    MediaKind::Video => (self.video, VIDEO_SSRC),
                    MediaKind::Other => return Section::Rejected,
                };
                let format = media.formats.iter().find(|f| f.payload_type == number);
                let format = format.unwrap();
                if !self.sends {
                    return Section::Receives {
                        format,
                        extensions: &[],
                    };
                }
                Section::Sends {
                    format,
                    parameters: None,
                    ssrc,
                    rtx_ssrc: None,
                }
            })
            .collect();
        Answer {
            offer,
            sections: &sections,
            session_id: 1,
            ice,
            fingerprint: identity.fingerprint(),
            candidates: &[candidate],
            stream: "show",
            cname: "relay",
        }
        .to_string()
    }
}

/// One track's place in time.
struct Track {
    ssrc: u32,
    payload_type: u8,
    ticks: u32,
    sequence: u64,
    timestamp: u32,
    packets: u32,
    octets: u32,
}

impl Track {
    fn new(ssrc: u32, ticks: u32, payload_type: u8) -> Self {
        Self {
            ssrc,
            payload_type,
            ticks,
            sequence: FIRST_SEQUENCE,
            timestamp: 0,
            packets: 0,
            octets: 0,
        }
    }

    /// The next packet's header.
    fn header(&mut self, payload_len: usize, is_last: bool) -> [u8; 12] {
        let mut header = [0; 12];
        header[0] = 0x80;
        header[1] = self.payload_type | u8::from(is_last) << 7;
        header[2..4].copy_from_slice(&(self.sequence as u16).to_be_bytes());
        header[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        header[8..].copy_from_slice(&self.ssrc.to_be_bytes());
        self.packets += 1;
        self.octets += payload_len as u32;
        header
    }

    fn report(&self) -> Vec<u8> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let fraction = (u64::from(now.subsec_nanos()) << 32) / 1_000_000_000;
        let report = SenderReport {
            ssrc: self.ssrc,
            ntp: (now.as_secs() + 2_208_988_800) << 32 | fraction,
            rtp_timestamp: self.timestamp,
            packets: self.packets,
            octets: self.octets,
        };
        let mut compound = Vec::new();
        report.write(&mut compound);
        write_sdes(&mut compound, self.ssrc, "relay");
        compound
    }
}

struct Viewer {
    handle: Handle,
    path: Path,
    sealer: Sealer,
    rollover: Rollover,
    since: Instant,
    pictures: u32,
    sounds: u32,
    reported: u32,
}

struct Worker {
    mux: Mux,
    wire: Wire,
    pictures: Vec<Bytes>,
    video: Track,
    audio: Track,
    viewer: Option<Viewer>,
    /// Whether the peer watches and does not publish.
    sends: bool,
    report: Report,
}

impl Worker {
    fn run(
        mut self,
        session: NewSession,
        restarts: &Receiver<(Credentials, String)>,
        stop: &AtomicBool,
    ) -> Report {
        let handle = self.mux.adopt(session, Instant::now()).unwrap();
        let mut payloader = H264Payloader::default();
        while !stop.load(Ordering::Relaxed) {
            let Self {
                wire,
                mux,
                report,
                video,
                audio,
                ..
            } = &mut self;
            wire.receive(|path, datagram| {
                let now = Instant::now();
                match mux.receive(path, datagram, now) {
                    Received::Rtcp { packet, .. } => report.read(packet),
                    Received::Rtp { packet, .. } => {
                        let header = webrtc::rtp::Header::parse(packet).unwrap();
                        let is =
                            |track: &Track| usize::from(header.payload_type == track.payload_type);
                        report.sounds += is(audio);
                        report.pictures += is(video);
                    }
                    _ => {}
                }
            });
            if let Ok((local, remote_ufrag)) = restarts.try_recv() {
                assert!(self.mux.restart(handle, local, &remote_ufrag));
            }
            self.report.restarted |= self.mux.poll_retired().is_some();
            self.mux.handle_timeout(Instant::now());
            self.flush();
            self.send(&mut payloader);
        }
        self.mux.close(handle, Instant::now());
        self.flush();
        self.report.refused = self.mux.counters().srtp_refused;
        self.report
    }

    fn flush(&mut self) {
        while let Some((handle, event)) = self.mux.poll_event() {
            match event {
                Event::Connected { keys, path } => {
                    self.report.profile = Some(keys.profile);
                    self.viewer = Some(Viewer {
                        handle,
                        path,
                        sealer: Sealer::new(&keys).unwrap(),
                        rollover: Rollover::starting_at(FIRST_SEQUENCE),
                        since: Instant::now(),
                        pictures: 0,
                        sounds: 0,
                        reported: 0,
                    });
                }
                Event::Moved { path } => {
                    if let Some(viewer) = &mut self.viewer {
                        viewer.path = path;
                    }
                }
                Event::Closed { .. } => {
                    self.report.closed = true;
                    self.viewer = None;
                }
            }
        }
        while let Some(transmit) = self.mux.poll_transmit() {
            self.wire.send(transmit.path, &transmit.datagram);
        }
    }

    /// Sends what is due.
    fn send(&mut self, payloader: &mut H264Payloader) {
        let Some(viewer) = self.viewer.as_mut().filter(|_| self.sends) else {
            return;
        };
        let elapsed = viewer.since.elapsed();
        let due = |per_second: u32| (elapsed.as_millis() * u128::from(per_second) / 1_000) as u32;
        while viewer.pictures <= due(FRAME_RATE) {
            let picture = &self.pictures[viewer.pictures as usize % self.pictures.len()];
            let payloads = payloader.payload(PAYLOAD_MAX, picture).unwrap();
            let last = payloads.len() - 1;
            for (at, payload) in payloads.iter().enumerate() {
                self.report.sent += 1;
                packet(&mut self.wire, viewer, &mut self.video, payload, at == last);
            }
            self.video.timestamp = self.video.timestamp.wrapping_add(self.video.ticks);
            viewer.pictures += 1;
        }
        while viewer.sounds <= due(SOUNDS_PER_SECOND) {
            self.report.sent += 1;
            packet(&mut self.wire, viewer, &mut self.audio, &SILENCE, false);
            self.audio.timestamp = self.audio.timestamp.wrapping_add(self.audio.ticks);
            viewer.sounds += 1;
        }
        while viewer.reported <= due(1) {
            for track in [&self.video, &self.audio] {
                self.mux.send_rtcp(viewer.handle, &track.report()).unwrap();
            }
            viewer.reported += 1;
        }
    }
}

fn packet(wire: &mut Wire, viewer: &Viewer, track: &mut Track, payload: &[u8], is_last: bool) {
    let header = track.header(payload.len(), is_last);
    let index = viewer.rollover.index(track.sequence).unwrap();
    let mut out = vec![0; header.len() + payload.len() + RTP_OVERHEAD_MAX];
    let len = viewer
        .sealer
        .seal(index, &header, payload, &mut out)
        .unwrap();
    wire.send(viewer.path, &out[..len]);
    track.sequence += 1;
}
