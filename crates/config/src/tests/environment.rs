//! Settings from the environment.

use std::num::NonZeroU32;

use super::*;

#[test]
fn the_environment_wins_and_is_typed_like_the_file() {
    let config = with_environment(
        "[fanout]\nworkers = 1\n[[stream]]\nmatch = \"a\"\n",
        &[
            ("CARILLON__FANOUT__WORKERS", "2"),
            ("CARILLON__FANOUT__AUDIO__MAX_WAIT", "1s"),
            ("CARILLON__HTTP__LISTEN", "127.0.0.1:81, [::1]:81"),
            ("CARILLON__RTMP__LISTEN", ""),
            ("CARILLON__DRAIN_TIMEOUT", "1m"),
            ("CARILLON__LOG__ACCESS", "-"),
            ("CARILLON__LIMITS__LISTENERS", "7"),
            ("CARILLON__STREAM__0__PUBLIC", "false"),
            ("CARILLON__STREAM__1__MATCH", "b"),
            ("CARILLON__RTMP__PLAY_WAIT", "0s"),
            ("CARILLON__PUSH__0__MATCH", "a"),
            ("CARILLON__PUSH__0__URL", "rtmp://h/{stream}/x"),
            ("CARILLON__PULL__0__STREAM", "c"),
            ("CARILLON__PULL__0__URL", "http://h/c.flv"),
            ("CARILLON__PULL__0__ON_DEMAND", "true"),
            ("CARILLON_UNRELATED", "x"),
            ("PATH", "/bin"),
        ],
    );
    let config = config.expect("a valid environment");
    assert_eq!((config.fanout.workers, config.rtmp.listen.len()), (2, 0));
    assert_eq!(config.fanout.audio.max_wait, Duration::from_secs(1));
    assert_eq!(config.http.listen.len(), 2);
    assert_eq!(config.drain_timeout, Duration::from_secs(60));
    assert_eq!(config.log.access, LogTarget::Stdout);
    assert_eq!(config.limits.listeners, NonZeroU32::new(7));
    assert_eq!(config.rtmp.play_wait, Duration::ZERO);
    assert_eq!(config.pushes[0].pattern.as_str(), "a");
    assert!(config.pulls[0].on_demand);
    let public = config
        .streams
        .iter()
        .map(|r| (r.pattern.as_str(), r.public));
    assert_eq!(public.collect::<Vec<_>>(), [("a", false), ("b", true)]);
}

#[test]
fn errors_of_the_environment_name_their_variable() {
    let report = with_environment(
        "",
        &[
            ("CARILLON__FANOUT__WORKRES", "2"),
            ("CARILLON__FANOUT__BACKEND", "kqueue"),
            ("CARILLON__STREAM__99999__MATCH", "x"),
        ],
    );
    let shown = report.expect_err("wrong variables").to_string();
    assert!(shown.contains("environment: CARILLON__FANOUT__WORKRES: error: no such setting; did you mean `CARILLON__FANOUT__WORKERS`?"), "{shown}");
    let backend = "environment: CARILLON__FANOUT__BACKEND: error: fanout.backend: `kqueue`";
    assert!(shown.contains(backend), "{shown}");
    assert!(shown.ends_with("3 errors"), "{shown}");
}
