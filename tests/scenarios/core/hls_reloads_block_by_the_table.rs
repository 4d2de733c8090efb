//! Requests for a playlist or a part that is still to come block, by the table of RFC 8216bis §6.2.5.2.
//!
//! The publisher pauses where a reply must come at once: a request that blocked would have nothing to wait for.

use std::io::{ErrorKind, Read};

use testkit::Signal;
use testkit::hls::resolve;
use testkit::http::Response;

use crate::support::reloads::{A_WHILE, Show};
use crate::support::{DEADLINE, wait_until};

#[test]
fn what_is_still_to_come_is_waited_for() {
    let show = Show::start();
    for _ in 0..8 {
        let (number, part) = show.playlist("").next_part();
        let next = show.part(number, part).next_part();
        assert!(next > (number, part), "{next:?} after {number}.{part}");
    }
    // A segment alone means its first part.
    let (number, _) = show.playlist("").next_part();
    let next = show
        .playlist(&format!("?_HLS_msn={}", number + 1))
        .next_part();
    assert!(next > (number + 1, 0), "{next:?} after {number}");
    // A part beyond the last one of its segment, which has seven, is the first of the next.
    let mut next = (0, 0);
    wait_until("a segment that has begun", || {
        next = show.playlist("").next_part();
        next.1 >= 2
    });
    let (number, part) = next;
    let wanted = (number, part + 5);
    let next = show.part(wanted.0, wanted.1).next_part();
    assert!(
        next > wanted && next != (number + 1, 0),
        "{next:?} after {wanted:?}"
    );
}

#[test]
fn an_announced_part_comes_whole_or_not_at_all() {
    let show = Show::start();
    show.pause();
    let hint = show.hint();
    let mut socket = show.begin(&hint);
    socket.set_read_timeout(Some(A_WHILE)).unwrap();
    let early = socket.read(&mut [0; 1]).map_err(|error| error.kind());
    assert!(
        matches!(early, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)),
        "{early:?} of a part that is not there"
    );
    show.publisher.signal(Signal::CONT);
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let answer = Response::parse(&answer);
    assert_eq!(answer.status, 200);
    let length = answer.header("content-length").unwrap();
    assert_eq!(length, answer.body.len().to_string());
    let again = show.server.get(&hint);
    assert!(answer.body == again.body && !again.body.is_empty());
    let listed = show.playlist("");
    let mut parts = listed.segments.iter().flat_map(|segment| &segment.parts);
    assert!(parts.any(|part| resolve(&show.path, &part.uri) == hint));
}
