//! An independent dissector, Wireshark, finds no fault in either direction of RTMP.

use std::collections::BTreeMap;
use std::path::Path;

use testkit::{Clip, PUBLISH_KEY, Player, Publisher, Signal, Tool};

use crate::support::{DEADLINE, play_url, server_with_short_linger, wait_for_stream, wait_until};

/// Wireshark's largest accepted chunk size; its default is below that of most servers.
const MESSAGE_MAX: &str = "rtmpt.max_packet_size:8388608";
/// RTMP's message types of audio, video, data and commands.
const KINDS: [&str; 4] = ["0x08", "0x09", "0x12", "0x14"];

#[test]
fn nothing_is_malformed() {
    let server = server_with_short_linger();
    let port = server.addr("rtmp").port();
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture.pcapng");
    let mut dumpcap = Tool::new("dumpcap")
        .args(["-q", "-i", "lo", "-B", "64", "-a", "duration:120", "-f"])
        .arg(format!("tcp port {port}"))
        .arg("-w")
        .arg(&capture)
        .start();
    wait_until("the capture to begin", || {
        assert!(
            dumpcap.is_running(),
            "the loopback cannot be captured; this test needs to be root, or allowed to run \
             dumpcap: {}",
            dumpcap.stderr()
        );
        dumpcap.stderr().contains("File:")
    });

    let url = server.rtmp_url("live/show", PUBLISH_KEY);
    let mut publisher = Publisher::Ffmpeg.start(&Clip::Flv.seconds(8), &url);
    wait_for_stream(&server, "live/show");
    for mut playing in [Player::Ffmpeg, Player::GstreamerRtmp2, Player::Rtmpdump]
        .map(|player| player.start(&play_url(&server, "live/show")))
    {
        playing.wait(DEADLINE);
    }
    assert!(publisher.wait(DEADLINE).success());
    dumpcap.signal(Signal::INT);
    assert!(dumpcap.wait(DEADLINE).success(), "{}", dumpcap.stderr());
    let said = dumpcap.stderr();
    assert!(said.contains("/0 (pcap:"), "the capture has holes: {said}");

    let complaints = dissect(
        &capture,
        port,
        &[
            "-Y",
            "_ws.malformed || (rtmpt && _ws.expert.group == \"Malformed\")",
        ],
    );
    assert_eq!(complaints, "");
    // Wireshark saw what it was meant to see: whole messages in both directions.
    let fields = [
        "-Y",
        "rtmpt",
        "-T",
        "fields",
        "-e",
        "tcp.srcport",
        "-e",
        "rtmpt.header.typeid",
    ];
    let said = dissect(&capture, port, &fields);
    let (ours, theirs) = (
        count(&said, |from| from == port),
        count(&said, |from| from != port),
    );
    for kind in ours.keys().chain(theirs.keys()) {
        let known = ["0x01", "0x03", "0x04", "0x05", "0x06"];
        assert!(
            known.contains(kind) || KINDS.contains(kind),
            "{kind} in {ours:?} {theirs:?}"
        );
    }
    // 200 video frames and 345 audio frames to us, and most of them to each of three players.
    assert!(theirs["0x09"] >= 150 && theirs["0x08"] >= 250, "{theirs:?}");
    assert!(ours["0x09"] >= 450 && ours["0x08"] >= 750, "{ours:?}");
    assert!(
        KINDS
            .iter()
            .all(|kind| ours.contains_key(kind) && theirs.contains_key(kind))
    );
}

fn dissect(capture: &Path, port: u16, how: &[&str]) -> String {
    let finished = Tool::new("tshark")
        .args(["-n", "-o", MESSAGE_MAX, "-d"])
        .arg(format!("tcp.port=={port},rtmpt"))
        .arg("-r")
        .arg(capture)
        .args(how)
        .finish(DEADLINE);
    assert!(finished.status.success(), "{}", finished.stderr);
    String::from_utf8(finished.stdout).unwrap()
}

/// Counts the messages of each kind that came from the ports that `wanted` accepts.
fn count(said: &str, wanted: impl Fn(u16) -> bool) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in said.lines() {
        let (from, kinds) = line.split_once('\t').unwrap();
        if wanted(from.parse().unwrap()) {
            for kind in kinds.split(',').filter(|kind| !kind.is_empty()) {
                *counts.entry(kind).or_default() += 1;
            }
        }
    }
    counts
}
