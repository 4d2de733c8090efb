//! A relayed radio stream: a mount of an Icecast or SHOUTcast server, with its titles and its description.
//!
//! Such a server sends the same body as a source of it, so the body is published like a source's; titles are
//! interleaved with its bytes if the server sends them so.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use container::icy::{Deinterleaver, Piece, title_in};
use fanout::Source;
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use http1::Body;
use hyper::body::Incoming;
use media::{Charset, Container, Item, Title};
use tokio::time::{sleep_until, timeout};

use super::feed::Feed;
use super::http::content_type;
use super::{End, Failure};
use crate::icecast::{self, Content, description};
use crate::{Error, now};

/// Most bytes between two titles. Servers send 8 to 32 KiB; a title that arrives minutes late is no use.
const INTERVAL_BYTES_MAX: usize = 1024 * 1024;

/// Relays the body of a reply until it ends.
pub(super) async fn relay(
    answer: Response<Incoming>,
    pull: &mut Feed<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    let (titles, content_type) = (titles(answer.headers())?, content_type(&answer));
    let charset = pull.charset();
    let described = text(answer.headers(), charset).into_iter();
    let source = Source {
        container: Container::Unknown,
        content_type: content_type.clone(),
        headers: description::headers(described),
        ..pull.source()
    };
    let mut body = answer.into_body();
    let silence = pull.settings().source_timeout;
    let first = tokio::select! {
        first = timeout(silence, next(&mut body)) => first.map_err(|_| Error::NoMedia(silence))??,
        () = &mut stop => return Ok(End::Stop),
    };
    let Some(first) = first else {
        return Err(Failure::HungUp);
    };
    let epoch = pull.begin(&source)?;
    let mut relayed = Relayed {
        feed: icecast::Feed::new(epoch, Content::new(&content_type), Body::UntilClose),
        titles,
        charset,
    };
    let ended = relayed.carry(first, &mut body, pull, stop).await;
    match &ended {
        Ok(end) => relayed.feed.end_for(end),
        Err(failure) => relayed.feed.end_for(failure),
    }
    ended
}

/// A radio stream that is being relayed.
struct Relayed {
    feed: icecast::Feed,
    titles: Option<Deinterleaver>,
    /// Character set of titles that are not UTF-8.
    charset: Charset,
}

impl Relayed {
    async fn carry(
        &mut self,
        first: Bytes,
        body: &mut Incoming,
        pull: &mut Feed<'_>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<End, Failure> {
        let silence = pull.settings().source_timeout;
        let mut bytes = first;
        loop {
            pull.heard(bytes.len());
            self.take(&bytes)?;
            self.feed.check(silence, now())?;
            // As for a source: a file is played no faster than in real time.
            let resume_at = self.feed.pace.resume_at(now());
            let more = async {
                if let Some(resume_at) = resume_at {
                    sleep_until(resume_at.into()).await;
                }
                timeout(silence, next(body)).await
            };
            let more = tokio::select! {
                more = more => more.map_err(|_| Error::Silent(silence))??,
                over = self.feed.epoch.over() => return Err(over.into()),
                () = &mut stop => return Ok(End::Stop),
            };
            let Some(more) = more else {
                self.feed.close(now())?;
                return Err(Failure::HungUp);
            };
            bytes = more;
        }
    }

    /// Takes the received bytes, and removes the titles from them.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let now = now();
        let Some(titles) = &mut self.titles else {
            return self.feed.take(bytes, now).map(drop);
        };
        let mut taken = Ok(());
        let (feed, charset) = (&mut self.feed, self.charset);
        titles.push(bytes, |piece| {
            if taken.is_err() {
                return;
            }
            taken = match piece {
                Piece::Audio(audio) => feed.take(audio, now).map(drop),
                Piece::Block(block) => match title_of(block, charset) {
                    Some(title) => {
                        feed.items.push(Item::Title(Arc::new(title)));
                        feed.deliver(now)
                    }
                    None => Ok(()),
                },
            };
        });
        taken
    }
}

/// Returns the title in a block, in UTF-8 or else in the character set of older servers.
fn title_of(block: &[u8], charset: Charset) -> Option<Title> {
    title_in(&charset.decode_unless_utf8(block.get(1..)?))
}

/// Returns the next bytes of a body; `None` at its end.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Returns a deinterleaver for the titles, if the headers announce them in the body.
fn titles(headers: &HeaderMap) -> Result<Option<Deinterleaver>, Failure> {
    let Some(interval) = headers.get("icy-metaint") else {
        return Ok(None);
    };
    let interval = interval
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let interval = interval.filter(|interval| *interval <= INTERVAL_BYTES_MAX);
    // 0 means no titles, as SHOUTcast sends it.
    let interval = interval.ok_or(Failure::TitleInterval)?;
    Ok(NonZeroUsize::new(interval).map(Deinterleaver::new))
}

/// Returns the headers as text, in the character sets of titles.
fn text(headers: &HeaderMap, charset: Charset) -> Vec<(&str, String)> {
    let pairs = headers.iter();
    pairs
        .map(|(name, value)| (name.as_str(), charset.decode_unless_utf8(value.as_bytes())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_read_in_either_character_set() {
        let title = |text: &[u8]| {
            let title = title_of(&[&[9], text].concat(), Charset::UTF_8)?;
            Some((title.text, title.url))
        };
        let read = Some(("Ü - ß".to_owned(), String::new()));
        assert_eq!(title("StreamTitle='Ü - ß';\0\0".as_bytes()), read);
        assert_eq!(title(b"StreamTitle='\xdc - \xdf';"), read);
        assert_eq!(title_of(&[], Charset::UTF_8), None);
    }
}
