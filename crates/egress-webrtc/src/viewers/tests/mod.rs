//! Viewers against a wire that keeps everything, with time as an argument. Their packets are decrypted by
//! another implementation of SRTP.

mod audio;
mod books;
mod keeping_up;
mod links;
mod play;
mod repairs;
mod reports;
mod starts;

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use container::rtp::PayloadFormat::{self, H264, Opus};
use container::rtp::{HEADER_BYTES, PAYLOAD_BYTES, Packet, Packetizer, Payloads};
use fanout::{Books, ListenerHandle, Plane};
use media::{Kind, Sample, Track};
use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_srtp::context::Context;
use rtc_srtp::protection_profile::ProtectionProfile;
use webrtc::ice::Path;
use webrtc::mux::Handle;
use webrtc::srtp::{Keys, MasterKey, Profile};

use super::{ViewerTicket, Viewers};
use crate::agree::Agreed;
use crate::agree::testing::agreed;
use crate::stats::Counters;
use crate::testing::{Camera, TestServer, Wire};
use packagers::rtp::codes;

const BOTH: [Kind; 2] = [Kind::Audio, Kind::Video];
const TICK: Duration = Duration::from_millis(20);

/// Calls of `turn` in a row that may want another one at once.
const TURNS_MAX: usize = 10_000;

/// A test server, its viewers of one worker, and the time.
struct TestWorker {
    server: TestServer,
    viewers: Viewers,
    books: Arc<Books>,
    wire: Wire,
    now: Instant,
    joined: u32,
}

/// A viewer's own view of its session.
struct TestViewer {
    session: Handle,
    path: Path,
    context: Context,
    /// Datagrams taken off the wire so far.
    taken: usize,
}

/// A packet as a viewer gets it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Got {
    ssrc: u32,
    payload_type: u8,
    sequence: u16,
    timestamp: u32,
    marker: bool,
    payload: Vec<u8>,
    /// Bytes that follow the payload.
    padding: usize,
}

impl TestWorker {
    fn new() -> Self {
        let (server, now) = (TestServer::new(), Instant::now());
        let books = server.registry.fanout().open_books(Plane::Webrtc);
        let mut viewers = Viewers::new(Waker::noop().clone(), 0.02, Arc::clone(&books));
        viewers.start(now);
        Self {
            server,
            viewers,
            books,
            wire: Wire::new(),
            now,
            joined: 0,
        }
    }

    fn camera(&self, name: &str, kinds: &[Kind]) -> Camera {
        Camera::new(self.server.publish(name, self.now), kinds, self.now)
    }

    /// Adds a viewer, which follows every change of path.
    fn join(&mut self, name: &str, kinds: &[Kind]) -> TestViewer {
        let handle = self.server.handle(name, self.now);
        self.join_with(handle, kinds, Profile::Aes128Gcm, true)
    }

    fn join_with(
        &mut self,
        handle: ListenerHandle,
        kinds: &[Kind],
        profile: Profile,
        rtx: bool,
    ) -> TestViewer {
        self.join_as(handle, agreed(kinds, rtx), profile)
    }

    fn join_as(&mut self, handle: ListenerHandle, agreed: Agreed, profile: Profile) -> TestViewer {
        let number = self.joined;
        self.joined += 1;
        let key = [(number as u8).wrapping_add(1); 16];
        let salt = vec![(number as u8).wrapping_add(101); profile.salt_len()];
        let master = MasterKey::new(profile, &key, &salt).expect("the right lengths");
        let keys = Keys {
            profile,
            local: master.clone(),
            remote: master,
        };
        let theirs = match profile {
            Profile::Aes128CmSha1_80 => ProtectionProfile::Aes128CmHmacSha1_80,
            Profile::Aes128Gcm => ProtectionProfile::AeadAes128Gcm,
        };
        let provider = AwsLcRsProvider::new();
        let context = Context::new(&key, &salt, theirs, None, None, provider.crypto());
        let viewer = TestViewer {
            session: Handle {
                slot: number,
                generation: 7,
            },
            path: Path::udp(([127, 0, 0, 1], 1_000 + number as u16).into()),
            context: context.expect("a context"),
            taken: 0,
        };
        let ticket = ViewerTicket { agreed, handle };
        let (viewers, wire) = (&mut self.viewers, &mut self.wire);
        viewers.connected(viewer.session, ticket, &keys, viewer.path, self.now, wire);
        viewer
    }

