//! `[[files]]`.

use super::*;

const FOLDERS: &str = r#"
[[files]] ; path = "admin/x" ; directory = "/" => 2 files.0.path: begins as the server's own pages do
[[files]] ; path = "vod" ; directory = "/nowhere/at/all" => 3 files.0.directory: there is no directory /nowhere/at/all
[[files]] ; path = "vod" ; directory = "" => 3 files.0.directory: is empty
[[files]] ; path = "vod" ; directory = "/" ; [[files]] ; path = "vod" ; directory = "/" => 5 files.1.path: another folder
"#;

#[test]
fn folders_that_are_not_there_or_hide_something_are_reported() {
    each_has_one_problem(FOLDERS);
}
