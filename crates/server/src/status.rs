//! `/status-json.xsl`: the public streams in Icecast 2.4's words, for the programs that poll them.
//!
//! `source` is absent without streams, an object with one, an array with several, as Icecast has
//! it. Numbers are numbers, everything else is a string, and all of it is valid JSON always.

use std::sync::Arc;
use std::time::SystemTime;

use fanout::{Info, Phase, Registry};
use media::Kind;
use serde_json::{Map, Value, json};

use crate::config::BaseUrl;
use crate::stamp;

/// Streams told of at once, here and on the page that lists them. More than that nobody reads, and
/// everybody may ask as often as they like.
pub(crate) const STREAMS_MAX: usize = 1_000;

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// The address by which the server was reached.
    pub(crate) base: &'a BaseUrl,
    /// Only this mount, with its leading `/`.
    pub(crate) mount: Option<&'a str>,
    /// The Server header.
    pub(crate) server: &'a str,
    /// When the server started.
    pub(crate) started: SystemTime,
}

/// The document.
pub(crate) fn document(registry: &Registry, question: Question<'_>) -> Value {
    let infos = registry.list().into_iter().map(|stream| stream.info());
    render(infos, question)
}

fn render(infos: impl Iterator<Item = Info>, question: Question<'_>) -> Value {
    let wanted = |info: &Info| {
        let mount = question
            .mount
            .map(|mount| mount.strip_prefix('/').unwrap_or(mount));
        info.settings.public
            && info.phase == Phase::Live
            && mount.is_none_or(|mount| mount == info.name.as_str())
    };
    let mut sources: Vec<_> = infos
        .filter(wanted)
        .take(STREAMS_MAX)
        .map(|info| source(&info, question.base))
        .collect();
    let mut stats = json!({
        "admin": "icemaster@localhost",
        "host": without_port(question.base.host()),
        "location": "Earth",
        "server_id": question.server,
        "server_start": stamp::rfc2822(question.started),
        "server_start_iso8601": stamp::iso8601(question.started, "+0000"),
    });
    match sources.len() {
        0 => {}
        1 => stats["source"] = sources.remove(0),
        _ => stats["source"] = Value::Array(sources),
    }
    json!({ "icestats": stats })
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // Within an IPv6 address there are colons as well.
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

fn source(info: &Info, base: &BaseUrl) -> Value {
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    set("listenurl", format!("{base}/{}", info.name).into());
    set("listeners", info.listeners.into());
    set("listener_peak", info.listeners_peak.into());
    set("server_type", info.source.content_type.as_str().into());
    set("stream_start", stamp::rfc2822(info.since).into());
    set(
        "stream_start_iso8601",
        stamp::iso8601(info.since, "+0000").into(),
    );
    for (header, key) in [
        ("name", "server_name"),
        ("description", "server_description"),
        ("url", "server_url"),
        ("genre", "genre"),
        ("audio-info", "audio_info"),
    ] {
        if let Some(text) = header_of(info, header) {
            set(key, text.into());
        }
    }
    let bitrate = ["bitrate", "br"]
        .iter()
        .find_map(|name| header_of(info, name));
    if let Some(bitrate) = bitrate {
        // Some sources write `Quality 4` there.
        set(
            "bitrate",
            bitrate
                .parse::<u32>()
                .map_or_else(|_| bitrate.into(), Value::from),
        );
    }
    if let Some(track) = info.tracks.iter().find(|track| track.kind == Kind::Audio) {
        if track.sample_rate > 0 {
            set("audio_samplerate", track.sample_rate.into());
        }
        if track.channels > 0 {
            set("audio_channels", track.channels.into());
        }
    }
    if let Some(title) = info.title.as_ref().map(Arc::as_ref) {
        set("title", title.text.as_str().into());
        set("yp_currently_playing", title.text.as_str().into());
    }
    set("dummy", Value::Null);
    Value::Object(fields)
}

/// What the source said under `ice-…` or `icy-…`.
pub(crate) fn header_of<'a>(info: &'a Info, name: &str) -> Option<&'a str> {
    let headers = info.source.headers.iter();
    let mut values = headers.filter(|(key, _)| {
        let key = key.to_ascii_lowercase();
        let suffix = ["ice-", "icy-"]
            .iter()
            .find_map(|prefix| key.strip_prefix(prefix));
        suffix.unwrap_or(&key) == name
    });
    values.next().map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::time::Duration;

    use fanout::{Settings, Source};
    use media::{Container, StreamName, Title};

    use super::*;

    fn info(name: &str) -> Info {
        let headers = [
            ("ice-name", "Ra\"dio\\</script>"),
            ("ice-bitrate", "128"),
            ("icy-pub", "1"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        Info {
            name: StreamName::parse(name).expect("a name"),
            phase: Phase::Live,
            epoch: 1,
            since: SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777),
            source: Arc::new(Source {
                protocol: "icecast",
                peer: None,
                agent: "ices".to_owned(),
                container: Container::Mp3,
                content_type: "audio/mpeg".to_owned(),
                headers: headers.to_vec(),
            }),
            tracks: Vec::new(),
            picture_order: fanout::PictureOrder::Unknown,
            keyframes: None,
            offer: fanout::Offer::Nothing,
            is_deriving: false,
            title: Some(Arc::new(Title {
                text: "- \u{1}\"-\"".to_owned(),
                url: String::new(),
            })),
            listeners: 3,
            listeners_peak: 5,
            ingest_bytes: 0,
            settings: Settings::default(),
        }
    }

    static BASE: LazyLock<BaseUrl> =
        LazyLock::new(|| "https://radio.example:8000/tv".parse().expect("an address"));

    fn question(mount: Option<&str>) -> Question<'_> {
        Question {
            base: &BASE,
            mount,
            server: "Icecast 2.4.4 (Carillon)",
            started: SystemTime::UNIX_EPOCH,
        }
    }

    fn sources(infos: Vec<Info>, question: Question<'_>) -> Value {
        // Through text, as its readers get it.
        let text = render(infos.into_iter(), question).to_string();
        let document: Value = serde_json::from_str(&text).expect("valid JSON");
        document["icestats"]["source"].clone()
    }

    #[test]
    fn one_source_is_an_object_and_several_are_an_array() {
        assert_eq!(sources(Vec::new(), question(None)), Value::Null);
        assert!(sources(vec![info("a.mp3")], question(None)).is_object());
        assert_eq!(
            sources(vec![info("a.mp3"), info("b/c")], question(None))[1]["listeners"],
            3
        );
        let one = question(Some("/b/c"));
        let source = sources(vec![info("a.mp3"), info("b/c")], one);
        assert_eq!(source["listenurl"], "https://radio.example:8000/tv/b/c");
    }

    #[test]
    fn fields_have_icecasts_names_and_types() {
        let source = sources(vec![info("a.mp3")], question(None));
        assert_eq!(source["bitrate"], 128);
        assert_eq!(source["listener_peak"], 5);
        assert_eq!(source["server_name"], "Ra\"dio\\</script>");
        assert_eq!(source["title"], "- \u{1}\"-\"");
        assert_eq!(source["stream_start_iso8601"], "1994-11-06T08:49:37+0000");
        assert!(source.as_object().expect("an object").contains_key("dummy"));
        let document = render(std::iter::empty(), question(None));
        assert_eq!(document["icestats"]["host"], "radio.example");
    }

    #[test]
    fn a_document_ends_however_many_streams_there_are() {
        let infos: Vec<_> = (0..STREAMS_MAX + 10)
            .map(|number| info(&format!("a/{number}")))
            .collect();
        let told = sources(infos, question(None));
        assert_eq!(told.as_array().map(Vec::len), Some(STREAMS_MAX));
    }

    #[test]
    fn hidden_and_absent_streams_are_not_told() {
        let mut hidden = info("a.mp3");
        hidden.settings.public = false;
        let mut away = info("b.mp3");
        away.phase = Phase::Lingering;
        assert_eq!(sources(vec![hidden, away], question(None)), Value::Null);
    }
}
