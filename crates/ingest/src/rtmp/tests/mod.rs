//! A publisher that follows a script, by an RTMP implementation that is not ours.

mod parked;
mod questions;
mod refusals;
mod renditions;

use std::time::Duration;

use base::holdings::Holdings;
use bytes::{Bytes, BytesMut};
use fanout::{Phase, Takeover};
use media::Container;
use net::rtmp::{NextRequest, PlayRequest, next_request};
use rml_rtmp::handshake::{Handshake, HandshakeProcessResult, PeerType};
use rml_rtmp::sessions::{
    ClientSession, ClientSessionConfig, ClientSessionEvent, ClientSessionResult,
    PublishRequestType, StreamMetadata,
};
use rml_rtmp::time::RtmpTimestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::testing::{
    DEFECT, FLOODER, KEY, LATE_KEY, LOST_KEY, Log, OTHER_KEY, PEER, TestGate, ended, gated, has,
    hear, left, listen, listen_with_times, stream, test_context, until,
};
use crate::{Protocol, Rejection};

/// An AAC sequence header tag body: AAC-LC, 44.1 kHz, stereo.
const AAC_HEADER: &[u8] = &[0xaf, 0, 0x12, 0x10];

/// The body of `deleteStream` for message stream 1, which rml_rtmp sends only when it publishes.
const DELETE_STREAM: &[u8] = b"\x02\0\x0cdeleteStream\0\0\0\0\0\0\0\0\0\x05\0\x3f\xf0\0\0\0\0\0\0";

/// Gives a peer that wants to play, and `None` for one that has left.
type Task = JoinHandle<Result<Option<PlayRequest<DuplexStream>>, Error>>;

/// Transport that a connection arrives on.
trait Transport: AsyncRead + AsyncWrite + Send + Sized + Unpin + 'static {
    /// Serves a publisher on it.
    fn publish(
        context: &Arc<Context>,
        request: PublishRequest<Self>,
    ) -> impl Future<Output = Result<Option<RtmpConnection<Self>>, Error>> + Send;
}

impl Transport for DuplexStream {
    async fn publish(
        context: &Arc<Context>,
        request: PublishRequest<Self>,
    ) -> Result<Option<RtmpConnection<Self>>, Error> {
        serve(context, request, || {}).await
    }
}

impl Transport for TcpStream {
    async fn publish(
        context: &Arc<Context>,
        request: PublishRequest<Self>,
    ) -> Result<Option<RtmpConnection<Self>>, Error> {
        serve_plain(context, request, || {}).await
    }
}

/// The server's door: serves a connection from its first byte until the peer has left or wants to play.
async fn serve_all<S: Transport>(
    context: &Arc<Context>,
    socket: S,
) -> Result<Option<PlayRequest<S>>, Error> {
    let doorway = net::rtmp::Context {
        session: ::rtmp::server::Config::default(),
        leaving: context.leaving.clone(),
        holdings: Holdings::new(0),
    };
    let mut connection = RtmpConnection::new(&doorway, socket, BytesMut::new(), PEER)?;
    loop {
        match next_request(&doorway, connection).await {
            NextRequest::Publish(request) => match S::publish(context, request).await? {
                Some(back) => connection = back,
                None => return Ok(None),
            },
            NextRequest::Play(request) => return Ok(Some(request)),
            NextRequest::Closed => return Ok(None),
            NextRequest::Failed(failed) => return Err(refuse(context, failed).await),
        }
    }
}

/// A connection before its first byte.
fn connection(context: &Arc<Context>) -> (DuplexStream, Task) {
    let (ours, theirs) = duplex(64 * 1024);
    let context = Arc::clone(context);
    let task = match context.intake.is_some() {
        true => tokio::spawn(parked::serve_bare(context, theirs)),
        false => tokio::spawn(async move { serve_all(&context, theirs).await }),
    };
    (ours, task)
}

/// A publisher that follows a script.
struct Client {
    socket: DuplexStream,
    session: ClientSession,
    events: Vec<ClientSessionEvent>,
    /// Everything the server said after the handshake.
    said: Vec<u8>,
}

impl Client {
    /// Shakes hands and connects to `app`.
    async fn connect(context: &Arc<Context>, app: &str) -> (Self, Task) {
        let (mut socket, task) = connection(context);
        let mut handshake = Handshake::new(PeerType::Client);
        let mut said = handshake.generate_outbound_p0_and_p1().expect("a greeting");
        let rest = loop {
            socket.write_all(&said).await.expect("it is read");
            let mut bytes = [0; 4096];
            let read = socket.read(&mut bytes).await;
            let read = read.expect("a duplex does not fail");
            assert!(read > 0, "the server shakes hands");
            let result = handshake.process_bytes(&bytes[..read]);
            match result.expect("a handshake") {
                HandshakeProcessResult::InProgress { response_bytes } => said = response_bytes,
                HandshakeProcessResult::Completed {
                    response_bytes,
                    remaining_bytes,
                } => {
                    socket.write_all(&response_bytes).await.expect("it is read");
                    break remaining_bytes;
                }
            }
        };
        let config = ClientSessionConfig {
            flash_version: "tester".into(),
            ..ClientSessionConfig::new()
        };
        let (session, first) = ClientSession::new(config).expect("a session");
        let mut client = Self {
            socket,
            session,
            events: Vec::new(),
            said: rest.clone(),
        };
        client.act(first).await;
        let answers = client.session.handle_input(&rest).expect("valid RTMP");
        client.act(answers).await;
        let connect = client.session.request_connection(app.into());
        client.act(vec![connect.expect("connecting")]).await;
        client
            .wait(|event| matches!(event, ClientSessionEvent::ConnectionRequestAccepted))
            .await;
        (client, task)
    }

