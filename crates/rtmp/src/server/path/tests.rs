//! One address in all the shapes that clients give it.

use proptest::prelude::*;

use super::*;

/// `tcUrl | app | name`, the stream that is meant, and the query.
#[track_caller]
fn check(given: &str, stream: &str, query: &str) {
    let [tc_url, app, name] = given.split(" | ").collect::<Vec<_>>()[..] else {
        panic!("{given}");
    };
    let path = StreamPath::resolve(tc_url, app, name);
    assert_eq!(
        (path.name.as_str(), path.query.as_str()),
        (stream, query),
        "{given}"
    );
}

#[test]
fn plain() {
    check("rtmp://h/live | live | show", "live/show", "");
    check("rtmp://h/live/ | live/ | show", "live/show", "");
    check("rtmp://h:1935/a/b | a/b | c", "a/b/c", "");
    check(" | live | show", "live/show", "");
    check("rtmp://h/live |  | show", "live/show", "");
    check("rtmp://h |  | ", "", "");
    let queries = "rtmp://h/live?a=1 | live?a=1 | show?b=2";
    check(queries, "live/show", "a=1&b=2");
}

#[test]
fn ffmpeg_cuts_inside_the_query() {
    let cut = "rtmp://h/live/s?u=a | live/s?u=a | b/c?d";
    check(cut, "live/s", "u=a/b/c?d");
    check("rtmp://h/live/s?key=K | live/s?key=K | ", "live/s", "key=K");
}

#[test]
fn values_keep_slashes_colons_and_plus() {
    let path = StreamPath::resolve("rtmp://h/live", "live", "show?key=a/b:c+d%2Fe&x&=&k=%zz%4");
    assert_eq!(path.name, "live/show");
    assert_eq!(path.parameter("key").as_deref(), Some("a/b:c+d/e"));
    assert_eq!(path.parameter("x").as_deref(), Some(""));
    assert_eq!(path.parameter("k").as_deref(), Some("%zz%4"));
    assert_eq!(path.parameter("none"), None);
}

#[test]
fn quotes_options_and_prefixes_go() {
    let queried = "rtmp://h/live | live | show.flv?a=b.flv";
    check(queried, "live/show", "a=b.flv");
    check("rtmp://h/live | live | mp3:show.mp3", "live/show.mp3", "");
    check("rtmp://h/live | live | show.flv/", "live/show", "");
    check("rtmp://h/live | live | mp3:", "live", "");
}

#[test]
fn user_and_host() {
    let path = StreamPath::resolve("rtmp://me:p%40ss@[::1]:1935/live", "live", "show");
    assert_eq!(path.user, Some(("me".into(), "p@ss".into())));
    assert_eq!(path.host.as_deref(), Some("::1"));
    let path = StreamPath::resolve("rtmps://relay.example:443/live", "live", "show");
    assert_eq!(
        (path.user, path.host.as_deref()),
        (None, Some("relay.example"))
    );
}

