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
    let containers = (live.container, all.container);
    assert_eq!(containers, (RecordedAs::Flv, RecordedAs::Ts));
    let minute = Duration::from_secs(60);
    assert_eq!((live.snapshot, all.snapshot), (Duration::ZERO, minute));
    assert_eq!(live.split, Duration::from_secs(1_800));
    let keep = Kept {
        max_age: Duration::ZERO,
        max_bytes: 2 << 30,
        max_count: 7,
    };
    assert_eq!(live.keep, keep);
    assert_eq!(all.directory, Path::new("/other"));
    assert_eq!(all.keep.max_age, 30 * day);
    let (bytes, split) = (all.keep.max_bytes, all.split);
    assert_eq!((bytes, split), (0, Duration::from_secs(600)));
    let rule = |stream: &str| config.record_rule(&name(stream));
    assert_eq!((rule("live/show"), rule("radio.mp3")), (Some(0), Some(1)));
}

const NO_PLACE: &str = r#"
[recording] ; split = "5s" => 2 recording.split: not from 10s to 6h
[recording] ; min_free = "5" => 2 recording.min_free: with its unit
[[record]] ; match = "live/*" => 1 record.0.directory: say where to
[[record]] ; match = "live/*" ; directory = "" => 3 record.0.directory: is empty
[[record]] ; directory = "/rec" => 1 record.0.match: say which streams
[recording] ; directory = "/rec" ; [[record]] ; match = "a" ; directory = "/rec/a" => 5 record.0.directory: contain one another
[recording] ; directory = "/dev/null" => 2 recording.directory: not a directory
[recording] ; directory = "/rec" ; [[record]] ; match = "**" ; [[record]] ; match = "a" => 6 record.1.match: never applies
[recording.upload] ; bucket = "radio" => 2 recording.upload.bucket: no place for recordings
[recording.upload] ; bucket = "radio" ; [[record]] ; match = "a" ; directory = "/rec" => 2 recording.upload.bucket: recording.directory is empty
[recording.upload] ; bucket = "My Radio" => 2 recording.upload.bucket: no bucket's name
[recording.upload] ; prefix = "/radio" => 2 recording.upload.prefix: joined by slashes
[recording.upload] ; endpoint = "minio:9000" => 2 recording.upload.endpoint: neither https:// nor http://
"#;

#[test]
fn recordings_and_copies_without_a_place_are_reported() {
    each_has_one_problem(NO_PLACE);
}
