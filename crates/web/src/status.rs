//! `/status-json.xsl`: the public streams in Icecast 2.4's format, for programs that poll it.
//!
//! `source` is absent without streams, an object with one, an array with several, as in Icecast. Numbers are numbers,
//! everything else is a string, and the document is always valid JSON.

use std::time::SystemTime;

use base::date;
use config::{BaseUrl, Http};
use fanout::{Info, Registry};
use media::{Codec, Container, FourCc, Kind, StreamName};
use reports::stamp;
use reports::view::StreamView;
use serde_json::{Map, Value, json};

/// Maximum number of streams in one document, here and on the page that lists them. Longer lists are of no use, and any client
/// may request them at any rate.
pub const STREAMS_MAX: usize = 1_000;

/// Parameters of the document.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Address by which the server was reached.
    pub base: &'a BaseUrl,
    /// Only this mount, with its leading `/`.
    pub mount: Option<&'a str>,
    /// Server header, location and contact.
    pub http: &'a Http,
    /// Time at which the server started.
    pub started: SystemTime,
}

/// Renders the document. A stream requested by name is included whether it is listed or not; the caller must have checked that
/// the client may see it.
pub fn document(registry: &Registry, question: Question<'_>) -> Value {
    match question.mount {
        None => render(public(registry), question),
        Some(mount) => {
            let name = StreamName::parse(mount).ok();
            let stream = name.and_then(|name| registry.stream(&name));
            render(stream.into_iter().map(|stream| stream.info()), question)
        }
    }
}

/// Returns the streams that everyone may see, in the order of their names.
pub fn public(registry: &Registry) -> impl Iterator<Item = Info> + use<> {
    let infos = registry.list().into_iter().map(|stream| stream.info());
    let public = infos.filter(|info| info.settings.public && info.is_on_air());
    public.take(STREAMS_MAX)
}

fn render(infos: impl Iterator<Item = Info>, question: Question<'_>) -> Value {
    let mut sources: Vec<_> = infos
        .filter(Info::is_on_air)
        .take(STREAMS_MAX)
        .map(|info| {
            let view = StreamView::of(&info);
            let mut fields = source(&view, question.base);
            fields.insert("dummy".to_owned(), Value::Null);
            fields.insert("tracks".to_owned(), json!(view.tracks()));
            Value::Object(fields)
        })
        .collect();
    let mut stats = Value::Object(server(question));
    match sources.len() {
        0 => stats["dummy"] = Value::Null,
        1 => stats["source"] = sources.remove(0),
        _ => stats["source"] = Value::Array(sources),
    }
    json!({ "icestats": stats })
}

