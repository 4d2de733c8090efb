//! `[recording]`, `[[record]]` and `[recording.upload]`.

use super::*;

#[test]
fn a_rule_of_recordings_takes_what_it_does_not_say_from_the_section() {
    let source = "[recording]\ndirectory = \"/rec\"\nsplit = \"30m\"\ncontainer = \"flv\"\nmax_age = \"30d\"\nmax_count = 7\n\
        [[record]]\nmatch = \"live/*\"\nmax_age = \"0s\"\nmax_bytes = \"2GiB\"\n\
        [[record]]\nmatch = \"**\"\ndirectory = \"/other\"\nsplit = \"10m\"\ncontainer = \"ts\"\nsnapshot = \"60s\"";
    let config = parse(source).expect("valid");
    let [live, all] = &config.records[..] else {
        panic!("two rules")
    };
    let day = Duration::from_secs(24 * 3_600);
    assert_eq!(live.directory, Path::new("/rec"));
    assert_eq!(
        (live.container, all.container),
        (RecordedAs::Flv, RecordedAs::Ts)
    );
    assert_eq!(
        (live.snapshot, all.snapshot),
        (Duration::ZERO, Duration::from_secs(60))
    );
    assert_eq!(live.split, Duration::from_secs(1_800));
    let keep = Kept {
        max_age: Duration::ZERO,
        max_bytes: 2 << 30,
        max_count: 7,
    };
    assert_eq!(live.keep, keep);
    assert_eq!(all.directory, Path::new("/other"));
    assert_eq!(all.keep.max_age, 30 * day);
    assert_eq!(
        (all.keep.max_bytes, all.split),
        (0, Duration::from_secs(600))
    );
    let rule = |name: &str| config.record_rule(&StreamName::parse(name).expect("a name"));
    assert_eq!((rule("live/show"), rule("radio.mp3")), (Some(0), Some(1)));
}

#[test]
fn recordings_and_copies_without_a_place_are_told() {
    for (source, line, key, words) in [
        (
            "[recording]\nsplit = \"5s\"",
            2,
            "recording.split",
            "not from 10s to 6h",
        ),
        (
            "[recording]\nmin_free = \"5\"",
            2,
            "recording.min_free",
            "with its unit",
        ),
        (
            "[[record]]\nmatch = \"live/*\"",
            1,
            "record.0.directory",
            "say where to",
        ),
        (
            "[[record]]\nmatch = \"live/*\"\ndirectory = \"\"",
            3,
            "record.0.directory",
            "is empty",
        ),
        (
            "[[record]]\ndirectory = \"/rec\"",
            1,
            "record.0.match",
            "say which streams",
        ),
        (
            "[recording]\ndirectory = \"/rec\"\n[[record]]\nmatch = \"a\"\ndirectory = \"/rec/a\"",
            5,
            "record.0.directory",
            "contain one another",
        ),
        (
            "[recording]\ndirectory = \"/dev/null\"",
            2,
            "recording.directory",
            "not a directory",
        ),
        (
            "[recording]\ndirectory = \"/rec\"\n[[record]]\nmatch = \"**\"\n[[record]]\nmatch = \"a\"",
            6,
            "record.1.match",
            "never applies",
        ),
        (
            "[recording.upload]\nbucket = \"radio\"",
            2,
            "recording.upload.bucket",
            "no place for recordings",
        ),
        (
            "[recording.upload]\nbucket = \"radio\"\n[[record]]\nmatch = \"a\"\ndirectory = \"/rec\"",
            2,
            "recording.upload.bucket",
            "recording.directory is empty",
        ),
        (
            "[recording.upload]\nbucket = \"My Radio\"",
            2,
            "recording.upload.bucket",
            "no bucket's name",
        ),
        (
            "[recording.upload]\nprefix = \"/radio\"",
            2,
            "recording.upload.prefix",
            "joined by slashes",
        ),
        (
            "[recording.upload]\nendpoint = \"minio:9000\"",
            2,
            "recording.upload.endpoint",
            "neither https:// nor http://",
        ),
    ] {
        one_problem(source, line, key, words);
    }
}
