//! `[[files]]`.

use super::*;

#[test]
fn folders_that_are_not_there_or_hide_something_are_told() {
    for (source, line, key, words) in [
        (
            "[[files]]\npath = \"admin/x\"\ndirectory = \"/\"",
            2,
            "files.0.path",
            "begins as the server's own pages do",
        ),
        (
            "[[files]]\npath = \"vod\"\ndirectory = \"/nowhere/at/all\"",
            3,
            "files.0.directory",
            "there is no directory /nowhere/at/all",
        ),
        (
            "[[files]]\npath = \"vod\"\ndirectory = \"\"",
            3,
            "files.0.directory",
            "is empty",
        ),
        (
            "[[files]]\npath = \"vod\"\ndirectory = \"/\"\n\
             [[files]]\npath = \"vod\"\ndirectory = \"/\"",
            5,
            "files.1.path",
            "another folder",
        ),
    ] {
        one_problem(source, line, key, words);
    }
}
