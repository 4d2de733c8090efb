//! The demo clip can be repeated forever: video and audio end at the same instant, and a player that joins at the start of a
//! turn can decode at once.

use std::path::Path;

use serde_json::Value;
use testkit::{Tool, framemd5};

use crate::support::DEADLINE;

fn clip() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/assets/demo.flv")
}

fn packets(stream: &str) -> Vec<Value> {
    let output = Tool::ffprobe()
        .args(["-of", "json", "-select_streams", stream, "-show_packets"])
        .arg(clip())
        .run(DEADLINE);
    let document: Value = serde_json::from_slice(&output).expect("ffprobe writes JSON");
    document["packets"]
        .as_array()
        .expect("a list of packets")
        .clone()
}

#[test]
fn picture_and_audio_last_equally_long() {
    // 256 / 25 s = 441 × 1024 / 44 100 s = 10.24 s, exactly.
    assert_eq!(packets("v").len(), 256);
    assert_eq!(packets("a").len(), 441);
}

#[test]
fn each_group_of_pictures_is_closed_and_in_order() {
    let pictures = packets("v");
    for (index, packet) in pictures.iter().enumerate() {
        assert_eq!(packet["pts"], packet["dts"], "frame {index}");
        assert_eq!(
            packet["pts"].as_u64(),
            Some(index as u64 * 40),
            "frame {index}"
        );
        let flags = packet["flags"].as_str().expect("flags");
        assert_eq!(
            flags.starts_with('K'),
            index % 32 == 0,
            "frame {index}: {flags}"
        );
    }
}

#[test]
fn it_decodes_without_a_complaint() {
    let frames = framemd5::decoded(clip());
    assert_eq!(framemd5::video(&frames).len(), 256);
    assert!(framemd5::is_monotonic(&frames));
}
