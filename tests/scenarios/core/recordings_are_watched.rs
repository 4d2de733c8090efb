//! Viewers play the recordings of a stream at its address: whole, by ranges, over HLS while they grow, from a time on, and in
//! clips.

use testkit::{Clip, Tool, framemd5};

use crate::support::past::{STREAM, after, has_seconds, is_final, newest, on_disk, server, text};
use crate::support::{DEADLINE, marks, publish_rtmp};

/// Seconds between two keyframes of the clips.
const GROUP: f64 = 1.0;

/// Length of recording that a viewer needs to begin five seconds after its start: a segment lasts six seconds and up to the
/// next keyframe, which is recorded with its group.
const LISTED_SECONDS: f64 = 15.0;

#[test]
fn viewers_go_back_in_a_stream_and_on_into_the_present() {
    let (_root, server) = server();
    let clip = Clip::Flv.seconds(20);
    let mut publisher = publish_rtmp(&server, &clip, STREAM);
    // By then there is a whole segment from five seconds on; before, the server would begin earlier.
    let _ = newest(&server, STREAM, "some seconds", has_seconds(LISTED_SECONDS));
    let asked = |at: &str| {
        let leading = server.get(&format!("/{STREAM}/index.m3u8?at={at}"));
        let text = leading.text();
        assert_eq!(leading.status, 200, "{text}");
        let line = text.lines().find(|line| line.starts_with("recordings/"));
        let path = format!("/{STREAM}/{}", line.unwrap_or_else(|| panic!("{text}")));
        (server.get(&path).text(), path)
    };
    // Time of the first frame, by the playlist.
    let begins = |text: &str| -> String {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("#EXT-X-PROGRAM-DATE-TIME:"));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let one = newest(&server, STREAM, "it", |_| true);
    let (start, _) = asked("start");
    assert!(begins(&start).starts_with(text(&one, "started").trim_end_matches('Z')));
    // A time long ago selects the oldest recording.
    assert_eq!(begins(&asked("2001-01-01T00:00:00Z").0), begins(&start));
    assert_eq!(begins(&asked("-9h").0), begins(&start));
    // From five seconds after the start, the playlist has the keyframe before that and everything behind it.
    let (at, offset) = (after(&one, 5), 5.0);
    let (_, path) = asked(&at);
    let got = Tool::ffmpeg()
        .args(["-v", "error", "-live_start_index", "0", "-i"])
        .arg(server.http_url(&path))
        .args(["-map", "0:v", "-f", "framemd5", "-"])
        .run(3 * DEADLINE);
    publisher.wait(DEADLINE);
    let one = newest(&server, STREAM, "a finalised recording", is_final);
    let file = framemd5::decoded(on_disk(&server, text(&one, "id")));
    let file = framemd5::video(&file);
    let got = framemd5::parse(&String::from_utf8(got).unwrap());
    let got = framemd5::video(&got);
    let late = file.len() - got.len();
    assert_eq!(marks(&got), marks(&file[late..]), "it goes on to the end");
    let first = late as f64 / 25.0;
    assert!(
        first <= offset && offset - first <= GROUP + 0.1,
        "{first} {offset}"
    );
    for wrong in ["yesterday", "-", "99", ""] {
        let answer = server.get(&format!("/{STREAM}/index.m3u8?at={wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
    }
    assert_eq!(server.get("/live/none/index.m3u8?at=start").status, 404);
}
