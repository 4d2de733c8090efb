//! One connection to a target, from its beginning to its end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ::rtmp::client::{Address, Event};
use bytes::Bytes;
use fanout::{Introduction, LaneGuard, LogReader, Phase, Reason, Registry, Stream, Subscription};
use net::closing;
use net::link::{Connector, State};
use net::rtmp::moved;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};

use super::opening::{Opened, Opening, next_event, open};
use super::{Failure, Push};
use crate::format::{format, is_carried};
use crate::now;
use packagers::rtmp::{Rtmp, Shape};

/// Bytes per read from a target.
const READ_BYTES: usize = 512;

/// End of a connection without a failure.
#[derive(Debug)]
pub(super) enum End {
    /// The stream is over.
    Stream,
    /// The push was stopped.
    Stop,
    /// The target wants another connection, at another address if it names one.
    Moved(Option<Address>),
}

/// Needs of a connection to a target.
#[derive(Debug)]
pub(super) struct Delivery<'a> {
    pub(super) registry: &'a Arc<Registry>,
    pub(super) connector: &'a Connector,
    pub(super) push: &'a Push,
    pub(super) stream: &'a Arc<Stream>,
}

impl Delivery<'_> {
    /// Connects and sends. `ran` is set to the time for which media was flowing.
    pub(super) async fn run(
        &self,
        address: &Address,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        ran: &mut Duration,
    ) -> Result<End, Failure> {
        if !is_carried(&self.stream.info()) {
            return Err(Failure::Format);
        }
        self.push.status.enter(State::Connecting);
        let opened = tokio::select! {
            opened = open(self.connector, address) => opened?,
            () = &mut stop => return Ok(End::Stop),
        };
        let mut opening = match opened {
            Opened::Ready(opening) => *opening,
            Opened::Moved(to) => return Ok(End::Moved(to)),
        };
        let mut subscription = self.subscribe(&opening, address)?;
        let lane = lane(&subscription, opening.message_stream)?;
        let record = subscription.record(&lane);
        let mut reader = self.registry.fanout().follow(record, lane);
        let began = Instant::now();
        self.push.status.enter(State::Running);
        tracing::info!(stream = %self.stream.name(), target = %address, "pushing begins");
        let end = self.follow(&mut opening, &mut reader, stop).await;
        *ran = began.elapsed();
        match &end {
            // The reader knows why it was ended.
            Ok(End::Stream) | Err(Failure::Dropped) => {}
            Err(Failure::Slow) => reader.ended_by(Reason::Lag),
            _ => reader.ended_by(Reason::Left),
        }
        if let Ok(End::Stream | End::Stop | End::Moved(_)) = end {
            let mut opening = opening;
            opening.session.leave();
            closing::say(opening.link, opening.session.output()).await;
        }
        end
    }

    fn subscribe(&self, opening: &Opening, address: &Address) -> Result<Subscription, Failure> {
        let introduction = Introduction {
            peer: opening.link.socket().peer_addr()?,
            request: format!("PUSH {address} RTMP/1.0"),
            agent: String::new(),
            referer: String::new(),
            permit: None,
        };
        Ok(Subscription::permitted(
            self.registry,
            Arc::clone(&self.push.permission),
            Arc::clone(self.stream),
            introduction,
        ))
    }

    /// Sends the lane until something ends it. A normal end leaves the connection between two messages.
    async fn follow(
        &self,
        opening: &mut Opening,
        reader: &mut LogReader,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<End, Failure> {
        let mut resume = Instant::now();
        loop {
            if let Some(end) = self.converse(opening, reader).await? {
                return Ok(end);
            }
            opening.input.reserve(READ_BYTES);
            let news = async {
                sleep_until(resume).await;
                reader.next().await
            };
            tokio::select! {
                news = news => match news {
                    Some(bytes) => {
                        let began = Instant::now();
                        self.send(opening, reader, bytes).await?;
                        resume = began + reader.window();
                    }
                    None if self.stream.info().phase == Phase::Ended => return Ok(End::Stream),
                    None => return Err(Failure::Dropped),
                },
                read = opening.link.read_buf(&mut opening.input) => {
                    if closing::hung_up(read)? == 0 {
                        return Err(Failure::HungUp);
                    }
                }
                () = &mut stop => {
                    // A target that takes no more of the unit takes no goodbye either.
                    self.finish_unit(opening, reader).await.ok();
                    return Ok(End::Stop);
                }
            }
        }
    }

    /// Reads the target's messages, and answers between two messages.
    async fn converse(
        &self,
        opening: &mut Opening,
        reader: &mut LogReader,
    ) -> Result<Option<End>, Failure> {
        while let Some(event) = next_event(&mut opening.session, &mut opening.input)? {
            match event {
                Event::Ended { code, .. } => return Err(Failure::Ended(code)),
                Event::Reconnect { tc_url } => {
                    self.finish_unit(opening, reader).await?;
                    let from = opening.session.address();
                    let to = tc_url.and_then(|tc_url| moved(from, &tc_url));
                    return Ok(Some(End::Moved(to)));
                }
                _ => {}
            }
        }
        if !opening.session.output().is_empty() {
            self.finish_unit(opening, reader).await?;
            let words = opening.session.output().split();
            self.write(opening, &words).await?;
            bounded(opening.link.flush()).await?;
        }
        Ok(None)
    }

    async fn finish_unit(
        &self,
        opening: &mut Opening,
        reader: &mut LogReader,
    ) -> Result<(), Failure> {
        while let Some(rest) = reader.rest_of_unit() {
            self.write(opening, &rest).await?;
        }
        Ok(())
    }

    /// Sends `bytes` and everything else that is ready.
    async fn send(
        &self,
        opening: &mut Opening,
        reader: &mut LogReader,
        bytes: Bytes,
    ) -> Result<(), Failure> {
        let mut next = Some(bytes);
        while let Some(bytes) = next {
            self.write(opening, &bytes).await?;
            // The next read reports the end again.
            next = reader.at_hand().await.flatten();
        }
        bounded(opening.link.flush()).await
    }

    async fn write(&self, opening: &mut Opening, bytes: &[u8]) -> Result<(), Failure> {
        bounded(opening.link.write_all(bytes)).await?;
        self.push.status.add_bytes(bytes.len());
        Ok(())
    }
}

/// Returns the lane for the message stream that the target assigned.
fn lane(subscription: &Subscription, message_stream: u32) -> Result<LaneGuard, Failure> {
    let shape = Shape {
        message_stream,
        audio: true,
        video: true,
        wraps_metadata: true,
    };
    let format = format(shape).ok_or(Failure::MessageStream(message_stream))?;
    let make = || Box::new(Rtmp::new(shape)) as _;
    Ok(subscription.lane(format, make, now())?)
}

/// Limits a write to the time allowed for a listener's socket.
async fn bounded(write: impl Future<Output = io::Result<()>>) -> Result<(), Failure> {
    match timeout(net::tcp::USER_TIMEOUT, write).await {
        Ok(written) => Ok(written?),
        Err(_) => Err(Failure::Slow),
    }
}