    /// Connects to `live` and publishes there.
    async fn publish(context: &Arc<Context>, name: &str) -> (Self, Task) {
        let (mut client, task) = Self::connect(context, "live").await;
        client.request(name).await;
        client.started().await;
        (client, task)
    }

    async fn request(&mut self, name: &str) {
        let request = self
            .session
            .request_publishing(name.into(), PublishRequestType::Live);
        self.act(vec![request.expect("publishing")]).await;
    }

    async fn started(&mut self) {
        self.wait(|event| matches!(event, ClientSessionEvent::PublishRequestAccepted))
            .await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.expect("it is read");
    }

    async fn audio(&mut self, at: u32, body: &[u8]) {
        let (body, at) = (Bytes::copy_from_slice(body), RtmpTimestamp::new(at));
        let sent = self.session.publish_audio_data(body, at, false);
        self.act(vec![sent.expect("it publishes")]).await;
    }

    /// The header of an audio track, and a frame.
    async fn speak(&mut self, at: u32, word: &str) {
        self.audio(at, AAC_HEADER).await;
        self.frame(at, word).await;
    }

    /// A frame of audio.
    async fn frame(&mut self, at: u32, word: &str) {
        self.audio(at, &[b"\xaf\x01", word.as_bytes()].concat())
            .await;
    }

    async fn tell(&mut self, metadata: &StreamMetadata) {
        let sent = self.session.publish_metadata(metadata);
        self.act(vec![sent.expect("it publishes")]).await;
    }

    async fn video(&mut self, at: u32, body: &[u8]) {
        let (body, at) = (Bytes::copy_from_slice(body), RtmpTimestamp::new(at));
        let sent = self.session.publish_video_data(body, at, false);
        self.act(vec![sent.expect("it publishes")]).await;
    }

    async fn stop_publishing(&mut self) {
        let stop = self.session.stop_publishing().expect("it publishes");
        self.act(stop).await;
    }

    async fn play(&mut self, name: &str) {
        let play = self.session.request_playback(name.into());
        self.act(vec![play.expect("playing")]).await;
    }

    async fn act(&mut self, results: Vec<ClientSessionResult>) {
        for result in results {
            match result {
                ClientSessionResult::OutboundResponse(packet) => {
                    self.write(&packet.bytes).await;
                }
                ClientSessionResult::RaisedEvent(event) => self.events.push(event),
                ClientSessionResult::UnhandleableMessageReceived(_) => {}
            }
        }
    }

    /// Reads once; false when the server has closed.
    async fn pump(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let read = self.socket.read(&mut bytes).await;
        let read = &bytes[..read.expect("a duplex does not fail")];
        self.said.extend_from_slice(read);
        let results = self.session.handle_input(read).expect("valid RTMP");
        self.act(results).await;
        !read.is_empty()
    }

    async fn wait(&mut self, is_it: impl Fn(&ClientSessionEvent) -> bool) {
        loop {
            if let Some(at) = self.events.iter().position(&is_it) {
                self.events.drain(..=at);
                return;
            }
            let is_open = self.pump().await;
            assert!(is_open, "the server closed after {:?}", self.events);
        }
    }

    /// Returns everything that the server sends until it closes.
    async fn last_words(&mut self) -> String {
        while self.pump().await {}
        String::from_utf8_lossy(&self.said).into_owned()
    }
}

/// A message of a type on message stream 1, in one chunk.
fn message(kind: u8, at: u32, body: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = at.to_be_bytes();
    let header = [4, high, middle, low, 0, 0, body.len() as u8, kind];
    [&header[..], &[1, 0, 0, 0], body].concat()
}

/// `publish` or `play`, on message stream 1.
fn asking(command: &str, name: &str) -> Vec<u8> {
    let string = |text: &str| [&[2, 0, text.len() as u8], text.as_bytes()].concat();
    // Transaction 0, and null.
    let between = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
    let body = [string(command), between, string(name)].concat();
    message(20, 0, &body)
}

/// The player that a connection becomes.
async fn player(client: &mut Client, task: Task) -> PlayRequest<DuplexStream> {
    let talk = async {
        while client.pump().await {}
        std::future::pending().await
    };
    let end = tokio::select! {
        end = task => end.expect("no panic"),
        () = talk => panic!("nothing ends it"),
    };
    match end {
        Ok(Some(player)) => player,
        _ => panic!("it wants to play"),
    }
}

/// All that the server says on a bare connection.
async fn all_words(socket: &mut DuplexStream) -> String {
    let mut words = Vec::new();
    let read = socket.read_to_end(&mut words).await;
    read.expect("a duplex does not fail");
    String::from_utf8_lossy(&words).into_owned()
}

/// A listener hears exactly this next.
async fn hears(reader: &mut fanout::LogReader, expected: &str) {
    let heard = hear(reader, expected.len()).await;
    assert_eq!(String::from_utf8_lossy(&heard), expected);
}

fn at(name: &str, key: &str) -> String {
    format!("{name}?key={key}")
}
