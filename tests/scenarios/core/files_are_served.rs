//! Files of a folder are served on demand: whole, by ranges, and over HLS; nothing else on the disk is served.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::curl;
use crate::support::library::{BYTES, FILM, Library};

#[test]
fn curl_gets_the_ranges_it_asks_for() {
    let library = Library::make();
    let server = library.serve();
    let film = fs::read(library.file(FILM)).unwrap();
    let path = format!("/{FILM}?download=1");
    let length = film.len();
    let get = |arguments: &[&str]| curl(&server, &path, arguments);
    let whole = get(&[]);
    assert_eq!((whole.status, &whole.body), (200, &film));
    assert_eq!(whole.header("content-type"), Some("video/mp4"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let tag = whole.header("etag").unwrap().to_owned();
    let middle = length / 2;
    for (asked, range) in [
        ("0-1".to_owned(), 0..2),
        (format!("{middle}-{}", middle + 99), middle..middle + 100),
        (format!("{middle}-"), middle..length),
        ("-500".to_owned(), length - 500..length),
        (format!("{}-{}", length - 1, length + 9), length - 1..length),
        ("0-99,100-199".to_owned(), 0..200),
    ] {
        let part = get(&["-r", &asked]);
        assert_eq!(part.status, 206, "{asked}");
        let reported = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        assert_eq!(part.header("content-range"), Some(reported.as_str()));
        assert_eq!(part.header("etag"), Some(tag.as_str()));
        assert_eq!(part.body, film[range], "{asked}");
    }
    let beyond = get(&["-r", &format!("{length}-")]);
    assert_eq!((beyond.status, beyond.body.len()), (416, 0));
    let reported = format!("bytes */{length}");
    assert_eq!(beyond.header("content-range"), Some(reported.as_str()));
    let several = get(&["-r", "0-0,-1"]);
    assert_eq!((several.status, several.body.len()), (200, length));
    for (known, status) in [(tag.as_str(), 206), ("\"another\"", 200)] {
        let asked = get(&["-r", "0-1", "-H", &format!("If-Range: {known}")]);
        assert_eq!(asked.status, status, "{known}");
    }
    let known = get(&["-H", &format!("If-None-Match: {tag}")]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = get(&["-I", "-r", "0-1"]);
    let announced = length.to_string();
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), Some(announced.as_str()));
    assert_eq!(curl(&server, "/vod/none.mp4", &[]).status, 404);
    assert_eq!(curl(&server, "/vod/", &[]).status, 404);
    let metrics = server.metrics();
    let requests = |result| {
        metrics.get(&format!(
            "carillon_file_requests_total{{result=\"{result}\"}}"
        ))
    };
    assert_eq!(requests("beyond"), Some(1.0));
    assert_eq!(requests("part"), Some(7.0));
    assert!(metrics.get(BYTES) > Some(length as f64));
}

#[test]
fn nothing_beside_the_folder_is_served() {
    let library = Library::make();
    let (outer, folder) = (library.outer.path(), library.folder());
    fs::write(outer.join("secret.mp4"), "secret").unwrap();
    fs::write(folder.join(".hidden.mp4"), "secret").unwrap();
    fs::write(folder.join("notes.txt"), "secret").unwrap();
    symlink("../secret.mp4", folder.join("out.mp4")).unwrap();
    symlink(outer.join("secret.mp4"), folder.join("far.mp4")).unwrap();
    symlink(outer, folder.join("up")).unwrap();
    let server = library.serve();
    let paths = "
        /vod/../secret.mp4 /vod/%2e%2e/secret.mp4 /vod/%2E%2E%2Fsecret.mp4 /vod/..%2fsecret.mp4
        /vod/%252e%252e/secret.mp4 /vod/sub%20folder/../../secret.mp4 /vod//secret.mp4
        /vod/./../secret.mp4 /vod/out.mp4 /vod/out.mp4/index.m3u8 /vod/far.mp4 /vod/up/secret.mp4
        /vod/.hidden.mp4 /vod/notes.txt /vod/%00secret.mp4 /vod/sub%20folder
    ";
    for path in paths.split_whitespace() {
        let answer = curl(&server, path, &[]);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.text().contains("secret\n") && answer.text() != "secret");
    }
    assert_eq!(
        curl(&server, &format!("/{FILM}"), &["-r", "0-1"]).status,
        206
    );
}
