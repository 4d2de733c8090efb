//! A stream encrypted over HLS is ciphertext, which other programs decrypt with the keys that its playlist names.

use testkit::hls::resolve;
use testkit::{Clip, Tool};

use crate::support::encrypted::{MEDIA, STREAM, listing, published};
use crate::support::{DEADLINE, decodes_quietly, file, repeat_rtmp};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn another_implementation_decrypts_each_segment() {
    let (server, _publisher) = published(|server| repeat_rtmp(server, Clip::Flv, STREAM));
    let playlist = listing(&server).unwrap();
    assert!(playlist.part_target.is_none());
    let mut keys = Vec::new();
    let mut joined = Vec::new();
    for segment in &playlist.segments {
        let Some(listed) = &segment.file else {
            continue;
        };
        let key = segment.key.as_ref().unwrap();
        let key = server.get(&resolve(MEDIA, &key.uri));
        assert_eq!((key.status, key.body.len()), (200, 16));
        assert_eq!(key.header("cache-control"), Some("no-store"));
        let key = hex(&key.body);
        if !keys.contains(&key) {
            keys.push(key.clone());
        }
        let sent = server.get(&resolve(MEDIA, &listed.uri)).body;
        let sent = file(&sent);
        let plain = Tool::new("openssl")
            .args(["enc", "-d", "-aes-128-cbc", "-K", &key])
            .args(["-iv", &format!("{:032x}", segment.number), "-in"])
            .arg(sent.path())
            .run(DEADLINE);
        assert_eq!(plain.len() % 188, 0);
        assert!(
            plain.chunks(188).all(|packet| packet[0] == 0x47),
            "{listed:?}"
        );
        joined.extend(plain);
    }
    assert!(keys.len() >= 3, "{}", keys.len());
    let log = server.log();
    assert!(keys.iter().all(|key| !log.contains(key)));
    decodes_quietly("all of it", file(&joined).path(), &["-f", "mpegts"]);
    for clear in ["hls/live.m3u8", "ts/live.m3u8", "aac/live.m3u8"] {
        let answer = server.get(&format!("/live/show/{clear}"));
        assert_eq!(answer.status, 404, "{clear}");
    }
}
