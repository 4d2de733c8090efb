//! Facts in SHOUTcast's documents, in the order and with the names of DNAS 2.

use std::time::SystemTime;

use config::BaseUrl;
use fanout::{Info, ListenerRecord, Played};
use outbound::directory::Board as Directories;
use reports::view::StreamView;
use serde_json::{Map, Value};

use super::audience::Crowd;
use crate::pages::xml::Xml;
use crate::status;

/// Names as in JSON, and their values. XML has the names in capitals.
pub(super) type Facts = Vec<(&'static str, Value)>;

/// Word for an absent program or title.
const EMPTY: &str = "EMPTY";

/// Server's part of a summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct House<'a> {
    pub(super) base: &'a BaseUrl,
    /// Server header.
    pub(super) version: &'a str,
    /// Maximum number of listeners; 0 without a limit.
    pub(super) listeners_max: u32,
    /// Listings of the streams in public directories.
    pub(super) directories: &'a Directories,
}

/// Stream as in `/stats`, and the number of its departed listeners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'a> {
    pub(super) info: &'a Info,
    pub(super) departed: u64,
}

/// Builds the facts of `/stats`; without a stream, those of a stream without a source. `is_operators` adds the address of the
/// source.
pub(super) fn summary(
    house: House<'_>,
    standing: Option<Standing<'_>>,
    crowd: &Crowd,
    is_operators: bool,
) -> Facts {
    let view = standing.map(|standing| StreamView::of(standing.info));
    let known = view.as_ref();
    let mut source = known.map_or_else(Map::new, |view| status::source(view, house.base));
    let mut text = |name: &str| match source.remove(name) {
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let is_on_air = standing.is_some_and(|standing| standing.info.is_on_air());
    let is_listed = known.is_some_and(|view| house.directories.is_listed(view.name));
    let listeners = known.map_or(0, |view| view.listeners);
    let hits = standing.map_or(0, |standing| standing.departed + listeners as u64);
    let mut facts: Facts = vec![
        ("currentlisteners", listeners.into()),
        (
            "peaklisteners",
            known.map_or(0, |view| view.listeners_peak).into(),
        ),
        ("maxlisteners", house.listeners_max.into()),
        ("uniquelisteners", crowd.unique().into()),
        ("averagetime", crowd.average().into()),
        ("servergenre", text("genre").into()),
        ("servergenre2", "".into()),
        ("servergenre3", "".into()),
        ("servergenre4", "".into()),
        ("servergenre5", "".into()),
        ("serverurl", text("server_url").into()),
        ("servertitle", text("server_name").into()),
        ("songtitle", title(known).into()),
    ];
    let link = standing.and_then(|standing| standing.info.title.as_deref());
    if let Some(link) = link.filter(|title| !title.url.is_empty()) {
        facts.push(("songurl", link.url.as_str().into()));
    }
    facts.extend([
        ("streamhits", hits.into()),
        ("streamstatus", u8::from(is_on_air).into()),
        ("backupstatus", 0.into()),
        ("streamlisted", u8::from(is_listed).into()),
    ]);
    if let Some(peer) = known.and_then(|view| view.peer).filter(|_| is_operators) {
        let address = peer.ip().to_canonical().to_string();
        facts.push(("streamsource", address.into()));
    }
    let path = known.map_or_else(String::new, |view| format!("/{}", view.name));
    facts.push(("streampath", path.into()));
    if let Some(view) = known.filter(|_| is_on_air) {
        let uptime = SystemTime::now().duration_since(view.since);
        facts.push(("streamuptime", uptime.unwrap_or_default().as_secs().into()));
    }
    let or_zero = |text: String| match text.is_empty() {
        true => "0".to_owned(),
        false => text,
    };
    // Texts, in JSON too.
    facts.extend([
        ("bitrate", or_zero(text("bitrate")).into()),
        ("samplerate", or_zero(text("samplerate")).into()),
        ("content", known.map_or("", |view| view.content_type).into()),
        ("version", house.version.into()),
    ]);
    facts
}

/// Returns the current title.
pub(super) fn title<'a>(view: Option<&StreamView<'a>>) -> &'a str {
    view.and_then(|view| view.title).unwrap_or_default()
}

/// Builds the facts of a listener in `page=3`.
pub(super) fn listener(record: &ListenerRecord) -> Facts {
    let agent = match record.agent.as_str() {
        "" => EMPTY,
        agent => agent,
    };
    vec![
        (
            "hostname",
            record.peer.ip().to_canonical().to_string().into(),
        ),
        ("useragent", agent.into()),
        ("connecttime", record.requested.elapsed().as_secs().into()),
        ("uid", record.id.0.into()),
        ("type", 0.into()),
        ("referer", record.referer.as_str().into()),
        ("xff", "".into()),
        ("grid", 0.into()),
        ("triggers", 0.into()),
    ]
}

