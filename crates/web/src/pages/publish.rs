//! `/{stream}/publish`: a page that publishes a camera or a screen, and a microphone, over WHIP.

use http::StatusCode;
use media::StreamName;
use serde_json::json;

use super::html::{self, Page, escape};
use crate::reply::Reply;
use crate::request::Request;
use crate::signalling::Way;

/// Path of the page below the stream.
const SUFFIX: &str = "/publish";

/// Video bitrates to choose from, in kb/s, and the default, which is for 720p at 30 frames per second.
const BITRATES: [u32; 6] = [500, 1_000, 1_500, 2_500, 4_000, 6_000];
const BITRATE_DEFAULT: u32 = 2_500;

/// Answers a request for the page.
pub(super) async fn answer(request: &Request<'_>, name: &StreamName) -> Reply {
    page(name, request.front.rtc.is_some())
}

/// Builds the page. Unless `is_served`, WebRTC is disabled and there is nothing to publish to.
fn page(name: &StreamName, is_served: bool) -> Reply {
    if !is_served {
        return html::nothing_by(
            html::POLICY_UNFRAMED,
            &path(name),
            "This server has WebRTC switched off, so a browser cannot publish to it.",
        );
    }
    html::answer(html::POLICY_UNFRAMED, StatusCode::OK, render(name))
}

fn path(name: &StreamName) -> String {
    format!("/{name}{SUFFIX}")
}

fn render(name: &StreamName) -> String {
    let label = escape(name.as_str());
    let bitrates: String = BITRATES
        .into_iter()
        .map(|bitrate| {
            let chosen = match bitrate {
                BITRATE_DEFAULT => " selected",
                _ => "",
            };
            format!("<option value=\"{bitrate}\"{chosen}>{bitrate} kb/s</option>\n")
        })
        .collect();
    let main = format!(
        "<h1>Publish {label}</h1>\n\
         <video id=\"preview\" muted autoplay playsinline hidden aria-label=\"Preview\"></video>\n\
         <p id=\"status\" role=\"status\">Starting.</p>\n\
         <p id=\"figures\" hidden></p>\n\
         <form id=\"publish\">\n\
         <p><label for=\"picture\">Picture</label>\n\
         <select id=\"picture\"><option value=\"camera\">Camera</option>\n\
         <option value=\"screen\">Screen</option><option value=\"none\">None</option></select></p>\n\
         <p id=\"camera-row\"><label for=\"camera\">Camera</label>\n\
         <select id=\"camera\"><option value=\"any\">Default camera</option></select></p>\n\
         <p id=\"bitrate-row\"><label for=\"bitrate\">Bitrate</label>\n\
         <select id=\"bitrate\">{bitrates}</select></p>\n\
         <p id=\"layers-row\"><label for=\"layers\">Several qualities</label>\n\
         <input id=\"layers\" type=\"checkbox\"> send the picture in half and in a quarter of its size, \
         too</p>\n\
         <p><label for=\"microphone\">Sound</label>\n\
         <select id=\"microphone\"><option value=\"any\">Default microphone</option>\n\
         <option value=\"screen\" hidden>Sound of the screen</option>\n\
         <option value=\"none\">None</option></select></p>\n\
         <p id=\"music-row\"><label for=\"music\">Music</label>\n\
         <input id=\"music\" type=\"checkbox\"> send the sound as it is, without echo and noise \
         removal</p>\n\
         <p><label for=\"key\">Key</label>\n\
         <input id=\"key\" type=\"password\" autocomplete=\"current-password\" required></p>\n\
         <p class=\"actions\"><button id=\"go\" type=\"submit\">Go on air</button>\n\
         <button id=\"stop\" type=\"button\" hidden>Stop</button></p>\n\
         </form>\n\
         <p><a href=\"./\">Watch {label}</a></p>\n\
         <noscript><p>Publishing from a browser needs JavaScript.</p></noscript>\n"
    );
    // The endpoint, relative to the page.
    Page::new(&path(name), &format!("Publish {name}"))
        .reported(&json!({ "path": Way::In.segment() }))
        .script("publish.js")
        .render(&main)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn the_page_tells_its_script_where_to_publish() {
        let name = StreamName::parse("live/show").expect("a name");
        let html = render(&name);
        assert!(html.contains("\"path\":\"whip\""), "{html}");
        assert!(html.contains("value=\"2500\" selected"), "{html}");
        assert!(!html.contains("<script>"), "no script stands in the page");
        let reply = page(&name, false);
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        let html = reply.body.collect().await.expect("a page").to_bytes();
        assert!(html.windows(12).any(|part| part == b"switched off"));
        assert_eq!(page(&name, true).status, StatusCode::OK);
    }
}
