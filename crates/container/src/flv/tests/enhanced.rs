//! Enhanced RTMP: every form of body, what is kept for joiners, and what stays complete.

use super::*;

#[test]
fn further_tracks_keep_their_bodies_and_are_bounded() {
    let items = video(&[
        b"\x96\x00avc1\x01config",
        b"\x96\x03avc1\x01frame",
        b"\x96\x00avc1\xFFconfig",
        b"\x96\x03avc1\xFFfar beyond",
        b"\x96\x33avc1\x00\0\0\x01x",
    ]);
    let words = words(&items);
    assert_eq!(words[..2], ["track 3 h264 kept", "3 key 12"]);
    assert_eq!(words[2..4], ["track 33 h264 kept", "33 delta 13"]);
    assert_eq!(words[4..], ["33 key 17", "33 key 11"]);
}

#[test]
fn tracks_configured_in_one_body_each_have_their_own() {
    let items = video(&[
        b"\x96\x20hvc1\x00\0\0\x02H0av01\x01\0\0\x02A1avc1\xFF\0\0\x01x",
        b"\x96\x21hvc1\x00\0\0\x05\0\0\0h0av01\x01\0\0\x02a1",
        b"\xA6\x23hvc1\x00\0\0\x02h0av01\x01\0\0\x02a1",
    ]);
    let media = [
        "track 1 hevc kept",
        "track 3 av1 kept",
        "1 key 25",
        "1 delta 22",
    ];
    // A number beyond those distinguished has no slot of its own.
    let beyond = "track 33 h264 kept";
    let expected = [&media[..2], &[beyond, "33 delta 8"], &media[2..]].concat();
    assert_eq!(words(&items), expected);
    let [hevc, av1, ..] = tracks(&items)[..] else {
        panic!("two tracks")
    };
    assert_eq!(kept(hevc).0, b"\x96\x00hvc1\x00H0");
    assert_eq!(kept(av1).0, b"\x96\x00av01\x01A1");
    assert_eq!([&hevc.config, &av1.config], [&b"H0"[..], b"A1"]);
}

#[test]
fn what_bare_samples_cannot_say_is_relayed_whole() {
    let start = leaked(&[b"\x90avc1", AVCC]);
    // Nanoseconds of a frame's time; then frames without; then the header once more.
    let items = video(&[
        start,
        b"\x91avc1\0\0\x10nal",
        b"\xA7\x02\0\0\x07\x01avc1\0\0\x10nal",
        b"\xA1avc1\0\0\x10nal",
        start,
        b"\x91avc1\0\0\x10nal",
    ]);
    assert_eq!(words(&items)[..2], ["track 1 h264 plain", "1 key 3"]);
    let behind = ["track 1 h264 kept", "1 delta 16", "1 delta 11", "1 key 11"];
    assert_eq!(words(&items)[2..], behind);
    assert_eq!(kept(tracks(&items)[1]), (start, &b""[..]));
    // Track 0 among others, and its colour.
    let items = video(&[start, b"\x96\x13avc1\x00\0\0\x01n\x01\0\0\x01n"]);
    assert_eq!(words(&items)[1..], ["track 1 h264 kept", "1 key 16"]);
    let items = video(&[start, b"\x94avc1color", b"\x93avc1nal"]);
    let again = "track 1 h264 kept";
    assert_eq!(words(&items)[1..], [again, again, "1 key 8"]);
    // Facts of another codec do not apply.
    let items = video(&[start, b"\x94avc1color", avc_header(), b"\x17\x01\0\0\0nal"]);
    assert_eq!(words(&items)[3..], ["track 1 h264 plain", "1 key 3"]);
    let items = audio(&[
        b"\x97\x02\0\0\x07\x01.mp3\xFF\xFB\x90\x64",
        b"\x91.mp3\xFF\xFB",
    ]);
    assert_eq!(words(&items)[0], "track 0 mp3 kept");
}

/// The codec's own bytes and the composition time of each sample.
fn coded(items: &[Item]) -> Vec<(&[u8], i64)> {
    let samples = samples(items).into_iter();
    let coded = samples.map(|it| (&it.data[..], (it.pts - it.dts).millis()));
    coded.collect()
}

