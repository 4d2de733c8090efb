//! `/{stream}/`: a page that plays the stream.
//!
//! The page gives its script, as JSON in an inert element, what the stream offers; the script picks
//! what the browser can play. A stream that is not live has the same page, which waits for it.

use std::fmt::Write;

use config::BaseUrl;
use fanout::{Info, Registry};
use http::StatusCode;
use media::{Kind, StreamName};

use super::html::{Page, escape};
use super::info;
use crate::view::StreamView;

/// The page and its status. With `has_webrtc` it offers WebRTC as well.
pub(super) fn page(
    registry: &Registry,
    name: &StreamName,
    has_webrtc: bool,
    base: &BaseUrl,
) -> (StatusCode, String) {
    let info = registry.stream(name).map(|stream| stream.info());
    let status = match info {
        Some(_) => StatusCode::OK,
        None => StatusCode::NOT_FOUND,
    };
    (status, render(name, info.as_ref(), has_webrtc, base))
}

fn render(name: &StreamName, info: Option<&Info>, has_webrtc: bool, base: &BaseUrl) -> String {
    let said = |header| {
        let text = info.and_then(|info| StreamView::of(info).header(header));
        text.filter(|text| !text.is_empty())
    };
    let shown = said("name").unwrap_or(name.as_str());
    let title = info.and_then(|info| info.title.as_ref());
    let title = title.map_or("", |title| title.text.as_str());
    let description = match (said("description"), title) {
        (Some(text), _) => text.to_owned(),
        (None, "") => format!("Live on {}.", base.host()),
        (None, title) => title.to_owned(),
    };
    let page = Page::new(&format!("/{name}/"), shown)
        .described(&description, &format!("{base}/{name}/"))
        .told(&info::document(info, has_webrtc))
        .script("rtc.js")
        .script("ways.js")
        .script("info.js")
        .script("player.js");
    page.render(&main(&page.up, shown, title, info))
}

fn main(up: &str, shown: &str, title: &str, info: Option<&Info>) -> String {
    let has_video =
        info.is_some_and(|info| info.tracks.iter().any(|track| track.kind == Kind::Video));
    let status = match info {
        Some(_) => "Connecting.",
        None => "Not live. This page starts to play when it is.",
    };
    let hidden = |is_hidden| if is_hidden { " hidden" } else { "" };
    let label = escape(shown);
    let (no_video, no_audio) = (hidden(!has_video), hidden(info.is_none() || has_video));
    let (no_title, no_addresses) = (hidden(title.is_empty()), hidden(info.is_none()));
    let title = escape(title);
    let links = info.map(links).unwrap_or_default();
    format!(
        "<h1>{label}</h1>\n\
         <div class=\"player\">\n\
         <video id=\"video\" controls playsinline aria-label=\"{label}\"{no_video}></video>\n\
         <audio id=\"audio\" controls preload=\"none\" aria-label=\"{label}\"{no_audio}></audio>\n\
         </div>\n\
         <p id=\"status\" role=\"status\">{status}</p>\n\
         <p class=\"actions\"><button id=\"play\" type=\"button\" hidden>Play</button>\n\
         <button id=\"sound\" type=\"button\" hidden>Sound on</button>\n\
         <button id=\"go-live\" type=\"button\" hidden>Go live</button>\n\
         <button id=\"low-delay\" type=\"button\" aria-pressed=\"false\" hidden>Low delay</button></p>\n\
         <p id=\"note\" hidden></p>\n\
         <p id=\"title\" class=\"title\"{no_title}>{title}</p>\n\
         <ul id=\"notes\" class=\"notes\" hidden></ul>\n\
         <section id=\"players\"{no_addresses}>\n<h2>In a player</h2>\n\
         <ul id=\"addresses\" class=\"addresses\"></ul>\n\
         <noscript><p>The player of this page needs JavaScript. {links}</p></noscript>\n</section>\n\
         <p><a href=\"{up}\">All live streams</a></p>\n"
    )
}

/// The stream's addresses as links, for browsers without scripts.
fn links(info: &Info) -> String {
    let mut out = String::new();
    for one in info::addresses(info) {
        let text = |key: &str| escape(one[key].as_str().unwrap_or_default());
        let (path, label) = (text("path"), text("label"));
        write!(out, "<a href=\"{path}\">{label}</a> ").expect("a String takes all text");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_not_there_has_a_page_that_waits() {
        let name = StreamName::parse("live/show").expect("a name");
        let base = "https://radio.example.com/tv".parse().expect("an address");
        let page = render(&name, None, true, &base);
        assert!(
            page.contains("Not live") && page.contains("\"live\":false"),
            "{page}"
        );
        assert!(!page.contains("<script>"), "no script stands in the page");
        assert!(
            page.contains("og:url\" content=\"https://radio.example.com/tv/live/show/\""),
            "{page}"
        );
        let rooted = ["href=\"/", "src=\"/"]
            .iter()
            .any(|link| page.contains(link));
        assert!(!rooted, "every link is relative: {page}");
    }
}
