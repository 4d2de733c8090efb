//! `/`: the public streams.

use std::fmt::Write;

use config::BaseUrl;
use fanout::{Info, Registry};

use super::html::{Page, escape};
use crate::http::status::STREAMS_MAX;
use crate::view::StreamView;

pub(super) fn page(registry: &Registry, base: &BaseUrl) -> String {
    let infos = registry.list().into_iter().map(|stream| stream.info());
    let public: Vec<_> = infos
        .filter(|info| info.settings.public && info.is_on_air())
        .take(STREAMS_MAX)
        .collect();
    render(&public, base)
}

fn render(infos: &[Info], base: &BaseUrl) -> String {
    let mut main = String::from("<h1>Live now</h1>\n");
    if infos.is_empty() {
        main.push_str("<p class=\"empty\">Nothing is live. The page looks again by itself.</p>\n");
    } else {
        main.push_str("<ul class=\"streams\">\n");
        infos.iter().for_each(|info| entry(&mut main, info));
        main.push_str("</ul>\n");
    }
    let page = Page::new("/", "Live now");
    let host = base.host();
    let description = match infos.len() {
        1 => format!("One live stream on {host}."),
        count => format!("{count} live streams on {host}."),
    };
    page.described(&description, &format!("{base}/"))
        .script("list.js")
        .render(&main)
}

fn entry(out: &mut String, info: &Info) {
    let view = StreamView::of(info);
    let name = escape(view.name);
    let shown = view.header("name").filter(|text| !text.is_empty());
    let shown = shown.map_or_else(|| name.clone(), escape);
    let listeners = match view.listeners {
        1 => "1 listener".to_owned(),
        count => format!("{count} listeners"),
    };
    write!(
        out,
        "<li><a href=\"./{name}/\">{shown}</a> <span class=\"count\">{listeners}</span>"
    )
    .expect("a String takes all text");
    for detail in [view.header("description"), view.title]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
    {
        write!(out, "<br><span class=\"detail\">{}</span>", escape(detail))
            .expect("a String takes all text");
    }
    out.push_str("</li>\n");
}
