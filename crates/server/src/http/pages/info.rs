//! `/{stream}/info.json`: the stream's state for its page, when it loads and while it plays.
//!
//! All addresses in it are relative to it, and so to the page.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fanout::{DerivedOffer, Info, PictureOrder};
use media::{Codec, Framing, StreamName};
use serde_json::{Value, json};

use crate::node::Node;
use crate::signalling::Way;
use crate::view::{State, StreamView};

/// The answer; 404 comes with the document of a stream that is not live.
pub(super) fn answer(node: &Node, name: &StreamName) -> Response {
    let info = node.registry.stream(name).map(|stream| stream.info());
    let status = match info {
        Some(_) => StatusCode::OK,
        None => StatusCode::NOT_FOUND,
    };
    let mut document = document(info.as_ref(), node.rtc.is_some());
    if let Some(info) = &info
        && let Some(address) = egress_hls::dvr_address(&node.hls, info)
        && let Some(addresses) = document["addresses"].as_array_mut()
    {
        addresses.push(hls_row(info, address));
    }
    (status, Json(document)).into_response()
}

/// An address of HLS, relative to the document.
fn hls_row(info: &Info, address: egress_hls::Address) -> Value {
    let name = info.name.as_str();
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    let path = format!("../{last}/{}", address.path);
    json!({ "label": address.label, "path": path, "type": address.media_type })
}

/// With `has_webrtc` it offers WebRTC as well. A stream whose publisher is away has addresses: a listener that
/// connects now hears it when the publisher returns.
pub(super) fn document(info: Option<&Info>, has_webrtc: bool) -> Value {
    let webrtc = info
        .filter(|info| has_webrtc && !info.tracks.is_empty())
        .map(|info| {
            // B-frames are refused there.
            let picture = info.picture_order != PictureOrder::Reordered;
            json!({ "path": Way::Out.segment(), "audio": has_opus(info), "picture": picture })
        });
    let view = info.map(StreamView::of);
    let is = |state| view.as_ref().is_some_and(|view| view.state == state);
    json!({
        "live": is(State::Live),
        "away": is(State::Lingering),
        "tracks": view.as_ref().map(StreamView::tracks).unwrap_or_default(),
        "title": view.as_ref().and_then(|view| view.title),
        "listeners": view.as_ref().map(|view| view.listeners),
        "notes": info.map(notes).unwrap_or_default(),
        "addresses": info.map(addresses).unwrap_or_default(),
        "webrtc": webrtc,
    })
}

/// Where the stream can be heard over HTTP.
pub(super) fn addresses(info: &Info) -> Vec<Value> {
    let name = info.name.as_str();
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    let row = |one: egress_http::Address| {
        let suffix = one.path.trim_start_matches('/').strip_prefix(name);
        let path = format!("../{last}{}", suffix.unwrap_or_default());
        json!({ "label": one.label, "path": path, "type": one.media_type })
    };
    let hls = egress_hls::address(info).map(|address| hls_row(info, address));
    let others = egress_http::addresses(info).into_iter().map(row);
    others.chain(hls).collect()
}

/// Whether WebRTC has the sound: the publisher's own Opus, or transcoded Opus.
fn has_opus(info: &Info) -> bool {
    own_opus(info) || info.offer.track().is_some()
}

fn own_opus(info: &Info) -> bool {
    let is_own = |codec, framing| (codec, framing) == (Codec::Opus, Framing::Bare);
    let mut tracks = info.tracks.iter();
    tracks.any(|track| is_own(track.codec, track.framing))
}

/// Hints about the stream for people, in sentences.
fn notes(info: &Info) -> Vec<String> {
    let sound = match &info.offer {
        DerivedOffer::Impossible(_) if own_opus(info) => None,
        offer => offer.words(),
    };
    let sound = sound.map(|words| format!("Sound over WebRTC: {words}."));
    let keyframes = info.keyframes.and_then(|keyframes| keyframes.words());
    sound.into_iter().chain(keyframes).collect()
}
