//! `[[push]]` and `[[pull]]`.

use super::*;

const LINKS: &str = r#"
[[push]] ; url = "rtmp://h/{stream}" => 1 push.0.match: is missing
[[push]] ; match = "live/*" => 1 push.0.url: is missing
[[push]] ; match = "live/*" ; url = "rtpm://h/{stream}" => 3 push.0.url: did you mean `rtmp://`?
[[push]] ; match = "live/*" ; url = "rtmp://h/{sream}" => 3 push.0.url: did you mean `{stream}`?
[[push]] ; match = "live/*" ; url = "rtmp://h" => 3 push.0.url: names no stream
[[pull]] ; url = "rtmp://h/a/b" => 1 pull.0.stream: is missing
[[pull]] ; stream = "live/x" => 1 pull.0.url: is missing
[[pull]] ; stream = "live/ü*" ; url = "rtmp://h/a/{name}" => 2 pull.0.stream: no stream's name
[[pull]] ; stream = "/live/x" ; url = "rtmp://h/a/b" => 2 pull.0.stream: slash
[[pull]] ; stream = "live/x" ; url = "htps://h/a.flv" => 3 pull.0.url: did you mean `https://`?
[[pull]] ; stream = "far.mp3" ; url = "http://h/radio.pls" => 3 pull.0.url: over HTTP only FLV and radio streams can be pulled; give the address that is in the playlist
[[pull]] ; stream = "a.mp3" ; url = "http://h/a" ; alternates = ["http://h/{name}"] => 4 pull.0.alternates: there is only one stream
[[push]] ; match = "a/*" ; url = "rtmp://h/{stream}" ; [[push]] ; match = "a/*" ; url = "rtmp://h/{stream}" => 5 push.1.match: twice
[[pull]] ; stream = "admin/x" ; url = "rtmp://h/a/x" => 2 pull.0.stream: `admin/x` begins as the server's own pages do
[[pull]] ; stream = "a/x" ; url = "rtmp://h/a/x" ; [[pull]] ; stream = "a/x" ; url = "rtmp://i/a/x" => 5 pull.1.stream: already
[[pull]] ; stream = "a/x" ; url = "rtmp://h/a/{name}" => 3 pull.0.url: there is only one stream
[[pull]] ; stream = "a/*" ; url = "rtmp://h/a/x" ; on_demand = true => 3 pull.0.url: put {name} where the name belongs
[[pull]] ; stream = "a/*" ; url = "rtmp://h/a/{name}" => 2 pull.0.stream: add on_demand = true
[[pull]] ; stream = "a/x*" ; url = "rtmp://h/a/{rest}" ; on_demand = true => 3 pull.0.url: begins no segment
[[pull]] ; stream = "admin/*" ; url = "rtmp://h/a/{name}" ; on_demand = true => 2 pull.0.stream: `admin/*` begins as the server's own pages do
[[pull]] ; stream = "**" ; url = "rtmp://h/a/{name}" ; on_demand = true ; [[pull]] ; stream = "a/*" ; url = "rtmp://i/a/{name}" ; on_demand = true => 6 pull.1.stream: never applies
"#;

#[test]
fn links_that_cannot_be_made_are_reported() {
    each_has_one_problem(LINKS);
}