/// Returns the facts about the server.
pub fn server(question: Question<'_>) -> Map<String, Value> {
    [
        ("admin", question.http.contact.as_str().into()),
        ("host", without_port(question.base.host()).into()),
        ("location", question.http.location.as_str().into()),
        ("server_id", question.http.server_header.as_str().into()),
        ("server_start", stamp::rfc2822(question.started).into()),
        (
            "server_start_iso8601",
            date::with_zone(question.started, "+0000").into(),
        ),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // An IPv6 address contains colons as well.
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

/// Icecast's texts for a stream whose source gives none.
const UNSPECIFIED: [(&str, &str); 3] = [
    ("server_name", "Unspecified name"),
    ("server_description", "Unspecified description"),
    ("genre", "various"),
];

/// Returns the public facts about a stream.
pub fn source(view: &StreamView<'_>, base: &BaseUrl) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    set("listenurl", format!("{base}/{}", view.name).into());
    set("listeners", view.listeners.into());
    set("listener_peak", view.listeners_peak.into());
    set("server_type", view.content_type.into());
    set("stream_start", stamp::rfc2822(view.since).into());
    set(
        "stream_start_iso8601",
        date::with_zone(view.since, "+0000").into(),
    );
    for (header, key) in [
        ("name", "server_name"),
        ("description", "server_description"),
        ("url", "server_url"),
        ("genre", "genre"),
        ("audio-info", "audio_info"),
    ] {
        // Some programs send the header even for values that they do not know.
        if let Some(text) = view.header(header).filter(|text| !text.is_empty()) {
            set(key, text.into());
        }
    }
    for (key, text) in UNSPECIFIED {
        fields.entry(key).or_insert(text.into());
    }
    audio(view, &mut fields);
    song(view, &mut fields);
    fields
}

/// Adds bit rate, sample rate and channels: as the source announces them, else as measured.
fn audio(view: &StreamView<'_>, fields: &mut Map<String, Value>) {
    let mut set = |key: &str, value: Value| {
        fields.entry(key).or_insert(value);
    };
    let announced = view.header("audio-info").unwrap_or_default();
    for (key, value) in http1::audio_info(announced) {
        let plain = key.strip_prefix("ice-").unwrap_or(key);
        let is_known = ["bitrate", "samplerate", "channels", "quality"].contains(&plain);
        if is_known && is_reported(value) {
            set(key, number(value));
            set(plain, number(value));
        }
    }
    for (header, key) in [
        ("bitrate", "bitrate"),
        ("br", "bitrate"),
        ("samplerate", "samplerate"),
        ("sr", "samplerate"),
        ("channels", "channels"),
    ] {
        if let Some(value) = view.header(header).filter(|value| is_reported(value)) {
            set(key, number(value));
        }
    }
    let mut tracks = view.info.tracks.iter();
    if let Some(track) = tracks.find(|track| track.kind == Kind::Audio) {
        for (key, value) in [
            ("samplerate", track.sample_rate),
            ("channels", track.channels.into()),
        ] {
            if value > 0 {
                set(key, value.into());
                set(&format!("audio_{key}"), value.into());
            }
        }
    }
    if let Some(bits) = view.info.bitrate {
        set("bitrate", bits.saturating_add(500).div_euclid(1000).into());
    }
}

/// Adds the current title. Ogg has separate fields for artist and title.
fn song(view: &StreamView<'_>, fields: &mut Map<String, Value>) {
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    if let Some(title) = view.title.filter(|title| !title.is_empty()) {
        set("title", title.into());
        set("yp_currently_playing", title.into());
    }
    let header = view.info.header.as_deref();
    let Some(header) = header.filter(|_| view.info.source.container == Container::Ogg) else {
        return;
    };
    let ogg = container::ogg::describe(header);
    // Icecast lists the last one first.
    let codecs: Vec<_> = ogg.codecs.into_iter().rev().filter_map(subtype).collect();
    if !codecs.is_empty() {
        set("subtype", codecs.join("/").into());
    }
    if let Some(picture) = ogg.picture {
        let (across, down) = picture.size;
        let (frames, seconds) = picture.frames;
        let rate = f64::from(frames) / f64::from(seconds.max(1));
        set("frame_size", format!("{across} x {down}").into());
        set("frame_rate", ((rate * 100.0).round() / 100.0).into());
        set("video_bitrate", picture.nominal_bitrate.into());
        set("video_quality", picture.quality.into());
    }
    if let Some(bits) = ogg.nominal_bitrate {
        set("audio_bitrate", bits.into());
        set("ice-bitrate", (bits / 1_000).into());
    }
    if let (Some(artist), Some(own)) = (ogg.artist, ogg.title) {
        set("artist", artist.into());
        set("title", own.into());
    }
}

/// Returns Icecast's name of a codec.
fn subtype(codec: Codec) -> Option<&'static str> {
    match codec {
        Codec::Vorbis => Some("Vorbis"),
        Codec::Opus => Some("Opus"),
        Codec::Flac => Some("FLAC"),
        Codec::Speex => Some("Speex"),
        Codec::Other(FourCc(word)) if matches!(&word, b"theo") => Some("Theora"),
        _ => None,
    }
}

/// Whether a figure is known: GStreamer and ices2 send 0 for values that they do not know.
fn is_reported(value: &str) -> bool {
    !matches!(value, "" | "0")
}

/// Returns a number if the text is one: some sources write `Quality 4`.
fn number(text: &str) -> Value {
    text.parse::<u32>()
        .map_or_else(|_| text.into(), Value::from)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, LazyLock};
    use std::time::Duration;

    use bytes::Bytes;
    use fanout::{Phase, Settings, Source};
    use media::{Framing, Title, Track, TrackId};
    use testkit::OggPage;

    use super::*;

    /// A source of MP3 with a title, and some listeners.
    pub(crate) fn info(name: &str) -> Info {
        let headers = [
            ("ice-audio-info", "ice-samplerate=44100;ice-channels=2;x=y"),
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
            identity: None,
            announced_type: None,
            has_media: true,
            header: None,
            bitrate: None,
            rates: Vec::new(),
            tracks: Vec::new(),
            picture_order: fanout::PictureOrder::Unknown,
            awaits_pictures: false,
            captions: false,
            may_have_captions: false,
            keyframes: None,
            offer: fanout::DerivedOffer::Nothing,
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

    static HTTP: LazyLock<Http> = LazyLock::new(Http::default);
    static BASE: LazyLock<BaseUrl> =
        LazyLock::new(|| "https://radio.example:8000/tv".parse().expect("an address"));

    fn question(mount: Option<&str>) -> Question<'_> {
        Question {
            base: &BASE,
            mount,
            http: &HTTP,
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
        let both = sources(vec![info("a.mp3"), info("b/c")], question(None));
        assert_eq!(both[1]["listeners"], 3);
        let source = sources(vec![info("b/c")], question(None));
        assert_eq!(source["listenurl"], "https://radio.example:8000/tv/b/c");
    }

    #[test]
    fn fields_have_icecasts_names_and_types() {
        let source = sources(vec![info("a.mp3")], question(None));
        assert_eq!(source["bitrate"], 128);
        assert_eq!(source["samplerate"], 44_100);
        assert_eq!(source["ice-samplerate"], 44_100);
        assert_eq!(source["channels"], 2);
        assert_eq!(source["x"], Value::Null);
        assert_eq!(source["listener_peak"], 5);
        assert_eq!(source["server_name"], "Ra\"dio\\</script>");
        assert_eq!(source["title"], "- \u{1}\"-\"");
        assert_eq!(source["stream_start_iso8601"], "1994-11-06T08:49:37+0000");
        assert!(source.as_object().expect("an object").contains_key("dummy"));
        let document = render(std::iter::empty(), question(None));
        assert_eq!(document["icestats"]["host"], "radio.example");
    }

    #[test]
    fn what_the_source_does_not_say_its_bytes_do() {
        let mut info = info("a.aac");
        // Programs send these of what they do not know.
        let nothing = [
            ("ice-bitrate", "0"),
            ("ice-audio-info", "samplerate=0;ice-channels=0"),
            ("ice-name", ""),
        ];
        let nothing = nothing.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Arc::make_mut(&mut info.source).headers = nothing.into();
        info.bitrate = Some(63_600);
        info.tracks.push(Arc::new(Track {
            id: TrackId::AUDIO,
            kind: Kind::Audio,
            codec: Codec::Aac,
            framing: Framing::SelfFramed,
            config: Bytes::new(),
            sample_rate: 48_000,
            channels: 1,
            flv: None,
        }));
        let source = sources(vec![info], question(None));
        assert_eq!(source["bitrate"], 64);
        assert_eq!(source["samplerate"], 48_000);
        assert_eq!(source["audio_samplerate"], 48_000);
        assert_eq!(source["channels"], 1);
        assert_eq!(source["server_name"], "Unspecified name");
    }

    #[test]
    fn a_film_in_ogg_is_reported_as_icecast_does() {
        let page = |serial, packet| {
            let page = OggPage {
                flags: 2,
                serial,
                packets: &[packet],
                ..OggPage::default()
            };
            page.bytes()
        };
        let theora =
            b"\x80theora\x03\x02\x01\0\x28\0\x17\0\x02\x76\0\x01\x68\0\0\0\0\x75\x30\0\0\x03\xE9\
                       \0\0\x01\0\0\x01\0\x03\x0D\x40\x28\xC0";
        let vorbis = b"\x01vorbis\0\0\0\0\x02\x44\xAC\0\0\0\0\0\0\0\xEE\x02\0\0\0\0\0\xB8\x01";
        let mut info = info("film.ogv");
        Arc::make_mut(&mut info.source).container = Container::Ogg;
        info.header = Some([page(1, theora), page(2, vorbis)].concat().into());
        let source = sources(vec![info], question(None));
        assert_eq!(source["subtype"], "Vorbis/Theora");
        assert_eq!(source["frame_size"], "630 x 360");
        assert_eq!(source["frame_rate"], 29.97);
        assert_eq!(source["video_bitrate"], 200_000);
        assert_eq!(source["video_quality"], 10);
        assert_eq!(source["audio_bitrate"], 192_000);
    }

    #[test]
    fn a_document_ends_however_many_streams_there_are() {
        let infos: Vec<_> = (0..STREAMS_MAX + 10)
            .map(|number| info(&format!("a/{number}")))
            .collect();
        let reported = sources(infos, question(None));
        assert_eq!(reported.as_array().map(Vec::len), Some(STREAMS_MAX));
    }

    #[test]
    fn absent_and_silent_streams_are_not_reported() {
        let mut silent = info("a.mp3");
        silent.has_media = false;
        let mut away = info("b.mp3");
        away.phase = Phase::Lingering;
        assert_eq!(sources(vec![silent, away], question(None)), Value::Null);
    }
}
