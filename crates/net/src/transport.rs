//! Connection that moves between a task and a worker: its socket, and TLS over it if there is any.

use std::io;
use std::net::TcpStream;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::tcp::prepare_listener;
use crate::tls::{RecordLayer, Stream};

/// A connection between two owners, with nothing in transit.
#[derive(Debug)]
pub struct Transport {
    /// Socket of the connection.
    pub socket: TcpStream,
    /// TLS record layer; `None` for a plain connection.
    pub records: Option<Box<RecordLayer>>,
}

impl From<TcpStream> for Transport {
    fn from(socket: TcpStream) -> Self {
        Self {
            socket,
            records: None,
        }
    }
}

/// Connection of a task that a worker can take over, and return.
pub trait TransportStream: AsyncRead + AsyncWrite + Send + Sized + Unpin + 'static {
    /// Takes the connection off its task, prepared for a listener.
    ///
    /// # Errors
    /// The peer has already left, some written bytes have not been flushed, or the runtime fails.
    fn into_transport(self) -> io::Result<Transport>;

    /// Attaches the connection to a task of the current runtime.
    ///
    /// # Errors
    /// The connection is of another kind, or the runtime fails.
    fn from_transport(transport: Transport) -> io::Result<Self>;
}

impl TransportStream for tokio::net::TcpStream {
    fn into_transport(self) -> io::Result<Transport> {
        prepare_listener(&self)?;
        self.into_std().map(Transport::from)
    }

    fn from_transport(transport: Transport) -> io::Result<Self> {
        match transport.records {
            None => Self::from_std(transport.socket),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl TransportStream for Stream {
    fn into_transport(self) -> io::Result<Transport> {
        let (socket, records) = self.into_parts()?;
        prepare_listener(&socket)?;
        Ok(Transport {
            socket: socket.into_std()?,
            records: Some(records),
        })
    }

    fn from_transport(transport: Transport) -> io::Result<Self> {
        let Transport { socket, records } = transport;
        let Some(records) = records else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self::from_parts(
            tokio::net::TcpStream::from_std(socket)?,
            records,
        ))
    }
}
