//! Administration pages for people: facts as tables, and buttons for changes. Plain HTML without scripts; each change is a form
//! of its own.

use http::StatusCode;

use super::sheet::{Facts, Outcome, Sheet, Source};
use crate::pages::html::{self, Page, escape};
use crate::reply::Reply;

/// Policy that allows only this server's style; the forms lead to this server, and no other page can frame these pages and lead
/// people to press their buttons.
const POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

/// Address of a page, and its audience.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) path: &'static str,
    pub(super) title: &'static str,
    /// Whether the page is the operator's and has buttons.
    pub(super) is_operators: bool,
    /// Whether the page has a form for the title of each source.
    pub(super) asks_title: bool,
}

impl Sheet {
    pub(super) fn page(&self, place: Place) -> Reply {
        let page = Page::new(place.path, place.title);
        let mut main = format!("<h1>{}</h1>\n", place.title);
        navigation(&mut main, &page.up, place.is_operators);
        if let Some(from) = &self.moved_from {
            main.push_str(&where_to(from, self.sources.is_empty()));
        } else if !self.server.is_empty() {
            main.push_str("<h2 id=\"server\">Server</h2>\n");
            table(&mut main, "server", &self.server);
        } else if self.sources.is_empty() {
            main.push_str("<p>No source is connected.</p>\n");
        }
        for (at, source) in self.sources.iter().enumerate() {
            let id = format!("source-{at}");
            write_source(&mut main, source, &id, &page.up, place);
            match &self.moved_from {
                Some(from) => main.push_str(&move_button(from, &source.mount)),
                None if place.is_operators => main.push_str(&end_button(&source.mount)),
                None => {}
            }
            write_facts(&mut main, source, &id, place);
        }
        answer(page.render(&main))
    }
}

impl Outcome {
    pub(super) fn page(&self, place: Place) -> Reply {
        let page = Page::new(place.path, place.title);
        let mut main = format!("<h1>{}</h1>\n", place.title);
        let words = escape(&self.words);
        let failed = if self.is_done { "" } else { "Failed: " };
        main += &format!("<p role=\"status\">{failed}{words}</p>\n");
        navigation(&mut main, &page.up, true);
        answer(page.render(&main))
    }
}

fn answer(page: String) -> Reply {
    html::answer(POLICY, StatusCode::OK, page)
}

fn navigation(out: &mut String, up: &str, is_operators: bool) {
    let links: &[(&str, &str)] = match is_operators {
        true => &[
            ("admin/stats.xsl", "All figures"),
            ("admin/listmounts.xsl", "Sources"),
            ("status.xsl", "Public page"),
        ],
        false => &[
            ("status.xsl", "Server status"),
            ("server_version.xsl", "Version"),
            ("admin/stats.xsl", "Administration"),
        ],
    };
    *out += "<nav aria-label=\"Pages\">\n<ul class=\"addresses\">\n";
    for (path, label) in links {
        *out += &format!("<li><a href=\"{up}{path}\">{label}</a></li>\n");
    }
    *out += "</ul>\n</nav>\n";
}

/// Writes names and values; `label` is the id of the element that labels the table.
fn table(out: &mut String, label: &str, facts: &Facts) {
    *out += &format!(
        "<div class=\"table\" role=\"region\" aria-labelledby=\"{label}\" tabindex=\"0\">\n<table>\n<tbody>\n"
    );
    for (name, text) in facts {
        let (name, text) = (escape(name), escape(text));
        *out += &format!("<tr><th scope=\"row\">{name}</th><td>{text}</td></tr>\n");
    }
    *out += "</tbody>\n</table>\n</div>\n";
}

fn write_source(out: &mut String, source: &Source, id: &str, up: &str, place: Place) {
    let mount = escape(&source.mount);
    // A stream's name needs no escaping in addresses.
    let name = mount.trim_start_matches('/');
    *out += &format!("<h2 id=\"{id}\">{mount}</h2>\n<ul class=\"addresses\">\n");
    for kind in ["m3u", "pls", "xspf"] {
        let label = kind.to_uppercase();
        *out += &format!("<li><a href=\"{up}{name}.{kind}\">{label}</a></li>\n");
    }
    if place.is_operators {
        for (page, label) in [
            ("stats", "Figures"),
            ("listclients", "Listeners"),
            ("updatemetadata", "Title"),
            ("moveclients", "Move listeners"),
        ] {
            *out += &format!("<li><a href=\"{page}.xsl?mount={mount}\">{label}</a></li>\n");
        }
    }
    *out += "</ul>\n";
}

fn write_facts(out: &mut String, source: &Source, id: &str, place: Place) {
    if place.asks_title {
        title_form(out, id, &source.mount);
    }
    if !source.facts.is_empty() {
        table(out, id, &source.facts);
    }
    if let Some(listeners) = &source.listeners {
        write_listeners(out, source, listeners, id);
    }
}

/// Describes the purpose of the sources listed below.
fn where_to(from: &str, is_alone: bool) -> String {
    let from = escape(from);
    match is_alone {
        true => format!("<p>There is no other source to move the listeners of {from} to.</p>\n"),
        false => format!("<p>The listeners of {from} hear the source that you choose.</p>\n"),
    }
}

fn move_button(from: &str, to: &str) -> String {
    let fields = [("mount", from), ("destination", to)];
    let label = format!("Move to {}", escape(to));
    form("moveclients.xsl", &fields, &label)
}

