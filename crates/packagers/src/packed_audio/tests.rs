//! Packed audio: the frames, the tags, and ffmpeg's reading of them in a playlist.

use std::fmt::Write;

use container::frames::Syntax;
use fanout::Segment;
use media::codec::aac::AdtsHeader;
use media::{Span, Timestamp};
use testkit::Clip;

use super::*;
use crate::testing::{Written, insert, later, of_flv, of_frames, probed, samples, title};

const RADIO: [(Clip, Syntax, &str); 2] = [
    (Clip::Mp3, Syntax::MpegAudio, "mp3"),
    (Clip::Adts, Syntax::Adts, "aac"),
];

/// The tag that `bytes` begin with, as the frames' names and contents, and what follows it.
fn untagged(bytes: &[u8]) -> (Vec<(String, Vec<u8>)>, &[u8]) {
    let size = |at: &[u8]| {
        let bytes = at[..4].iter();
        bytes.fold(0, |sum, byte| sum << 7 | usize::from(*byte))
    };
    if !bytes.starts_with(b"ID3\x04\0\0") {
        return (Vec::new(), bytes);
    }
    let (tag, behind) = bytes.split_at(10 + size(&bytes[6..]));
    let mut rest = &tag[10..];
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (head, next) = rest.split_at(10);
        let (content, next) = next.split_at(size(&head[4..]));
        let name = String::from_utf8(head[..4].to_vec()).expect("a name");
        frames.push((name, content.to_vec()));
        rest = next;
    }
    (frames, behind)
}

/// Content of the tag at the beginning of `bytes`: its time at 90 kHz, and the title.
fn reported(bytes: &[u8]) -> (Option<u64>, Option<String>) {
    let (frames, _) = untagged(bytes);
    let content = |wanted: &str| {
        let mut frames = frames.iter();
        frames.find(|(name, _)| name == wanted).map(|it| &it.1[..])
    };
    let stamp = content("PRIV").map(|private| {
        let owner = b"com.apple.streaming.transportStreamTimestamp\0";
        let stamp = private.strip_prefix(owner).expect("that owner");
        u64::from_be_bytes(stamp.try_into().expect("eight bytes"))
    });
    let title = content("TIT2").map(|text| {
        assert_eq!(text[0], 3, "UTF-8");
        String::from_utf8(text[1..].to_vec()).expect("UTF-8")
    });
    (stamp, title)
}

/// A time at 90 kHz, to the nearest.
fn stamp(at: Timestamp) -> u64 {
    let unit = media::TICKS_PER_SECOND / 90_000;
    ((at.ticks() + unit / 2) / unit).unsigned_abs()
}

/// The frames of all segments, without the tags at the beginnings of parts.
fn frames(written: &Written) -> Vec<u8> {
    let segments = written.index().segments;
    let parts = segments.iter().flat_map(|segment| &segment.parts);
    let parts = parts.map(|part| written.bytes(part.range.clone()));
    parts.flat_map(|part| untagged(&part).1.to_vec()).collect()
}

fn parts(written: &Written, segment: &Segment) -> Vec<Vec<u8>> {
    let parts = segment.parts.iter();
    parts.map(|it| written.bytes(it.range.clone())).collect()
}

#[test]
fn bare_aac_gets_headers() {
    let items = of_flv(Clip::Flv, 10);
    let written = Written::packed_audio(&items);
    let frames = frames(&written);
    let mut rest = &frames[..];
    let mut got = Vec::new();
    while let Some(header) = AdtsHeader::parse(rest) {
        let (frame, next) = rest.split_at(header.frame_bytes);
        got.push(&frame[AdtsHeader::BYTES..]);
        rest = next;
    }
    assert!(rest.is_empty());
    let sent = samples(&items).filter(|sample| sample.track == TrackId::AUDIO);
    let sent = sent.map(|sample| &sample.data[..]);
    assert!(got.into_iter().eq(sent.filter(|data| !data.is_empty())));
}

#[test]
fn segments_have_the_sources_frames_and_say_when_they_begin() {
    for (clip, syntax, _) in RADIO {
        let items = of_frames(clip, syntax, 10);
        let written = Written::packed_audio(&items);
        let index = written.index();
        let fragments = Written::mp4(&items).facts();
        assert_eq!(written.facts(), fragments, "{clip:?}");
        let sent: Vec<_> = samples(&items).map(|sample| &sample.data[..]).collect();
        assert_eq!(frames(&written), sent.concat(), "{clip:?}");
        assert!(index.segments.len() >= 4, "{clip:?}");
        for segment in &index.segments {
            let parts = parts(&written, segment);
            assert!(parts.len() >= 2);
            assert_eq!(reported(&parts[0]), (Some(stamp(segment.start)), None));
            for part in &parts[1..] {
                assert_eq!(reported(part), (None, None), "no part repeats the tag");
            }
        }
    }
}

