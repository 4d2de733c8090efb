//! Playlists of one live body, for player programs that open files and links rather than addresses of audio.

use http::{StatusCode, Uri};
use reports::view::StreamView;

use super::html::nothing_here;
use super::xml::Xml;
use crate::listen::Target;
use crate::reply::Reply;
use crate::request::Request;

/// Format of a playlist.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Playlist {
    /// M3U: lines of addresses.
    M3u,
    /// XSPF version 1: XML with the stream's description of itself.
    Xspf,
    /// PLS: lines of names and values, as for Winamp.
    Pls,
    /// VCLT: lines of names and values, as Icecast writes them for tables of shows.
    Vclt,
}

impl Playlist {
    /// Returns the address of the body that a path is a playlist of, and the format.
    pub fn of(path: &str) -> Option<(&str, Self)> {
        let of = |suffix, playlist| Some((path.strip_suffix(suffix)?, playlist));
        of(".m3u", Self::M3u)
            .or_else(|| of(".xspf", Self::Xspf))
            .or_else(|| of(".pls", Self::Pls))
            .or_else(|| of(".vclt", Self::Vclt))
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::M3u => M3U,
            Self::Xspf => "application/xspf+xml; charset=utf-8",
            Self::Pls => "audio/x-scpls",
            Self::Vclt => "audio/x-vclt; charset=utf-8",
        }
    }
}

/// Media type of M3U, as in Icecast.
pub(super) const M3U: &str = "audio/x-mpegurl";

/// Builds the playlist of the body at `path`, if its stream is here.
pub(super) fn answer(request: &Request<'_>, path: &str, playlist: Playlist) -> Reply {
    let registry = &request.front.registry;
    let target = Target::find(path, registry).filter(|target| target.is_known(registry));
    let stream = target.and_then(|target| registry.stream(target.name()));
    let Some(stream) = stream else {
        return nothing_here(path, "There is no stream of this name.");
    };
    let url = format!("{}{path}", request.base());
    let text = match playlist {
        Playlist::M3u => format!("{url}\r\n"),
        Playlist::Xspf => xspf(&StreamView::of(&stream.info()), &url),
        Playlist::Pls => pls(&StreamView::of(&stream.info()), &url),
        Playlist::Vclt => vclt(&StreamView::of(&stream.info()), &url),
    };
    Reply::full(StatusCode::OK, playlist.content_type(), text)
}

fn pls(view: &StreamView<'_>, url: &str) -> String {
    let title = line(view.header("name").unwrap_or(view.name));
    format!(
        "[playlist]\r\nNumberOfEntries=1\r\nFile1={url}\r\nTitle1={title}\r\nLength1=-1\r\nVersion=2\r\n"
    )
}

fn vclt(view: &StreamView<'_>, url: &str) -> String {
    let said = |name| view.header(name).unwrap_or_default();
    let title = view.title.unwrap_or_default();
    let mut text = format!("STREAMURL={url}\n");
    if !title.is_empty() {
        text.push_str(&format!("TITLE={}\n", line(title)));
    }
    text + &format!(
        "SERVER_NAME={}\nDESCRIPTION={}\nSIGNALINFO={}\nGENRE={}\n==\n",
        line(said("name")),
        line(said("description")),
        line(said("audio-info")),
        line(said("genre"))
    )
}

/// Returns the text on one line: no part of it can begin another.
fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn xspf(view: &StreamView<'_>, url: &str) -> String {
    let mut xml = Xml::document();
    let namespace = [("xmlns", "http://xspf.org/ns/0/"), ("version", "1")];
    let name = view.header("name").unwrap_or(view.name);
    xml.element("playlist", &namespace, |xml| {
        xml.text("title", name);
        xml.element("trackList", &[], |xml| {
            xml.element("track", &[], |xml| {
                xml.text("location", url);
                xml.text("title", view.title.unwrap_or_default());
                xml.text("annotation", &annotation(view));
                // Players open the link, so one that is no web address is left out.
                let link = view.header("url").filter(|url| is_web(url));
                if let Some(link) = link {
                    xml.text("info", link);
                }
            });
        });
    });
    xml.end()
}

fn is_web(url: &str) -> bool {
    let uri = url.parse::<Uri>();
    uri.is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")))
}

/// Returns Icecast's text for this element, to the letter.
fn annotation(view: &StreamView<'_>) -> String {
    let said = |name: &str| view.header(name).map(str::to_owned);
    let lines = [
        ("Stream Title: ", said("name")),
        ("Stream Description: ", said("description")),
        ("Content Type:", Some(view.content_type.to_owned())),
        ("Current Listeners: ", Some(view.listeners.to_string())),
        ("Peak Listeners: ", Some(view.listeners_peak.to_string())),
        ("Stream Genre: ", said("genre")),
    ];
    let lines = lines.into_iter();
    let lines = lines.filter_map(|(label, value)| Some(format!("{label}{}", value?)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_is_the_kind() {
        assert_eq!(Playlist::of("/a.mp3.m3u"), Some(("/a.mp3", Playlist::M3u)));
        assert_eq!(Playlist::of("/a.xspf"), Some(("/a", Playlist::Xspf)));
        assert_eq!(Playlist::of("/a.pls"), Some(("/a", Playlist::Pls)));
        assert_eq!(Playlist::of("/a/index.m3u8"), None);
        assert_eq!(line("a\r\nFile2=b"), "a  File2=b");
    }

    #[test]
    fn a_table_of_shows_has_the_title_if_there_is_one() {
        let mut info = crate::status::tests::info("a.mp3");
        let title = |text: &str| media::Title {
            text: text.to_owned(),
            url: String::new(),
        };
        info.title = Some(std::sync::Arc::new(title("One\n==")));
        let text = vclt(&StreamView::of(&info), "http://h/a.mp3");
        let words = "STREAMURL=http://h/a.mp3\nTITLE=One ==\nSERVER_NAME=";
        assert!(text.contains(words), "{text}");
        info.title = None;
        let text = vclt(&StreamView::of(&info), "http://h/a.mp3");
        assert!(!text.contains("TITLE"), "{text}");
    }

    #[test]
    fn only_web_addresses_are_linked() {
        assert!(is_web("https://radio.example/a?b"));
        for text in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "radio.example",
            "",
        ] {
            assert!(!is_web(text), "{text}");
        }
    }
}
