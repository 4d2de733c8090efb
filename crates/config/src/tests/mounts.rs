//! `[[stream]]`: rules for listeners; `[[alias]]`.

use super::*;

/// The fallback of a stream, the fallback of that, and so on.
fn chain(config: &Config, first: &str) -> Vec<String> {
    let next = |name: &StreamName| config.fallback(name);
    let names = std::iter::successors(next(&name(first)), next);
    names.map(|name| name.to_string()).collect()
}

#[test]
fn fallbacks_are_found_by_name_and_by_pattern() {
    let config = parse(
        "[[stream]]\nmatch = \"a.mp3\"\nfallback = \"b.mp3\"\nfallback_after = \"2s\"\nfallback_override = false\n\
         listeners_max = 9\nfallback_when_full = true\nlisten_duration_max = \"2h\"\n\
         [[stream]]\nmatch = \"*.mp3\"\nfallback = \"c.mp3\"\n\
         [[stream]]\nmatch = \"live/*\"\nfallback_file = \"/\"\n",
    );
    let config = config.expect("valid");
    assert_eq!(chain(&config, "a.mp3"), ["b.mp3", "c.mp3"]);
    assert_eq!(chain(&config, "c.mp3"), [""; 0], "it is its own pattern's");
    assert_eq!(chain(&config, "live/show"), ["fallback/2"]);
    let of_rendition = chain(&config, "live/show~1");
    assert_eq!(of_rendition, [""; 0], "its parent's publisher has it");
    assert_eq!(chain(&config, "other"), [""; 0]);
    assert_eq!(config.named_with_fallback(), [name("a.mp3")]);
    let fillers: Vec<_> = config.fillers().collect();
    assert_eq!(fillers, [(name("fallback/2"), Path::new("/"))]);
    assert!(!config.is_public(&name("fallback/2")) && config.is_public(&name("fallback/1")));
    let mount = config.mount(&name("a.mp3"));
    assert_eq!(mount.fallback_after, Duration::from_secs(2));
    assert!(!mount.fallback_override && mount.fallback_when_full);
    assert_eq!(mount.listeners_max.map(|max| max.get()), Some(9));
    let time = config.listen_duration_max(&name("a.mp3"));
    assert_eq!(time, Some(Duration::from_secs(7_200)));
    assert_eq!(config.listen_duration_max(&name("b.mp3")), None);
    assert_eq!(config.mount(&name("other")), MountRule::default());
}

const UNHEARD: &str = r#"
[[stream]] ; match = "a" ; fallback = "a" => 3 stream.0.fallback: is the stream itself
[[stream]] ; match = "a" ; fallback = "b" ; [[stream]] ; match = "b" ; fallback = "c" ; [[stream]] ; match = "c" ; fallback = "a" => 3 stream.0.fallback: b, then c, then a
[[stream]] ; match = "a*" ; fallback = "b" ; [[stream]] ; match = "b" ; fallback = "a1" => 3 stream.0.fallback: b, then a1, then b
[[stream]] ; match = "a" ; fallback = "api/b" => 3 stream.0.fallback: own pages
[[stream]] ; match = "a" ; fallback = "b" ; fallback_file = "/" => 4 stream.0.fallback_file: one of both
[[stream]] ; match = "a" ; fallback_file = "/no/such/file.mp3" => 3 stream.0.fallback_file: no file or folder
[[stream]] ; match = "a" ; fallback_when_full = true => 3 stream.0.fallback_when_full: needs a fallback
[[stream]] ; match = "a" ; fallback = "b" ; fallback_after = "15s" => 4 stream.0.fallback_after: listeners are kept
[[stream]] ; match = "a" ; fallback = "b" ; linger = "500ms" => 4 stream.0.linger: the stream ends after 0.5 s
"#;

#[test]
fn what_cannot_be_heard_is_refused_with_its_place() {
    each_has_one_problem(UNHEARD);
}

