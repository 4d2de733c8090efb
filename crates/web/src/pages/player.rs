//! `/{stream}/`: a page that plays the stream; `/embed/{stream}`: the same player alone, for frames of other pages.
//!
//! The page passes the stream's offer to its script as JSON in an inert element; the script picks what the browser can play. A
//! stream that is not live has the same page, which waits for it.

use config::BaseUrl;
use media::{Kind, StreamName};
use outbound::uploads::Uploader;
use reports::view::StreamView;

use super::html::{self, Page, escape};
use super::presentation::Presentation;
use super::row::embed_path;
use super::{info, still, stills};
use crate::reply::Reply;
use crate::request::Request;

/// Extent of the page.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    /// The whole page, at the stream's own address below this one.
    Page(&'a BaseUrl),
    /// The player alone, in a frame.
    Frame,
}

/// Builds the page of a stream.
pub(super) async fn page(request: &Request<'_>, name: &StreamName) -> Reply {
    let media = request.front.uploads.as_deref().map(Uploader::origin);
    let policy = html::player_policy(media);
    answer(request, name, View::Page(&request.base()), &policy).await
}

/// Builds the player alone.
pub(super) async fn frame(request: &Request<'_>, name: &StreamName) -> Reply {
    answer(request, name, View::Frame, html::POLICY_EMBED).await
}

async fn answer(request: &Request<'_>, name: &StreamName, view: View<'_>, policy: &str) -> Reply {
    let presentation = Presentation::shown_to(request, name.clone()).await;
    let page = render(&presentation, request.front.rtc.is_some(), view);
    html::answer(policy, presentation.status(), page)
}

/// Renders the page; if `has_webrtc`, it offers WebRTC as well.
fn render(presentation: &Presentation, has_webrtc: bool, view: View<'_>) -> String {
    let name = &presentation.name;
    let info = presentation.lead.as_ref();
    let said = |header| {
        let text = info.and_then(|info| StreamView::of(info).header(header));
        text.filter(|text| !text.is_empty())
    };
    let shown = said("name").unwrap_or(name.as_str());
    let title = presentation.title().map_or("", |title| title.text.as_str());
    let path = format!("/{name}/");
    let page = match view {
        View::Page(base) => {
            let description = match (said("description"), title) {
                (Some(text), _) => text.to_owned(),
                (None, "") => format!("Live on {}.", base.host()),
                (None, title) => title.to_owned(),
            };
            Page::new(&path, shown).described(&description, &format!("{base}{path}"))
        }
        View::Frame => Page::framed(&path, &embed_path(name), shown),
    };
    let page = page
        .reported(&info::document(presentation, has_webrtc))
        .script("player.js");
    page.render(&main(&page.up, shown, title, presentation))
}

