//! `[[variants]]`.

use super::*;

const GROUPS: &str = r#"
[[variants]] ; streams = ["a"] => 1 variants.0.name: is missing
[[variants]] ; name = "x" => 1 variants.0.streams: is missing
[[variants]] ; name = "x" ; streams = [] => 3 variants.0.streams: is empty
[[variants]] ; name = "x" ; streams = ["a b"] => 3 variants.0.streams: no stream's name has
[[variants]] ; name = "/x" ; streams = ["a"] => 2 variants.0.name: slash
[[variants]] ; name = "x" ; streams = ["a"] ; best = "a" => 4 variants.0.best: no such key
[[variants]] ; name = "x" ; streams = [{17}] => 3 variants.0.streams: more than 16
"#;

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
    let groups = ["sd", "live/hd", "live/show"].map(|text| config.group(&name(text)));
    assert_eq!(groups, [Some(0), Some(0), None]);
    let many: Vec<_> = (0..17).map(|number| format!("\"s{number}\"")).collect();
    each_has_one_problem(&GROUPS.replace("{17}", &many.join(", ")));
}

const NAMES: &str = r#"
[[variants]] ; name = "admin/x" ; streams = ["a"] => 2 variants.0.name: begins as the server's own pages do
[[variants]] ; name = "x" ; streams = ["a", "x"] => 2 variants.0.name: `x` is the name of a stream
[[variants]] ; name = "x" ; streams = ["a"] ; [[variants]] ; name = "y" ; streams = ["x"] => 2 variants.0.name: `x` is the name of a stream
[[pull]] ; stream = "x" ; url = "rtmp://h/a/x" ; [[variants]] ; name = "x" ; streams = ["a"] => 5 variants.0.name: `x` is the name of a stream
[[variants]] ; name = "x" ; streams = ["a"] ; [[variants]] ; name = "x" ; streams = ["b"] => 5 variants.1.name: another group
[[variants]] ; name = "x" ; streams = ["a", "b", "a"] => 3 variants.0.streams: `a` twice
"#;

#[test]
fn names_of_groups_that_stand_for_something_else_are_reported() {
    each_has_one_problem(NAMES);
}
