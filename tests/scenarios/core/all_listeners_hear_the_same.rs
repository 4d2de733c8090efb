//! Two hundred listeners of one mount receive identical bytes from their join points on, and each decodes at once.

use testkit::http::Listener;
use testkit::{Clip, Server, Tool, framemd5};

use crate::support::{DEADLINE, file, find, repeat_icecast, round, rounds};

const LISTENERS: usize = 200;

/// One in this many listeners has its body decoded. All of them received the same bytes.
const DECODED: usize = 10;

#[test]
fn two_hundred_listeners_of_one_mount() {
    let server = Server::start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut first = server.listen("/radio.mp3");
    let mut others: Vec<Listener> = Vec::new();
    for index in 0..LISTENERS - 1 {
        others.push(server.listen("/radio.mp3"));
        if index % 20 == 0 {
            // The listeners join at different moments of the stream.
            let length = first.body().len();
            first.read_bytes(length + 2_000, DEADLINE);
        }
    }
    let length = first.body().len();
    first.read_bytes(length + 100_000, DEADLINE);
    for (index, listener) in others.iter_mut().enumerate() {
        assert_eq!(listener.status(), 200);
        let body = listener.read_bytes(60_000, DEADLINE);
        assert!(
            body[0] == 0xff && body[1] & 0xe0 == 0xe0,
            "listener {index} begins with a frame"
        );
        let at = find(first.body(), &body[..2_000])
            .unwrap_or_else(|| panic!("listener {index} heard something else"));
        let common = body.len().min(first.body().len() - at);
        assert!(common > 40_000, "{common}");
        assert!(
            body[..common] == first.body()[at..at + common],
            "listener {index} differs"
        );
    }
    let clip = std::fs::read(round(Clip::Mp3)).unwrap();
    let sent = framemd5::decoded(file(&rounds(&clip)).path());
    for (index, listener) in others.iter().enumerate().step_by(DECODED) {
        let body = listener.body();
        let output = Tool::ffmpeg()
            .args(["-f", "mp3", "-i"])
            .arg(file(&body[..body.len() - body.len() % 417]).path())
            .args(["-f", "framemd5", "-"])
            .finish(DEADLINE);
        let mut got = framemd5::parse(&String::from_utf8_lossy(&output.stdout));
        // The listener left in the middle of a frame.
        got.truncate(got.len() - 3);
        let join = framemd5::join(&sent, &got, 1)
            .unwrap_or_else(|mismatch| panic!("listener {index}: {mismatch}"));
        assert!(join.matched > 100, "{join:?}");
    }
}
