//! Addresses as operators write them, with names that clients choose.

use media::StreamName;
use net::url::Url;

use super::*;
use crate::Glob;

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

/// The rows of a table, whose words are apart by spaces.
fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let rows = table.lines().filter(|row| !row.is_empty());
    let words = |row: &'static str| row.split(' ').collect::<Vec<_>>();
    rows.map(move |row| words(row).try_into().expect("as many words as are read"))
}

/// A template, a stream, and its address.
const PUSHED: &str = "
rtmp://h/relay/{stream} live/show rtmp://h/relay/live/show
rtmp://h/{stream} live/show rtmp://h/live/show
rtmp://h/{app}/{name} live/a/b rtmp://h/live/a/b
rtmps://h:443/x/{name}?k={app} live/b rtmps://h:443/x/b?k=live
rtmp://h/live2/abcd-efgh live/b rtmp://h/live2/abcd-efgh
";

#[test]
fn placeholders_take_the_parts_of_a_name() {
    for [template, stream, expected] in rows(PUSHED) {
        let url = PushUrl::parse(template).expect(template);
        assert_eq!(url.of(&name(stream)), expected.parse::<Url>());
    }
}

#[test]
fn no_secret_is_shown() {
    for (url, shown) in [
        ("rtmp://u:SECRET@h/live/{name}", "rtmp://***@h/live/show"),
        ("rtmp://SECRET@h/live/{name}", "rtmp://***@h/live/show"),
        ("rtmp://h/live2/SECRET", "rtmp://h/live2/***"),
        ("rtmp://h/live2/SECRET/", "rtmp://h/live2/***/"),
        ("rtmp://h/live/{name}/", "rtmp://h/live/show/"),
        ("rtmp://h/live2/{name}-SECRET", "rtmp://h/live2/***"),
        ("rtmp://h/live2/{app}SECRET{name}", "rtmp://h/live2/***"),
        ("rtmp://h/a/{stream}?key=SECRET", "rtmp://h/a/live/show?***"),
        ("rtmp://u:SECRET@x@h/a/{stream}", "rtmp://***@h/a/live/show"),
    ] {
        let url = PushUrl::parse(url).expect(url);
        assert_eq!(url.shown(&name("live/show")), shown);
        assert!(!format!("{url} {url:?}").contains("SECRET"));
    }
    for [url, shown] in rows(PULL_SHOWN) {
        let url = PullUrl::parse(url).expect(url);
        assert_eq!(format!("{url} {url:?}"), format!("{shown} {shown}"));
    }
}

const PULL_SHOWN: &str = "
rtmp://u:SECRET@h:1936/live/show?token=SECRET rtmp://***@h:1936/live/***?***
https://u:SECRET@[::1]/live/SECRET.flv https://***@[::1]/live/***.flv
http://h/a/SECRET?SECRET http://h/a/***?***
rtmp://h/live/SECRET/ rtmp://h/live/***/
rtmp://h/a/{name}?SECRET rtmp://h/a/{name}?***
http://h/a/{stream}.flv http://h/a/{stream}.flv
http://h/{name}/SECRET{name} http://h/{name}/***
";

#[test]
fn what_is_no_address_is_reported_with_its_fault() {
    use UrlFault::*;
    for (url, fault) in [
        ("", Malformed(UrlError::Scheme)),
        ("host/app/name", Malformed(UrlError::Scheme)),
        ("http://h/a/b", Scheme("http".into())),
        ("rtmpt://h/a/b", Scheme("rtmpt".into())),
        ("rtmp:///a/b", Malformed(UrlError::Host)),
        ("rtmp://u:p@/a/b", Malformed(UrlError::Host)),
        ("rtmp://::1/a/b", Malformed(UrlError::HostCharacter(':'))),
        ("rtmp://h:/a/b", Malformed(UrlError::Port)),
        ("rtmp://h:0/a/b", Malformed(UrlError::Port)),
        ("rtmp://h:70000/a/b", Malformed(UrlError::Port)),
        ("rtmp://h", NoStream),
        ("rtmp://h/{name}", NoStream),
        ("rtmp://h//a", NoStream),
        ("rtmp://h?k={stream}", NoStream),
        ("rtmp://h/a/b c", Malformed(UrlError::Character("path"))),
        ("rtmp://h/a/{nmae}", Placeholder("nmae".into())),
        ("rtmp://h/a/{}", Placeholder(String::new())),
        ("rtmp://h/a/{name", Brace),
        ("rtmp://h/a/name}", Brace),
        ("rtmp://h/a/{{name}}", Brace),
        ("rtmp://h;i/a/b", Malformed(UrlError::HostCharacter(';'))),
        ("rtmp://{name}/a/b", HostPlaceholder),
        ("rtmp://{name}@h/a/b", HostPlaceholder),
    ] {
        assert_eq!(PushUrl::parse(url), Err(fault), "{url}");
    }
    for (url, fault) in [
        ("http://h", NoPath),
        ("http://h/", NoPath),
        ("rtmp://h/a", NoStream),
        ("ftp://h/a", Scheme("ftp".into())),
        ("http://h^/a", Malformed(UrlError::HostCharacter('^'))),
        ("http://h/a`b", Target),
        ("rtmp://h/a/{nmae}", Placeholder("nmae".into())),
        ("rtmp://h/{name}", NoStream),
        ("rtmp://h/a/{name", Brace),
        ("rtmp://{name}/a/b", HostPlaceholder),
        ("rtmp://{name}.h/a/b", HostPlaceholder),
        ("http://h:{name}/a", Malformed(UrlError::Port)),
        ("http://{name}@h/a", HostPlaceholder),
        ("http://h/{name}.m3u", NoLiveBody("m3u")),
        ("http://h/{name}.mp4", NoLiveBody("mp4")),
    ] {
        assert_eq!(PullUrl::parse(url), Err(fault), "{url}");
    }
    let long = format!("rtmp://h/a/{}", "b".repeat(2_048));
    assert_eq!(PushUrl::parse(&long), Err(Malformed(UrlError::TooLong)));
}