#[test]
fn what_keeps_its_body_has_the_codecs_own_bytes_beside() {
    let items = video(&[
        b"\x90hvc1record",
        b"\x91hvc1\0\0\x28timed",
        b"\xA3hvc1plain",
        // With nanoseconds of its time.
        b"\xA7\x02\0\0\x07\x03hvc1modified",
        // One of two tracks, with a time of its own; then two of which the first counts.
        b"\xA6\x11hvc1\x00\0\0\x08\0\0\x10first\x01\0\0\x04\0\0\0x",
        // The end of the sequence holds nothing of the codec's.
        b"\xA2hvc1",
    ]);
    let expected: [(&[u8], i64); 5] = [
        (b"timed", 40),
        (b"plain", 0),
        (b"modified", 0),
        (b"first", 16),
        (b"", 0),
    ];
    assert_eq!(coded(&items), expected);
    let track = tracks(&items)[0];
    assert_eq!(track.codec, Codec::Hevc);
    assert_eq!(track.config, &b"record"[..]);
    // The number of tracks is unknown.
    let items = video(&[b"\x96\x33avc1\x00\0\0\x01x"]);
    assert_eq!(coded(&items), [(&b""[..], 0)]);
    // Before Enhanced RTMP.
    let items = video(&[b"\x1C\0\0\0\0record", b"\x2C\x01\0\0\x10nal"]);
    assert_eq!(coded(&items), [(&b"nal"[..], 16)]);
    assert_eq!(coded(&audio(&[b"\x72alaw"])), [(&b"alaw"[..], 0)]);
}

#[test]
fn codecs_of_webrtc_are_given_bodies() {
    let rows: [(_, &[u8], &[u8], &[u8]); 4] = [
        (Codec::Hevc, b"hvcC", b"\x90hvc1", b"\0\0\x21frame"),
        (Codec::Av1, b"av1C", b"\x90av01", b"frame"),
        (Codec::Vp8, b"", b"\x90vp08", b"frame"),
        (Codec::Vp9, b"vpcC", b"\x90vp09", b"frame"),
    ];
    for (codec, config, header, timed) in rows {
        let track = track(codec, config);
        let first = sample(&track, 0, 0, true, *b"frame");
        let second = sample(&track, 33, 66, false, *b"frame");
        let frames = [&first, &second].map(|sample| Tag::sample(&track, sample).unwrap());
        let tags = Tag::headers(&track, Timestamp::ZERO).chain(frames);
        let bodies: Vec<Vec<u8>> = tags.map(|tag| tag.parts().concat()).collect();
        let key = if codec == Codec::Hevc { 0x93 } else { 0x91 };
        assert_eq!(bodies[0], [header, config].concat());
        assert_eq!(bodies[1], [&[key][..], &header[1..], b"frame"].concat());
        assert_eq!(bodies[2], [&[0xA1][..], &header[1..], timed].concat());
        // Read again, they are what they were.
        let bodies: Vec<_> = bodies.iter().map(|body| leaked(&[body])).collect();
        let items = video(&bodies);
        let again = tracks(&items)[0];
        assert_eq!((again.codec, &again.config), (codec, &track.config));
        assert_eq!(coded(&items).len(), 2);
        assert!(coded(&items).iter().all(|(data, _)| data == b"frame"));
    }
}

#[test]
fn track_0_by_number_is_the_track_without_one() {
    let start = leaked(&[b"\x96\x00avc1\x00", AVCC]);
    let items = video(&[start, b"\x96\x01avc1\x00\0\0\x10nal", b"\xA3avc1nal"]);
    let expected = ["track 1 h264 plain", "1 key 3", "1 delta 3"];
    assert_eq!(words(&items), expected);
    assert_eq!(coded(&items)[0].1, 16);
}

#[test]
fn facts_are_configuration_until_another_sequence_header() {
    fn facts(items: &[Item]) -> Vec<(&[u8], &[u8])> {
        tracks(items).into_iter().map(kept).collect()
    }
    let [one, two]: [&[u8]; 2] = [b"\x90hvc1one", b"\x90hvc1two"];
    let [red, blue]: [&[u8]; 2] = [b"\x94hvc1red", b"\x94hvc1blue"];
    let (key, delta) = (b"\x93hvc1frame", b"\xA3hvc1frame");
    let items = video(&[one, red, key, one, red, delta, blue, two, red]);
    let none: &[u8] = b"";
    let expected = [
        (one, none),
        (one, red),
        (one, blue),
        (two, none),
        (two, red),
    ];
    assert_eq!(facts(&items), expected);
    assert_eq!(items.len(), 7, "and two samples");
    // Those of another codec, as ffmpeg sends them of numbered tracks, disturb nothing.
    let items = video(&[avc_header(), red, b"\x17\x01\0\0\0nal", red, blue]);
    let (plain, other) = ("track 1 h264 plain", "track 33 hevc kept");
    assert_eq!(words(&items), [plain, other, "1 key 3", other]);
    assert_eq!(facts(&items[3..]), [(none, blue)]);
    // They may come first.
    let items = video(&[red, one]);
    assert_eq!(facts(&items), [(none, red), (one, red)]);
    let (head, channels): (&[u8], &[u8]) = (b"\x90Opushead", b"\x94Opus\x01\x02");
    let items = audio(&[head, channels, b"\x91Opusframe"]);
    assert_eq!(facts(&items)[1], (head, channels));
    // Channels that AAC's configuration names already keep the track plain for other listeners.
    let items = audio(&[b"\x90mp4a\x12\x10", b"\x94mp4a\x01\x02", b"\x91mp4aframe"]);
    assert_eq!(words(&items), ["track 0 aac plain", "0 key 5"]);
}

