//! Two-way listeners: replies between units, and sockets given back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use crate::support::{
    Encoder, Listener, PATIENCE, SIZE, TestFanout, first_frame, frames, wait_until,
};
use bytes::BytesMut;
use fanout::{Conversation, Heard, Reason, Released};
use media::Timestamp;
use net::Transport;

/// Far more than a socket takes at once.
const LARGE: usize = 4 << 20;

/// Replies to each `x` with `<x>`; `b` releases the socket, `h` hangs up, `f` replies with a flood, `p` panics.
#[derive(Debug)]
struct Echo {
    released: SyncSender<(TcpStream, Released)>,
}

impl Conversation for Echo {
    fn hear(&mut self, bytes: &[u8], words: &mut BytesMut, _: Instant) -> Heard {
        for byte in bytes {
            match byte {
                b'b' => return Heard::Release,
                b'h' => return Heard::HangUp,
                b'p' => panic!("a defect of the conversation"),
                b'f' => words.extend_from_slice(&[b'<'; 1 << 20]),
                _ => words.extend_from_slice(&[b'<', *byte, b'>']),
            }
        }
        Heard::Stay
    }

    fn announce_leave(&mut self, words: &mut BytesMut) {
        words.extend_from_slice(b"<!>");
    }

    fn release(self: Box<Self>, transport: Transport, why: Released, _: Option<Timestamp>) {
        self.released.send((transport.socket, why)).unwrap();
    }
}

/// Connects a listener with a conversation; returns it, and what it is given back by.
fn converse(setup: &TestFanout) -> (Listener, Receiver<(TcpStream, Released)>) {
    let (released, reported) = sync_channel(1);
    let echo = Box::new(Echo { released });
    (setup.converse("show", "", Some(echo)), reported)
}

struct Scene {
    setup: TestFanout,
    encoder: Encoder,
    listener: Listener,
    released: Receiver<(TcpStream, Released)>,
}

fn scene(size: usize) -> Scene {
    let (setup, mut encoder) = TestFanout::show(size);
    encoder.write(1).unwrap();
    let (listener, released) = converse(&setup);
    Scene {
        setup,
        encoder,
        listener,
        released,
    }
}

impl Scene {
    fn says(&mut self, text: &str) {
        self.listener.socket.write_all(text.as_bytes()).unwrap();
    }

    fn given_back(&self) -> (TcpStream, Released) {
        self.released
            .recv_timeout(PATIENCE)
            .expect("it is given back")
    }
}

/// Splits the stream into words and frames; panics on words anywhere but between frames.
fn apart(mut bytes: &[u8]) -> (String, Vec<u64>) {
    let (mut words, mut numbers) = (String::new(), Vec::new());
    while let Some(first) = bytes.first() {
        let length = match first {
            b'<' => {
                words.push(bytes[1].into());
                3
            }
            _ => {
                let (number, size) = first_frame(bytes);
                numbers.push(number);
                size
            }
        };
        bytes = &bytes[length..];
    }
    (words, numbers)
}

#[test]
fn answers_come_at_once_when_there_is_nothing_else_to_send() {
    let mut scene = scene(SIZE);
    assert_eq!(frames(&scene.listener.read(SIZE)), [0]);
    scene.says("xy");
    assert_eq!(scene.listener.read(6), b"<x><y>");
    scene.encoder.write(1).unwrap();
    assert_eq!(frames(&scene.listener.read(SIZE)), [1]);
}

#[test]
fn a_conversation_that_panics_is_hung_up_on_and_the_others_continue() {
    net::panics::install_hook();
    let mut scene = scene(SIZE);
    let (mut other, _reported) = converse(&scene.setup);
    assert_eq!(frames(&scene.listener.read(SIZE)), [0]);
    assert_eq!(frames(&other.read(SIZE)), [0]);
    scene.says("p");
    let mut rest = Vec::new();
    scene.listener.socket.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    scene.encoder.write(1).unwrap();
    assert_eq!(frames(&other.read(SIZE)), [1]);
}

#[test]
fn answers_wait_for_the_end_of_a_unit() {
    let mut scene = scene(LARGE);
    scene.encoder.write(2).unwrap();
    // The listener reads nothing, so the worker is in the middle of a frame when it receives this.
    scene.says("x");
    let mut got = scene.listener.read(1);
    scene.says("y");
    got.extend(scene.listener.read(3 * LARGE + 6 - 1));
    let (words, numbers) = apart(&got);
    assert_eq!((words.as_str(), &numbers[..]), ("xy", &[0, 1, 2][..]));
}

