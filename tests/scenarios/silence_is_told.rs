//! Whoever looks after a station is told that it sends nothing that can be heard, that it is cut off at full scale, and that its
//! publisher has gone.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use testkit::{PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::support::DEADLINE;
use crate::webhook_receiver::{KEY, Receiver};

/// Sound for four seconds of twelve, and silence.
const PAUSES: &str = "0.5*sin(880*PI*t)*lt(mod(t,12),4)";

/// Three times as loud as it may be.
const TOO_LOUD: &str = "3*sin(880*PI*t)";

/// Quieter than what counts as silence.
const FAINT: &str = "0.0005*sin(880*PI*t)";

/// A stream of each codec that is watched, what ffmpeg makes it with, and its media type.
const CODECS: [(&str, &[&str]); 3] = [
    ("mp3", &["-c:a", "libmp3lame", "-b:a", "128k", "-f", "mp3"]),
    ("aac", &["-c:a", "aac", "-b:a", "128k", "-f", "adts"]),
    (
        "opus",
        &[
            "-c:a",
            "libopus",
            "-b:a",
            "96k",
            "-page_duration",
            "200000",
            "-f",
            "ogg",
        ],
    ),
];

fn make(folder: &TempDir, name: &str, sound: &str, codec: &[&str]) -> PathBuf {
    let path = folder.path().join(name);
    let source = format!("aevalsrc='{sound}':s=48000:d=120");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &source, "-ac", "2"])
        .args(codec)
        .arg(&path)
        .run(DEADLINE);
    path
}

fn publish(server: &Server, path: &Path, stream: &str, format: &str) -> Process {
    let media_type = match format {
        "mp3" => "audio/mpeg",
        "adts" => "audio/aac",
        _ => "application/ogg",
    };
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(path)
        .args(["-c", "copy", "-content_type", media_type])
        .args(["-page_duration", "200000", "-f", format])
        .arg(server.icecast_url(stream, PUBLISH_KEY))
        .start()
}

/// What has become of a condition of a stream, in the order in which it was told.
fn outcomes(receiver: &Receiver, stream: &str, condition: &str) -> Vec<String> {
    let told = receiver.of("/ok", "stream.sound");
    let mut told: Vec<&Value> = told.iter().map(|one| &one["message"]).collect();
    told.retain(|message| {
        message["data"]["stream"] == stream && message["data"]["condition"] == condition
    });
    // Messages may overtake each other.
    told.sort_by_key(|message| message["timestamp"].to_string());
    let outcome = |message: &&Value| message["data"]["outcome"].as_str().unwrap().to_owned();
    told.iter().map(outcome).collect()
}

#[test]
fn silence_clipping_and_absence_are_told() {
    let receiver = Receiver::start();
    let folder = tempfile::tempdir().unwrap();
    let files = CODECS.map(|(name, codec)| make(&folder, &format!("pauses.{name}"), PAUSES, codec));
    let (_, mp3) = CODECS[0];
    let loud = make(&folder, "loud.mp3", TOO_LOUD, mp3);
    let faint = make(&folder, "faint.mp3", FAINT, mp3);
    let server = Server::builder()
        .toml(&format!(
            "[[webhook]]\nurl = \"{}\"\nsecret = \"{KEY}\"\nevents = [\"stream.sound\", \"stream.unpublished\"]\n\
             [[stream]]\nmatch = \"plain/*\"\n\
             [[stream]]\nmatch = \"*\"\nsilence_after = \"3s\"\nclipping = true\n",
            receiver.url("/ok")
        ))
        .start();
    let mut publishers: Vec<Process> = CODECS
        .iter()
        .zip(&files)
        .map(|((name, codec), path)| {
            publish(
                &server,
                path,
                &format!("pauses.{name}"),
                codec.last().unwrap(),
            )
        })
        .collect();
    publishers.push(publish(&server, &loud, "loud.mp3", "mp3"));
    publishers.push(publish(&server, &faint, "faint.mp3", "mp3"));
    publishers.push(publish(&server, &faint, "plain/faint.mp3", "mp3"));

    for (name, _) in CODECS {
        let stream = format!("pauses.{name}");
        wait_until(&format!("two silences of {stream}"), DEADLINE, || {
            outcomes(&receiver, &stream, "silence").len() >= 3
        });
        let told = outcomes(&receiver, &stream, "silence");
        assert_eq!(told[..3], ["began", "ended", "began"], "{stream}");
        assert!(
            outcomes(&receiver, &stream, "clipping").is_empty(),
            "{stream}"
        );
    }
    wait_until("the clipping", DEADLINE, || {
        outcomes(&receiver, "loud.mp3", "clipping") == ["began"]
    });
    assert_eq!(outcomes(&receiver, "faint.mp3", "silence"), ["began"]);
    assert!(outcomes(&receiver, "loud.mp3", "silence").is_empty());
    assert!(outcomes(&receiver, "plain/faint.mp3", "silence").is_empty());
    let begun = |condition: &str| {
        let label = format!("condition=\"{condition}\"");
        server
            .metrics()
            .sum("carillon_sound_conditions_total", &[&label])
    };
    assert!(begun("silence") >= 7.0 && begun("clipping") == 1.0);
    assert!(server.log().contains("silence begins"));

    publishers[3].kill();
    let gone = receiver.wait_for("/ok", "stream.unpublished", 1);
    assert_eq!(gone[0]["message"]["data"]["stream"], "loud.mp3");
}
