//! Independent players on the transport streams that are written here: ffmpeg decodes from them what it
//! decodes from the source, and ffmpeg, GStreamer and Wireshark find no fault.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Recorder;
use crate::frames::Syntax;
use crate::testing::{of_flv, of_frames, sample, track};
use media::{Codec, Item, Span, Timestamp, TrackId};
use testkit::framemd5::{self, Frame};
use testkit::{Clip, Tool};

const DEADLINE: Duration = Duration::from_secs(120);

/// Seconds of every clip.
const SECONDS: u32 = 4;

/// Audio frames at the start of a clip that come before its first video frame, and are left out.
const EARLY: usize = 1;

/// A file of this test.
fn keep(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("carillon-ts-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, bytes).expect("a file");
    path
}

/// AC-3 or E-AC-3 at 48 kHz, and its items.
fn dolby(codec: Codec) -> (PathBuf, Vec<Item>) {
    let name = &codec.to_string();
    let tone = format!("aevalsrc=0.3*sin(2*PI*(200+15*t)*t):s=48000:d={SECONDS}");
    let stream = Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &tone])
        .args(["-c:a", name, "-b:a", "96k", "-f", name, "-"])
        .run(DEADLINE);
    // 1,536 samples at a constant rate.
    let frame_bytes = 96_000 * 1_536 / 48_000 / 8;
    let mut items = vec![Item::Track(Arc::new(track(codec, b"")))];
    for (number, frame) in (0..).zip(stream.chunks_exact(frame_bytes)) {
        assert_eq!(frame[..2], [0x0B, 0x77]);
        let at = Timestamp::from_millis(32 * number);
        items.push(Item::Sample(sample(TrackId::AUDIO, at, true, frame)));
    }
    (keep(&format!("source.{name}"), &stream), items)
}

/// ffmpeg finds in `stream` what it finds in `source`, and has no complaint.
fn check_ffmpeg(source: &Path, clip: Option<Clip>, stream: &Path) {
    let ffmpeg = || clip.map_or_else(Tool::ffmpeg, Clip::ffmpeg);
    let sent = framemd5::video(&framemd5::decoded_by(ffmpeg(), source, &[]));
    let got = framemd5::video(&framemd5::decoded(stream));
    check_frames(&sent, &got, 0);
    let filter = filter(stream);
    let packets = |ffmpeg, input| framemd5::audio(&framemd5::packets_by(ffmpeg, input, filter));
    let (sent, got) = (packets(ffmpeg(), source), packets(Tool::ffmpeg(), stream));
    check_frames(&sent, &got, EARLY);
    Tool::ffmpeg()
        .args(["-loglevel", "warning", "-xerror", "-i"])
        .arg(stream)
        .args(["-map", "0", "-f", "null", "-"])
        .run(DEADLINE);
}

/// The filter that takes the headers off that AAC may have. Audio is compared as packets, since decoded samples depend on
/// all samples before: the noise of AAC does.
fn filter(stream: &Path) -> &'static [&'static str] {
    let probe = Tool::ffprobe()
        .args(["-select_streams", "a", "-show_entries", "stream=codec_name"])
        .args(["-of", "csv=p=0"])
        .arg(stream)
        .finish(DEADLINE);
    match probe.stdout.starts_with(b"aac") {
        true => &["-bsf:a", "aac_adtstoasc"],
        false => &[],
    }
}

/// Everything sent was received, except for `early` frames at the most.
fn check_frames(sent: &[Frame], got: &[Frame], early: usize) {
    if sent.is_empty() {
        assert!(got.is_empty());
        return;
    }
    let join = framemd5::join(sent, got, 0).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    assert_eq!(join.missing, 0);
    assert!(join.at <= early, "{join:?}");
}

/// GStreamer's demuxer and Wireshark's dissector have no complaint.
fn check_others(stream: &Path) {
    let location = format!("location={}", stream.display());
    let watched = "tsdemux:2,mpegtspacketizer:2,mpegtsbase:2,tsparse:2";
    let demuxed = Tool::new("gst-launch-1.0")
        .env("GST_DEBUG", watched)
        .args(["-q", "filesrc", &location])
        .args(["!", "tsparse", "!", "tsdemux", "!", "fakesink"])
        .finish(DEADLINE);
    assert!(demuxed.status.success(), "{}", demuxed.stderr);
    assert_eq!(demuxed.stderr, "", "GStreamer");
    let faults = Tool::new("tshark")
        .arg("-r")
        .arg(stream)
        .args(["-Y", "_ws.expert.severity >= 0x400000 || _ws.malformed"])
        .args(["-T", "fields", "-e", "frame.number"])
        .args(["-e", "_ws.expert.message"])
        .finish(DEADLINE);
    assert!(faults.status.success(), "{}", faults.stderr);
    assert_eq!(String::from_utf8_lossy(&faults.stdout), "", "Wireshark");
}

fn check(name: &str, source: &Path, clip: Option<Clip>, items: &[Item]) {
    let stream = keep(&format!("{name}.ts"), &Recorder::of(items).bytes);
    check_ffmpeg(source, clip, &stream);
    check_others(&stream);
}

fn check_clip(clip: Clip, items: &[Item]) {
    let name = format!("{clip:?}");
    check(&name, &clip.seconds(SECONDS), Some(clip), items);
}

#[test]
fn pictures_and_audio_play() {
    use Clip::{Flv, FlvBframes, FlvHevc, FlvOpus};
    for clip in [Flv, FlvBframes, FlvHevc, FlvOpus] {
        check_clip(clip, &of_flv(clip, SECONDS));
    }
}

#[test]
fn audio_alone_plays() {
    for (clip, syntax) in [(Clip::Mp3, Syntax::MpegAudio), (Clip::Adts, Syntax::Adts)] {
        check_clip(clip, &of_frames(clip, syntax, SECONDS));
    }
    for codec in [Codec::Ac3, Codec::Eac3] {
        let (source, items) = dolby(codec);
        check(&codec.to_string(), &source, None, &items);
    }
}

#[test]
fn the_next_publisher_plays_on_in_the_same_stream() {
    let mut items = of_flv(Clip::Flv, SECONDS);
    items.push(Item::Epoch);
    let later = Span::from_millis(i64::from(SECONDS) * 1_000);
    for mut item in of_flv(Clip::FlvLarger, SECONDS) {
        if let Item::Sample(sample) = &mut item {
            sample.dts += later;
            sample.pts += later;
        }
        items.push(item);
    }
    let stream = keep("epochs.ts", &Recorder::of(&items).bytes);
    let got = framemd5::video(&framemd5::decoded_by(Tool::ffmpeg(), &stream, &["-an"]));
    let first = framemd5::video(&framemd5::decoded(Clip::Flv.seconds(SECONDS)));
    check_frames(&first, &got[..first.len()], 0);
    assert_eq!(got.len(), 2 * first.len());
    assert!(framemd5::is_monotonic(&got));
}
