//! `/`: the public streams as cards, with a search that also works without scripts.
//!
//! The script keeps the cards up to date from `/api/v1/public/streams`. It makes new ones from the page's template, so the form
//! of a card is defined here alone.

use std::time::SystemTime;

use config::BaseUrl;
use http::StatusCode;

use super::html::{self, Page, escape};
use super::public::{self, PublicStream};
use super::still;
use crate::reply::Reply;
use crate::request::Request;

/// Number of cards whose still is loaded with the page; the script loads the stills of others when they come into view.
const STILLS_AT_ONCE: usize = 12;

/// Maximum length of a search in characters.
const SEARCH_CHARS_MAX: usize = 100;

/// Symbols that stand in for a missing still: a screen and a note, in a square of 24 units.
const SCREEN: &str = "M3 5h18v12H3zM5 7v8h14V7zM8 19h8v1.5H8zM10 8.5v5l4.5-2.5z";
const NOTE: &str = "M9 4l11-2v13.5a3 3 0 1 1-2-2.8V6.4L11 7.7v10.8a3 3 0 1 1-2-2.8z";

/// Builds the page for a request's query.
pub(super) async fn answer(request: &Request<'_>) -> Reply {
    let (infos, base) = (public::streams(&request.front.registry), request.base());
    let streams = infos
        .iter()
        .map(|info| PublicStream::of(info, false, &base));
    let streams: Vec<_> = streams.collect();
    let search = request.parameters().get("q").unwrap_or_default();
    let search: String = search.trim().chars().take(SEARCH_CHARS_MAX).collect();
    let page = render(&streams, &search, &base, SystemTime::now());
    html::answer(html::POLICY_LIST, StatusCode::OK, page)
}

fn render(streams: &[PublicStream<'_>], search: &str, base: &BaseUrl, now: SystemTime) -> String {
    let words = search.to_lowercase();
    let shown: Vec<_> = streams.iter().filter(|one| has_all(one, &words)).collect();
    let cards = shown.iter().enumerate();
    let cards = cards.map(|(at, stream)| card(stream, at < STILLS_AT_ONCE, now));
    let (cards, blank) = (cards.collect::<String>(), blank_card());
    let hidden = |is_hidden| if is_hidden { " hidden" } else { "" };
    let no_empty = hidden(!streams.is_empty());
    let no_search = hidden(streams.is_empty());
    let no_match = hidden(streams.is_empty() || !shown.is_empty());
    let count = count(shown.len(), streams.len());
    let search = escape(search);
    let main = format!(
        "<div class=\"top\">\n<h1>Live now</h1>\n\
         <form id=\"search\" class=\"search\" role=\"search\" action=\"./\" method=\"get\"{no_search}>\n\
         <label for=\"q\">Search</label>\n\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{search}\" maxlength=\"{SEARCH_CHARS_MAX}\" \
         placeholder=\"Search\" autocomplete=\"off\">\n\
         <noscript><button type=\"submit\">Search</button></noscript>\n</form>\n</div>\n\
         <p id=\"count\" class=\"count\" role=\"status\"{no_search}>{count}</p>\n\
         <div id=\"empty\" class=\"empty\"{no_empty}>\n<p>Nothing is live at the moment.</p>\n\
         <p>A stream appears here by itself as soon as its broadcaster is on air.</p>\n</div>\n\
         <p id=\"no-match\" class=\"empty\"{no_match}>No live stream matches this search. \
         <a href=\"./\">Show all</a></p>\n\
         <ul id=\"streams\" class=\"streams\">\n{cards}</ul>\n\
         <template id=\"card\">{blank}</template>\n"
    );
    let host = base.host();
    let description = match streams.len() {
        1 => format!("One live stream on {host}."),
        count => format!("{count} live streams on {host}."),
    };
    Page::new("/", "Live now")
        .wide()
        .described(&description, &format!("{base}/"))
        .script("list.js")
        .render(&main)
}

/// Whether a stream's texts contain all words of a search, which is in lower case.
fn has_all(stream: &PublicStream<'_>, words: &str) -> bool {
    let texts = [
        Some(stream.name),
        Some(stream.display_name),
        stream.description,
        stream.title,
    ];
    let texts = texts.map(|text| text.unwrap_or_default().to_lowercase());
    words
        .split_whitespace()
        .all(|word| texts.iter().any(|text| text.contains(word)))
}

fn count(shown: usize, all: usize) -> String {
    match (shown, all) {
        (1, 1) => "1 stream".to_owned(),
        (shown, all) if shown == all => format!("{all} streams"),
        (shown, all) => format!("{shown} of {all} streams"),
    }
}

/// Entry of the list; the texts are escaped.
#[derive(Default)]
struct Card<'a> {
    name: &'a str,
    kind: &'static str,
    /// Attributes of the video element.
    video: &'a str,
    shown: &'a str,
    title: &'a str,
    listeners: &'a str,
    since: &'a str,
    age: &'a str,
    format: &'a str,
}

