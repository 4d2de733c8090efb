//! Request forms of YP, as Icecast 2.4 sends them, and the headers of responses.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::Full;
use net::url::Url;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::directory::Entry;
use crate::directory::registration::{Answer, Ask};

/// Characters escaped in a form: all but letters and digits.
const ESCAPED: &AsciiSet = NON_ALPHANUMERIC;

/// Longest identifier kept, in bytes; directories send numbers.
const SID_BYTES_MAX: usize = 256;

/// Builds a request to a directory.
pub(crate) fn request(
    url: &Url,
    ask: &Ask,
    entry: &Entry,
) -> Result<Request<Full<Bytes>>, http::Error> {
    net::http_client::request(Method::POST, url)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "*/*")
        .body(Full::from(form(ask, entry)))
}

fn form(ask: &Ask, entry: &Entry) -> String {
    let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    let of = |fields: &[(&str, &str)]| {
        let fields = fields.iter();
        let fields: Vec<_> = fields
            .map(|(name, text)| format!("{name}={}", escaped(text)))
            .collect();
        fields.join("&")
    };
    match ask {
        Ask::Add => {
            let fields = of(&[
                ("action", "add"),
                ("sn", &entry.name),
                ("genre", &entry.genre),
                ("cpswd", ""),
                ("desc", &entry.description),
                ("url", &entry.url),
                ("listenurl", &entry.listen_url),
                ("type", &entry.media_type),
                ("stype", &entry.subtype),
                ("b", &entry.bitrate),
            ]);
            // Icecast ends this form and the next one with a line break.
            format!("{fields}&{}\r\n", entry.audio_info)
        }
        Ask::Touch(sid) => {
            let fields = of(&[
                ("action", "touch"),
                ("sid", sid),
                ("st", &entry.title),
                ("listeners", &entry.listeners.to_string()),
                ("max_listeners", &entry.listeners_max.to_string()),
                ("stype", &entry.subtype),
            ]);
            format!("{fields}\r\n")
        }
        Ask::Remove(sid) => of(&[("action", "remove"), ("sid", sid)]),
    }
}

/// Reads a directory's answer, and its message for people.
pub(crate) fn answer(headers: &HeaderMap) -> (Answer, String) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let sid = text("sid").filter(|sid| !sid.is_empty() && sid.len() <= SID_BYTES_MAX);
    let touch = text("touchfreq").and_then(|text| text.trim().parse().ok());
    let answer = Answer {
        is_yes: text("ypresponse").is_some_and(|text| text.trim() == "1"),
        sid: sid.map(str::to_owned),
        touch: touch.map(Duration::from_secs),
    };
    (answer, text("ypmessage").unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_of_icecast() {
        let entry = Entry {
            name: "Näme & co".to_owned(),
            genre: "Tones".to_owned(),
            description: "Some text".to_owned(),
            url: "http://radio.example/".to_owned(),
            listen_url: "http://localhost:8000/r.ogg".to_owned(),
            media_type: "application/ogg".to_owned(),
            subtype: "Vorbis".to_owned(),
            bitrate: "112".to_owned(),
            title: "Band - Two".to_owned(),
            listeners: 3,
            listeners_max: 100,
            ..Entry::default()
        };
        let sid = || "47-11".to_owned();
        let added = "action=add&sn=N%C3%A4me%20%26%20co&genre=Tones&cpswd=&desc=Some%20text\
             &url=http%3A%2F%2Fradio%2Eexample%2F\
             &listenurl=http%3A%2F%2Flocalhost%3A8000%2Fr%2Eogg\
             &type=application%2Fogg&stype=Vorbis&b=112&\r\n";
        assert_eq!(form(&Ask::Add, &entry), added);
        let touched = "action=touch&sid=47%2D11&st=Band%20%2D%20Two&listeners=3&max_listeners=100&stype=Vorbis\r\n";
        assert_eq!(form(&Ask::Touch(sid()), &entry), touched);
        let removed = form(&Ask::Remove(sid()), &entry);
        assert_eq!(removed, "action=remove&sid=47%2D11");
    }

    #[test]
    fn answers_are_in_headers() {
        let mut headers = HeaderMap::new();
        assert!(!answer(&headers).0.is_yes);
        for (name, value) in [
            ("ypresponse", "1"),
            ("ypmessage", "Added"),
            ("sid", "4711"),
            ("touchfreq", " 250"),
        ] {
            headers.insert(name, value.parse().expect("a value"));
        }
        let (reported, message) = answer(&headers);
        assert!(reported.is_yes);
        assert_eq!(reported.sid.as_deref(), Some("4711"));
        assert_eq!(reported.touch, Some(Duration::from_secs(250)));
        assert_eq!(message, "Added");
    }
}