#[test]
fn debug_shows_no_credentials() {
    let path = StreamPath::resolve(
        "rtmp://qwerty:hunter2@h/live?k=sesame",
        "live",
        "show?key=xyzzy",
    );
    assert!(path.user.is_some() && path.query.contains("xyzzy"));
    let shown = format!("{path:?}");
    assert!(shown.contains("live/show"), "{shown}");
    for secret in ["qwerty", "hunter2", "sesame", "xyzzy"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// `tcUrl`, `app` and name as a client makes them.
type Shape = (String, String, String);

/// Returns ffmpeg's split of an address without user and port (`rtmp_open` in its rtmpproto.c).
fn ffmpeg(path: &str) -> Shape {
    let (app, name) = match path.find('/') {
        None => (path, ""),
        Some(first) => {
            let tail = &path[first + 1..];
            match (tail.find('/'), tail.find(':')) {
                (Some(slash), colon) if colon.is_none_or(|colon| colon > slash) => {
                    (&path[..first + 1 + slash], &tail[slash + 1..])
                }
                _ => (&path[..first], tail),
            }
        }
    };
    let is_mp4 = name.ends_with(".mp4") || name.ends_with(".f4v");
    let name = match name.strip_suffix(".flv") {
        _ if is_mp4 && !name.contains(':') => format!("mp4:{name}"),
        Some(stem) => stem.to_owned(),
        None => name.to_owned(),
    };
    (format!("rtmp://h:1935/{app}"), app.to_owned(), name)
}

/// Returns librtmp's split of it: the name begins after the application of one or two parts, and its escapes
/// are decoded (`RTMP_ParseURL`, `RTMP_ParsePlaypath`).
fn librtmp(path: &str) -> Shape {
    let before_query = path.find('?').unwrap_or(path.len());
    let slashes: Vec<_> = path[..before_query].match_indices('/').collect();
    let cut = slashes
        .get(1)
        .or_else(|| slashes.first())
        .map_or(path.len(), |s| s.0);
    let (app, name) = (&path[..cut], path[cut..].trim_start_matches('/'));
    let (stem, query) = name.split_at(name.find('?').unwrap_or(name.len()));
    let name = if stem.ends_with(".mp4") || stem.ends_with(".f4v") {
        format!("mp4:{stem}{query}")
    } else if let Some(stem) = stem.strip_suffix(".mp3") {
        format!("mp3:{stem}{query}")
    } else {
        format!("{}{query}", stem.strip_suffix(".flv").unwrap_or(stem))
    };
    let name = percent_decode(&name).into_owned();
    (format!("rtmp://h:1935/{app}"), app.to_owned(), name)
}

/// Every known way in which clients split a stream and its query.
fn shapes(app: &str, name: &str, query: &str) -> Vec<Shape> {
    let whole = format!("{app}/{name}?{query}");
    let url = |path: &str| format!("rtmp://h/{path}");
    let own = |tc_url: String, app: &str, name: &str| (tc_url, app.to_owned(), name.to_owned());
    let with_query = |text: &str| format!("{text}?{query}");
    vec![
        ffmpeg(&whole),
        librtmp(&whole),
        // OBS: the key holds name and query, or the server's address has the query.
        own(url(app), app, &with_query(name)),
        own(url(&with_query(app)), &with_query(app), name),
        own(
            url(&format!("{app}/{name}")),
            &format!("{app}/{name}"),
            &with_query(""),
        ),
        // In the address only; the application is cut at the query or missing.
        own(url(&with_query(app)), app, name),
        own(
            url(&with_query(&format!("{app}/"))),
            &format!("{app}/"),
            name,
        ),
        own(url(&with_query(app)), "", name),
        // Extra slashes, quotes, and the options of librtmp.
        own(
            url(&format!("{app}/")),
            &format!("/{app}/"),
            &with_query(&format!("{name}/")),
        ),
        own(
            format!("'{} live=1'", url(app)),
            &format!("'{app}"),
            &format!("{} live=1'", with_query(name)),
        ),
        own(
            format!("rtmps://[2001:db8::1]:443/{app}"),
            app,
            &format!("\"{}\"", with_query(name)),
        ),
    ]
}

#[track_caller]
fn check_all(app: &str, name: &str, key: &str) {
    // ffmpeg drops the slash at the end of a cut query, and an extension wherever it stands.
    let spoilt = key.ends_with('/') || key.ends_with(".flv");
    let skipped = usize::from(spoilt);
    for (tc_url, app_said, name_said) in shapes(app, name, &format!("key={key}"))
        .into_iter()
        .skip(skipped)
    {
        let path = StreamPath::resolve(&tc_url, &app_said, &name_said);
        let shown = format!("{tc_url:?} {app_said:?} {name_said:?}");
        let stem = name.strip_suffix(".flv").unwrap_or(name);
        assert_eq!(path.name, format!("{app}/{stem}"), "{shown}");
        assert_eq!(path.parameter("key"), Some(percent_decode(key)), "{shown}");
        assert!(path.host.is_some(), "{shown}");
    }
}

#[test]
fn every_shape_of_one_address() {
    for name in [
        "show",
        "show.mp4",
        "show.f4v",
        "show.mp3",
        "show.flv",
        "a-b_c~d.e",
    ] {
        for key in [
            "K", "a/b", "a:b", "a%2Fb", "a:b/c", "a/b:c", "/a", "a/", "a+b=c", "a.mp4", "x/a.mp4",
        ] {
            check_all("live", name, key);
        }
    }
}

proptest! {
    #[test]
    fn any_name_and_key_in_every_shape(
        app in "[a-z]{1,4}",
        name in "[a-zA-Z0-9._~-]{1,8}",
        key in "([a-zA-Z0-9/:+=._~-]|%2[Ff]|%3A){0,10}",
    ) {
        check_all(&app, &name, &key);
    }

    #[test]
    fn nothing_makes_it_fail(tc_url in ".{0,40}", app in ".{0,20}", name in ".{0,20}") {
        let path = StreamPath::resolve(&tc_url, &app, &name);
        prop_assert!(path.name.split('/').all(|segment| !segment.is_empty()) || path.name.is_empty());
        prop_assert!(path.parameters().count() <= path.query.len());
    }
}

#[test]
fn the_kind_of_a_file_is_kept() {
    for (name, stream, kind) in [
        ("mp4:film.mp4", "vod/film.mp4", Some(FileKind::Mp4)),
        ("mp4:film?key=K", "vod/film", Some(FileKind::Mp4)),
        ("flv:film", "vod/film", Some(FileKind::Flv)),
        ("film.flv", "vod/film", Some(FileKind::Flv)),
        ("mp3:song", "vod/song.mp3", Some(FileKind::Mp3)),
        ("film.mp4", "vod/film.mp4", None),
        ("raw:film", "vod/raw:film", None),
    ] {
        let path = StreamPath::resolve("rtmp://h/vod", "vod", name);
        assert_eq!((path.name.as_str(), path.file_kind), (stream, kind));
    }
    let path = StreamPath::resolve("rtmp://h/vod", "vod", "mp4:a%20film.mp4");
    assert_eq!(path.file_name(), "vod/a film.mp4");
}
