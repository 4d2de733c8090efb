//! A source that is played over RTMP.

use std::pin::Pin;

use ::rtmp::client::{Address, Event, Purpose, Session};
use bytes::{Buf, BytesMut};
use container::flv::Depacketizer;
use media::Item;
use net::link::{Connector, Link};
use net::{closing, wait};
use tokio::io::AsyncReadExt;

use super::feed::Feed;
use super::{End, Failure, PullSource};
use crate::now;
use crate::rtmp::publication::Clock;
use crate::script_events;

/// Most connections that password authentication needs: without it, with the user's name, with the proof.
const CONNECTIONS_MAX: usize = 3;

/// Bytes per read: a few frames of video.
const READ_BYTES: usize = 64 * 1024;

/// Outcome of one connection.
enum Went {
    To(End),
    Challenged(Address),
}

/// Plays from `address`, with as many connections as authentication needs.
pub(super) async fn fetch(
    connector: &Connector,
    address: &Address,
    feed: &mut Feed<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    let mut address = address.clone();
    for _ in 0..CONNECTIONS_MAX {
        let connecting = connector.connect(address.host(), address.port(), address.is_secure());
        let link = tokio::select! {
            link = connecting => link?,
            () = &mut stop => return Ok(End::Stop),
        };
        feed.connected(link.socket().peer_addr()?);
        let mut player = SourceConnection::new(link, address)?;
        match player.play(feed, stop.as_mut()).await? {
            Went::To(end) => {
                // First, so that a listener that arrives meanwhile finds a stream whose publisher is away,
                // not one in its last moments.
                feed.end(&end);
                player.session.leave();
                closing::say(player.link, player.session.output()).await;
                return Ok(end);
            }
            Went::Challenged(next) => address = next,
        }
    }
    Err(Failure::Password)
}

/// One connection to a source.
struct SourceConnection {
    link: Link,
    session: Session,
    depacketizer: Depacketizer,
    clock: Clock,
}

impl SourceConnection {
    fn new(link: Link, address: Address) -> Result<Self, Failure> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
        Ok(Self {
            link,
            session: Session::new(address, Purpose::Play, seed, now()),
            depacketizer: Depacketizer::default(),
            clock: Clock::default(),
        })
    }

    async fn play(
        &mut self,
        feed: &mut Feed<'_>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Went, Failure> {
        let mut buffer = BytesMut::with_capacity(READ_BYTES);
        let mut is_ready = false;
        loop {
            let words = self.session.output().split();
            if words.has_remaining() {
                closing::write(&mut self.link, &words).await?;
            }
            let due = match is_ready {
                true => Some(feed.due()),
                false => self.session.poll_timeout(),
            };
            buffer.clear();
            let read = tokio::select! {
                read = self.link.read_buf(&mut buffer) => closing::hung_up(read)?,
                over = feed.over() => return Err(over),
                () = &mut stop => return Ok(Went::To(End::Stop)),
                () = wait::at(due) => {
                    self.session.handle_timeout(now())?;
                    if is_ready {
                        feed.handle_timeout()?;
                    }
                    continue;
                }
            };
            if read == 0 {
                return Err(Failure::HungUp);
            }
            feed.received(read);
            let heard = self.hear(&buffer, feed, &mut is_ready);
            // Media that arrived before an end is passed on, whatever the end.
            feed.deliver()?;
            if let Some(went) = heard? {
                return Ok(went);
            }
        }
    }

    fn hear(
        &mut self,
        mut input: &[u8],
        feed: &mut Feed<'_>,
        is_ready: &mut bool,
    ) -> Result<Option<Went>, Failure> {
        while let Some(event) = self.session.read(&mut input, now())? {
            match event {
                Event::Ready { .. } => {
                    *is_ready = true;
                    feed.connected(self.link.socket().peer_addr()?);
                }
                Event::Ended { code, .. } => return Err(Failure::Ended(code)),
                Event::Challenged(next) => return Ok(Some(Went::Challenged(next))),
                Event::Reconnect { tc_url } => {
                    let from = self.session.address();
                    let to = tc_url
                        .and_then(|tc_url| net::rtmp::moved(from, &tc_url))
                        .map(PullSource::Rtmp);
                    return Ok(Some(Went::To(End::Moved(to))));
                }
                media => self.unpack(media, &mut feed.items),
            }
            if feed.is_full() {
                feed.deliver()?;
            }
        }
        Ok(None)
    }

    fn unpack(&mut self, event: Event, items: &mut Vec<Item>) {
        match event {
            Event::Audio(media) => {
                let at = self.clock.media(media.timestamp);
                self.depacketizer.audio(at, media.payload, items);
            }
            Event::Video(media) => {
                let at = self.clock.media(media.timestamp);
                self.depacketizer.video(at, media.payload, items);
            }
            Event::Metadata(media) => items.push(Item::Metadata(self.clock.script(media))),
            Event::Data(media) => {
                let script = self.clock.script(media);
                items.extend(script_events::event(&script));
                items.push(Item::Script(script));
            }
            _ => {}
        }
    }
}
