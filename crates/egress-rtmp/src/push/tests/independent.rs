//! A second opinion: a target that shares no code with us.

use rml_rtmp::handshake::{Handshake, HandshakeProcessResult, PeerType};
use rml_rtmp::sessions::{
    ServerSession, ServerSessionConfig, ServerSessionEvent, ServerSessionResult,
};

use super::*;

/// A connection to the other implementation's server, which grants everything.
struct Server {
    socket: TcpStream,
    session: ServerSession,
    /// Raised and not yet looked at, in words.
    heard: Vec<String>,
}

impl Server {
    async fn accept(target: &Target) -> Self {
        let accepted = timeout(PATIENCE, target.door.accept()).await;
        let (mut socket, _) = accepted.expect("a connection").unwrap();
        let mut handshake = Handshake::new(PeerType::Server);
        let rest = loop {
            let input = read(&mut socket).await.expect("more to come");
            match handshake.process_bytes(&input).unwrap() {
                HandshakeProcessResult::InProgress { response_bytes } => {
                    socket.write_all(&response_bytes).await.unwrap();
                }
                HandshakeProcessResult::Completed {
                    response_bytes,
                    remaining_bytes,
                } => {
                    socket.write_all(&response_bytes).await.unwrap();
                    break remaining_bytes;
                }
            }
        };
        let (session, results) = ServerSession::new(ServerSessionConfig::new()).unwrap();
        let mut server = Self {
            socket,
            session,
            heard: Vec::new(),
        };
        server.act(results).await;
        server.take(&rest).await;
        server
    }

    async fn take(&mut self, input: &[u8]) {
        let results = self.session.handle_input(input).unwrap();
        self.act(results).await;
    }

    async fn act(&mut self, mut results: Vec<ServerSessionResult>) {
        while !results.is_empty() {
            let mut granted = Vec::new();
            for result in results.drain(..) {
                match result {
                    ServerSessionResult::OutboundResponse(packet) => {
                        self.socket.write_all(&packet.bytes).await.unwrap();
                    }
                    ServerSessionResult::RaisedEvent(event) => {
                        if let Some(id) = self.note(&event) {
                            granted.extend(self.session.accept_request(id).unwrap());
                        }
                    }
                    ServerSessionResult::UnhandleableMessageReceived(_) => {}
                }
            }
            results = granted;
        }
    }

    /// Notes an event; returns the request in it, if it is one.
    fn note(&mut self, event: &ServerSessionEvent) -> Option<u32> {
        use ServerSessionEvent as E;
        let (words, request) = match event {
            E::ConnectionRequested { request_id, .. }
            | E::ReleaseStreamRequested { request_id, .. } => return Some(*request_id),
            E::PublishStreamRequested {
                request_id,
                app_name,
                stream_key,
                ..
            } => {
                let words = format!("publish {app_name}/{stream_key}");
                (words, Some(*request_id))
            }
            E::StreamMetadataChanged { metadata, .. } => {
                (format!("metadata {:?}", metadata.video_width), None)
            }
            E::VideoDataReceived {
                data, timestamp, ..
            } => (format!("video {} {}", timestamp.value, data.len()), None),
            E::AudioDataReceived {
                data, timestamp, ..
            } => (format!("audio {} {}", timestamp.value, data.len()), None),
            E::PublishStreamFinished { .. } => ("end".to_owned(), None),
            _ => return None,
        };
        self.heard.push(words);
        request
    }

    async fn hear_until(&mut self, what: &str) -> Vec<String> {
        while !self.heard.iter().any(|said| said == what) {
            let Some(input) = read(&mut self.socket).await else {
                panic!("closed before `{what}`: {:?}", self.heard);
            };
            self.take(&input).await;
        }
        std::mem::take(&mut self.heard)
    }
}

async fn read(socket: &mut TcpStream) -> Option<BytesMut> {
    let mut input = BytesMut::new();
    let read = timeout(PATIENCE, socket.read_buf(&mut input)).await;
    (read.expect("more in time").unwrap_or(0) > 0).then_some(input)
}

#[tokio::test]
async fn an_independent_server_takes_the_stream() {
    let (_local, target, mut show, pushing) = pushing(1).await;
    let mut server = Server::accept(&target).await;
    let heard = server.hear_until("audio 20 102").await;
    let beginning = ["publish relay/xyzzy?key=K", "metadata Some(320)"];
    assert_eq!(heard[..2], beginning);
    assert!(heard.contains(&"video 0 2005".to_owned()), "{heard:?}");
    show.frames(30);
    let heard = server.hear_until("audio 1220 102").await;
    assert_eq!(heard.len(), 60, "{heard:?}");
    let stopping = tokio::spawn(pushing.stop());
    server.hear_until("end").await;
    drop(server);
    stopping.await.unwrap();
}