fn end_button(mount: &str) -> String {
    let label = format!("End {}", escape(mount));
    form("killsource.xsl", &[("mount", mount)], &label)
}

/// Builds a button, with the fields that it sends.
fn form(path: &str, fields: &[(&str, &str)], label: &str) -> String {
    let mut out = format!("<form action=\"{path}\" method=\"get\">");
    for (name, value) in fields {
        let value = escape(value);
        out += &format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
    }
    out + &format!("<button type=\"submit\">{label}</button></form>\n")
}

fn title_form(out: &mut String, id: &str, mount: &str) {
    let mount = escape(mount);
    *out += &format!(
        "<form class=\"filter\" action=\"metadata\" method=\"get\">\n\
         <input type=\"hidden\" name=\"mount\" value=\"{mount}\">\n\
         <input type=\"hidden\" name=\"mode\" value=\"updinfo\">\n\
         <input type=\"hidden\" name=\"charset\" value=\"UTF-8\">\n\
         <p><label for=\"{id}-song\">Title</label>\n\
         <input id=\"{id}-song\" name=\"song\" autocomplete=\"off\"></p>\n\
         <p><button type=\"submit\">Set</button></p>\n</form>\n"
    );
}

fn write_listeners(out: &mut String, source: &Source, listeners: &[Facts], id: &str) {
    if listeners.is_empty() {
        *out += "<p>Nobody listens.</p>\n";
        return;
    }
    *out += &format!(
        "<div class=\"table\" role=\"region\" aria-labelledby=\"{id}\" tabindex=\"0\">\n<table>\n<thead><tr>\
         <th scope=\"col\">Address</th><th scope=\"col\">Seconds</th><th scope=\"col\">Program</th>\
         <th scope=\"col\">Actions</th></tr></thead>\n<tbody>\n"
    );
    for listener in listeners {
        let of = |name: &str| {
            let found = listener.iter().find(|(known, _)| known == name);
            found.map_or("", |(_, text)| text)
        };
        let fields = [("mount", source.mount.as_str()), ("id", of("ID"))];
        let label = format!("Remove {}", escape(of("ID")));
        *out += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(of("IP")),
            escape(of("Connected")),
            escape(of("UserAgent")),
            form("killclient.xsl", &fields, &label)
        );
    }
    *out += "</tbody>\n</table>\n</div>\n";
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const PLACE: Place = Place {
        path: "/admin/listclients.xsl",
        title: "Listeners",
        is_operators: true,
        asks_title: true,
    };

    async fn text(reply: Reply) -> String {
        let bytes = reply.body.collect().await.expect("a page").to_bytes();
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    fn sheet() -> Sheet {
        let fact = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let listener = vec![
            fact("IP", "192.0.2.1"),
            fact("UserAgent", "<script>\"x\""),
            fact("Connected", "7"),
            fact("ID", "41"),
        ];
        Sheet {
            server: Facts::new(),
            sources: vec![Source {
                mount: "/live/a".to_owned(),
                facts: vec![fact("title", "A & <b>")],
                listeners: Some(vec![listener]),
            }],
            moved_from: None,
        }
    }

    #[tokio::test]
    async fn pages_have_buttons_for_operators_and_no_text_leaves_its_place() {
        let page = text(sheet().page(PLACE)).await;
        for part in [
            "<a href=\"../live/a.m3u\">M3U</a>",
            "<th scope=\"row\">title</th><td>A &amp; &lt;b&gt;</td>",
            "<td>&lt;script&gt;&quot;x&quot;</td>",
            "name=\"id\" value=\"41\"><button type=\"submit\">Remove 41</button>",
            "<button type=\"submit\">End /live/a</button>",
            "<label for=\"source-0-song\">Title</label>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let public = Place {
            is_operators: false,
            asks_title: false,
            ..PLACE
        };
        let page = text(sheet().page(public)).await;
        let has_buttons = page.contains("killsource");
        assert!(page.contains("M3U") && !has_buttons, "{page}");
        let empty = text(Sheet::default().page(public)).await;
        assert!(empty.contains("No source is connected."), "{empty}");
    }

    #[tokio::test]
    async fn destinations_have_a_button_each_and_none_that_ends_them() {
        let place = Place {
            path: "/admin/moveclients.xsl",
            title: "Move listeners",
            asks_title: false,
            ..PLACE
        };
        let mut sheet = sheet();
        sheet.moved_from = Some("/live/b".to_owned());
        let page = text(sheet.page(place)).await;
        for part in [
            "<p>The listeners of /live/b hear the source that you choose.</p>",
            "<form action=\"moveclients.xsl\" method=\"get\">\
             <input type=\"hidden\" name=\"mount\" value=\"/live/b\">\
             <input type=\"hidden\" name=\"destination\" value=\"/live/a\">\
             <button type=\"submit\">Move to /live/a</button></form>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("killsource"), "{page}");
        sheet.sources.clear();
        let page = text(sheet.page(place)).await;
        assert!(page.contains("There is no other source"), "{page}");
    }

    #[tokio::test]
    async fn outcomes_are_reported_in_both_forms() {
        let outcome = Outcome::new("Client <7> not found", false);
        let page = text(outcome.page(PLACE)).await;
        let words = "<p role=\"status\">Failed: Client &lt;7&gt; not found</p>";
        assert!(page.contains(words), "{page}");
        let xml = text(outcome.xml()).await;
        let words = "<message>Client &lt;7&gt; not found</message><return>0</return>";
        assert!(xml.contains(words), "{xml}");
    }
}