fn card(stream: &PublicStream<'_>, is_first: bool, now: SystemTime) -> String {
    let preload = if is_first { "auto" } else { "none" };
    let video = match stream.has_still() {
        true => format!(
            " preload=\"{preload}\" src=\"./{}/{}\"",
            stream.name,
            still::NAME
        ),
        false => " hidden".to_owned(),
    };
    let listeners = match stream.listeners {
        1 => "1 listener".to_owned(),
        count => format!("{count} listeners"),
    };
    let title = stream.title.or(stream.description).unwrap_or_default();
    let seconds = now.duration_since(stream.began()).unwrap_or_default();
    Card {
        name: stream.name,
        kind: match stream.has_picture() {
            true => "picture",
            false => "sound",
        },
        video: &video,
        shown: &escape(stream.display_name),
        title: &escape(title),
        listeners: &listeners,
        since: stream.since(),
        age: &age(seconds.as_secs()),
        format: &escape(stream.format()),
    }
    .render()
}

/// Renders the empty card that the script fills.
fn blank_card() -> String {
    Card {
        kind: "sound",
        video: " preload=\"none\" hidden",
        ..Card::default()
    }
    .render()
}

impl Card<'_> {
    fn render(&self) -> String {
        let Self {
            name,
            kind,
            video,
            shown,
            title,
            listeners,
            since,
            age,
            format,
        } = self;
        format!(
            "<li class=\"card\" data-name=\"{name}\" data-kind=\"{kind}\">\n\
             <div class=\"thumb\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
             <path class=\"screen\" d=\"{SCREEN}\"/><path class=\"note\" d=\"{NOTE}\"/></svg>\
             <video muted playsinline aria-hidden=\"true\" tabindex=\"-1\"{video}></video></div>\n\
             <h2><a href=\"./{name}/\">{shown}</a></h2>\n\
             <p class=\"title\">{title}</p>\n\
             <p class=\"facts\"><span class=\"listeners\">{listeners}</span> · \
             <time datetime=\"{since}\">{age}</time></p>\n\
             <p class=\"format\">{format}</p>\n</li>\n"
        )
    }
}

/// Formats the time for which a stream has been live: `live for 12 min`.
fn age(seconds: u64) -> String {
    let minutes = seconds / 60;
    match (minutes / (24 * 60), minutes / 60, minutes) {
        (0, 0, 0) => "just went live".to_owned(),
        (0, 0, minutes) => format!("live for {minutes} min"),
        (0, hours, minutes) => format!("live for {hours} h {} min", minutes % 60),
        (1, ..) => "live for a day".to_owned(),
        (days, ..) => format!("live for {days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_is_reported_roughly() {
        for (seconds, expected) in [
            (0, "just went live"),
            (59, "just went live"),
            (60, "live for 1 min"),
            (3_599, "live for 59 min"),
            (3_660, "live for 1 h 1 min"),
            (86_399, "live for 23 h 59 min"),
            (86_400, "live for a day"),
            (180_000, "live for 2 days"),
        ] {
            assert_eq!(age(seconds), expected);
        }
    }

    #[test]
    fn an_empty_list_says_so() {
        let base = "https://radio.example.com/tv".parse().expect("an address");
        let page = render(&[], "", &base, SystemTime::now());
        for part in [
            "class=\"empty\">\n<p>Nothing is live",
            "id=\"no-match\" class=\"empty\" hidden",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script>"), "no script stands in the page");
    }
}
