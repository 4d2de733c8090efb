//! The relay's role: one peer, which is played to or listened to.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rtc_rtp::codec::h264::H264Payloader;
use rtc_rtp::packetizer::Payloader;
use webrtc::ice::Path;
use webrtc::mux::{CloseReason, Handle};
use webrtc::port::{Outbox, Role, Sent};
use webrtc::rtcp::{SenderReport, write_sdes};
use webrtc::srtp::{Keys, Rollover, Sealer};

use crate::support::relay::{Report, Tracks};

/// The clip's pictures per second.
const FRAME_RATE: u32 = 25;
/// An Opus packet of 20 ms of silence in stereo.
const SILENCE: [u8; 3] = [0xfc, 0xff, 0xfe];
const SOUNDS_PER_SECOND: u32 = 50;
/// Payload bytes of a packet, so that header and tag stay below 1,200.
const PAYLOAD_MAX: usize = 1_160;
pub(crate) const VIDEO_SSRC: u32 = 2_222;
pub(crate) const AUDIO_SSRC: u32 = 1_111;
/// Both tracks begin shortly before their sequence numbers wrap, and after they wrapped before.
const FIRST_SEQUENCE: u64 = (3 << 16) - 300;
/// How often there is something to send.
const TURN: Duration = Duration::from_millis(10);

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

    /// The next picture or sound.
    fn next(&mut self) {
        self.timestamp = self.timestamp.wrapping_add(self.ticks);
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

/// A connected peer.
struct Viewer {
    handle: Handle,
    path: Path,
    sealer: Sealer,
    rollover: Rollover,
    video: Track,
    audio: Track,
    sends: bool,
    since: Instant,
    pictures: u32,
    sounds: u32,
    reported: u32,
}

/// See the module's description.
pub(crate) struct RelayRole {
    pictures: Vec<Bytes>,
    payloader: H264Payloader,
    viewer: Option<Viewer>,
    report: Arc<Mutex<Report>>,
}

impl RelayRole {
    pub(crate) fn new(pictures: Vec<Bytes>, report: Arc<Mutex<Report>>) -> Self {
        Self {
            pictures,
            payloader: H264Payloader::default(),
            viewer: None,
            report,
        }
    }
}

impl Role for RelayRole {
    type Ticket = Tracks;

    fn connected(
        &mut self,
        session: Handle,
        tracks: Tracks,
        keys: &Keys,
        path: Path,
        now: Instant,
        _: &mut Outbox<'_>,
    ) {
        self.report.lock().unwrap().profile = Some(keys.profile);
        self.viewer = Some(Viewer {
            handle: session,
            path,
            sealer: Sealer::new(keys).unwrap(),
            rollover: Rollover::starting_at(FIRST_SEQUENCE),
            video: Track::new(VIDEO_SSRC, 90_000 / FRAME_RATE, tracks.video),
            audio: Track::new(AUDIO_SSRC, 48_000 / SOUNDS_PER_SECOND, tracks.audio),
            sends: tracks.sends,
            since: now,
            pictures: 0,
            sounds: 0,
            reported: 0,
        });
    }

    fn moved(&mut self, _: Handle, path: Path, _: Instant) {
        if let Some(viewer) = &mut self.viewer {
            viewer.path = path;
        }
    }

    fn closed(&mut self, _: Handle, _: CloseReason, _: Instant) {
        self.report.lock().unwrap().closed = true;
        self.viewer = None;
    }

    fn rtp(&mut self, _: Handle, _: u64, packet: &[u8], _: Instant, _: &mut Outbox<'_>) {
        let header = webrtc::rtp::Header::parse(packet).unwrap();
        if let Some(viewer) = &self.viewer {
            let is = |track: &Track| usize::from(header.payload_type == track.payload_type);
            let mut report = self.report.lock().unwrap();
            report.sounds += is(&viewer.audio);
            report.pictures += is(&viewer.video);
        }
    }

    fn rtcp(&mut self, _: Handle, compound: &[u8], _: Instant, _: &mut Outbox<'_>) {
        self.report.lock().unwrap().read(compound);
    }

    fn turn(&mut self, now: Instant, out: &mut Outbox<'_>) -> Option<Instant> {
        let Self {
            pictures,
            payloader,
            viewer,
            report,
        } = self;
        let viewer = viewer.as_mut().filter(|viewer| viewer.sends)?;
        let mut report = report.lock().unwrap();
        let elapsed = now.duration_since(viewer.since);
        let due = |per_second: u32| (elapsed.as_millis() * u128::from(per_second) / 1_000) as u32;
        while viewer.pictures <= due(FRAME_RATE) {
            let picture = &pictures[viewer.pictures as usize % pictures.len()];
            let payloads = payloader.payload(PAYLOAD_MAX, picture).unwrap();
            report.sent += viewer.send_picture(&payloads, out);
        }
        while viewer.sounds <= due(SOUNDS_PER_SECOND) {
            report.sent += viewer.send_sound(out);
        }
        while viewer.reported <= due(1) {
            for track in [&viewer.video, &viewer.audio] {
                out.rtcp(viewer.handle, &track.report());
            }
            viewer.reported += 1;
        }
        Some(now + TURN)
    }

    fn end(&mut self) {}
}

impl Viewer {
    /// Seals a picture's packets one after another. Packets of one length, and a shorter one after them, are
    /// one send.
    fn send_picture(&mut self, payloads: &[Bytes], out: &mut Outbox<'_>) -> u64 {
        let (mut segment, mut len) = (0, 0);
        for (at, payload) in payloads.iter().enumerate() {
            let header = self.video.header(payload.len(), at == payloads.len() - 1);
            let sealed = header.len() + payload.len() + self.sealer.overhead();
            let is_run_over = sealed > segment || len % segment != 0;
            if is_run_over && len > 0 {
                send(out, self.path, len, segment);
                len = 0;
            }
            if len == 0 {
                segment = sealed;
            }
            let room = &mut out.buffer()[len..];
            len += self.seal(&header, self.video.sequence, payload, room);
            self.video.sequence += 1;
        }
        send(out, self.path, len, segment);
        self.video.next();
        self.pictures += 1;
        payloads.len() as u64
    }

    fn send_sound(&mut self, out: &mut Outbox<'_>) -> u64 {
        let header = self.audio.header(SILENCE.len(), false);
        let len = self.seal(&header, self.audio.sequence, &SILENCE, out.buffer());
        send(out, self.path, len, len);
        self.audio.sequence += 1;
        self.audio.next();
        self.sounds += 1;
        1
    }

    fn seal(&self, header: &[u8], sequence: u64, payload: &[u8], room: &mut [u8]) -> usize {
        let index = self.rollover.index(sequence).unwrap();
        self.sealer.seal(index, header, payload, room).unwrap()
    }
}

fn send(out: &mut Outbox<'_>, path: Path, len: usize, segment: usize) {
    // A lost connection shows in the peer's counts.
    assert_ne!(out.send(path, len, segment), Sent::Blocked);
}
