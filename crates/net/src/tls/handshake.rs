//! TLS handshake as a server: rustls decides the steps, a task performs them.
//!
//! rustls is shown one record after the other, so that it never sees a record from the time after the
//! handshake: those are for the record layer.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::layer::RecordLayer;
use super::reader::{PAYLOAD_BYTES_MAX, payload_len};
use super::stream::Stream;
use super::{HEADER_LEN, PLAIN_BYTES_MAX, content};

/// Bytes per read: a ClientHello with a post-quantum key share has some 1,800.
const READ_BYTES: usize = 4 * 1024;

/// Most bytes of a peer that may wait for the rest of their message. Clients that show no certificate send
/// far less.
const INBOX_BYTES_MAX: usize = 2 * PLAIN_BYTES_MAX;

/// Next step that the handshake requires.
enum Step {
    /// Continue.
    Again,
    /// Send the content of the outbox.
    Send,
    /// Show another record.
    Receive,
    /// The handshake is complete.
    Done,
}

/// Performs the handshake as a server. `config` has to allow the extraction of secrets.
///
/// # Errors
/// The peer broke the protocol; it has been sent the corresponding alert.
pub async fn accept(config: Arc<ServerConfig>, mut socket: TcpStream) -> io::Result<Stream> {
    let mut handshake = Handshake {
        connection: UnbufferedServerConnection::new(config).map_err(io::Error::other)?,
        inbox: Vec::with_capacity(READ_BYTES),
        shown: 0,
        outbox: Vec::new(),
    };
    loop {
        match handshake.step() {
            Ok(Step::Again) => {}
            Ok(Step::Send) => {
                socket.write_all(&handshake.outbox).await?;
                handshake.outbox.clear();
            }
            Ok(Step::Receive) => {
                while !handshake.show() {
                    handshake.receive(&mut socket).await?;
                }
            }
            Ok(Step::Done) => return handshake.finish(socket),
            Err(error) => {
                // It no longer matters whether the peer reads the reason.
                socket.write_all(&handshake.last_words()).await.ok();
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }
}

struct Handshake {
    connection: UnbufferedServerConnection,
    /// Bytes received and not yet discarded by rustls.
    inbox: Vec<u8>,
    /// Length of the whole records in `inbox` that rustls may see.
    shown: usize,
    outbox: Vec<u8>,
}

impl Handshake {
    fn step(&mut self) -> Result<Step, rustls::Error> {
        let UnbufferedStatus { discard, state, .. } = self
            .connection
            .process_tls_records(&mut self.inbox[..self.shown]);
        let step = match state? {
            ConnectionState::EncodeTlsData(mut record) => {
                encode(&mut self.outbox, |out| record.encode(out))?;
                Step::Again
            }
            ConnectionState::TransmitTlsData(transmit) => {
                transmit.done();
                Step::Send
            }
            ConnectionState::WriteTraffic(_) => Step::Done,
            ConnectionState::BlockedHandshake => Step::Receive,
            _ => return Err(rustls::Error::HandshakeNotComplete),
        };
        self.inbox.drain(..discard);
        self.shown -= discard;
        // A server may speak before it has received all of the handshake; this one has nothing to send yet.
        match step {
            Step::Done if self.connection.is_handshaking() => Ok(Step::Receive),
            step => Ok(step),
        }
    }

    /// Shows rustls one more record, if it has arrived. Bytes that are no record are shown unchanged, so that
    /// rustls reports them.
    fn show(&mut self) -> bool {
        let unseen = &self.inbox[self.shown..];
        let Some(header) = unseen.first_chunk::<HEADER_LEN>() else {
            return false;
        };
        let end = match is_record(*header) {
            true => self.shown + HEADER_LEN + payload_len(*header),
            false => self.inbox.len(),
        };
        let is_whole = end <= self.inbox.len();
        if is_whole {
            self.shown = end;
        }
        is_whole
    }

    async fn receive(&mut self, socket: &mut TcpStream) -> io::Result<()> {
        if self.inbox.len() > INBOX_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.inbox.reserve(READ_BYTES);
        match socket.read_buf(&mut self.inbox).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Returns the alert about the error.
    fn last_words(&mut self) -> Vec<u8> {
        self.outbox.clear();
        let UnbufferedStatus { state, .. } = self.connection.process_tls_records(&mut []);
        if let Ok(ConnectionState::EncodeTlsData(mut record)) = state
            && encode(&mut self.outbox, |out| record.encode(out)).is_err()
        {
            self.outbox.clear();
        }
        std::mem::take(&mut self.outbox)
    }

    fn finish(self, socket: TcpStream) -> io::Result<Stream> {
        let protocol = self.connection.alpn_protocol().map(Box::from);
        let (keys, secrets) = self
            .connection
            .dangerous_into_kernel_connection()
            .map_err(io::Error::other)?;
        let layer = RecordLayer::new(&keys, secrets, &self.inbox)?;
        Ok(Stream::new(socket, Box::new(layer), protocol))
    }
}

/// Whether a record may begin with this header.
fn is_record(header: [u8; HEADER_LEN]) -> bool {
    let [kind, major, ..] = header;
    let is_known = (content::CHANGE_CIPHER_SPEC..=content::DATA).contains(&kind);
    is_known && major == 3 && payload_len(header) <= PAYLOAD_BYTES_MAX
}

/// Appends the output of `write`, which reports how much room it needs.
fn encode(
    outbox: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), rustls::Error> {
    let begin = outbox.len();
    loop {
        match write(&mut outbox[begin..]) {
            Ok(len) => {
                outbox.truncate(begin + len);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(size)) => {
                outbox.resize(begin + size.required_size, 0);
            }
            Err(EncodeError::AlreadyEncoded) => {
                return Err(rustls::Error::General("encoded twice".into()));
            }
        }
    }
}
