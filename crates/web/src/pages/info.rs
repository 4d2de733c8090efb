//! `/{stream}/info.json`: the stream's state for its page, when it loads and while it plays.
//!
//! All addresses in the document are relative to it, and so to the page. With the query `live` the reply is sent when the
//! stream is live, or after [`WAIT_MAX`]: a page that waits for its publisher need not poll.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use egress_hls::{Quality, relative};
use fanout::{DerivedOffer, Info, PictureOrder, Stream};
use media::{Codec, Framing, StreamName, Title};
use reports::view::{State, StreamView};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::presentation::{Presentation, labels};
use crate::front_door::FrontDoor;
use crate::listen;
use crate::reply::Reply;
use crate::request::Request;
use crate::signalling::Way;

/// File extensions of image addresses.
const PICTURES: [&str; 6] = ["avif", "gif", "jpeg", "jpg", "png", "webp"];

/// Query parameter of a request that waits for the stream.
const WAITS: &str = "live";

/// Maximum wait: shorter than the time limit of pages, and than the timeouts of proxies (usually a minute).
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Interval at which a publisher that is here and has sent no media yet is checked.
const MEDIA_LOOK: Duration = Duration::from_millis(100);

/// Waits until a stream that the name stands for is live, for at most [`WAIT_MAX`].
async fn wait(front: &FrontDoor, name: &StreamName) {
    let live = async {
        loop {
            publisher(front, name).await;
            let lead = Presentation::of(front, name.clone()).lead;
            if lead.is_some_and(|lead| StreamView::of(&lead).state == State::Live) {
                return;
            }
            sleep(MEDIA_LOOK).await;
        }
    };
    timeout(WAIT_MAX, live).await.ok();
}

