//! A viewer over WebRTC that counts the packets it gets and decrypts none.

use std::time::Instant;

use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use webrtc::client::{
    Answer, ClientIdentity, Event, OfferedFormat, OfferedMedia, Peer, is_media, write_offer,
};
use webrtc::ice::{Credentials, RANDOM_LEN, Transport};
use webrtc::sdp::{Direction, MediaKind};
use webrtc::srtp::Profile;

use super::{TestServer, body, rtc, soon, status};

const FORMATS: &[OfferedFormat<'_>] = &[OfferedFormat {
    payload_type: 102,
    rtpmap: "H264/90000",
    parameters: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    rtx: None,
}];

/// The size of the largest datagram.
const DATAGRAM_BYTES: usize = 2_048;

/// A WHEP viewer of the tests. When dropped, it leaves without a message.
pub(super) struct Viewer {
    /// Packets so far.
    received: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl Viewer {
    /// Watches the video of a stream.
    pub(super) async fn watch(server: &TestServer, stream: &str) -> Self {
        let identity = ClientIdentity::generate(&[Profile::Aes128Gcm]).expect("an identity");
        let mut random = [0; RANDOM_LEN];
        getrandom::fill(&mut random).expect("random bytes");
        let local = Credentials::generate(&random);
        let media = OfferedMedia {
            kind: MediaKind::Video,
            direction: Direction::RecvOnly,
            formats: FORMATS,
            ssrc: None,
        };
        let offer = write_offer(&local, identity.fingerprint(), &[media]).expect("an offer");
        let answer = ask_to_watch(server, stream, &offer).await;
        assert_eq!(status(&answer), 201, "{answer}");
        let answer = Answer::parse(body(&answer)).expect("an answer");
        let random = u64::from_le_bytes([random[0]; 8]);
        let peer = Peer::new(&identity, local, &answer, random, Instant::now());
        let mut candidates = answer.candidates.iter();
        let remote = candidates.find(|one| one.transport == Transport::Udp);
        let remote = remote.expect("a candidate over UDP").address;
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.connect(remote).await.expect("a path");
        let (count, received) = watch::channel(0);
        let task = tokio::spawn(drive(peer, socket, count));
        Self { received, task }
    }

    /// Waits for this many more packets.
    pub(super) async fn receives(&mut self, packets: u64) {
        let enough = *self.received.borrow() + packets;
        let waited = self.received.wait_for(|count| *count >= enough);
        soon(waited).await.expect("its session goes on");
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The answer to a viewer's offer.
pub(super) async fn ask_to_watch(server: &TestServer, stream: &str, offer: &str) -> String {
    let path = format!("/{stream}/whep");
    rtc::send(server, "POST", &path, rtc::SDP, offer).await
}

/// Keeps a session going until the server ends it.
async fn drive(mut peer: Peer, socket: UdpSocket, received: watch::Sender<u64>) {
    let remote = socket.peer_addr().expect("a path");
    let mut room = [0; DATAGRAM_BYTES];
    loop {
        while let Some(datagram) = peer.poll_transmit() {
            // A datagram that a full socket does not take is lost, as datagrams may be.
            socket.send(&datagram).await.ok();
        }
        tokio::select! {
            read = socket.recv(&mut room) => {
                let len = read.expect("the server's port is open");
                if is_media(&room[..len]) {
                    received.send_modify(|count| *count += 1);
                    continue;
                }
                let event = peer.receive(&room[..len], remote, Instant::now());
                if let Some(Event::Closed) = event.expect("a server in order") {
                    return;
                }
            }
            () = tokio::time::sleep_until(peer.timeout().into()) => {
                peer.handle_timeout(Instant::now()).expect("the server answers");
            }
        }
    }
}