    /// A viewer's compound arrives.
    fn rtcp(&mut self, viewer: &TestViewer, compound: &[u8]) {
        let (viewers, wire) = (&mut self.viewers, &mut self.wire);
        viewers.rtcp(viewer.session, compound, self.now, wire);
    }

    /// A viewer leaves.
    fn close(&mut self, viewer: &TestViewer) {
        self.viewers.closed(viewer.session);
    }

    /// A viewer's path has become another one.
    fn moved(&mut self, viewer: &mut TestViewer, path: Path) {
        (viewer.path, viewer.taken) = (path, 0);
        self.viewers.moved(viewer.session, path);
    }

    /// Calls `turn` whenever it is due, until `by` has gone by.
    fn pass(&mut self, by: Duration) {
        let end = self.now + by;
        for _ in 0..TURNS_MAX {
            let due = self.viewers.turn(self.now, &mut self.wire);
            match due {
                Some(due) if due <= self.now => {}
                Some(due) if due <= end => self.now = due,
                _ if self.now < end => self.now = end,
                _ => return,
            }
        }
        panic!("it never rests");
    }

    /// The camera films for `ticks` of 20 ms.
    fn film(&mut self, camera: &mut Camera, ticks: usize) {
        for _ in 0..ticks {
            camera.tick(self.now);
            self.pass(TICK);
        }
    }

    /// Returns everything that a viewer has received since the last call.
    fn take(&self, viewer: &mut TestViewer) -> Vec<Got> {
        let all = self.wire.datagrams.get(&viewer.path);
        let all = all.map_or(&[][..], Vec::as_slice);
        let new = &all[viewer.taken..];
        viewer.taken = all.len();
        let packets = new.iter().map(|datagram| {
            let plain = viewer.context.decrypt_rtp(datagram).expect("authentic");
            let packet = Packet::parse(&plain).expect("a packet");
            Got {
                ssrc: packet.header.ssrc,
                payload_type: packet.header.payload_type,
                sequence: packet.header.sequence,
                timestamp: packet.header.timestamp,
                marker: packet.header.marker,
                payload: packet.payload.to_vec(),
                padding: plain.len() - HEADER_BYTES - packet.payload.len(),
            }
        });
        packets.collect()
    }

    fn counters(&self) -> Counters {
        self.viewers.stats().value()
    }
}

/// A worker, and a camera that publishes those kinds.
fn filming(stream: &str, kinds: &[Kind]) -> (TestWorker, Camera) {
    let worker = TestWorker::new();
    let camera = worker.camera(stream, kinds);
    (worker, camera)
}

/// Show, with a viewer of them.
fn show(kinds: &[Kind]) -> (TestWorker, Camera, TestViewer) {
    let (mut worker, camera) = filming("show", kinds);
    let viewer = worker.join("show", kinds);
    (worker, camera, viewer)
}

/// The video frames of which a viewer has received the last packet.
fn frames(got: &[Got]) -> usize {
    let pictures = of(got, H264);
    pictures.iter().filter(|packet| packet.marker).count()
}

/// Packets of one source, whose numbers must be contiguous.
fn of(got: &[Got], format: PayloadFormat) -> Vec<Got> {
    let ssrc = codes::ssrc(format);
    let own = got.iter().filter(|packet| packet.ssrc == ssrc);
    let own: Vec<_> = own.cloned().collect();
    for pair in own.windows(2) {
        assert_eq!(pair[1].sequence, pair[0].sequence.wrapping_add(1), "no gap");
    }
    own
}

/// The packets of one track's samples: time, mark and payload.
fn packets(format: PayloadFormat, track: &Track, samples: &[Sample]) -> Vec<(u32, bool, Vec<u8>)> {
    let mut packetizer = Packetizer::new(format, track, PAYLOAD_BYTES);
    let clock = codes::sequencer(format);
    let mut all = Vec::new();
    let mut payloads = Payloads::default();
    for sample in samples.iter().filter(|sample| sample.track == track.id) {
        payloads.clear();
        packetizer.push(sample, &mut payloads).expect("a frame");
        let timestamp = clock.timestamp(sample.pts);
        let each = payloads.iter();
        all.extend(each.map(|(bytes, marker)| (timestamp, marker, bytes.to_vec())));
    }
    all
}

fn plain(got: &[Got]) -> Vec<(u32, bool, Vec<u8>)> {
    let each = got.iter();
    let each = each.map(|one| (one.timestamp, one.marker, one.payload.clone()));
    each.collect()
}