#[test]
fn titles_are_reported_where_they_change_and_in_each_segment() {
    let mut items = of_frames(Clip::Adts, Syntax::Adts, 10);
    // Frames of 21 ms or 23 ms: the second title comes in the second segment, the third is of the next epoch.
    items.insert(1, title("First", ""));
    insert(&mut items, 4_000, title("Zwei – 2", "http://x/"));
    let next = of_frames(Clip::Adts, Syntax::Adts, 4);
    let mut next = later(next, Span::from_millis(10_100));
    next.push(title("Third", ""));
    items.extend(next);
    let written = Written::packed_audio(&items);
    let mut heard: Vec<Vec<Option<String>>> = Vec::new();
    for segment in &written.index().segments {
        let parts = parts(&written, segment);
        let titles = parts.iter().map(|part| reported(part).1).collect();
        for (part, listed) in parts.iter().zip(&segment.parts) {
            let (time, title) = reported(part);
            assert!(title.is_none() || time == Some(stamp(listed.start)));
        }
        heard.push(titles);
    }
    let titles = heard.iter().map(|titles| titles.iter().flatten());
    let titles: Vec<Vec<_>> = titles.map(|it| it.map(String::as_str).collect()).collect();
    assert_eq!(titles[0], ["First"]);
    assert_eq!(titles[1], ["First", "Zwei – 2"], "{heard:?}");
    // It leads the segment.
    assert_eq!(heard[1][0].as_deref(), Some("First"));
    assert_eq!(titles[2], ["Zwei – 2"]);
    assert_eq!(titles[3], ["Zwei – 2"]);
    // The next programme has none before its last part.
    let third = heard.iter().position(|it| it[0] == Some(String::new()));
    let third = third.expect("a segment that tells the end of a title");
    assert_eq!(titles[third..].concat(), ["", "Third"]);
}

#[test]
fn a_title_waits_for_a_segment_of_mp3() {
    let mut items = of_frames(Clip::Mp3, Syntax::MpegAudio, 10);
    items.insert(1, title("First", ""));
    // Frames of 26 ms.
    items.insert(60, title("Second", ""));
    let written = Written::packed_audio(&items);
    let mut reported_where = Vec::new();
    for segment in &written.index().segments {
        for (number, part) in parts(&written, segment).iter().enumerate() {
            let title = reported(part).1;
            reported_where.extend(title.map(|title| (segment.number, number, title)));
        }
    }
    let titles = ["First", "Second", "Second", "Second"];
    let expected = (1..).zip(titles).map(|(n, it)| (n, 0, it.to_owned()));
    assert_eq!(reported_where, expected.collect::<Vec<_>>());
}

#[test]
fn a_part_with_a_title_has_the_link_too() {
    let mut items = of_frames(Clip::Mp3, Syntax::MpegAudio, 2);
    items.insert(1, title("A", "http://x/"));
    let written = Written::packed_audio(&items);
    let (frames, _) = untagged(&written.segments()[0]);
    let names: Vec<_> = frames.iter().map(|frame| &frame.0[..]).collect();
    assert_eq!(names, ["PRIV", "TIT2", "TXXX"]);
    assert_eq!(frames[2].1, b"\x03StreamUrl\0http://x/");
}

/// Segments as files, and the playlist that lists them.
fn publish(segments: &[(&Segment, &Vec<u8>)], extension: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut playlist = String::from("#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:6\n");
    for (segment, bytes) in segments {
        let name = format!("{}.{extension}", segment.number);
        let seconds = segment.duration.seconds();
        writeln!(playlist, "#EXTINF:{seconds:.6},\n{name}").expect("a string");
        std::fs::write(folder.path().join(name), bytes).expect("written");
    }
    playlist.push_str("#EXT-X-ENDLIST\n");
    std::fs::write(folder.path().join("index.m3u8"), playlist).expect("written");
    folder
}

/// Times in seconds and sizes of the packets that ffmpeg finds in a playlist of `segments`.
fn packets(segments: &[(&Segment, &Vec<u8>)], extension: &str) -> Vec<(f64, usize)> {
    let folder = publish(segments, extension);
    let playlist = folder.path().join("index.m3u8");
    let packets = probed(&[], &playlist, "pts_time,size");
    let packets = packets.into_iter().map(|fields| {
        let time = fields[0].parse().expect("a time");
        (time, fields[1].parse().expect("a size"))
    });
    packets.collect()
}

#[test]
fn ffmpeg_plays_each_frame_at_its_time() {
    for (clip, syntax, extension) in RADIO {
        let mut items = of_frames(clip, syntax, 10);
        items.insert(1, title("A title", ""));
        items.insert(60, title("Another title", ""));
        let written = Written::packed_audio(&items);
        let (index, bytes) = (written.index().segments, written.segments());
        let segments: Vec<_> = index.iter().map(|it| &**it).zip(&bytes).collect();
        let sent = samples(&items).map(|sample| {
            let at = (sample.dts - Timestamp::ZERO).seconds();
            (at, sample.data.len())
        });
        let sent: Vec<_> = sent.collect();
        let sizes = |packets: &[(f64, usize)]| packets.iter().map(|it| it.1).collect::<Vec<_>>();
        // Each by itself: ffmpeg also applies a segment's time to frames left over from the previous one.
        let each = segments.chunks(1).map(|it| packets(it, extension));
        let each = each.collect::<Vec<_>>().concat();
        assert_eq!(sizes(&each), sizes(&sent), "{clip:?}");
        for (packet, sent) in each.iter().zip(&sent) {
            assert!((packet.0 - sent.0).abs() < 0.001, "{packet:?} {sent:?}");
        }
        let together = packets(&segments, extension);
        assert_eq!(sizes(&together), sizes(&sent), "{clip:?}");
        // It reads ahead by no more than a few frames, so the last of a segment may be early.
        let skews = together.iter().zip(&sent).map(|(got, sent)| got.0 - sent.0);
        assert!(skews.into_iter().all(|skew| (-0.001..0.1).contains(&skew)));
    }
}
