//! `[[station]]`.

use super::*;

#[test]
fn a_station_has_a_stream_and_files() {
    let config = parse(
        "[[station]]\nstream = \"radio\"\nplaylist = \"/a/b.pls\"\norder = \"shuffle\"\n\
         loop = false\nlinger = \"2s\"\nabsolute_paths = true\nno_repeat = \"2h\"\nweight = 3\n\
         [[station.list]]\nfolder = \"/jingles\"\nevery = 4\nhours = [\"mon 06:00-10:00\"]",
    );
    let config = config.expect("it is valid");
    let [station] = &config.stations[..] else {
        panic!("one station: {:?}", config.stations)
    };
    assert_eq!(station.stream.as_str(), "radio");
    let [own, jingles] = &station.lists[..] else {
        panic!("two lists: {:?}", station.lists)
    };
    assert_eq!(own.place, StationPlace::Playlist("/a/b.pls".into()));
    let (shuffle, plain) = (StationOrder::Shuffle, StationOrder::Sequential);
    assert_eq!((own.order, own.weight, own.every), (shuffle, 3, 0));
    assert_eq!(jingles.place, StationPlace::Folder("/jingles".into()));
    assert_eq!((jingles.order, jingles.every), (plain, 4));
    assert_eq!(jingles.hours[0].minutes()[0], 360..600);
    assert_eq!(station.no_repeat, Duration::from_secs(7_200));
    assert_eq!(station.request_after, Duration::from_secs(900));
    assert_eq!(station.linger, Duration::from_secs(2));
    assert!(own.absolute_paths && !jingles.absolute_paths && !station.is_looped);
    let plain = parse("[[station]]\nstream = \"radio\"\nfolder = \"/a\"").expect("it is valid");
    let [station] = &plain.stations[..] else {
        panic!("one station: {:?}", plain.stations)
    };
    assert_eq!(station.linger, Duration::from_secs(5));
    assert!(!station.lists[0].absolute_paths && station.is_looped);
}

const STATIONS: &str = r#"
[[station]] ; folder = "/a" => 1 station.0.stream: say what it is called
[[station]] ; stream = "a" => 1 station.0.folder: say what is played
[[station]] ; stream = "a" ; folder = "/a" ; playlist = "/a.pls" => 4 station.0.playlist: one of both
[[station]] ; stream = "a" ; folder = "/a" ; weight = 0 => 4 station.0.weight: from 1 to 100
[[station]] ; stream = "a" ; folder = "/a" ; [[station.list]] ; every = 4 => 4 station.0.list.0.folder: say what is played
[[station]] ; stream = "a" ; folder = "/a" ; [[station.list]] ; folder = "/b" ; every = 101 => 6 station.0.list.0.every: more than 100
[[station]] ; stream = "a" ; folder = "/a" ; order = "shufle" => 4 station.0.order: did you mean "shuffle"?
[[station]] ; stream = "admin/a" ; folder = "/a" => 2 station.0.stream: own pages
[[station]] ; stream = "a" ; folder = "/a" ; [[station]] ; stream = "a" ; folder = "/b" => 5 station.1.stream: another station
[[pull]] ; stream = "a" ; url = "rtmp://h/a/b" ; [[station]] ; stream = "a" ; folder = "/b" => 5 station.0.stream: pulled from elsewhere
[[station]] ; stream = "a" ; folder = "/a" ; linger = "15s" => 4 station.0.linger: listeners are kept
[ingest] ; linger = "5s" ; [[station]] ; stream = "a" ; folder = "/a" => 4 station.0.stream: listeners are kept
"#;

#[test]
fn a_station_that_cannot_work_is_refused() {
    each_has_one_problem(STATIONS);
}