#[test]
fn audio_is_watched_where_that_is_wished() {
    let watched = "[[stream]]\nmatch = \"a\"\nsilence_after = \"20s\"\nsilence_below = -40.0\n\
                   [[stream]]\nmatch = \"b\"\nclipping = true\n";
    let config = parse(watched).expect("valid");
    let audio = config.audio(&name("a"));
    assert_eq!(audio.silence_after, Duration::from_secs(20));
    assert!((audio.silence_peak() - 0.01).abs() < 1e-6);
    assert!(audio.is_watched() && config.audio(&name("b")).is_watched());
    assert!(!config.audio(&name("c")).is_watched());
    let source = "[[stream]]\nmatch = \"a\"\nsilence_below = 3.0\n";
    one_problem(source, 3, "stream.0.silence_below", "from -96 to -1");
}

const ALIASES: &str = r#"
[[alias]] ; path = "old" ; stream = "new" => 2 alias.0.path: such as "/old"
[[alias]] ; path = "/api/x" ; stream = "new" => 2 alias.0.path: such as "/old"
[[alias]] ; path = "/a" ; stream = "b" ; [[alias]] ; path = "/a" ; stream = "c" => 5 alias.1.path: another alias
[[alias]] ; path = "/a" ; stream = "b" ; [[alias]] ; path = "/b" ; stream = "c" => 3 alias.0.stream: is an alias itself
"#;

#[test]
fn aliases_are_paths_of_streams() {
    let config = parse("[[alias]]\npath = \"/old\"\nstream = \"new.mp3\"\n").expect("valid");
    for (path, expected) in [
        ("/old", Some("/new.mp3")),
        ("/old/index.m3u8", Some("/new.mp3/index.m3u8")),
        ("/old/", Some("/new.mp3/")),
        ("/older", None),
        ("/old.mp3", None),
        ("/", None),
        ("*", None),
        ("/new.mp3", None),
    ] {
        assert_eq!(config.aliased(path).as_deref(), expected, "{path}");
    }
    // Addresses that SHOUTcast listeners have stored.
    for path in "/|/;|/;stream.mp3|/stream/1/|/my radio (old)|/r\u{e4}dio".split('|') {
        let source = format!("[[alias]]\npath = \"{path}\"\nstream = \"new.mp3\"\n");
        let config = parse(&source).expect(path);
        assert_eq!(config.aliased(path).as_deref(), Some("/new.mp3"));
        assert_eq!(config.aliased("/other"), None);
    }
    let both =
        "[[alias]]\npath = \"/a\"\nstream = \"b\"\n[[alias]]\npath = \"/a/1/\"\nstream = \"c\"\n";
    let config = parse(both).expect("valid");
    assert_eq!(config.aliased("/a/1/").as_deref(), Some("/c"));
    assert_eq!(config.aliased("/a/1").as_deref(), Some("/b/1"));
    each_has_one_problem(ALIASES);
}

#[test]
fn a_fallback_is_no_way_around_a_key() {
    let source = |own: &str, of_fallback: &str, more: &str| {
        format!(
            "[auth.link]\nsecret = \"an-hmac-secret-of-32-characters!\"\n\
             [[stream]]\nmatch = \"main.mp3\"\nfallback = \"priv.mp3\"\nplay = \"{own}\"\n{more}\n\
             [[stream]]\nmatch = \"priv.*\"\nplay = \"{of_fallback}\"\n"
        )
    };
    for (own, of_fallback, more) in [
        ("open", "open", ""),
        ("key", "key", ""),
        ("key", "open", ""),
        ("open", "key", "fallback_open = true"),
    ] {
        let source = source(own, of_fallback, more);
        assert!(parse(&source).is_ok(), "{source}");
    }
    let open = source("open", "key", "");
    one_problem(&open, 5, "stream.0.fallback", "would hear it without one");
    let by_default = open.replace("play = \"open\"\n", "");
    one_problem(
        &by_default,
        5,
        "stream.0.fallback",
        "would hear it without one",
    );
}
