//! Multivariant playlist of a name that stands for several streams.
//!
//! The gate decides on each stream with the viewer's own credentials, so the playlist lists the streams that the viewer
//! may watch, and the viewer is refused if it may watch none. The gate decides again on the stream whose media playlist
//! is requested; only then does a lane open and a listener count. A viewer that switches is a listener of both streams
//! for some seconds.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use fanout::{Info, Joined, Waits, join};
use media::StreamName;
use tokio::time::sleep;

use crate::answer::{Answer, Refused};
use crate::multivariant::{self, Variant};
use crate::packaging::Packaging;
use crate::relative::relative;
use crate::reload::Directives;
use crate::resource::{Piece, Resource};
use crate::share::Share;
use crate::variants::best_first;
use crate::viewers::Viewer;
use crate::{Context, Request, encryption, waits};

/// Wait for streams that are still arriving, or have not announced tracks yet, once another is there: an encoder starts
/// its qualities one after another, within a second.
const OTHERS_WAIT: Duration = Duration::from_secs(2);

/// Lookup of a stream's description, which completes once it is known whether the viewer may watch the stream.
type Asked<'a> = Pin<Box<dyn Future<Output = Result<Info, Refused>> + Send + 'a>>;

/// Answers with the playlist of those of `streams` that the viewer may watch.
///
/// # Errors
/// If the viewer may watch none of them.
pub(crate) async fn answer(
    context: &Context,
    request: &Request<'_>,
    directives: &Directives,
    streams: &[StreamName],
) -> Result<Answer, Refused> {
    let start = waits::start(&context.segmentation);
    let is_here = |name| context.registry.stream(name).is_some();
    let absent = match streams.iter().any(is_here) {
        true => Duration::ZERO,
        false => start,
    };
    let waits = Waits {
        absent,
        coming: start,
        ..Waits::default()
    };
    let packaging = |info: &Info| encryption::of_stream(context, info, directives);
    let asked = streams
        .iter()
        .map(|stream| Box::pin(describe(context, request, stream, waits, packaging)) as Asked<'_>);
    let infos = gather(asked.collect()).await?;
    let variants: Vec<_> = best_first(infos)
        .into_iter()
        .map(|quality| {
            let name = &quality.info.name;
            let packaging = packaging(&quality.info);
            let channel = context.channels.get(&context.registry, name, packaging);
            let stream = context.registry.stream(name);
            let playlist = stream.map_or(Piece::Playlist, |stream| {
                context.playlist_of(&stream, directives.dvr)
            });
            let playlist = format!("{name}/{}", Resource::Media(packaging, playlist));
            Variant {
                packaging,
                segments: channel.map_or_else(Vec::new, |channel| channel.index().segments),
                address: relative(request.stream.as_str(), &playlist),
                quality,
            }
        })
        .collect();
    let text = multivariant::text(&variants, &Viewer::of(request).suffix);
    Answer::multivariant(text, request.headers, Share::of(context, request))
}

/// Returns the description of a stream that the client may watch.
async fn describe(
    context: &Context,
    request: &Request<'_>,
    stream: &StreamName,
    waits: Waits,
    packaging: impl Fn(&Info) -> Packaging,
) -> Result<Info, Refused> {
    let shown = request.shown();
    let wish = request.wish(&shown, stream);
    let choose = |info: &Info| packaging(info).choose(info);
    let Joined { info, .. } = join(&context.registry, &*context.gate, wish, waits, choose).await?;
    Ok(info)
}

/// Returns the results of all lookups that succeed; after the first success the others have [`OTHERS_WAIT`].
///
/// # Errors
/// The most informative refusal if none succeeds: any other in preference to "no such stream".
async fn gather(mut asked: Vec<Asked<'_>>) -> Result<Vec<Info>, Refused> {
    let (mut infos, mut refused) = (Vec::new(), Refused::NoSuchStream);
    let mut patience = pin!(None);
    std::future::poll_fn(|cx| {
        asked.retain_mut(|one| match one.as_mut().poll(cx) {
            Poll::Ready(Ok(info)) => {
                infos.push(info);
                false
            }
            Poll::Ready(Err(why)) => {
                if matches!(refused, Refused::NoSuchStream) {
                    refused = why;
                }
                false
            }
            Poll::Pending => true,
        });
        if asked.is_empty() {
            return Poll::Ready(());
        }
        if !infos.is_empty() && patience.is_none() {
            patience.set(Some(sleep(OTHERS_WAIT)));
        }
        match patience.as_mut().as_pin_mut() {
            Some(patience) => patience.poll(cx),
            None => Poll::Pending,
        }
    })
    .await;
    match infos.is_empty() {
        true => Err(refused),
        false => Ok(infos),
    }
}
