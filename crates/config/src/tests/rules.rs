//! `[[stream]]`: which rule holds for a stream.

use super::*;

#[test]
fn a_hook_is_asked_about_what_it_matches_and_not_where_files_of_users_decide() {
    let source = "[auth.hook]\nurl = \"http://h/\"\nmatch = [\"free.mp3\", \"paid/*\"]\n\
        [[auth.htpasswd]]\nfile = \"/dev/null\"\nmatch = \"paid/*\"\nscopes = [\"play\"]\n\
        [[stream]]\nmatch = \"paid/open\"\n\
        [[stream]]\nmatch = \"paid/*\"\nplay = \"key\"\n";
    let asked = |source: &str, scope, stream: &str| {
        let mut walk = Walk::new(source, std::iter::empty());
        let (table, _) = DeTable::parse_recoverable(source);
        let mut config = Config::default();
        // Without the check, for which there would have to be a file.
        walk.root(table.get_ref(), |section| config.read(section));
        config.asks_hook(scope, &name(stream))
    };
    for (stream, plays, publishes) in [
        ("free.mp3", true, true),
        ("free.mp3~low", true, true),
        ("other.mp3", false, false),
        ("paid/a", false, true),
        ("paid/open", true, true),
    ] {
        assert_eq!(asked(source, Scope::Play, stream), plays, "{stream}");
        assert_eq!(asked(source, Scope::Publish, stream), publishes, "{stream}");
    }
    let asks = source.replace("scopes", "ask_hook = true\nscopes");
    assert!(asked(&asks, Scope::Play, "paid/a"));
    let everywhere = "[auth.hook]\nurl = \"http://h/\"\n";
    assert!(asked(everywhere, Scope::Play, "other.mp3"));
    let none = "[auth.hook]\nurl = \"http://h/\"\nmatch = []";
    one_problem(none, 3, "auth.hook.match", "is empty");
}

#[test]
fn the_first_matching_rule_decides() {
    let config = parse(
        "[auth]\npublish_key = \"x7Kq-92mPz\"\n\
         [hls]\ndvr = \"2h\"\ndvr_directory = \"/tmp\"\n\
         [[stream]]\nmatch = \"live/low\"\nmax_wait = \"20ms\"\nlinger = \"1s\"\ntakeover = \"stalled\"\ndvr = \"0s\"\n\
         [[stream]]\nmatch = \"live/*\"\npublic = false\npublish_key = \"other-k3y-here\"\n",
    );
    let config = config.expect("valid");
    let (low, show, radio) = (name("live/low"), name("live/show"), name("radio.mp3"));
    let audio = config.policy(&low, Class::Audio);
    assert_eq!((audio.max_wait.as_millis(), audio.subgroup), (20, 500));
    let video = config.policy(&radio, Class::Video);
    assert_eq!(video, Policy::default_for(Class::Video));
    let takeovers = [&low, &show].map(|name| config.takeover(name));
    assert_eq!(takeovers, [Takeover::Stalled, Takeover::SameCredential]);
    let lingers = [&low, &show].map(|name| config.linger(name).as_secs());
    assert_eq!(lingers, [1, 15]);
    let windows = [&low, &show].map(|name| config.dvr(name).as_secs());
    assert_eq!(windows, [0, 7_200]);
    let public = [&low, &show, &radio].map(|name| config.is_public(name));
    assert_eq!(public, [true, false, true]);
    let opens = |name: &StreamName, key| {
        let mut keys = config.keys_for(Scope::Publish, name, &[]);
        keys.any(|one| plain(one.secret).matches(key))
    };
    assert!(opens(&show, "other-k3y-here") && !opens(&show, "x7Kq-92mPz"));
    assert!(opens(&low, "x7Kq-92mPz") && !opens(&low, "other-k3y-here"));
}

#[test]
fn renditions_have_the_rules_of_their_stream() {
    let source = "[auth]\npublish_key = \"x7Kq-92mPz\"\n\
        [[stream]]\nmatch = \"live/show~own\"\nlinger = \"1s\"\n\
        [[stream]]\nmatch = \"live/show\"\nlinger = \"2s\"\npublish_key = \"other-k3y-here\"\n\
        [[stream]]\nmatch = \"**\"\nlinger = \"3s\"\n";
    let config = parse(source).expect("valid");
    for (stream, seconds, is_own) in [
        ("live/show", 2, true),
        ("live/show~1", 2, true),
        ("live/show~1~2", 2, true),
        ("live/show~own", 1, false),
        ("live/shows~1", 3, false),
        ("live/show~a_b", 3, false),
    ] {
        let stream = name(stream);
        assert_eq!(config.linger(&stream).as_secs(), seconds, "{stream}");
        let mut keys = config.keys_for(Scope::Publish, &stream, &[]);
        let opens = keys.any(|one| plain(one.secret).matches("other-k3y-here"));
        assert_eq!(opens, is_own, "{stream}");
    }
}

#[test]
fn numbers_of_streams_are_not_shared() {
    let rule = |name: &str, sid: u32| format!("[[stream]]\nmatch = \"{name}\"\nsid = {sid}\n");
    let two = |sid| rule("one", 2) + &rule("two", sid);
    let config = parse(&two(3)).expect("valid");
    let sid = |stream| config.rule(&name(stream)).and_then(|rule| rule.sid);
    let sids = ["one", "two", "three"].map(|stream| sid(stream).map(|sid| sid.get()));
    assert_eq!(sids, [Some(2), Some(3), None]);
    one_problem(&two(2), 6, "stream.1.sid", "another rule");
    // Zero is none.
    parse(&two(0)).expect("valid");
    let none = rule("one", 0) + &rule("two", 0);
    parse(&none).expect("valid");
}

#[test]
fn listeners_are_judged_by_rules_about_them_and_by_a_hook() {
    let judged = |source: &str| {
        let config = parse(source).expect("valid");
        ["live/show", "radio.mp3"].map(|text| config.is_judged_by_client(&name(text)))
    };
    let rule = |actions: &str| {
        let fit = "[[access]]\nmatch = \"live/*\"\ndeny = [\"192.0.2.0/24\"]\n";
        format!("{fit}actions = [\"{actions}\"]\n")
    };
    let hook = |asks: &str| format!("[auth.hook]\nurl = \"http://h/\"\nasks = \"{asks}\"\n");
    assert_eq!(judged(""), [false, false]);
    assert_eq!(judged(&rule("play")), [true, false]);
    assert_eq!(judged(&rule("publish")), [false, false]);
    assert_eq!(judged(&hook("play")), [true, true]);
    assert_eq!(judged(&hook("publish")), [false, false]);
}
