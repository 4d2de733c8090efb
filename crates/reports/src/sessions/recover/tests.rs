//! Tests of what is added to a log, and what is not.

use super::super::checkpoint::path_of;
use super::*;

/// A log and its checkpoint, which says that the log had `bytes` then.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(log: &str) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        fs::write(folder.log(), log).expect("written");
        folder
    }

    fn log(&self) -> PathBuf {
        self.0.path().join("s.jsonl")
    }

    fn checkpoint(&self, bytes: u64, lines: &[String]) {
        let mut log = Place::of(&fs::metadata(self.log()).expect("a log"));
        log.bytes = bytes;
        let r#type = CHECKPOINT.to_owned();
        let head = Head { r#type, log };
        let head = serde_json::to_string(&head).expect("JSON");
        let text = format!("{head}\n{}\n", lines.join("\n"));
        fs::write(path_of(&self.log(), "7f"), text).expect("written");
    }

    fn recover(&self) -> Vec<String> {
        let mut recovered = recover(&LogTarget::File(self.log()));
        let all = std::iter::from_fn(|| recovered.as_mut()?.next()).collect();
        drop(recovered);
        assert!(!self.has_checkpoint(), "done with");
        all
    }

    fn has_checkpoint(&self) -> bool {
        path_of(&self.log(), "7f").exists()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.log()).expect("a log")
    }
}

fn session(id: &str) -> String {
    format!(
        r#"{{"type":"session","id":"{id}","stream":"a","started":"2026-01-01T00:00:02.000Z","reason":"killed"}}"#
    )
}

fn title(second: u32, title: &str) -> String {
    format!(
        r#"{{"type":"title","stream":"a","at":"2026-01-01T00:00:0{second}.000Z","title":"{title}"}}"#
    )
}

fn ids(lines: &[String]) -> Vec<String> {
    let read = lines.iter().map(|line| Line::of(line.as_bytes()));
    read.map(|line| line.expect("a line").id).collect()
}

#[test]
fn those_without_a_line_are_added_with_what_they_heard() {
    let before = format!("{}\n", session("1"));
    let (third, torn) = (session("3"), "{\"type\":\"session\",\"id\":\"4");
    let folder = Folder::new(&format!("{before}{third}\n{torn}"));
    let lines = [
        session("2"),
        session("3"),
        session("4"),
        title(1, "before"),
        title(2, "at"),
        title(3, "after"),
    ];
    folder.checkpoint(before.len() as u64, &lines);
    let added = folder.recover();
    assert_eq!(ids(&added), ["2", "4"]);
    let one: Value = serde_json::from_str(&added[0]).expect("JSON");
    let titles = json!([
        {"at": "2026-01-01T00:00:02.000Z", "title": "at"},
        {"at": "2026-01-01T00:00:03.000Z", "title": "after"},
    ]);
    assert_eq!(one["titles"], titles);
    assert_eq!(one["reason"], "killed");
    // The torn line harms no other.
    let text = folder.text();
    let whole = text.lines().filter_map(|line| Line::of(line.as_bytes()));
    assert_eq!(whole.count(), 4, "{text}");
    assert_eq!(folder.recover(), [""; 0]);
    assert_eq!(folder.text(), text);
}

#[test]
fn lines_are_found_in_a_log_that_was_moved_away_or_emptied() {
    let folder = Folder::new(&format!("{}\n", session("1")));
    folder.checkpoint(0, &[session("1"), session("2"), session("3")]);
    fs::rename(folder.log(), folder.0.path().join("s.jsonl.1")).expect("moved");
    fs::write(folder.log(), format!("{}\n", session("2"))).expect("written");
    assert_eq!(ids(&folder.recover()), ["3"]);

    let folder = Folder::new(&format!("{}\n", session("1")));
    folder.checkpoint(1_000, &[session("1"), session("2")]);
    assert_eq!(ids(&folder.recover()), ["2"]);
}

#[test]
fn without_a_log_all_are_added() {
    let folder = Folder::new("");
    folder.checkpoint(0, &[session("1")]);
    fs::remove_file(folder.log()).expect("removed");
    assert_eq!(ids(&folder.recover()), ["1"]);
    assert_eq!(folder.text().lines().count(), 1);
}

#[test]
fn those_of_a_server_that_drains_are_left_to_it() {
    let folder = Folder::new("");
    folder.checkpoint(0, &[session("1")]);
    let held = File::open(path_of(&folder.log(), "7f")).expect("a checkpoint");
    held.try_lock().expect("free");
    assert!(recover(&LogTarget::File(folder.log())).is_none());
    assert!(folder.has_checkpoint());
    drop(held);
    assert_eq!(ids(&folder.recover()), ["1"]);
}

#[test]
fn what_is_no_checkpoint_is_left_where_it_is() {
    let folder = Folder::new("");
    for text in [
        "",
        "what\n",
        "{\"type\":\"checkpoint-9\",\"log\":{\"device\":1,\"inode\":1,\"bytes\":1}}\n",
    ] {
        fs::write(path_of(&folder.log(), "7f"), text).expect("written");
        assert!(recover(&LogTarget::File(folder.log())).is_none());
        assert!(folder.has_checkpoint());
        assert_eq!(folder.text(), "");
    }
    assert!(recover(&LogTarget::Stdout).is_none());
}