/// Builds the facts of a title in `page=4` and `/played`.
pub(super) fn song(played: &Played) -> Facts {
    let since = played.since.duration_since(SystemTime::UNIX_EPOCH);
    vec![
        ("playedat", since.unwrap_or_default().as_secs().into()),
        ("title", played.title.text.as_str().into()),
    ]
}

/// Writes facts as elements.
pub(super) fn write(xml: &mut Xml, facts: &Facts) {
    for (name, value) in facts {
        let name = name.to_ascii_uppercase();
        match value {
            Value::String(text) => xml.text(&name, text),
            value => xml.text(&name, &value.to_string()),
        }
    }
}

/// Converts facts to an object.
pub(super) fn object(facts: Facts) -> Map<String, Value> {
    let named = facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use media::Title;

    use super::*;
    use crate::status::tests::info;

    static NONE: LazyLock<Directories> = LazyLock::new(Directories::default);

    fn house(base: &BaseUrl) -> House<'_> {
        House {
            base,
            version: "Icecast 2.4.4 (Carillon)",
            listeners_max: 0,
            directories: &NONE,
        }
    }

    fn reported(facts: &Facts) -> String {
        let mut xml = Xml::document();
        xml.element("SHOUTCASTSERVER", &[], |xml| write(xml, facts));
        let document = xml.end();
        let (_, own) = document.split_once('\n').expect("a declaration");
        own.trim_end().to_owned()
    }

    #[test]
    fn a_summary_has_the_documented_shape() {
        let base: BaseUrl = "https://radio.example".parse().expect("an address");
        let mut info = info("radio.mp3");
        info.title = Some(Arc::new(Title {
            text: "Me & \"You\"".to_owned(),
            url: "http://song.example/".to_owned(),
        }));
        let standing = Standing {
            info: &info,
            departed: 4,
        };
        let mut facts = summary(house(&base), Some(standing), &Crowd::default(), true);
        let uptime = facts.iter().find(|(name, _)| *name == "streamuptime");
        assert!(uptime.is_some_and(|(_, seconds)| seconds.is_u64()));
        facts.retain(|(name, _)| *name != "streamuptime");
        assert_eq!(
            reported(&facts),
            "<SHOUTCASTSERVER><CURRENTLISTENERS>3</CURRENTLISTENERS><PEAKLISTENERS>5</PEAKLISTENERS>\
             <MAXLISTENERS>0</MAXLISTENERS><UNIQUELISTENERS>0</UNIQUELISTENERS><AVERAGETIME>0</AVERAGETIME>\
             <SERVERGENRE>various</SERVERGENRE><SERVERGENRE2></SERVERGENRE2><SERVERGENRE3></SERVERGENRE3>\
             <SERVERGENRE4></SERVERGENRE4><SERVERGENRE5></SERVERGENRE5><SERVERURL></SERVERURL>\
             <SERVERTITLE>Ra&quot;dio\\&lt;/script&gt;</SERVERTITLE>\
             <SONGTITLE>Me &amp; &quot;You&quot;</SONGTITLE><SONGURL>http://song.example/</SONGURL>\
             <STREAMHITS>7</STREAMHITS><STREAMSTATUS>1</STREAMSTATUS><BACKUPSTATUS>0</BACKUPSTATUS>\
             <STREAMLISTED>0</STREAMLISTED><STREAMPATH>/radio.mp3</STREAMPATH><BITRATE>128</BITRATE>\
             <SAMPLERATE>44100</SAMPLERATE><CONTENT>audio/mpeg</CONTENT>\
             <VERSION>Icecast 2.4.4 (Carillon)</VERSION></SHOUTCASTSERVER>"
        );
        let json = object(facts);
        assert_eq!(json["currentlisteners"], 3);
        assert_eq!(json["bitrate"], "128");
    }

    #[test]
    fn a_number_without_a_stream_has_no_source() {
        let base: BaseUrl = "https://radio.example".parse().expect("an address");
        let facts = object(summary(house(&base), None, &Crowd::default(), true));
        assert_eq!(facts["streamstatus"], 0);
        assert_eq!(facts["songtitle"], "");
        assert!(!facts.contains_key("streamuptime") && !facts.contains_key("streamsource"));
    }

    #[test]
    fn titles_have_the_documented_shape() {
        let played = Played {
            title: Arc::new(Title {
                text: "One".to_owned(),
                url: String::new(),
            }),
            since: SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_302_180_341),
        };
        let facts = "<PLAYEDAT>1302180341</PLAYEDAT><TITLE>One</TITLE>";
        let expected = format!("<SHOUTCASTSERVER>{facts}</SHOUTCASTSERVER>");
        assert_eq!(reported(&song(&played)), expected);
    }
}
