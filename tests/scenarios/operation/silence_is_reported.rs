//! A station's operator is notified when it sends nothing audible, when it is clipped at full scale, and when its publisher has
//! gone.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use testkit::{Process, Server};

use crate::support::mount::{AUDIO, Kind, OPUS, SECONDS};
use crate::support::webhook_receiver::{KEY, Receiver};
use crate::support::{metric, wait_until};

/// Audio for four seconds of twelve, and silence.
const PAUSES: &str = "0.5*sin(880*PI*t)*lt(mod(t,12),4)";

/// Signal three times as loud as full scale.
const TOO_LOUD: &str = "3*sin(880*PI*t)";

/// Signal below the threshold of silence.
const FAINT: &str = "0.0005*sin(880*PI*t)";

fn encode(kind: &Kind, folder: &TempDir, name: &str, audio: &str) -> PathBuf {
    let source = format!("aevalsrc='{audio}':s=48000:d={SECONDS}");
    kind.encode(folder, name, &source)
}

/// Returns the outcomes of a condition of a stream, in the order in which they were reported.
fn outcomes(receiver: &Receiver, stream: &str, condition: &str) -> Vec<String> {
    let reported = receiver.of("/ok", "stream.sound");
    let mut reported: Vec<&Value> = reported.iter().map(|one| &one["message"]).collect();
    reported.retain(|message| {
        message["data"]["stream"] == stream && message["data"]["condition"] == condition
    });
    // Messages may overtake each other.
    reported.sort_by_key(|message| message["timestamp"].to_string());
    let outcome = |message: &&Value| message["data"]["outcome"].as_str().unwrap().to_owned();
    reported.iter().map(outcome).collect()
}

#[test]
fn silence_clipping_and_absence_are_reported() {
    let receiver = Receiver::start();
    let folder = tempfile::tempdir().unwrap();
    let [mp3, aac, _] = AUDIO;
    let loud = encode(&mp3, &folder, "loud", TOO_LOUD);
    let faint = encode(&mp3, &folder, "faint", FAINT);
    let kinds = [mp3, aac, OPUS];
    let files = kinds
        .each_ref()
        .map(|kind| encode(kind, &folder, "pauses", PAUSES));
    let server = Server::builder()
        .toml(&format!(
            "[[webhook]]\nurl = \"{}\"\nsecret = \"{KEY}\"\nevents = [\"stream.sound\", \"stream.unpublished\"]\n\
             [[stream]]\nmatch = \"plain/*\"\n\
             [[stream]]\nmatch = \"*\"\nsilence_after = \"3s\"\nclipping = true\n",
            receiver.url("/ok")
        ))
        .start();
    let pauses = |kind: &Kind| format!("pauses.{}", kind.extension);
    let mut publishers: Vec<Process> = kinds
        .iter()
        .zip(&files)
        .map(|(kind, path)| kind.publish(&server, path, &pauses(kind)))
        .collect();
    let [mp3, ..] = &kinds;
    publishers.push(mp3.publish(&server, &loud, "loud.mp3"));
    publishers.push(mp3.publish(&server, &faint, "faint.mp3"));
    publishers.push(mp3.publish(&server, &faint, "plain/faint.mp3"));

    for stream in kinds.iter().map(pauses) {
        wait_until(&format!("two silences of {stream}"), || {
            outcomes(&receiver, &stream, "silence").len() >= 3
        });
        let reported = outcomes(&receiver, &stream, "silence");
        assert_eq!(reported[..3], ["began", "ended", "began"], "{stream}");
        assert!(
            outcomes(&receiver, &stream, "clipping").is_empty(),
            "{stream}"
        );
    }
    wait_until("the clipping", || {
        outcomes(&receiver, "loud.mp3", "clipping") == ["began"]
    });
    assert_eq!(outcomes(&receiver, "faint.mp3", "silence"), ["began"]);
    assert!(outcomes(&receiver, "loud.mp3", "silence").is_empty());
    assert!(outcomes(&receiver, "plain/faint.mp3", "silence").is_empty());
    let begun = |condition: &str| {
        let label = format!("condition={condition}");
        metric(&server, "carillon_sound_conditions_total", &label)
    };
    assert!(begun("silence") >= 7.0 && begun("clipping") == 1.0);
    assert!(server.log().contains("silence begins"));

    publishers[3].kill();
    let gone = receiver.wait_for("/ok", "stream.unpublished", 1);
    assert_eq!(gone[0]["message"]["data"]["stream"], "loud.mp3");
}
