//! An independent implementation: `rml_rtmp`'s server against our client.

use rml_rtmp::{
    handshake::{Handshake, HandshakeProcessResult, PeerType},
    sessions::{
        PublishMode, ServerSession, ServerSessionConfig, ServerSessionEvent, ServerSessionResult,
    },
    time::RtmpTimestamp,
};

use super::*;

struct Pair {
    client: Session,
    server: ServerSession,
    now: Instant,
    heard: Vec<Event>,
    served: Vec<ServerSessionEvent>,
}

impl Pair {
    fn new(purpose: Purpose) -> Self {
        let now = Instant::now();
        let mut client = client(purpose, now);
        let mut handshake = Handshake::new(PeerType::Server);
        let mut rest = Vec::new();
        loop {
            let output = client.output().split();
            match handshake.process_bytes(&output).unwrap() {
                HandshakeProcessResult::InProgress { response_bytes } => {
                    assert_eq!(client.read(&mut &response_bytes[..], now), Ok(None));
                }
                HandshakeProcessResult::Completed {
                    response_bytes,
                    remaining_bytes,
                } => {
                    assert_eq!(client.read(&mut &response_bytes[..], now), Ok(None));
                    rest.extend(remaining_bytes);
                    break;
                }
            }
        }
        let (server, results) = ServerSession::new(ServerSessionConfig::new()).unwrap();
        let mut pair = Self {
            client,
            server,
            now,
            heard: Vec::new(),
            served: Vec::new(),
        };
        pair.deliver(results);
        let results = pair.server.handle_input(&rest).unwrap();
        pair.deliver(results);
        pair
    }

    /// Carries what the server sends to the client and back again, until both are quiet. Every
    /// request is granted.
    fn deliver(&mut self, mut results: Vec<ServerSessionResult>) {
        loop {
            let mut next = Vec::new();
            for result in results.drain(..) {
                match result {
                    ServerSessionResult::OutboundResponse(packet) => {
                        let mut input = &packet.bytes[..];
                        while let Some(event) = self.client.read(&mut input, self.now).unwrap() {
                            self.heard.push(event);
                        }
                    }
                    ServerSessionResult::RaisedEvent(event) => {
                        let id = match &event {
                            ServerSessionEvent::ConnectionRequested { request_id, .. }
                            | ServerSessionEvent::ReleaseStreamRequested { request_id, .. }
                            | ServerSessionEvent::PublishStreamRequested { request_id, .. }
                            | ServerSessionEvent::PlayStreamRequested { request_id, .. } => {
                                Some(*request_id)
                            }
                            _ => None,
                        };
                        if let Some(id) = id {
                            next.extend(self.server.accept_request(id).unwrap());
                        }
                        self.served.push(event);
                    }
                    ServerSessionResult::UnhandleableMessageReceived(_) => {}
                }
            }
            let output = self.client.output().split();
            next.extend(self.server.handle_input(&output).unwrap());
            if next.is_empty() {
                return;
            }
            results = next;
        }
    }
}

#[test]
fn publishes() {
    let mut pair = Pair::new(Purpose::Publish);
    assert_eq!(pair.heard, [Event::Ready { message_stream: 1 }]);
    let is_asked = pair.served.iter().any(|event| {
        matches!(
            event,
            ServerSessionEvent::PublishStreamRequested { app_name, stream_key, mode, .. }
                if app_name == "live" && stream_key == "show?key=K" && *mode == PublishMode::Live
        )
    });
    assert!(is_asked, "{:?}", pair.served);
    pair.served.clear();
    let metadata = b"\x02\0\x0d@setDataFrame\x02\0\x0aonMetaData\x08\0\0\0\0\
        \0\x05width\0\x40\x74\0\0\0\0\0\0\0\0\x09";
    let bytes = message(Kind::DataAmf0, 1, 0, metadata);
    let results = pair.server.handle_input(&bytes).unwrap();
    pair.deliver(results);
    let Some(ServerSessionEvent::StreamMetadataChanged { metadata, .. }) = pair.served.pop() else {
        panic!("no metadata");
    };
    assert_eq!(metadata.video_width, Some(320));
    for n in 0..100_u32 {
        let body = vec![n as u8 + 1; 1 + (n as usize * 1_977) % 140_000];
        let time = n * 170_000;
        let kind = if n % 3 == 0 { Kind::Video } else { Kind::Audio };
        let bytes = message(kind, 1, time, &body);
        let results = pair.server.handle_input(&bytes).unwrap();
        pair.deliver(results);
        let (data, timestamp) = match pair.served.pop() {
            Some(
                ServerSessionEvent::VideoDataReceived {
                    data, timestamp, ..
                }
                | ServerSessionEvent::AudioDataReceived {
                    data, timestamp, ..
                },
            ) => (data, timestamp),
            other => panic!("{other:?}"),
        };
        assert_eq!((&data[..], timestamp.value), (&body[..], time));
    }
    pair.client.leave();
    pair.deliver(Vec::new());
    let last = pair.served.last();
    let has_ended = matches!(last, Some(ServerSessionEvent::PublishStreamFinished { .. }));
    assert!(has_ended, "{last:?}");
}

#[test]
fn plays() {
    let mut pair = Pair::new(Purpose::Play);
    assert_eq!(pair.heard, [Event::Ready { message_stream: 1 }]);
    pair.heard.clear();
    let mut expected = Vec::new();
    for n in 0..100_u32 {
        let body = vec![n as u8 + 1; 1 + (n as usize * 977) % 30_000];
        let (data, time) = (Bytes::from(body.clone()), RtmpTimestamp::new(n * 170_000));
        let packet = if n % 3 == 0 {
            expected.push(Event::Video(media(time.value, &body)));
            pair.server.send_video_data(1, data, time, false)
        } else {
            expected.push(Event::Audio(media(time.value, &body)));
            pair.server.send_audio_data(1, data, time, false)
        };
        pair.deliver(vec![ServerSessionResult::OutboundResponse(packet.unwrap())]);
    }
    assert_eq!(pair.heard, expected);
    pair.heard.clear();
    let packet = pair.server.finish_playing(1).unwrap();
    pair.deliver(vec![ServerSessionResult::OutboundResponse(packet)]);
    let heard = &pair.heard;
    assert!(matches!(&heard[..], [Event::Ended { .. }]), "{heard:?}");
}
