//! `/{stream}/`: a page that plays the stream.
//!
//! The page tells its script, as JSON in an inert element, what the stream offers; the script picks
//! what the browser can play. A stream that is not there has the same page, which waits for it.

use std::fmt::Write;

use fanout::{Info, Registry};
use http::StatusCode;
use media::{Kind, StreamName};
use serde_json::{Value, json};

use super::{document, escape, inert, nothing_here};
use crate::rtc::Way;
use crate::status::header_of;

/// The page for a path, and the status it is sent with. With `has_webrtc` it offers that as well.
pub(super) fn page(registry: &Registry, path: &str, has_webrtc: bool) -> (StatusCode, String) {
    let name = path
        .strip_suffix('/')
        .map_or(Err(()), |name| StreamName::parse(name).map_err(|_| ()));
    let Ok(name) = name else {
        return nothing_here("There is nothing at this address.");
    };
    match registry.stream(&name) {
        Some(stream) => (
            StatusCode::OK,
            render(&name, Some(&stream.info()), has_webrtc),
        ),
        None => (StatusCode::NOT_FOUND, render(&name, None, has_webrtc)),
    }
}

fn render(name: &StreamName, info: Option<&Info>, has_webrtc: bool) -> String {
    let offer = offer(info, has_webrtc);
    let own_name = info
        .and_then(|info| header_of(info, "name"))
        .filter(|text| !text.is_empty());
    let shown = own_name.unwrap_or(name.as_str());
    let (status, video, audio) = match info {
        Some(info) => {
            let has_video = info.tracks.iter().any(|track| track.kind == Kind::Video);
            ("Connecting", !has_video, has_video)
        }
        None => ("Not live. This page starts to play when it is.", true, true),
    };
    let hidden = |is_hidden| if is_hidden { " hidden" } else { "" };
    let label = escape(shown);
    let mut main = format!(
        "<h1>{label}</h1>\n\
         <video id=\"video\" controls playsinline aria-label=\"{label}\"{}></video>\n\
         <audio id=\"audio\" controls aria-label=\"{label}\"{}></audio>\n\
         <p id=\"status\" role=\"status\">{}</p>\n\
         <p class=\"actions\"><button id=\"play\" type=\"button\" hidden>Play</button>\n\
         <button id=\"sound\" type=\"button\" hidden>Sound on</button>\n\
         <button id=\"live\" type=\"button\" aria-pressed=\"false\" hidden>Live, low delay</button></p>\n\
         <p id=\"note\" hidden></p>\n",
        hidden(video),
        hidden(audio),
        escape(status),
    );
    if let Some(title) = info.and_then(|info| info.title.as_ref()) {
        writeln!(main, "<p class=\"title\">{}</p>", escape(&title.text))
            .expect("a String takes all text");
    }
    if let Some(words) = info.and_then(|info| info.offer.words()) {
        writeln!(main, "<p class=\"detail\">Opus: {}.</p>", escape(words))
            .expect("a String takes all text");
    }
    main.push_str(
        "<h2>In a player</h2>\n<ul id=\"addresses\" class=\"addresses\"></ul>\n\
         <p><a href=\"/\">Who else is on air</a></p>\n\
         <noscript><p>The addresses need JavaScript; a player can open the stream \
         at this page's address without the last slash.</p></noscript>\n",
    );
    let head = format!(
        "<script type=\"application/json\" id=\"offer\">{}</script>\n\
         <script src=\"/_/mpegts.js\" defer></script>\n\
         <script src=\"/_/rtc.js\" defer></script>\n\
         <script src=\"/_/player.js\" defer></script>\n",
        inert(&offer)
    );
    document(shown, &head, &main)
}

/// What the script is told.
fn offer(info: Option<&Info>, has_webrtc: bool) -> Value {
    let addresses = info.map(egress_http::addresses).unwrap_or_default();
    let addresses: Vec<_> = addresses
        .iter()
        .map(|one| json!({ "label": one.label, "path": one.path, "type": one.media_type }))
        .collect();
    let has = |kind| info.is_some_and(|info| info.tracks.iter().any(|track| track.kind == kind));
    let webrtc = info
        .filter(|info| has_webrtc && !info.tracks.is_empty())
        .map(|info| format!("/{}/{}", info.name, Way::Out.segment()));
    json!({
        "live": info.is_some(),
        "audio": has(Kind::Audio),
        "video": has(Kind::Video),
        "addresses": addresses,
        "webrtc": webrtc,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_not_there_has_a_page_that_waits() {
        let name = StreamName::parse("live/show").expect("a name");
        let page = render(&name, None, true);
        assert!(
            page.contains("Not live") && page.contains("\"live\":false"),
            "{page}"
        );
        assert!(!page.contains("<script>"), "no script stands in the page");
    }
}