#[test]
fn a_socket_is_given_back_between_units() {
    let mut scene = scene(LARGE);
    scene.says("xb more");
    let mut got = scene.listener.read(LARGE + 3);
    let (mut socket, why) = scene.given_back();
    assert_eq!(why, Released::Asked);
    assert_eq!(scene.setup.departure().reason, Reason::Left);
    scene.encoder.write(5).unwrap();
    socket.set_nonblocking(false).unwrap();
    socket.write_all(b"<z>").unwrap();
    got.extend(scene.listener.read(3));
    assert_eq!(apart(&got), ("xz".to_owned(), vec![0]));
    assert_eq!(scene.setup.registry.fanout().listeners(), 0);
    // Bytes that it sends from here on belong to the new owner.
    scene.says("later");
    let mut later = [0; 5];
    socket.read_exact(&mut later).unwrap();
    assert_eq!(&later, b"later");
}

#[test]
fn a_listener_without_a_place_yet_is_spoken_with_too() {
    let (setup, mut encoder) = TestFanout::show(SIZE);
    // No join point: video begins with a keyframe.
    encoder.next = 1;
    encoder.write(1).unwrap();
    let (mut listener, reported) = converse(&setup);
    listener.socket.write_all(b"x").unwrap();
    assert_eq!(listener.read(3), b"<x>");
    listener.socket.write_all(b"b").unwrap();
    assert_eq!(reported.recv_timeout(PATIENCE).unwrap().1, Released::Asked);
}

#[test]
fn the_end_of_a_stream_gives_the_socket_back() {
    let mut scene = scene(SIZE);
    scene.encoder.write(3).unwrap();
    scene.setup.registry.end_all();
    let (socket, why) = scene.given_back();
    assert_eq!(why, Released::Ended);
    drop(socket);
    assert_eq!(frames(&scene.listener.read_to_end()), [0, 1, 2, 3]);
    assert_eq!(scene.setup.departure().reason, Reason::Ended);
}

#[test]
fn all_listeners_learn_of_the_leave() {
    let mut scene = scene(SIZE);
    let mut silent = scene.setup.listen("show", "");
    scene.setup.registry.fanout().announce_leave();
    let mut got = scene.listener.read(SIZE + 3);
    scene.encoder.write(1).unwrap();
    got.extend(scene.listener.read(SIZE));
    assert_eq!(apart(&got), ("!".to_owned(), vec![0, 1]));
    assert_eq!(frames(&silent.read(2 * SIZE)), [0, 1]);
}

/// The listener was on its way to its worker when the others got the announcement.
#[test]
fn a_listener_that_comes_after_the_others_learned_of_the_leave_learns_of_it_too() {
    let (setup, mut encoder) = TestFanout::show(SIZE);
    encoder.write(1).unwrap();
    setup.registry.fanout().announce_leave();
    let (mut late, _reported) = converse(&setup);
    let got = late.read(SIZE + 3);
    assert_eq!(apart(&got), ("!".to_owned(), vec![0]));
}

/// Waiting for the last listener to leave includes those that a worker has not taken in yet.
#[test]
fn listeners_on_their_way_are_counted() {
    let (setup, mut encoder) = TestFanout::show(SIZE);
    encoder.write(1).unwrap();
    let fanout = setup.registry.fanout();
    let _far: Vec<_> = (1..=20)
        .map(|count| {
            let far = setup.attach("show");
            assert_eq!(fanout.listeners(), count);
            far
        })
        .collect();
}

#[test]
fn floods_and_hang_ups_end_the_connection() {
    for (says, what) in [
        ("h".to_owned(), "the conversation hangs up"),
        ("f".to_owned(), "answers that are not read"),
        ("x".repeat(1 << 20), "input without end"),
    ] {
        let mut scene = scene(LARGE);
        // The server may close before all of it is out.
        scene.listener.socket.write_all(says.as_bytes()).ok();
        assert_eq!(scene.setup.departure().reason, Reason::Left, "{what}");
        assert!(scene.released.try_recv().is_err(), "{what}");
        wait_until(|| scene.setup.registry.fanout().listeners() == 0);
    }
}

#[test]
fn a_listener_that_takes_nothing_is_not_given_back() {
    let scene = scene(LARGE);
    scene.setup.registry.end_all();
    // The listener is in the middle of a frame.
    assert_eq!(scene.setup.departure().reason, Reason::Ended);
    assert!(scene.released.try_recv().is_err());
}

#[test]
fn a_waiting_listener_that_takes_nothing_is_closed_at_the_end() {
    let (setup, mut encoder) = TestFanout::show(SIZE);
    // No join point: video begins with a keyframe.
    encoder.next = 1;
    encoder.write(1).unwrap();
    let head: &'static str = Box::leak("h".repeat(4 * LARGE).into_boxed_str());
    let _reads_nothing = setup.listen("show", head);
    setup.registry.end_all();
    assert_eq!(setup.departure().reason, Reason::Ended);
}