#[test]
fn opus_of_one_or_two_channels_is_bare() {
    let header = |head: [u8; opus::HEAD_BYTES]| leaked(&[b"\x90Opus", &head]);
    let stereo = header(opus::head(2));
    // The layout of channels is in the header, too.
    let items = audio(&[stereo, b"\x94Opus\x01\x02", b"\x91Opus\xFCpacket", stereo]);
    assert_eq!(words(&items), ["track 0 opus plain", "0 key 7"]);
    let (track, sample) = (tracks(&items)[0], samples(&items)[0]);
    assert_eq!((track.sample_rate, track.channels), (48_000, 2));
    assert_eq!(sample.duration.millis(), 20);
    // Players get what was published.
    let tags = Tag::headers(track, Timestamp::ZERO).chain(Tag::sample(track, sample));
    let bodies: Vec<_> = tags.map(|tag| tag.parts().concat()).collect();
    assert_eq!(bodies, [stereo, b"\x91Opus\xFCpacket"]);

    // Several streams in one packet are passed on whole.
    let mut surround = opus::head(2);
    (surround[9], surround[opus::HEAD_BYTES - 1]) = (6, 1);
    let items = audio(&[header(surround), b"\x91Opuspacket"]);
    assert_eq!(words(&items), ["track 0 opus kept", "0 key 11"]);
    assert_eq!(rtp_format(&items), None);
    // So are bodies that hold more than bare samples can.
    let items = audio(&[stereo, b"\x97\x02\0\0\x07\x01Opus\xFCpacket"]);
    assert_eq!(words(&items)[1], "track 0 opus kept");
}

fn rtp_format(items: &[Item]) -> Option<crate::rtp::PayloadFormat> {
    crate::rtp::PayloadFormat::of(tracks(items)[0])
}

#[test]
fn codecs_without_configuration_may_say_so() {
    let items = audio(&[b"\x90ac-3", b"\x91ac-3frame", b"\x90ac-3"]);
    assert_eq!(words(&items), ["track 0 ac3 kept", "0 key 10"]);
    // An empty one after a full one changes nothing.
    let items = video(&[b"\x90hvc1config", b"\x90hvc1"]);
    assert_eq!(items.len(), 1);
}

#[test]
fn every_codec_of_enhanced_rtmp_is_recognised_by_its_headers_and_keyframes() {
    for (fourcc, name) in [
        ("hvc1", "hevc"),
        ("av01", "av1"),
        ("vp09", "vp9"),
        ("vp08", "vp8"),
        ("vvc1", "vvc"),
        ("????", "????"),
    ] {
        let body = |first: u8, rest: &[u8]| leaked(&[&[first], fourcc.as_bytes(), rest]);
        for start in [0x90, 0x95] {
            let items = video(&[
                body(start, b"config"),
                body(0x91, b"\0\0\0key"),
                body(0xA1, b"\0\0\0delta"),
                body(0x93, b"key"),
                body(0xA3, b"delta"),
                body(0x92, b""),
            ]);
            let samples = [
                "1 key 11",
                "1 delta 13",
                "1 key 8",
                "1 delta 10",
                "1 delta 5",
            ];
            let track = format!("track 1 {name} kept");
            assert_eq!(words(&items), [&[&track[..]][..], &samples].concat());
        }
    }
    // HEVC as codec 12, as encoders sent it before Enhanced RTMP.
    let key = b"\x1C\x01\0\0\0key";
    let items = video(&[b"\x1C\x00\0\0\0config", key, b"\x2C\x01\0\0\0d"]);
    assert_eq!(words(&items), ["track 1 hevc kept", "1 key 8", "1 delta 6"]);
    for (fourcc, name) in [
        ("Opus", "opus"),
        ("fLaC", "flac"),
        ("ac-3", "ac3"),
        ("ec-3", "eac3"),
    ] {
        let body = |first: u8, rest: &[u8]| leaked(&[&[first], fourcc.as_bytes(), rest]);
        let items = audio(&[body(0x90, b"config"), body(0x91, b"frame"), body(0x92, b"")]);
        let track = format!("track 0 {name} kept");
        assert_eq!(words(&items), [&track[..], "0 key 10", "0 delta 5"]);
    }
}

