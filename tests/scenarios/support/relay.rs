//! The smallest WebRTC server: the port, with a role that knows one peer. To a viewer it plays a file over
//! and over; of a publisher it counts the packets.
//!
//! It uses no code of the server crate: it shows that answers, checks, handshakes and sealed packets are what
//! real peers expect.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use testkit::{Clip, Tool};
use webrtc::dtls::ServerIdentity;
use webrtc::ice::{Credentials, RANDOM_LEN, Transport};
use webrtc::mux::NewSession;
use webrtc::port::{Port, PortConfig};
use webrtc::rtcp::{Packet, packets};
use webrtc::sdp::{Answer, Candidate, MediaKind, Offer, ProfileLevelId, Section, Wanted};
use webrtc::srtp::Profile;

use crate::support::relay_role::{AUDIO_SSRC, RelayRole, VIDEO_SSRC};

/// Two, so that peers may reach either and are passed on.
const WORKERS: usize = 2;

/// What the relay saw of its viewer.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// How packets were protected; `None` if the viewer never connected.
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
    /// Whether the credentials from before a restart are no longer in use.
    pub(crate) restarted: bool,
}

impl Report {
    pub(crate) fn read(&mut self, compound: &[u8]) {
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
    port: Port<Tracks>,
    /// Where its peer is told to send.
    candidates: Vec<Candidate>,
    /// Our user fragments, the current one last.
    ufrags: Mutex<Vec<String>>,
    answer: String,
    report: Arc<Mutex<Report>>,
}

impl Relay {
    /// Answers an offer and waits for its peer, over UDP.
    pub(crate) fn start(offer: &str) -> Self {
        Self::start_over(Transport::Udp, offer)
    }

    /// Likewise over UDP or TCP.
    pub(crate) fn start_over(transport: Transport, offer: &str) -> Self {
        let offer = Offer::parse(offer).unwrap();
        let report = Arc::<Mutex<Report>>::default();
        let pictures = pictures();
        let mut config = PortConfig::new((Ipv4Addr::LOCALHOST, 0).into());
        config.workers = WORKERS;
        let port = Port::start(&config, ServerIdentity::generate().unwrap(), |_, _| {
            RelayRole::new(pictures.clone(), Arc::clone(&report))
        });
        let port = port.unwrap();
        let is_wanted = |candidate: &&Candidate| candidate.transport == transport;
        let candidates: Vec<_> = port
            .candidates()
            .iter()
            .filter(is_wanted)
            .copied()
            .collect();
        let local = Credentials::generate(&random());
        let tracks = Tracks::choose(&offer);
        let answer = tracks.answer(&offer, &local, &port, &candidates);
        let ufrags = Mutex::new(vec![local.ufrag().to_owned()]);
        let session = NewSession {
            local,
            remote_ufrag: offer.ice.ufrag().into(),
            fingerprint: offer.fingerprint,
            setup: offer.setup,
        };
        port.expect(session, tracks).unwrap();
        Self {
            port,
            candidates,
            ufrags,
            answer,
            report,
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
        let answer = tracks.answer(&offer, &local, &self.port, &self.candidates);
        let mut ufrags = self.ufrags.lock().unwrap();
        let former = ufrags.last().unwrap();
        let ours = local.ufrag().to_owned();
        assert!(self.port.restart(former, local, offer.ice.ufrag()));
        ufrags.push(ours);
        answer
    }

    /// Says goodbye to the viewer.
    pub(crate) fn stop(self) -> Report {
        let mut ufrags = self.ufrags.into_inner().unwrap();
        ufrags.pop();
        let is_forgotten = |ufrag: &String| !self.port.close(ufrag);
        let restarted = !ufrags.is_empty() && ufrags.iter().all(is_forgotten);
        let refused = self.port.counters().mux.srtp_refused;
        self.port.stop();
        let mut report = self.report.lock().unwrap();
        Report {
            restarted,
            refused,
            ..std::mem::take(&mut *report)
        }
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
pub(crate) struct Tracks {
    pub(crate) audio: u8,
    pub(crate) video: u8,
    /// Whether the peer watches and does not publish.
    pub(crate) sends: bool,
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
        port: &Port<Self>,
        candidates: &[Candidate],
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
                        parameters: None,
                        more: &[],
                        layers: &[],
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
            fingerprint: port.fingerprint(),
            candidates,
            stream: "show",
            cname: "relay",
        }
        .to_string()
    }
}
