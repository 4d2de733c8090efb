//! Real media through real tools: ffmpeg reads what is written, packet for packet and frame for frame.

use media::TrackId;
use testkit::{Clip, Tool, framemd5};

use super::*;
use crate::testing::{self, samples};

/// A file that ffmpeg makes of three seconds.
fn encoded(arguments: &str) -> tempfile::TempPath {
    let picture = "testsrc2=size=320x180:rate=30000/1001:duration=3";
    let sweep = "aevalsrc=0.3*sin(2*PI*(200+15*t)*t)|0.3*sin(2*PI*(300+10*t)*t):s=48000:d=3";
    // Dolby's codecs have no configuration before their first packet, and edits are not followed.
    testing::encoded(&format!(
        "-f lavfi -i {picture} -f lavfi -i {sweep} {arguments} -strict -2 -threads 1 -f mp4 \
         -use_editlist 0 -movflags delay_moov+default_base_moof+frag_keyframe"
    ))
}

fn hashes(frames: &[framemd5::Frame], is_video: bool) -> Vec<&str> {
    let frames = frames.iter().filter(|frame| frame.is_video == is_video);
    frames.map(|frame| frame.md5.as_str()).collect()
}

#[test]
fn ffmpeg_finds_every_packet_and_frame_of_a_clip_at_its_time() {
    for clip in [Clip::Flv, Clip::FlvBframes, Clip::FlvLarger] {
        let source = clip.seconds(4);
        let items = of_flv(clip, 4);
        // Audio that arrived before the first keyframe is left out.
        let mut samples = samples(&items).into_iter();
        let early = samples.position(|it| it.track == TrackId::VIDEO);
        let early = early.expect("a picture");
        for fragmentation in [span(0), FRAGMENT_SPAN, span(1_000)] {
            let made = temporary(&Log::cut(&items, fragmentation).joined(0));
            let sent = framemd5::packets(&source);
            let got = framemd5::packets(&made);
            assert_eq!(hashes(&got, true), hashes(&sent, true), "{clip:?}");
            let expected = &hashes(&sent, false)[early..];
            assert_eq!(hashes(&got, false), expected, "{clip:?}");
            // FLV counts milliseconds; audio is where it was, or nearer to where it was cut.
            let (sent, got) = (framemd5::video(&sent), framemd5::video(&got));
            for (sent, got) in sent.iter().zip(&got) {
                assert_eq!(got.pts, 90 * sent.pts);
            }
            assert_eq!(sent.len(), got.len());
        }
        let made = temporary(&Log::of(&items).joined(0));
        let (sent, got) = (framemd5::decoded(&source), framemd5::decoded(&made));
        assert_eq!(hashes(&got, true), hashes(&sent, true), "{clip:?}");
    }
}

#[test]
fn ffmpeg_decodes_on_when_another_publisher_has_other_headers() {
    let epochs = [Clip::FlvBframes, Clip::FlvLarger, Clip::Flv];
    let mut items = Vec::new();
    for (epoch, clip) in epochs.into_iter().enumerate() {
        items.push(Item::Epoch);
        items.extend(of_flv(clip, 4).into_iter().map(|item| match item {
            Item::Sample(mut sample) => {
                let from = Span::from_millis(4_100 * epoch as i64);
                (sample.dts, sample.pts) = (sample.dts + from, sample.pts + from);
                Item::Sample(sample)
            }
            other => other,
        }));
    }
    let log = Log::of(&items);
    assert_eq!(log.inits(), 2);
    let made = temporary(&log.joined(0));
    // ffmpeg knows only the first segment, and so no other audio rate.
    let pictures = framemd5::decoded_by(Tool::ffmpeg(), &made, &["-an"]);
    assert_eq!(pictures.len(), 300);
    assert!(framemd5::is_monotonic(&pictures));
}

#[test]
fn every_codec_comes_out_as_it_went_in() {
    for (codec, arguments) in [
        (
            "H.264 with sound ahead",
            "-c:v libx264 -preset veryfast -g 30 -bf 3 -c:a aac",
        ),
        (
            "HEVC",
            "-c:v libx265 -preset ultrafast -tag:v hvc1 -g 30 -c:a libopus \
             -x265-params pools=1:frame-threads=1:log-level=error",
        ),
        (
            "AV1",
            "-c:v libsvtav1 -preset 12 -g 30 -svtav1-params lp=1 -c:a flac",
        ),
        (
            "VP9",
            "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 30 -c:a libmp3lame",
        ),
        ("AC-3", "-vn -map 1:a -c:a ac3 -b:a 192k"),
        ("E-AC-3", "-vn -map 1:a -c:a eac3 -b:a 192k"),
        (
            "MP3 at half the rate",
            "-vn -map 1:a -c:a libmp3lame -ar 22050 -write_xing 0",
        ),
    ] {
        let source = encoded(arguments);
        let original = File::parse(&std::fs::read(&source).expect("it was made"));
        let log = Log::of(&original.items());
        let made = log.file();
        for handler in [b"vide", b"soun"] {
            let (Some(sent), Some(got)) = (original.trak(handler), made.trak(handler)) else {
                assert!(original.trak(handler).is_none() && made.trak(handler).is_none());
                continue;
            };
            assert_eq!(got.entry, sent.entry, "{codec}");
            assert_eq!(got.sizes, sent.sizes, "{codec}");
            assert_eq!(got.channels, sent.channels, "{codec}");
            // Descriptors state bitrates, which nothing here knows.
            if got.record.0 != *b"esds" {
                assert_eq!(got.record, sent.record, "{codec}");
            }
        }
        let path = temporary(&log.joined(0));
        let (sent, got) = (framemd5::packets(&source), framemd5::packets(&path));
        let (shown, seen) = (framemd5::decoded(&source), framemd5::decoded(&path));
        for is_video in [true, false] {
            assert_eq!(hashes(&got, is_video), hashes(&sent, is_video), "{codec}");
            assert_eq!(hashes(&seen, is_video), hashes(&shown, is_video), "{codec}");
        }
    }
}

#[test]
fn dolby_without_a_record_is_described_as_ffmpeg_does() {
    for (codec, name) in [(media::Codec::Ac3, "ac3"), (media::Codec::Eac3, "eac3")] {
        let source = encoded(&format!("-vn -map 1:a -c:a {name} -b:a 192k"));
        let original = File::parse(&std::fs::read(&source).expect("it was made"));
        let mut items = original.items();
        items[0] = Item::Track(track(codec, b"").into());
        let file = Log::of(&items).file();
        let [made, sent] = [&file, &original].map(|it| it.trak(b"soun").expect("sound"));
        assert_eq!(made.record, sent.record, "{name}");
    }
}