/// Renders the contents of the page before its script runs, and all elements that the script fills.
fn main(up: &str, shown: &str, title: &str, presentation: &Presentation) -> String {
    let info = presentation.lead.as_ref();
    let has_video =
        info.is_some_and(|info| info.tracks.iter().any(|track| track.kind == Kind::Video));
    let status = match info {
        Some(_) => "Connecting.",
        None => "Not live. Waiting for the broadcaster.",
    };
    let hidden = |is_hidden| if is_hidden { " hidden" } else { "" };
    let label = escape(shown);
    let kind = if has_video { "picture" } else { "sound" };
    let (no_video, no_audio) = (hidden(!has_video), hidden(info.is_none() || has_video));
    let (no_title, no_addresses) = (hidden(title.is_empty()), hidden(info.is_none()));
    let title = escape(title);
    let links = links(presentation);
    let still = info.filter(|info| stills::may_exist(info)).map(|info| {
        let path = presentation.path_of(&info.name);
        format!(" src=\"{path}/{}\"", still::NAME)
    });
    let still = still.unwrap_or_default();
    format!(
        "<h1>{label}</h1>\n\
         <div id=\"player\" class=\"player\" data-kind=\"{kind}\"{no_addresses}>\n\
         <video id=\"video\" playsinline aria-label=\"{label}\"{no_video}></video>\n\
         <video id=\"still\" class=\"still\" muted playsinline preload=\"auto\" aria-hidden=\"true\" \
         tabindex=\"-1\"{still} hidden></video>\n\
         <audio id=\"audio\" preload=\"none\" aria-label=\"{label}\"{no_audio}></audio>\n\
         <img id=\"cover\" class=\"cover\" alt=\"\" hidden>\n\
         <canvas id=\"meter\" width=\"480\" height=\"48\" aria-hidden=\"true\" hidden></canvas>\n\
         <button id=\"start\" class=\"start\" type=\"button\" hidden>Play</button>\n\
         <button id=\"sound\" type=\"button\" hidden>Sound on</button>\n\
         {CONTROLS}</div>\n\
         <p id=\"status\" role=\"status\">{status}</p>\n\
         <p id=\"note\" hidden></p>\n\
         <p id=\"title\" class=\"title\"{no_title}>{title}</p>\n\
         <p id=\"listeners\" class=\"count\" hidden></p>\n\
         <ul id=\"notes\" class=\"notes\" hidden></ul>\n\
         <section id=\"players\"{no_addresses}>\n<h2>In a player</h2>\n\
         <ul id=\"addresses\" class=\"addresses\"></ul>\n\
         <noscript><p>The player of this page needs JavaScript. {links}</p></noscript>\n</section>\n\
         <section id=\"recordings\" hidden>\n<h2>Recordings</h2>\n\
         <video id=\"past\" controls playsinline preload=\"none\" hidden></video>\n\
         <p id=\"past-note\" role=\"status\"></p>\n\
         <ul id=\"recorded\" class=\"addresses\"></ul>\n\
         <p><button id=\"more-recorded\" type=\"button\" hidden>Show more</button></p>\n</section>\n\
         <details id=\"share\" hidden>\n<summary>QR code of this page</summary>\n\
         <div id=\"qr\"></div>\n</details>\n\
         <p class=\"elsewhere\"><a href=\"{up}\">All live streams</a></p>\n"
    )
}

/// Controls of the player. The script gives the buttons symbols and names, and shows those that are of use with the browser and
/// the stream.
const CONTROLS: &str = "<div id=\"controls\" class=\"controls\" role=\"group\" aria-label=\"Player\" hidden>\n\
     <button id=\"play\" type=\"button\">Play</button>\n\
     <button id=\"mute\" type=\"button\">Mute</button>\n\
     <input id=\"volume\" type=\"range\" min=\"0\" max=\"100\" step=\"5\" value=\"100\" aria-label=\"Volume\">\n\
     <span id=\"delay\" hidden></span>\n\
     <button id=\"go-live\" type=\"button\" hidden>Go live</button>\n\
     <span class=\"space\"></span>\n\
     <select id=\"quality\" aria-label=\"Quality\" hidden></select>\n\
     <select id=\"protocol\" aria-label=\"Protocol\" hidden></select>\n\
     <button id=\"cast\" type=\"button\" hidden>Play on another device</button>\n\
     <button id=\"pip\" type=\"button\" hidden>Picture in picture</button>\n\
     <button id=\"full-screen\" type=\"button\" hidden>Full screen</button>\n\
     </div>\n";

/// Renders the stream's addresses as links, for browsers without scripts.
fn links(presentation: &Presentation) -> String {
    let mut out = String::new();
    for one in info::addresses(presentation) {
        let text = |key: &str| escape(one[key].as_str().unwrap_or_default());
        out += &format!("<a href=\"{}\">{}</a> ", text("path"), text("label"));
    }
    out
}

#[cfg(test)]
mod tests {
    use media::StreamName;

    use super::*;

    #[test]
    fn a_stream_that_is_not_there_has_a_page_that_waits() {
        let absent = Presentation {
            name: StreamName::parse("live/show").expect("a name"),
            lead: None,
            qualities: None,
            past: None,
            needs_key: false,
            is_reported: true,
        };
        let base = "https://radio.example.com/tv".parse().expect("an address");
        let page = render(&absent, true, View::Page(&base));
        for part in [
            "Not live",
            "\"live\":false",
            "og:url\" content=\"https://radio.example.com/tv/live/show/\"",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        // No script stands in the page, and every link is relative.
        for part in ["<script>", "href=\"/", "src=\"/"] {
            assert!(!page.contains(part), "{part}: {page}");
        }
    }
}
