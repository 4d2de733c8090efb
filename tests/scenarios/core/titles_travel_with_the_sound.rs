//! ICY: titles arrive at fixed positions in the stream, and between them is the source's sound, byte for
//! byte.

use testkit::http::{self, Listener, deinterleave};
use testkit::{Clip, Server};

use crate::support::titles::{assert_is_run, base64, set_title};
use crate::support::{DEADLINE, publish_icecast, repeat_icecast, round, rounds, wait_for_stream};

#[test]
fn a_title_arrives_within_one_interval_and_the_sound_is_untouched() {
    let server = Server::start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let mut plain = server.listen("/radio.mp3");
    let mut icy = Listener::get_icy(server.addr("http"), "/radio.mp3");
    assert_eq!(icy.status(), 200);
    let interval: usize = icy.header("icy-metaint").unwrap().parse().unwrap();
    assert_eq!(plain.header("icy-metaint"), None);

    icy.read_bytes(2 * interval, DEADLINE);
    assert_eq!(set_title(&server, "song=It%27s%20%E2%99%AB%20now"), 200);
    // A title set before this moment is in a block at most one interval from here.
    let at = icy.body().len();
    icy.read_bytes(at + 3 * interval, DEADLINE);
    let (audio, titles) = deinterleave(icy.body(), interval);
    let position = titles
        .iter()
        .find(|(_, text)| text.contains("StreamTitle='It's \u{266b} now';"));
    let (position, _) = position.unwrap_or_else(|| panic!("{titles:?}"));
    // What was on its way when the title changed is at most the messages of one window.
    assert!(*position <= at + 2 * interval, "{position} after {at}");

    plain.read_bytes(icy.body().len(), DEADLINE);
    assert_is_run("ICY sound in the plain listener's", &audio, plain.body());
    let file = rounds(&std::fs::read(round(Clip::Mp3)).unwrap());
    assert_is_run(
        "ICY sound in the source's file",
        &audio[..4 * interval],
        &file,
    );
}

#[test]
fn only_the_source_may_set_titles() {
    let server = Server::start();
    let _publisher = publish_icecast(&server, Clip::Mp3, 20, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let update = "GET /admin/metadata?mode=updinfo&mount=/radio.mp3&song=x HTTP/1.0\r\n";
    let anonymous = http::request(
        server.addr("http"),
        format!("{update}\r\n").as_bytes(),
        DEADLINE,
    );
    assert_eq!(anonymous.status, 401);
    let wrong = format!(
        "{update}Authorization: Basic {}\r\n\r\n",
        base64(b"source:wrong")
    );
    assert_eq!(
        http::request(server.addr("http"), wrong.as_bytes(), DEADLINE).status,
        401
    );
}