/// Bodies that Enhanced RTMP allows, and a few that it does not.
fn enhanced_body(is_video: bool) -> impl Strategy<Value = Vec<u8>> {
    let codecs: [&[u8; 4]; 3] = if is_video {
        [b"avc1", b"hvc1", b"av01"]
    } else {
        [b"mp4a", b".mp3", b"Opus"]
    };
    let part = (0..3usize, 0..4u8, prop::collection::vec(any::<u8>(), 0..6));
    let frame = if is_video { 0x90..=0xAFu8 } else { 0x90..=0x9F };
    let header = (frame, any::<bool>(), 0..8u8, prop::option::of(0..4u8));
    (header, prop::collection::vec(part, 1..4), any::<bool>()).prop_map(
        move |((first, is_modified, packet, layout), parts, is_config)| {
            let multitrack = if is_video { 6 } else { 5 };
            // Types above audio's and video's own are modifiers and lists, which are made here.
            let packet = if packet < 6 && packet != multitrack {
                packet
            } else {
                1
            };
            let mut types = vec![];
            types.extend(is_modified.then_some(7));
            types.extend(layout.map(|_| multitrack));
            types.push(packet);
            let mut body = vec![first & 0xF0 | types[0]];
            if is_modified {
                body.extend([2, 0, 0, 9, types[1]]);
            }
            if let Some(layout) = layout {
                body.push(layout << 4 | packet);
            }
            let (codec, ..) = parts[0];
            if layout != Some(2) {
                body.extend(codecs[codec]);
            }
            for (codec, number, data) in &parts {
                let data = match (is_config && packet == 0, is_video) {
                    (true, true) => AVCC,
                    (true, false) => &[0x12, 0x10],
                    (false, _) => data,
                };
                match layout {
                    Some(2) => body.extend(codecs[*codec]),
                    None => return [&body, data].concat(),
                    _ => {}
                }
                body.push(*number);
                if layout == Some(0) {
                    return [&body, data].concat();
                }
                body.extend([0, 0, data.len() as u8]);
                body.extend(data);
            }
            body
        },
    )
}

/// The items of a reader that is sent `items`.
fn relayed(items: &[Item]) -> Vec<Item> {
    let mut bytes = file_header(true, true).to_vec();
    let mut emit = |piece: &[u8]| bytes.extend_from_slice(piece);
    let mut tracks: Vec<Arc<Track>> = Vec::new();
    for item in items {
        match item {
            Item::Track(track) => {
                tracks.retain(|known| known.id != track.id);
                tracks.push(Arc::clone(track));
                Tag::headers(track, at(0)).for_each(|tag| tag.write(&mut emit));
            }
            Item::Sample(sample) => {
                let track = tracks.iter().find(|track| track.id == sample.track);
                let tag = Tag::sample(track.expect("its track came first"), sample);
                tag.expect("it was read").write(&mut emit);
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    read_flv(&bytes)
}

/// The samples, and the headers that each of them is decoded with.
fn heard(items: &[Item]) -> Vec<(Sample, Bytes)> {
    let mut configs = [const { Bytes::new() }; 256];
    let mut heard = Vec::new();
    for item in items {
        match item {
            Item::Track(track) => configs[usize::from(track.id.0)] = track.config.clone(),
            Item::Sample(sample) => {
                heard.push((sample.clone(), configs[usize::from(sample.track.0)].clone()));
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    heard
}

proptest! {
    #[test]
    fn what_is_relayed_can_be_relayed_again(
        bodies in prop::collection::vec(
            any::<bool>().prop_flat_map(|video| (Just(video), enhanced_body(video))), 1..40),
    ) {
        let bodies = bodies.into_iter();
        let items = depacketized(bodies.map(|(is_video, body)| (is_video, 0, Bytes::from(body))));
        prop_assert_eq!(heard(&relayed(&items)), heard(&items));
    }
}
