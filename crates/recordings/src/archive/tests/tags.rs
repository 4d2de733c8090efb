//! Files of FLV, of transport stream and of WebM.

use testkit::Tool;

use super::kept::{PATIENCE, decode, probe};
use super::*;

/// Time of the first video frame shown after seeking to `seconds`.
fn sought(path: &Path, seconds: &str) -> f64 {
    let reported = Tool::ffprobe()
        .args(["-select_streams", "v", "-of", "csv=p=0"])
        .args(["-show_entries", "packet=pts_time"])
        .args(["-read_intervals", &format!("{seconds}%+#1")])
        .arg(path)
        .run(PATIENCE);
    let reported = String::from_utf8(reported).expect("text");
    let first = reported.split([',', '\n']).next().expect("a packet");
    first.trim().parse().expect("a number")
}

#[test]
fn flv_begins_at_zero_and_is_sought_by_its_keyframes() {
    let mut archive = TestArchive::becoming(Becomes::Flv);
    let mut later = items(Clip::FlvBframes);
    // The stream has been live for hours.
    for item in &mut later {
        if let Item::Sample(sample) = item {
            sample.dts += Span::from_millis(10_000_000);
            sample.pts += Span::from_millis(10_000_000);
        }
    }
    let mut early = items(Clip::FlvBframes);
    let mut publisher = archive.publish(Container::Tracks);
    write(&mut publisher, until(&mut early, 40));
    drop((publisher, early));
    archive.record_turns(Container::Tracks, vec![later], 100);
    let closed = archive.only();
    assert_eq!(closed.state, State::Finalised);
    assert!(closed.path.to_string_lossy().ends_with("Z-0.flv"));
    decode(&closed.path);
    let (start, seconds) = probe(&closed.path);
    assert!(start.abs() < 0.1, "{start}");
    assert!((3.9..4.2).contains(&seconds), "{seconds}");
    assert!((closed.duration.as_secs_f64() / seconds - 1.0).abs() < 0.01);
    let wanted = pictures(&Clip::FlvBframes.seconds(4));
    assert_eq!(pictures(&closed.path), wanted);
    let at = sought(&closed.path, "2.5");
    assert!((1.9..2.2).contains(&at), "{at}");
    // Where the metadata says it is.
    let file = std::fs::read(&closed.path).expect("read");
    let mark = b"filepositions";
    let list = file.windows(mark.len()).position(|at| at == mark);
    let list = &file[list.expect("a list") + mark.len() + 1..];
    let count = u32::from_be_bytes(*list.first_chunk().expect("a count"));
    assert_eq!(count, 4, "one a second");
    for entry in list[4..].chunks(9).take(4) {
        let at = f64::from_be_bytes(*entry[1..].first_chunk().expect("a number")) as usize;
        assert_eq!((file[at], file[at + 11], file[at + 12]), (9, 0x17, 1));
    }
}

#[test]
fn other_codecs_are_another_file_of_flv_and_the_same_are_not() {
    let mut archive = TestArchive::becoming(Becomes::Flv);
    let turns = [Clip::Flv, Clip::Flv, Clip::FlvLarger].map(items);
    archive.record_turns(Container::Tracks, turns.into(), 40);
    let recorded = archive.recordings();
    let counts: Vec<_> = recorded.iter().map(|it| pictures(&it.path).len()).collect();
    assert_eq!(counts, [200, 100]);
}

#[test]
fn what_a_killed_process_leaves_of_tags_and_packets_is_recovered() {
    for becomes in [Becomes::Flv, Becomes::Ts] {
        let mut archive = TestArchive::becoming(becomes);
        let (part, whole) = archive.killed(Container::Tracks, items(Clip::Flv));
        let wanted = pictures(&Clip::Flv.seconds(4));
        for cut in [whole.len(), whole.len() - 1, whole.len() - 20_000] {
            let mut left = whole[..cut].to_vec();
            left.resize(cut + 700, 0);
            archive.restart_with(&part, &left);
            let recovered = archive.only();
            assert_eq!(recovered.state, State::Finalised);
            let (_, seconds) = probe(&recovered.path);
            assert!((2.5..4.3).contains(&seconds), "{seconds}");
            if becomes == Becomes::Ts {
                assert!(recovered.bytes.is_multiple_of(188));
            } else {
                let got = pictures(&recovered.path);
                assert!(got.len() >= 70 && got == wanted[..got.len()]);
                let at = sought(&recovered.path, "2.5");
                assert!((1.9..2.2).contains(&at), "{at}");
            }
        }
    }
}

#[test]
fn webm_is_kept_as_it_is_and_each_publisher_has_a_file() {
    let file = std::fs::read(Clip::WebM.seconds(4)).expect("it was made");
    let mut archive = TestArchive::new();
    let mut items = Vec::new();
    container::webm::Demuxer::default().push(&file, &mut items);
    archive.record_turns(Container::WebM, vec![items.clone(), items], 900);
    let recorded = archive.recordings();
    assert_eq!(recorded.len(), 2);
    for recording in &recorded {
        assert!(recording.path.to_string_lossy().ends_with(".webm"));
        assert_eq!(recording.state, State::Finalised);
        decode(&recording.path);
        assert!(pictures(&recording.path).len() >= 50);
    }
    assert_eq!(pictures(&recorded[1].path).len(), 100);
}
