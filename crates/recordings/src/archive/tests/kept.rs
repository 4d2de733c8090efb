//! Files as sources send them, and what ffmpeg thinks of their recordings.

use container::frames::{self, Syntax};
use testkit::Tool;

use super::*;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Items published by a source that sends this file.
pub(super) fn sent(container: Container, file: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    match container {
        Container::Mp3 => {
            let mut demuxer = frames::Demuxer::new(Syntax::MpegAudio);
            demuxer.push(file, &mut items);
        }
        Container::Adts => frames::Demuxer::new(Syntax::Adts).push(file, &mut items),
        Container::Ogg => container::ogg::Demuxer::default().push(file, &mut items),
        _ => panic!("no such source"),
    }
    items
}

/// Leaves out the first samples: the stream was joined midway.
pub(super) fn from_sample(items: &mut Vec<Item>, first: usize) {
    let mut samples = 0;
    items.retain(|item| {
        samples += usize::from(matches!(item, Item::Sample(_)));
        samples > first || !matches!(item, Item::Sample(_))
    });
}

/// The path of the one recording of what these publishers send one after another.
pub(super) fn recorded(
    archive: &mut TestArchive,
    container: Container,
    turns: Vec<Vec<Item>>,
) -> PathBuf {
    archive.record_turns(container, turns, 100);
    let closed = archive.only();
    assert_eq!(closed.state, State::Finalised);
    let file = std::fs::metadata(&closed.path).expect("a file");
    assert_eq!(file.len(), closed.bytes);
    let (_, seconds) = probe(&closed.path);
    let ratio = closed.duration.as_secs_f64() / seconds;
    assert!((ratio - 1.0).abs() < 0.01, "{ratio} of {seconds}");
    closed.path.clone()
}

/// Start and duration, in seconds.
pub(super) fn probe(path: &Path) -> (f64, f64) {
    let reported = Tool::ffprobe()
        .args(["-of", "csv=p=0", "-show_entries"])
        .arg("format=start_time,duration")
        .arg(path)
        .run(PATIENCE);
    let reported = String::from_utf8(reported).expect("text");
    let mut numbers = reported.trim().split(',').map(|number| number.parse());
    let mut next = || numbers.next().expect("a number").expect("a number");
    (next(), next())
}

/// Decodes a file, without a complaint.
pub(super) fn decode(path: &Path) {
    let decoder = Tool::ffmpeg().arg("-i").arg(path);
    decoder.args(["-f", "null", "-"]).run(PATIENCE);
}

#[test]
fn adts_becomes_m4a() {
    let file = std::fs::read(Clip::Adts.seconds(4)).expect("it was made");
    let mut archive = TestArchive::new();
    let items = sent(Container::Adts, &file);
    let path = recorded(&mut archive, Container::Adts, vec![items]);
    assert!(path.to_string_lossy().ends_with("Z-0.m4a"));
    decode(&path);
    let (start, seconds) = probe(&path);
    assert!(start.abs() < 0.03 && (3.9..4.1).contains(&seconds));
}
