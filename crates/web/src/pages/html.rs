//! HTML pages: their common parts, and the escaping of untrusted text.

use std::borrow::Cow;

use http::{StatusCode, header};
use serde_json::Value;

use crate::base_url::way_up;
use crate::reply::Reply;

/// Builds a Content-Security-Policy that allows only content from this server, media that a script makes from it, and the
/// directives given.
macro_rules! policy {
    ($($directive:literal),*) => {
        concat!(
            "default-src 'self'; media-src 'self' blob:; object-src 'none'"
            $(, "; ", $directive)*
        )
    };
}

/// Directive for media sources, as contained in each policy.
const MEDIA: &str = "media-src 'self' blob:";

pub(super) const POLICY: &str =
    policy!("base-uri 'none'", "form-action 'none'", "frame-ancestors *");

/// Policy of the list, whose search form leads to itself.
pub(super) const POLICY_LIST: &str =
    policy!("base-uri 'none'", "form-action 'self'", "frame-ancestors *");

/// Policy of the player: a title may name cover art, which may be on any server.
pub(super) const POLICY_PLAYER: &str = policy!(
    "worker-src 'self' blob:",
    "img-src 'self' http: https:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors *"
);

/// Policy of the embedded player: addresses in it are relative to the player page's.
pub(super) const POLICY_EMBED: &str = policy!(
    "worker-src 'self' blob:",
    "img-src 'self' http: https:",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors *"
);

/// Policy of a page that must not be framed, so that no other page can lead people to press its buttons.
pub(super) const POLICY_UNFRAMED: &str = policy!(
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
);

/// Returns the policy of the player page. `media` is another origin for media: the storage that holds the stream's recordings.
pub(super) fn player_policy(media: Option<&str>) -> Cow<'static, str> {
    let Some(origin) = media else {
        return POLICY_PLAYER.into();
    };
    let media = format!("{MEDIA} {origin}");
    POLICY_PLAYER.replacen(MEDIA, &media, 1).into()
}

/// Wraps a page in a reply.
pub(super) fn answer(policy: &str, status: StatusCode, page: String) -> Reply {
    Reply::full(status, "text/html; charset=utf-8", page)
        .with(header::CONTENT_SECURITY_POLICY, policy)
        .with(header::REFERRER_POLICY, "same-origin")
}

/// Page without its main part. Its links are relative, and so work under any path prefix.
pub(super) struct Page {
    /// Relative path to `/`.
    pub(super) up: String,
    title: String,
    head: String,
    /// Class attribute of the whole document.
    class: &'static str,
    /// Base of relative links, if it differs from the page's own address.
    base: Option<String>,
}

impl Page {
    /// Creates the page at `path`.
    pub(super) fn new(path: &str, title: &str) -> Self {
        Self {
            up: way_up(path),
            title: escape(title),
            head: String::new(),
            class: "",
            base: None,
        }
    }

    /// Creates the page at `path`, sent at `sent_at` as a frame in other pages: only its player is shown.
    pub(super) fn framed(path: &str, sent_at: &str, title: &str) -> Self {
        let base = format!("{}{}", way_up(sent_at), path.trim_start_matches('/'));
        Self {
            class: " class=\"embedded\"",
            base: Some(base),
            ..Self::new(path, title)
        }
    }

    /// Adds a description for search engines and link previews. `url` is the page's own.
    pub(super) fn described(mut self, description: &str, url: &str) -> Self {
        let (description, url) = (escape(description), escape(url));
        self.head += &format!(
            "<meta name=\"description\" content=\"{description}\">\n\
             <meta property=\"og:title\" content=\"{}\">\n\
             <meta property=\"og:description\" content=\"{description}\">\n\
             <meta property=\"og:type\" content=\"website\">\n\
             <meta property=\"og:url\" content=\"{url}\">\n",
            self.title,
        );
        self
    }

    /// Makes the page as wide as the window, for many things side by side.
    pub(super) fn wide(mut self) -> Self {
        self.class = " class=\"wide\"";
        self
    }

    /// Adds one of the server's scripts.
    pub(super) fn script(mut self, name: &str) -> Self {
        self.head += &format!("<script src=\"{}_/{name}\" defer></script>\n", self.up);
        self
    }

    /// Adds data for the page's scripts.
    pub(super) fn reported(mut self, value: &Value) -> Self {
        self.head += "<script type=\"application/json\" id=\"offer\">";
        self.head += &format!("{}</script>\n", inert(value));
        self
    }

    /// Renders the whole page.
    pub(super) fn render(&self, main: &str) -> String {
        let Self {
            up,
            title,
            head,
            class,
            base,
        } = self;
        let base = base.as_ref();
        let base = base.map_or_else(String::new, |base| format!("<base href=\"{base}\">\n"));
        format!(
            "<!doctype html>\n<html lang=\"en\"{class}>\n<head>\n<meta charset=\"utf-8\">\n{base}\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<link rel=\"icon\" href=\"{up}_/icon.svg\">\n\
             <link rel=\"stylesheet\" href=\"{up}_/style.css\">\n{head}</head>\n\
             <body>\n<main>\n{main}</main>\n<footer>Carillon</footer>\n</body>\n</html>\n"
        )
    }
}

/// Builds the page for an address that has none.
pub(super) fn nothing_here(path: &str, why: &str) -> Reply {
    nothing_by(POLICY, path, why)
}

/// Builds the page for an address that has none, with a policy of its own.
pub(super) fn nothing_by(policy: &str, path: &str, why: &str) -> Reply {
    let page = Page::new(path, "Not found");
    let (why, up) = (escape(why), &page.up);
    let main = format!("<h1>Not found</h1>\n<p>{why} <a href=\"{up}\">All live streams</a></p>\n");
    answer(policy, StatusCode::NOT_FOUND, page.render(&main))
}

/// Renders JSON that cannot close the element around it, whatever its strings contain.
fn inert(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// Escapes text for HTML, between tags and in quoted attributes alike.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place() {
        let escaped = escape("<script>\"'&\u{0}\n");
        assert_eq!(escaped, "&lt;script&gt;&quot;&#39;&amp;  ");
    }

    #[test]
    fn json_stays_in_its_element() {
        let value = serde_json::json!({ "type": "</script><script>alert(1)//<!--&" });
        let text = inert(&value);
        assert!(!text.contains(['<', '>', '&']), "{text}");
        let read: Value = serde_json::from_str(&text).expect("still JSON");
        assert_eq!(read, value);
    }
}
