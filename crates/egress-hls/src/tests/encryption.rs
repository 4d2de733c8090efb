//! Streams that are encrypted: what their viewers receive, and what no viewer does.

use aws_lc_rs::cipher::{AES_128, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use http::{StatusCode, header};

use super::{PASSWORD, TestServer, attribute, body, play, playing, segments, tags, text};

const STREAM: &str = "encrypted/show";

/// The segments of a playlist, each with the address of the key that is in force.
fn with_keys(listing: &str) -> Vec<(&str, &str)> {
    let mut key = "";
    let mut all = Vec::new();
    for line in listing.lines() {
        if let Some(tag) = line.strip_prefix("#EXT-X-KEY:") {
            assert_eq!(attribute(tag, "METHOD"), "AES-128");
            assert!(!tag.contains("IV="), "the segment's number is the vector");
            key = attribute(tag, "URI");
        } else if !line.starts_with('#') {
            all.push((line, key));
        }
    }
    all
}

fn decrypted(key: &[u8], number: u128, mut bytes: Vec<u8>) -> Vec<u8> {
    let key = UnboundCipherKey::new(&AES_128, key).expect("16 bytes");
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).expect("a key");
    let vector = DecryptionContext::Iv128(number.to_be_bytes().into());
    let plain = key.decrypt(&mut bytes, vector).expect("whole and padded");
    plain.to_vec()
}

/// Demands that an encrypted segment is the clear one. Returns its number and its key.
async fn checked(server: &TestServer, name: &str, address: &str) -> (u128, Vec<u8>) {
    let number: u128 = name.trim_end_matches(".ts").parse().expect("a number");
    let key = server.ask(&format!("/{STREAM}/aes/{address}")).await;
    assert_eq!(key.status, StatusCode::OK);
    assert_eq!(key.headers[header::CACHE_CONTROL], "no-store");
    let kind = &key.headers[header::CONTENT_TYPE];
    assert_eq!(kind, "application/octet-stream");
    let key = body(&key);
    assert_eq!(key.len(), 16);
    let segment = body(&server.ask(&format!("/{STREAM}/aes/{name}")).await);
    assert_eq!(segment.len() % 16, 0);
    let same = body(&server.ask(&format!("/live/show/ts/{name}")).await);
    assert!(decrypted(&key, number, segment) == same, "segment {name}");
    assert_eq!(same.len() % 188, 0);
    (number, key)
}

#[tokio::test]
async fn each_segment_is_the_clear_one_under_the_key_of_its_period() {
    let server = TestServer::new();
    let mut publishers = [server.publish(STREAM), server.publish("live/show")];
    for publisher in &mut publishers {
        play(publisher, 0, 1_000);
    }
    let clear = "/live/show/ts/live.m3u8?_parts";
    let encrypted = format!("/{STREAM}/aes/live.m3u8?_parts");
    server.text(&encrypted).await;
    server.text(clear).await;
    for publisher in &mut publishers {
        play(publisher, 1_000, 20_000);
    }
    let listing = server.text(&encrypted).await;
    assert_eq!(segments(&listing), segments(&server.text(clear).await));
    let all = with_keys(&listing);
    assert!(all.len() > 4, "{listing}");
    let mut keys = Vec::new();
    for (name, address) in all {
        let (number, key) = checked(&server, name, address).await;
        assert_eq!(address, format!("{}.key", number / 2), "two segments a key");
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    assert!(keys.len() >= 3, "each period has its own");
    // The last segment of a lane is ended with it.
    let [encrypted_publisher, publisher] = publishers;
    drop((encrypted_publisher, publisher));
    server.registry.end_all();
    let listing = server.text(&encrypted).await;
    assert!(listing.ends_with("#EXT-X-ENDLIST\n"), "{listing}");
    let (name, address) = *with_keys(&listing).last().expect("segments");
    checked(&server, name, address).await;
}

#[tokio::test]
async fn nothing_of_an_encrypted_stream_is_to_be_had_in_clear() {
    let server = TestServer::new();
    let mut publishers = [server.publish(STREAM), server.publish("live/show")];
    for publisher in &mut publishers {
        play(publisher, 0, 10_000);
    }
    for query in ["", "?format=ts", "?format=mp4", "?dvr"] {
        let listing = server.text(&format!("/{STREAM}/index.m3u8{query}")).await;
        assert_eq!(segments(&listing), ["aes/live.m3u8"], "{query}");
    }
    let paths = "hls/live.m3u8 hls/dvr.m3u8 ts/live.m3u8 aac/live.m3u8 ts/2.ts hls/2.0.m4s";
    for path in paths.split(' ') {
        let answer = server.ask(&format!("/{STREAM}/{path}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(text(&answer).contains("encrypted"), "{path}");
    }
    // And the other way round.
    for path in ["aes/live.m3u8", "aes/0.key"] {
        let answer = server.ask(&format!("/live/show/{path}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn keys_are_of_listed_segments_and_for_viewers_that_passed_the_gate() {
    let secret = "encrypted/secret/show";
    let (server, mut publisher) = playing(secret, 1_000);
    let playlist = format!("/{secret}/aes/live.m3u8?key={PASSWORD}");
    server.text(&format!("{playlist}&_parts")).await;
    play(&mut publisher, 1_000, 10_000);
    let listing = server.text(&playlist).await;
    let address = attribute(tags(&listing, "#EXT-X-KEY")[0], "URI");
    let (name, query) = address.split_once('?').expect("with the viewer's query");
    assert_eq!(query, format!("key={PASSWORD}"));
    for (query, status) in [
        ("", StatusCode::UNAUTHORIZED),
        ("?key=guess", StatusCode::UNAUTHORIZED),
        (&format!("?{query}")[..], StatusCode::OK),
    ] {
        let answer = server.ask(&format!("/{secret}/aes/{name}{query}")).await;
        assert_eq!(answer.status, status, "{query}");
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    }
    for number in [99, u64::MAX] {
        let path = format!("/{secret}/aes/{number}.key?{query}");
        assert_eq!(server.ask(&path).await.status, StatusCode::NOT_FOUND);
    }
}