/// Waits until one of the streams that a name stands for has a publisher.
pub(super) async fn publisher(front: &FrontDoor, name: &StreamName) {
    type Live<'a> = Pin<Box<dyn Future<Output = Arc<Stream>> + Send + 'a>>;
    let streams = front.variants.streams(&front.registry, name);
    let all = streams
        .iter()
        .map(|name| Box::pin(front.registry.live(name)) as Live<'_>);
    let mut all: Vec<_> = all.collect();
    std::future::poll_fn(|cx| {
        let is_any = all.iter_mut().any(|one| one.as_mut().poll(cx).is_ready());
        match is_any {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

/// Builds the reply; a 404 comes with the document of a stream that is not live.
pub(super) async fn answer(request: &Request<'_>, name: &StreamName) -> Reply {
    if request.parameters().get(WAITS).is_some() {
        wait(request.front, name).await;
    }
    let presentation = Presentation::shown_to(request, name.clone()).await;
    let document = document(&presentation, request.front.rtc.is_some());
    Reply::json(&document).but(presentation.status())
}

/// Builds the document; if `has_webrtc`, it offers WebRTC as well. A stream whose publisher is away keeps its addresses: a
/// listener that connects now receives it when the publisher returns.
pub(super) fn document(presentation: &Presentation, has_webrtc: bool) -> Value {
    let info = presentation.lead.as_ref();
    let view = info.map(StreamView::of);
    let is = |state| view.as_ref().is_some_and(|view| view.state == state);
    let webrtc = info
        .filter(|_| has_webrtc)
        .map(|info| webrtc(presentation, info));
    let reported = presentation.title();
    let mut document = json!({
        "live": is(State::Live),
        "away": is(State::Lingering),
        "tracks": view.as_ref().map(StreamView::tracks).unwrap_or_default(),
        "title": reported.map(|title| &*title.text),
        "picture": reported.and_then(picture),
        "listeners": presentation.listeners(),
        "notes": info.map(notes).unwrap_or_default(),
        "addresses": addresses(presentation),
        "webrtc": webrtc,
        "needs_key": presentation.needs_key,
        "captions": info.is_some_and(|info| info.captions),
    });
    if let Some(all) = &presentation.qualities {
        let row = |(one, label)| quality(presentation, one, label, has_webrtc);
        document["qualities"] = all.iter().zip(labels(all)).map(row).collect();
    }
    document
}

/// Builds the entry of one of several qualities: its display name, and the same offers as in the whole document.
fn quality(presentation: &Presentation, one: &Quality, label: String, has_webrtc: bool) -> Value {
    let Quality {
        info,
        dimensions,
        bits_per_second,
    } = one;
    json!({
        "name": label,
        "stream": info.name.as_str(),
        "width": dimensions.map(|(width, _)| width),
        "height": dimensions.map(|(_, height)| height),
        "bitrate": bits_per_second,
        "tracks": StreamView::of(info).tracks(),
        "addresses": of_stream(&presentation.name, info),
        "webrtc": has_webrtc.then(|| webrtc(presentation, info)),
    })
}

/// Returns a stream's address over WebRTC; null before it has tracks.
fn webrtc(presentation: &Presentation, info: &Info) -> Value {
    if info.tracks.is_empty() {
        return Value::Null;
    }
    let way = Way::Out.segment();
    let path = match info.name == presentation.name {
        true => way.to_owned(),
        false => format!("{}/{way}", presentation.path_of(&info.name)),
    };
    // WebRTC refuses B-frames.
    let picture = info.picture_order != PictureOrder::Reordered;
    json!({ "path": path, "audio": has_opus(info), "picture": picture })
}

/// Lists the HTTP addresses of all qualities together: one playlist for all, and otherwise the leading stream's. The playlist
/// of the past comes last, because players take the first address that they know.
pub(super) fn addresses(presentation: &Presentation) -> Vec<Value> {
    let Some(info) = &presentation.lead else {
        return Vec::new();
    };
    let path = presentation.path_of(&presentation.name);
    let past = presentation.past.map(|past| below(&path, past));
    let bodies = bodies(&presentation.name, info);
    bodies.chain(hls(info, &path)).chain(past).collect()
}

/// Lists the HTTP addresses of a single quality, relative to the page of this name.
pub(super) fn of_stream(page: &StreamName, info: &Info) -> Vec<Value> {
    let hls = hls(info, &relative(page.as_str(), info.name.as_str()));
    bodies(page, info).chain(hls).collect()
}

/// Lists the live bodies, which have no end.
fn bodies(page: &StreamName, info: &Info) -> impl Iterator<Item = Value> {
    let path = relative(page.as_str(), info.name.as_str());
    let name = info.name.clone();
    listen::addresses(info).into_iter().map(move |one| {
        let suffix = one.path.trim_start_matches('/').strip_prefix(name.as_str());
        let path = format!("{path}{}", suffix.unwrap_or_default());
        json!({ "label": one.label, "path": path, "type": one.media_type })
    })
}

/// Returns the playlist below a path, if the stream's codecs allow one.
fn hls(info: &Info, path: &str) -> Option<Value> {
    Some(below(path, egress_hls::address(info)?))
}

/// Returns an address of HLS below a path.
fn below(path: &str, address: egress_hls::Address) -> Value {
    let path = format!("{path}/{}", address.path);
    json!({ "label": address.label, "path": path, "type": address.media_type })
}

/// Returns the address of a title's cover art: the link that the source gave with the title, if it ends like that of an image
/// that browsers show. Untrusted.
pub(super) fn picture(title: &Title) -> Option<&str> {
    let url = &*title.url;
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let (_, extension) = path.rsplit_once('.')?;
    let is_picture = PICTURES
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known));
    (is_web && is_picture).then_some(url)
}

/// Whether WebRTC has the audio: the publisher's own Opus, or transcoded Opus.
fn has_opus(info: &Info) -> bool {
    own_opus(info) || info.offer.track().is_some()
}

fn own_opus(info: &Info) -> bool {
    let is_own = |codec, framing| (codec, framing) == (Codec::Opus, Framing::Bare);
    let mut tracks = info.tracks.iter();
    tracks.any(|track| is_own(track.codec, track.framing))
}

/// Returns hints about the stream for people, in sentences.
fn notes(info: &Info) -> Vec<String> {
    let audio = match &info.offer {
        DerivedOffer::Impossible(_) if own_opus(info) => None,
        offer => offer.words(),
    };
    let audio = audio.map(|words| format!("Audio over WebRTC: {words}."));
    let keyframes = info.keyframes.and_then(|keyframes| keyframes.words());
    audio.into_iter().chain(keyframes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_picture_is_one() {
        for (url, is_picture) in [
            ("https://example.com/cover.jpg", true),
            ("http://example.com/a.b/cover.WebP?size=600", true),
            ("https://example.com/song.html", false),
            ("https://example.com/?file=cover.jpg", false),
            ("javascript:alert(1)//.jpg", false),
            ("cover.jpg", false),
            ("", false),
        ] {
            let title = Title {
                text: String::new(),
                url: url.to_owned(),
            };
            assert_eq!(picture(&title), is_picture.then_some(url), "{url}");
        }
    }
}
