//! Connections behind TLS: accepted one after another, and sealed by the product's own record layer.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::sync::Arc;

use net::tls::testing::TestTls;
use net::tls::{RecordLayer, SEALED_RECORD_BYTES_MAX};
use rustix::net::{SendFlags, send};
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

/// Acceptor of TLS connections, with a certificate that nobody knows.
pub(crate) struct Door {
    runtime: Runtime,
    config: Arc<ServerConfig>,
}

impl Door {
    pub(crate) fn new() -> io::Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Ok(Self {
            runtime: runtime.enable_all().build()?,
            config: TestTls::new().server,
        })
    }

    /// Performs the handshake, reads the request, whatever it requests, and sends its response.
    pub(crate) fn welcome(
        &self,
        socket: TcpStream,
        answer: &[u8],
    ) -> io::Result<(TcpStream, Box<RecordLayer>)> {
        socket.set_nonblocking(true)?;
        self.runtime.block_on(async {
            let socket = tokio::net::TcpStream::from_std(socket)?;
            let welcomed = async {
                let mut stream = net::tls::accept(Arc::clone(&self.config), socket).await?;
                let mut head = Vec::new();
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    if stream.read_buf(&mut head).await? == 0 || head.len() > super::HEAD_BYTES_MAX
                    {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                }
                stream.write_all(answer).await?;
                stream.flush().await?;
                let (socket, layer) = stream.into_parts()?;
                let socket = socket.into_std()?;
                net::tcp::prepare_listener(&socket)?;
                Ok((socket, layer))
            };
            tokio::time::timeout(super::HEAD_TIMEOUT, welcomed).await?
        })
    }
}

/// Buffer in which one thread seals.
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    /// Creates the buffer for messages of `bytes`.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes + 2 * SEALED_RECORD_BYTES_MAX])
    }

    /// Seals and sends a message; bytes that a full socket does not take are sent before the next message. Returns false if the
    /// connection is closed.
    pub(crate) fn send(
        &mut self,
        socket: &TcpStream,
        layer: &mut RecordLayer,
        message: &[u8],
    ) -> bool {
        let Ok(sealed) = layer.seal(&[IoSlice::new(message)], &mut self.0) else {
            return false;
        };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(socket, &self.0[..sealed.wire_bytes], flags) {
            Ok(count) => layer.advance(&sealed, count).is_ok(),
            Err(error) => error == rustix::io::Errno::AGAIN,
        }
    }
}
