//! `[[variants]]`.

use super::*;

#[test]
fn a_group_of_variants_has_a_name_and_streams() {
    let config = parse("[[variants]]\nname = \"live/show\"\nstreams = [\"live/hd\", \"sd\"]");
    let config = config.expect("valid");
    let [group] = &config.variants[..] else {
        panic!("one group: {:?}", config.variants)
    };
    assert_eq!(group.name.as_str(), "live/show");
    let streams: Vec<_> = group.streams.iter().map(StreamName::as_str).collect();
    assert_eq!(streams, ["live/hd", "sd"]);
    let groups = ["sd", "live/hd", "live/show"].map(|text| {
        let name = StreamName::parse(text).expect("a name");
        config.group(&name)
    });
    assert_eq!(groups, [Some(0), Some(0), None]);
    let many: Vec<_> = (0..17).map(|number| format!("\"s{number}\"")).collect();
    let many = format!(
        "[[variants]]\nname = \"x\"\nstreams = [{}]",
        many.join(", ")
    );
    for (source, line, key, words) in [
        (
            "[[variants]]\nstreams = [\"a\"]",
            1,
            "variants.0.name",
            "is missing",
        ),
        (
            "[[variants]]\nname = \"x\"",
            1,
            "variants.0.streams",
            "is missing",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = []",
            3,
            "variants.0.streams",
            "is empty",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a b\"]",
            3,
            "variants.0.streams",
            "no stream's name has",
        ),
        (
            "[[variants]]\nname = \"/x\"\nstreams = [\"a\"]",
            2,
            "variants.0.name",
            "slash",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\nbest = \"a\"",
            4,
            "variants.0.best",
            "no such key",
        ),
        (&many, 3, "variants.0.streams", "more than 16"),
    ] {
        one_problem(source, line, key, words);
    }
}

#[test]
fn names_of_groups_that_stand_for_something_else_are_told() {
    for (source, line, key, words) in [
        (
            "[[variants]]\nname = \"admin/x\"\nstreams = [\"a\"]",
            2,
            "variants.0.name",
            "begins as the server's own pages do",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\", \"x\"]",
            2,
            "variants.0.name",
            "`x` is the name of a stream",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\n\
             [[variants]]\nname = \"y\"\nstreams = [\"x\"]",
            2,
            "variants.0.name",
            "`x` is the name of a stream",
        ),
        (
            "[[pull]]\nstream = \"x\"\nurl = \"rtmp://h/a/x\"\n\
             [[variants]]\nname = \"x\"\nstreams = [\"a\"]",
            5,
            "variants.0.name",
            "`x` is the name of a stream",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\n\
             [[variants]]\nname = \"x\"\nstreams = [\"b\"]",
            5,
            "variants.1.name",
            "another group",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\", \"b\", \"a\"]",
            3,
            "variants.0.streams",
            "`a` twice",
        ),
    ] {
        one_problem(source, line, key, words);
    }
}
