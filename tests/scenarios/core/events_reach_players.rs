//! Events that an operator announces reach every player in its container's own form, and disturb none.

use serde_json::{Value, json};
use testkit::http::Response;
use testkit::{Clip, Process, Server, Tool};

use crate::support::{
    DEADLINE, codecs, file, find, order_as, publish_rtmp, server_with_short_linger, wait_until,
};

const STREAM: &str = "live/show";
const PLAYLIST: &str = "/live/show/hls/live.m3u8";

/// `splice_insert` of the standard (SCTE 35 §14.2), in base64 and in hexadecimal.
const SECTION: &str = "/DAvAAAAAAAA///wFAVIAACPf+/+c2nALv4AUsz1AAAAAAAKAAhDVUVJAAABNWLbowo=";
const SECTION_HEX: &str = "0xFC302F000000000000FFFFF014054800008F7FEFFE7369C02EFE0052CCF5000000000\
                           00A0008435545490000013562DBA30A";

/// Seconds of media that a listener receives before and after the events.
const BODY_SECONDS: u32 = 16;

/// Posts a body to the admin port.
fn post(server: &Server, stream: &str, content_type: &str, body: &str) -> Response {
    let path = format!("streams/{stream}/events");
    order_as(server, "POST", &path, content_type, body)
}

fn announce(server: &Server, event: &Value) -> Value {
    let answer = post(server, STREAM, "application/json", &event.to_string());
    assert_eq!(answer.status, 200, "{event}: {}", answer.text());
    let answer: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(answer["stream"], STREAM);
    assert!(answer["at"].as_f64().is_some_and(|at| at > 0.0), "{answer}");
    answer
}

/// Starts a server with a stream, and its publisher.
fn published() -> (Server, Process) {
    let server = server_with_short_linger();
    let publisher = publish_rtmp(&server, &Clip::Flv.seconds(BODY_SECONDS), STREAM);
    wait_until("media", || {
        server.get(PLAYLIST).text().contains("#EXT-X-PART:")
    });
    (server, publisher)
}

fn announce_all(server: &Server) {
    for event in [
        json!({ "type": "id3", "text": "Hello there" }),
        json!({ "type": "caption", "text": "A line", "language": "en" }),
        json!({ "type": "cue", "out": true, "duration": 2.5, "id": "ad1" }),
    ] {
        announce(server, &event);
    }
    let answer = announce(server, &json!({ "type": "cue", "scte35": SECTION }));
    assert_eq!(answer["id"], "splice-4800008F");
    announce(server, &json!({ "type": "cue", "out": false, "id": "ad1" }));
}

#[test]
fn listeners_of_bodies_get_data_messages_and_timed_metadata() {
    let (server, _publisher) = published();
    let mut flv = server.listen("/live/show.flv");
    let mut ts = server.listen("/live/show.ts");
    for listener in [&mut flv, &mut ts] {
        let has_begun = listener.read_until(DEADLINE, |body| body.len() > 10_000);
        assert!(has_begun, "media comes");
    }
    announce_all(&server);
    // Both bodies are read at once: the server moves a listener forward that does not read.
    let (flv, ts) = std::thread::scope(|scope| {
        let ts = scope.spawn(|| ts.read_to_end(DEADLINE).to_vec());
        (flv.read_to_end(DEADLINE).to_vec(), ts.join().unwrap())
    });
    let of_flv = ["onTextData", "A line", "onCuePoint", "ad1", SECTION];
    let of_ts = ["ID3\x04", "Hello there", "caption:en\0A line", "CUEI"];
    for (body, parts) in [(&flv, &of_flv[..]), (&ts, &of_ts[..])] {
        for part in parts {
            assert!(find(body, part.as_bytes()).is_some(), "{part}");
        }
    }
    let body = file(&ts);
    let streams = codecs(body.path().to_str().unwrap(), &[]);
    for codec in ["h264", "aac", "timed_id3", "scte_35"] {
        assert!(streams.contains(codec), "{codec} in {streams}");
    }
    for body in [&flv, &ts] {
        let body = file(body);
        let decoded = Tool::ffmpeg()
            .args(["-v", "error", "-xerror", "-i"])
            .arg(body.path())
            .args(["-map", "0:v", "-map", "0:a", "-f", "null", "-"])
            .finish(DEADLINE);
        assert_eq!(decoded.stderr, "", "ffmpeg plays on");
    }
}

#[test]
fn viewers_over_hls_get_event_messages_and_date_ranges() {
    let (server, _publisher) = published();
    announce_all(&server);
    let mut text = String::new();
    wait_until("the ranges at their segment", || {
        text = server.get(PLAYLIST).text();
        let range = text.find("SCTE35-IN=");
        range.is_some_and(|at| text[at..].contains("#EXTINF"))
    });
    let ranges: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("#EXT-X-DATERANGE:"))
        .collect();
    assert_eq!(ranges.len(), 3, "{text}");
    let attribute = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}=\"")).unwrap().1;
        value.split('"').next().unwrap().to_owned()
    };
    let [out, other, back] = ranges[..] else {
        panic!("three ranges")
    };
    let planned = "PLANNED-DURATION=2.50000,SCTE35-OUT=0xFC";
    assert!(out.contains(planned), "{out}");
    let section = format!("SCTE35-OUT={SECTION_HEX}");
    assert!(other.contains(&section), "{other}");
    assert_eq!(attribute(out, "ID"), "ad1");
    assert_eq!(attribute(back, "ID"), "ad1");
    assert_eq!(attribute(out, "START-DATE"), attribute(back, "START-DATE"));

    // The listed segments hold the messages, each once.
    let segments: Vec<u8> = text
        .lines()
        .filter(|line| line.ends_with(".m4s") && !line.starts_with('#'))
        .flat_map(|name| server.get(&format!("/live/show/hls/{name}")).body)
        .collect();
    let count = |part: &[u8]| {
        let places = segments.windows(part.len());
        places.filter(|place| *place == part).count()
    };
    assert_eq!(count(b"https://aomedia.org/emsg/ID3\0\0ID3"), 2);
    assert_eq!(count(b"urn:scte:scte35:2013:bin\0\0\xFC"), 3);
    assert_eq!(count(b"Hello there"), 1);
}

#[test]
fn what_is_no_event_is_refused() {
    let (server, _publisher) = published();
    let json = "application/json";
    for (stream, content_type, body, status) in [
        ("live/none", json, r#"{"type":"id3","text":"x"}"#, 404),
        (STREAM, "text/plain", r#"{"type":"id3","text":"x"}"#, 415),
        (STREAM, json, r#"{"type":"id3"}"#, 400),
        (STREAM, json, r#"{"type":"cue","scte35":"FC30"}"#, 400),
    ] {
        let answer = post(&server, stream, content_type, body);
        assert_eq!(answer.status, status, "{stream} {body}: {}", answer.text());
        assert!(answer.text().contains("\"error\""), "{}", answer.text());
    }
}
