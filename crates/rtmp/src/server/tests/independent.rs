//! Another implementation of RTMP plays from us. The tests of `ingest` publish with it.

use rml_rtmp::{
    handshake::{Handshake, HandshakeProcessResult, PeerType},
    sessions::{ClientSession, ClientSessionConfig, ClientSessionEvent, ClientSessionResult},
    time::RtmpTimestamp,
};

use super::*;

/// Both ends, and what happened at either.
struct Pair {
    client: ClientSession,
    server: Session,
    now: Instant,
    client_events: Vec<ClientSessionEvent>,
    server_events: Vec<Event>,
}

impl Pair {
    fn new() -> Self {
        let now = Instant::now();
        let mut server = Session::new(Config::default(), [1; 32], now);
        let mut handshake = Handshake::new(PeerType::Client);
        let opening = handshake.generate_outbound_p0_and_p1().unwrap();
        assert_eq!(server.read(&mut &opening[..], now), Ok(None));
        let answer = server.output().split();
        let HandshakeProcessResult::Completed { response_bytes, .. } =
            handshake.process_bytes(&answer).unwrap()
        else {
            panic!("handshake incomplete");
        };
        assert_eq!(server.read(&mut &response_bytes[..], now), Ok(None));

        let mut config = ClientSessionConfig::new();
        config.tc_url = Some("rtmp://h/live".into());
        let (client, results) = ClientSession::new(config).unwrap();
        let mut pair = Self {
            client,
            server,
            now,
            client_events: Vec::new(),
            server_events: Vec::new(),
        };
        pair.deliver(results);
        pair
    }

    /// Carries what the client sends to the server and back again, until both are quiet.
    fn deliver(&mut self, mut results: Vec<ClientSessionResult>) {
        while !results.is_empty() {
            for result in results.drain(..) {
                match result {
                    ClientSessionResult::OutboundResponse(packet) => {
                        let mut input = &packet.bytes[..];
                        while let Some(event) = self.server.read(&mut input, self.now).unwrap() {
                            self.server_events.push(event);
                        }
                    }
                    ClientSessionResult::RaisedEvent(event) => self.client_events.push(event),
                    ClientSessionResult::UnhandleableMessageReceived(_) => {}
                }
            }
            results = self.answer();
        }
    }

    fn answer(&mut self) -> Vec<ClientSessionResult> {
        let output = self.server.output().split();
        if output.is_empty() {
            return Vec::new();
        }
        self.client.handle_input(&output).unwrap()
    }
}

/// A message for a player, as the caller frames its media.
fn framed(kind: Kind, stream_id: u32, timestamp: u32, payload: &[u8]) -> BytesMut {
    let header = Header {
        csid: if kind == Kind::Audio { 4 } else { 6 },
        timestamp,
        kind,
        stream_id,
    };
    let mut bytes = BytesMut::new();
    chunk::write(&header, payload, chunk::CHUNK_SIZE_SHARED, &mut bytes);
    bytes
}

/// A ping request in a chunk of its own, on a chunk stream that the other implementation does not
/// use.
const PING: [u8; 18] = [60, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1];

#[test]
fn plays() {
    let mut pair = Pair::new();
    let call = pair.client.request_connection("live".into()).unwrap();
    pair.deliver(vec![call]);
    let call = pair.client.request_playback("show".into()).unwrap();
    pair.deliver(vec![call]);
    let Some(Event::Play(request)) = pair.server_events.pop() else {
        panic!("{:?}", pair.server_events);
    };
    assert_eq!(request.path.name, "live/show");
    let got = pair.client_events.pop();
    assert_eq!(got, Some(ClientSessionEvent::ConnectionRequestAccepted));
    pair.server.accept_play(request.id).unwrap();
    let results = pair.answer();
    pair.deliver(results);
    let events = &pair.client_events;
    let is_accepted = events.contains(&ClientSessionEvent::PlaybackRequestAccepted);
    assert!(is_accepted, "{events:?}");

    // Media between messages of the session's own.
    pair.client_events.clear();
    let mut expected = Vec::new();
    for n in 0..100_u32 {
        let timestamp = 0x00ff_ff00 + n * 20;
        let payload = vec![n as u8 + 1; 1 + (n as usize * 9_770) % 200_000];
        let data = Bytes::from(payload.clone());
        let time = RtmpTimestamp::new(timestamp);
        let kind = if n % 3 == 0 {
            expected.push(ClientSessionEvent::VideoDataReceived {
                timestamp: time,
                data,
            });
            Kind::Video
        } else {
            expected.push(ClientSessionEvent::AudioDataReceived {
                timestamp: time,
                data,
            });
            Kind::Audio
        };
        let stream = request.id.stream();
        let mut bytes = framed(kind, stream, timestamp, &payload);
        if n % 10 == 0 {
            // A pong, which the other implementation asks for in its own framing.
            let mut ping = &PING[..];
            assert_eq!(pair.server.read(&mut ping, pair.now), Ok(None));
            bytes.unsplit(pair.server.output().split());
            expected.push(ClientSessionEvent::PingResponseReceived {
                timestamp: RtmpTimestamp::new(1),
            });
        }
        let results = pair.client.handle_input(&bytes).unwrap();
        pair.deliver(results);
    }
    assert!(pair.client_events == expected, "too long to be shown");

    pair.server_events.clear();
    let results = pair.client.stop_playback().unwrap();
    pair.deliver(results);
    assert_eq!(pair.server_events, [Event::Stop(request.id)]);
}
