//! Opening of a push: from an address to a connection that publishes.

use ::rtmp::client::{Address, Event, Purpose, Session};
use bytes::BytesMut;
use net::link::{Connector, Link};
use net::rtmp::moved;
use net::{closing, tcp, wait};
use tokio::io::AsyncReadExt;

use super::Failure;
use crate::now;

/// Most connections that authentication needs: without a password, with the user's name, with the proof.
const CONNECTIONS_MAX: usize = 3;

/// Bytes per read from a target, which sends little.
const READ_BYTES: usize = 4 * 1024;

/// Outcome of an attempt that did not fail.
pub(super) enum Opened {
    /// Publishing was accepted.
    Ready(Box<Opening>),
    /// The target wants another connection, at another address if it names one.
    Moved(Option<Address>),
}

/// A connection on which publishing was accepted.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) link: Link,
    pub(super) session: Session,
    /// Bytes received, and not yet read by the session.
    pub(super) input: BytesMut,
    pub(super) message_stream: u32,
}

/// Connects, as often as authentication needs.
pub(super) async fn open(connector: &Connector, address: &Address) -> Result<Opened, Failure> {
    let mut address = address.clone();
    for _ in 0..CONNECTIONS_MAX {
        let link = connector
            .connect(address.host(), address.port(), address.is_secure())
            .await?;
        tcp::prepare_listener(link.socket())?;
        match greet(link, address).await? {
            Greeted::Opened(opened) => return Ok(opened),
            Greeted::Challenged(next) => address = next,
        }
    }
    Err(Failure::Password)
}

enum Greeted {
    Opened(Opened),
    Challenged(Address),
}

/// Exchanges messages until the target accepts the publication. The session bounds the time.
async fn greet(mut link: Link, address: Address) -> Result<Greeted, Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
    let mut session = Session::new(address, Purpose::Publish, seed, now());
    let mut input = BytesMut::with_capacity(READ_BYTES);
    loop {
        closing::write(&mut link, &session.output().split()).await?;
        let due = session.poll_timeout();
        input.reserve(READ_BYTES);
        let read = tokio::select! {
            read = link.read_buf(&mut input) => closing::hung_up(read)?,
            () = wait::at(due) => {
                session.handle_timeout(now())?;
                continue;
            }
        };
        if read == 0 {
            return Err(Failure::HungUp);
        }
        // All input is used before more is read, so that the buffer stays as small as one read.
        while let Some(event) = next_event(&mut session, &mut input)? {
            match event {
                Event::Ready { message_stream } => {
                    return Ok(Greeted::Opened(Opened::Ready(Box::new(Opening {
                        link,
                        session,
                        input,
                        message_stream,
                    }))));
                }
                Event::Challenged(next) => return Ok(Greeted::Challenged(next)),
                Event::Reconnect { tc_url } => {
                    let to = tc_url.and_then(|tc_url| moved(session.address(), &tc_url));
                    session.leave();
                    closing::say(link, session.output()).await;
                    return Ok(Greeted::Opened(Opened::Moved(to)));
                }
                Event::Ended { code, .. } => return Err(Failure::Ended(code)),
                _ => {}
            }
        }
    }
}

/// Returns the next event in the received bytes; `None` when they are used up.
pub(super) fn next_event(
    session: &mut Session,
    input: &mut BytesMut,
) -> Result<Option<Event>, Failure> {
    let mut rest = &input[..];
    let event = session.read(&mut rest, now());
    let used = input.len() - rest.len();
    bytes::Buf::advance(input, used);
    Ok(event?)
}