fn rule(pattern: &str, url: &str) -> PullRule {
    PullRule {
        stream: match pattern.contains('*') {
            true => Pulled::Fitting(Glob::parse(pattern).expect("a pattern")),
            false => Pulled::One(name(pattern)),
        },
        url: PullUrl::parse(url).expect("an address"),
        alternates: Vec::new(),
        on_demand: true,
        key: String::new(),
    }
}

/// A pattern and its address, a stream, and that of the stream.
const PULLED: &str = "
cam/* rtmp://h/x/{name} cam/1 rtmp://h/x/1
cam/* rtmp://h/{stream} cam/1 rtmp://h/cam/1
** rtmp://h/{app}/{name} a/b/c rtmp://h/a/b/c
far/** rtmp://h/{rest} far/a/b rtmp://h/a/b
far/cam* rtmp://h/x/{name} far/cam1 rtmp://h/x/cam1
* https://u:p@h/x/{rest}.flv?k={name} a https://u:p@h/x/a.flv?k=a
cam/1 rtmp://h/x/y cam/1 rtmp://h/x/y
";

#[test]
fn each_stream_of_a_pattern_has_its_address() {
    for [pattern, url, stream, expected] in rows(PULLED) {
        let rule = rule(pattern, url);
        assert!(rule.stream.matches(&name(stream)), "{pattern} {stream}");
        let expected: Url = expected.parse().expect("a URL");
        assert_eq!(rule.sources(&name(stream)), [expected], "{url} {stream}");
    }
    let shown = rule("cam/*", "rtmp://u:SECRET@h/x/{name}?k=SECRET").shown(&name("cam/1"));
    assert_eq!(shown, "rtmp://***@h/x/1?***");
}

#[test]
fn a_name_cannot_lead_anywhere_else() {
    // A client may request a stream name, and these are none.
    for text in ". .. ../x /x a@h a:1 a?k=v a#b a%2f a\\b a&b a\r\nb {name}".split(' ') {
        let text = format!("cam/{text}");
        assert!(StreamName::parse(&text).is_err(), "{text}");
    }
    assert!(StreamName::parse("cam/a b").is_err());
    // These are, and stand where the placeholder stood.
    let url = "http://h:81/x/{rest}/live.flv?k={rest}&x=1";
    let rule = rule("cam/**", url);
    for rest in ["..a", "~", "-", "a.b", "a/b/..c", "http", "h.example"] {
        let stream = name(&format!("cam/{rest}"));
        let expected = url.replace("{rest}", rest).parse::<Url>();
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(rule.sources(&stream), expected, "{rest}");
    }
}

#[test]
fn a_name_without_the_parts_of_an_address_has_none() {
    let both = rule("**", "rtmp://h/{app}/{name}");
    assert!(both.sources(&name("radio")).is_empty());
    let http = rule("**", "http://h/{app}/{name}.flv");
    let empty = http.sources(&name("radio"));
    assert!(empty.is_empty(), "no segment is empty");
    let whole = rule("**", "rtmp://h/{stream}");
    assert!(whole.sources(&name("radio")).is_empty(), "no application");
}

#[test]
fn a_radio_has_its_address_and_those_to_turn_to() {
    let mut rule = rule("radio.mp3", "http://h:8000/radio.mp3");
    rule.alternates = ["http://second:8000/;stream", "https://u:p@third/radio"]
        .map(|url| PullUrl::parse(url).expect("an address"))
        .into();
    let sources = rule.sources(&name("radio.mp3"));
    let hosts: Vec<_> = sources.iter().map(Url::host).collect();
    assert_eq!(hosts, ["h", "second", "third"]);
}
