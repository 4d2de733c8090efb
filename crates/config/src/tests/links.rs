//! `[[push]]` and `[[pull]]`.

use super::*;

#[test]
fn links_that_cannot_be_made_are_told() {
    for (source, line, key, words) in [
        (
            "[[push]]\nurl = \"rtmp://h/{stream}\"",
            1,
            "push.0.match",
            "is missing",
        ),
        (
            "[[push]]\nmatch = \"live/*\"",
            1,
            "push.0.url",
            "is missing",
        ),
        (
            "[[push]]\nmatch = \"live/*\"\nurl = \"rtpm://h/{stream}\"",
            3,
            "push.0.url",
            "did you mean `rtmp://`?",
        ),
        (
            "[[push]]\nmatch = \"live/*\"\nurl = \"rtmp://h/{sream}\"",
            3,
            "push.0.url",
            "did you mean `{stream}`?",
        ),
        (
            "[[push]]\nmatch = \"live/*\"\nurl = \"rtmp://h\"",
            3,
            "push.0.url",
            "names no stream",
        ),
        (
            "[[pull]]\nurl = \"rtmp://h/a/b\"",
            1,
            "pull.0.stream",
            "is missing",
        ),
        (
            "[[pull]]\nstream = \"live/x\"",
            1,
            "pull.0.url",
            "is missing",
        ),
        (
            "[[pull]]\nstream = \"live/ü*\"\nurl = \"rtmp://h/a/{name}\"",
            2,
            "pull.0.stream",
            "no stream's name",
        ),
        (
            "[[pull]]\nstream = \"/live/x\"\nurl = \"rtmp://h/a/b\"",
            2,
            "pull.0.stream",
            "slash",
        ),
        (
            "[[pull]]\nstream = \"live/x\"\nurl = \"htps://h/a.flv\"",
            3,
            "pull.0.url",
            "did you mean `https://`?",
        ),
        (
            "[[pull]]\nstream = \"far.mp3\"\nurl = \"http://h/radio.pls\"",
            3,
            "pull.0.url",
            "over HTTP only FLV and radio streams can be pulled; give the address that is in the playlist",
        ),
        (
            "[[pull]]\nstream = \"a.mp3\"\nurl = \"http://h/a\"\nalternates = [\"http://h/{name}\"]",
            4,
            "pull.0.alternates",
            "there is only one stream",
        ),
        (
            "[[push]]\nmatch = \"a/*\"\nurl = \"rtmp://h/{stream}\"\n\
             [[push]]\nmatch = \"a/*\"\nurl = \"rtmp://h/{stream}\"",
            5,
            "push.1.match",
            "twice",
        ),
        (
            "[[pull]]\nstream = \"admin/x\"\nurl = \"rtmp://h/a/x\"",
            2,
            "pull.0.stream",
            "`admin/x` begins as the server's own pages do",
        ),
        (
            "[[pull]]\nstream = \"a/x\"\nurl = \"rtmp://h/a/x\"\n\
             [[pull]]\nstream = \"a/x\"\nurl = \"rtmp://i/a/x\"",
            5,
            "pull.1.stream",
            "already",
        ),
        (
            "[[pull]]\nstream = \"a/x\"\nurl = \"rtmp://h/a/{name}\"",
            3,
            "pull.0.url",
            "there is only one stream",
        ),
        (
            "[[pull]]\nstream = \"a/*\"\nurl = \"rtmp://h/a/x\"\non_demand = true",
            3,
            "pull.0.url",
            "put {name} where the name belongs",
        ),
        (
            "[[pull]]\nstream = \"a/*\"\nurl = \"rtmp://h/a/{name}\"",
            2,
            "pull.0.stream",
            "add on_demand = true",
        ),
        (
            "[[pull]]\nstream = \"a/x*\"\nurl = \"rtmp://h/a/{rest}\"\non_demand = true",
            3,
            "pull.0.url",
            "begins no segment",
        ),
        (
            "[[pull]]\nstream = \"admin/*\"\nurl = \"rtmp://h/a/{name}\"\non_demand = true",
            2,
            "pull.0.stream",
            "`admin/*` begins as the server's own pages do",
        ),
        (
            "[[pull]]\nstream = \"**\"\nurl = \"rtmp://h/a/{name}\"\non_demand = true\n\
             [[pull]]\nstream = \"a/*\"\nurl = \"rtmp://i/a/{name}\"\non_demand = true",
            6,
            "pull.1.stream",
            "never applies",
        ),
    ] {
        one_problem(source, line, key, words);
    }
}
