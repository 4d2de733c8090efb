//! A player behind TLS: its task follows the lane.

use std::io;
use std::task::Poll;

use bytes::Bytes;
use fanout::{LaneGuard, LogReader, Reason};
use net::{closing, wait};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::server::TlsStream;

use super::carrier::{Carried, Carrier};
use super::party::{LEAVING, Next, Party};
use crate::Error;

/// Bytes read at once from a player that is being sent to.
const READ_BYTES: usize = 512;

impl Carrier for TlsStream<TcpStream> {
    async fn carry(self, party: Party, lane: LaneGuard) -> Carried<Self> {
        if let Err(error) = net::tcp::prepare_listener(self.get_ref().0) {
            tracing::debug!(%error, "a player was gone before it was served");
        }
        follow(self, party, lane).await
    }
}

/// Sends a lane until something else is to be done.
pub(crate) async fn follow<S>(mut socket: S, mut party: Party, lane: LaneGuard) -> Carried<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(record) = party.record(&lane) else {
        return Carried::Back(Box::new(party), socket, Ok(Next::Listen));
    };
    let mut reader = party.context.registry.fanout().follow(record, lane);
    let next = party.follow(&mut socket, &mut reader).await;
    match &next {
        // The reader knows why its lane ended.
        Ok(Some(Next::Ended)) => {}
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {
            reader.ended_by(Reason::Lag);
        }
        _ => reader.ended_by(Reason::Left),
    }
    match next {
        Ok(Some(next)) => Carried::Back(Box::new(party), socket, Ok(next)),
        Ok(None) => Carried::Away,
        Err(error) => Carried::Back(Box::new(party), socket, Err(error)),
    }
}

impl Party {
    /// `None` when the player has gone.
    async fn follow<S>(
        &mut self,
        socket: &mut S,
        reader: &mut LogReader,
    ) -> Result<Option<Next>, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut resume = Instant::now();
        loop {
            let event = self.next_event();
            if !matches!(event, Ok(None)) || !self.session.output().is_empty() {
                while let Some(rest) = reader.rest_of_unit() {
                    bounded(socket.write_all(&rest)).await?;
                }
            }
            if let Some(event) = event? {
                return Ok(Some(Next::Event(event)));
            }
            self.answer(socket).await?;
            if self.session.is_closed() {
                return Ok(None);
            }
            self.input.reserve(READ_BYTES);
            let news = async {
                sleep_until(resume).await;
                reader.next().await
            };
            tokio::select! {
                news = news => match news {
                    Some(bytes) => {
                        let began = Instant::now();
                        send(socket, reader, bytes).await?;
                        resume = began + reader.window();
                    }
                    None => return Ok(Some(Next::Ended)),
                },
                read = socket.read_buf(&mut self.input) => {
                    if closing::hung_up(read)? == 0 {
                        return Ok(None);
                    }
                }
                () = wait::change(&mut self.leaving) => {
                    // A player that does not know the request is not told.
                    self.session.request_reconnect(LEAVING);
                }
            }
        }
    }
}

/// Sends `bytes` and everything else that is there.
async fn send<S>(socket: &mut S, reader: &mut LogReader, bytes: Bytes) -> io::Result<()>
where
    S: AsyncWrite + Unpin,
{
    let mut next = Some(bytes);
    while let Some(bytes) = next {
        bounded(socket.write_all(&bytes)).await?;
        next = std::future::poll_fn(|cx| match reader.poll_next(cx) {
            // The end is found again by the next look.
            Poll::Ready(next) => Poll::Ready(next),
            Poll::Pending => Poll::Ready(None),
        })
        .await;
    }
    bounded(socket.flush()).await
}

/// The same patience as for a plain socket.
async fn bounded(write: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    timeout(net::tcp::USER_TIMEOUT, write)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
