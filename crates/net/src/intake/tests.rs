//! Requirements of receivers and of the intake, tested by each method.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::mpsc::RecvTimeoutError;

use super::*;
use crate::Slot;
use crate::backend::tests::{pair, slot};
use crate::intake::receiver::News;
use crate::panics::Part;

/// Deadline for events that are due soon: a failing test waits this long, and a busy machine may need some of
/// it.
const LONG: Duration = Duration::from_secs(60);

/// More pieces than come at once, by far.
const MANY: usize = 1_000;

macro_rules! by_every_method {
    ($($name:ident,)*) => {
        mod epoll { $(
            #[test]
            fn $name() {
                let waker = super::Waker::new().unwrap();
                let mut receiver = super::Readiness::new(waker.clone()).unwrap();
                super::$name(&mut receiver, &waker);
            }
        )* }
        mod io_uring { $(
            #[test]
            fn $name() {
                super::on(super::Multishot::new, super::$name);
            }
        )* }
        /// With queues that overflow.
        mod io_uring_cramped { $(
            #[test]
            fn $name() {
                super::on(super::Multishot::cramped, super::$name);
            }
        )* }
        /// As on kernels without deferred work.
        mod io_uring_cooperative { $(
            #[test]
            fn $name() {
                super::on(super::Multishot::cooperative, super::$name);
            }
        )* }
    };
}

by_every_method![
    bytes_come_in_order_and_the_hang_up_last,
    a_reset_ends_the_watch,
    more_than_all_buffers_comes_whole,
    many_sockets_at_once_are_all_heard,
    what_came_before_the_end_of_a_watch_is_reported,
    a_watched_socket_may_go_from_one_to_another_and_back,
    nothing_is_reported_of_a_successor_that_is_its_predecessor_s,
    a_pause_is_slept_through,
    a_waker_ends_the_sleep_again_and_again,
    a_sleep_ends_while_something_else_is_readable,
    a_sleep_ends_when_its_time_is_over,
];

fn on(
    make: impl FnOnce(Waker) -> Result<Multishot, Unavailable>,
    test: impl FnOnce(&mut dyn Receiver, &Waker),
) {
    let waker = Waker::new().unwrap();
    match make(waker.clone()) {
        Ok(mut receiver) => test(&mut receiver, &waker),
        // Not by a macro of the test harness, whose output is captured.
        Err(why) => writeln!(io::stderr(), "NOT TESTED on io_uring: {why}").unwrap(),
    }
}

/// Reports on one socket, and its end.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    bytes: Vec<u8>,
    end: Option<&'static str>,
}

impl Heard {
    fn note(&mut self, news: News<'_>) {
        assert_eq!(self.end, None, "the end is the last of it");
        match news {
            News::Bytes(bytes) => {
                assert!(!bytes.is_empty());
                self.bytes.extend_from_slice(bytes);
            }
            News::HungUp => self.end = Some("hung up"),
            News::Failed(_) => self.end = Some("failed"),
            News::Unwatched => self.end = Some("unwatched"),
        }
    }
}

/// Receives until `is_enough`; `all` has a place for each index.
fn receive(receiver: &mut dyn Receiver, all: &mut [Heard], is_enough: impl Fn(&[Heard]) -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_enough(all) {
        receiver
            .wait(Duration::ZERO, Some(LONG), MANY, &mut |of, news| {
                assert_eq!(of, slot(of.index));
                all[of.index as usize].note(news);
            })
            .unwrap();
        assert!(Instant::now() < deadline, "it does not come");
    }
}

/// Sleeps once, whatever is reported meanwhile.
fn sleep(receiver: &mut dyn Receiver, pause: Duration, time: Duration) {
    let slept = receiver.wait(pause, Some(time), MANY, &mut |_, _| ());
    slept.unwrap();
}

/// Receives until all have got so much.
fn receive_each(receiver: &mut dyn Receiver, all: &mut [Heard], len: usize) {
    receive(receiver, all, |all| {
        all.iter().all(|one| one.bytes.len() == len)
    });
}

fn receive_ends(receiver: &mut dyn Receiver, all: &mut [Heard]) {
    receive(receiver, all, |all| all.iter().all(|one| one.end.is_some()));
}

/// A socket to be watched, and its peer's end.
fn nonblocking() -> (Arc<TcpStream>, TcpStream) {
    let (near, far) = pair();
    near.set_nonblocking(true).unwrap();
    (Arc::new(near), far)
}

fn places(count: usize) -> Vec<Heard> {
    std::iter::repeat_with(Heard::default).take(count).collect()
}

fn watched(receiver: &mut dyn Receiver, index: u32) -> TcpStream {
    let (near, far) = nonblocking();
    receiver.watch(slot(index), &near).unwrap();
    far
}

fn bytes_come_in_order_and_the_hang_up_last(receiver: &mut dyn Receiver, _: &Waker) {
    let mut peers = [watched(receiver, 0), watched(receiver, 1)];
    let mut heard = places(2);
    for round in 0..50_u8 {
        for peer in &mut peers {
            peer.write_all(&[round; 3]).unwrap();
        }
        let len = 3 * (usize::from(round) + 1);
        receive_each(receiver, &mut heard, len);
    }
    let [first, mut second] = peers;
    second.write_all(b"end").unwrap();
    drop((first, second));
    receive_ends(receiver, &mut heard);
    let rounds = (0..50).flat_map(|round| [round; 3]);
    assert_eq!(heard[0].bytes, rounds.clone().collect::<Vec<_>>());
    assert_eq!(heard[1].bytes, rounds.chain(*b"end").collect::<Vec<_>>());
    assert!(heard.iter().all(|one| one.end == Some("hung up")));
}

fn a_reset_ends_the_watch(receiver: &mut dyn Receiver, _: &Waker) {
    let far = watched(receiver, 0);
    socket2::SockRef::from(&far)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(far);
    let mut heard = places(1);
    receive_ends(receiver, &mut heard);
    assert_eq!(heard[0].end, Some("failed"));
}

fn more_than_all_buffers_comes_whole(receiver: &mut dyn Receiver, _: &Waker) {
    let mut far = watched(receiver, 0);
    let sent: Vec<u8> = (0..8 << 20).map(|at: u32| (at % 251) as u8).collect();
    let expected = sent.clone();
    let sender = std::thread::spawn(move || far.write_all(&sent).unwrap());
    let mut heard = places(1);
    receive_ends(receiver, &mut heard);
    sender.join().unwrap();
    assert!(heard[0].bytes == expected, "{} bytes", heard[0].bytes.len());
}

fn many_sockets_at_once_are_all_heard(receiver: &mut dyn Receiver, _: &Waker) {
    const SOCKETS: u32 = 400;
    let mut peers: Vec<_> = (0..SOCKETS).map(|index| watched(receiver, index)).collect();
    let mut heard = places(SOCKETS as usize);
    for round in 1..=5 {
        for peer in &mut peers {
            peer.write_all(&[7; 5000]).unwrap();
        }
        receive_each(receiver, &mut heard, round * 5000);
    }
    drop(peers);
    receive_ends(receiver, &mut heard);
}

fn what_came_before_the_end_of_a_watch_is_reported(receiver: &mut dyn Receiver, _: &Waker) {
    let (near, mut far) = nonblocking();
    receiver.watch(slot(0), &near).unwrap();
    let mut heard = places(1);
    far.write_all(b"one").unwrap();
    receive(receiver, &mut heard, |all| all[0].bytes == b"one");
    receiver.unwatch(slot(0));
    far.write_all(b"two").unwrap();
    receive_ends(receiver, &mut heard);
    assert_eq!(heard[0].end, Some("unwatched"));
    // Whether it came before or after the end, it is not lost.
    let near = Arc::try_unwrap(near).expect("the receiver has let go of it");
    near.set_nonblocking(false).unwrap();
    let mut rest = vec![0; 6 - heard[0].bytes.len()];
    (&near).read_exact(&mut rest).unwrap();
    assert_eq!([heard[0].bytes.clone(), rest].concat(), b"onetwo");
    receiver.unwatch(slot(0));
}

fn a_watched_socket_may_go_from_one_to_another_and_back(receiver: &mut dyn Receiver, _: &Waker) {
    let mut other = Readiness::new(Waker::new().unwrap()).unwrap();
    let (near, mut far) = nonblocking();
    let mut bytes = Vec::new();
    for round in 0..20_u8 {
        let receiver: &mut dyn Receiver = match round % 2 {
            0 => receiver,
            _ => &mut other,
        };
        receiver.watch(slot(0), &near).unwrap();
        far.write_all(&[round]).unwrap();
        let mut heard = places(1);
        receive(receiver, &mut heard, |all| !all[0].bytes.is_empty());
        receiver.unwatch(slot(0));
        receive_ends(receiver, &mut heard);
        bytes.append(&mut heard[0].bytes);
    }
    assert_eq!(bytes, (0..20).collect::<Vec<_>>());
}

fn nothing_is_reported_of_a_successor_that_is_its_predecessor_s(
    receiver: &mut dyn Receiver,
    _: &Waker,
) {
    let mut first = watched(receiver, 0);
    first.write_all(b"first").unwrap();
    let mut heard = places(1);
    receiver.unwatch(slot(0));
    receive_ends(receiver, &mut heard);
    let (near, mut far) = nonblocking();
    let next = Slot { index: 0, reuse: 8 };
    receiver.watch(next, &near).unwrap();
    first.write_all(b"more").ok();
    far.write_all(b"second").unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < 6 {
        receiver
            .wait(Duration::ZERO, Some(LONG), MANY, &mut |of, news| {
                assert_eq!(of, next);
                let News::Bytes(piece) = news else {
                    panic!("{news:?}");
                };
                bytes.extend_from_slice(piece);
            })
            .unwrap();
    }
    assert_eq!(bytes, b"second");
}

fn a_pause_is_slept_through(receiver: &mut dyn Receiver, _: &Waker) {
    const PAUSE: Duration = Duration::from_millis(30);
    let mut peers = [watched(receiver, 0), watched(receiver, 1)];
    let mut heard = places(2);
    // The first wait is over at once, for rings begin with it.
    sleep(receiver, Duration::ZERO, Duration::ZERO);
    for peer in &mut peers {
        peer.write_all(b"there").unwrap();
    }
    let began = Instant::now();
    receiver
        .wait(PAUSE, Some(LONG), MANY, &mut |of, news| {
            heard[of.index as usize].note(news)
        })
        .unwrap();
    let slept = began.elapsed();
    assert!(slept >= PAUSE && slept < LONG, "{slept:?}");
    assert!(heard.iter().all(|one| one.bytes == b"there"));
}

fn a_waker_ends_the_sleep_again_and_again(receiver: &mut dyn Receiver, waker: &Waker) {
    for _ in 0..5 {
        waker.wake();
        let began = Instant::now();
        sleep(receiver, Duration::ZERO, LONG);
        assert!(began.elapsed() < LONG);
    }
}

fn a_sleep_ends_while_something_else_is_readable(receiver: &mut dyn Receiver, _: &Waker) {
    let mut relaxed = RelaxedSockets::new().unwrap();
    receiver.wake_by(relaxed.ends()).unwrap();
    for round in 0..5 {
        let (near, mut far) = nonblocking();
        relaxed.watch(slot(round), &near).unwrap();
        far.write_all(b"last words").unwrap();
        drop(far);
        let mut heard = Heard::default();
        while heard.end.is_none() {
            let began = Instant::now();
            sleep(receiver, Duration::ZERO, LONG);
            assert!(began.elapsed() < LONG);
            relaxed
                .read_ended(&mut |of, news| {
                    assert_eq!(of, slot(round));
                    heard.note(news);
                })
                .unwrap();
        }
        assert_eq!(heard.bytes, b"last words");
        assert_eq!(heard.end, Some("hung up"));
        assert!(relaxed.is_empty());
    }
    // What is readable no more ends no sleep. The first may begin with what was noted before.
    let short = Duration::from_millis(20);
    for _ in 0..2 {
        sleep(receiver, Duration::ZERO, short);
    }
    let began = Instant::now();
    sleep(receiver, Duration::ZERO, short);
    assert!(began.elapsed() >= Duration::from_millis(15));
}

fn a_sleep_ends_when_its_time_is_over(receiver: &mut dyn Receiver, _: &Waker) {
    const TIME: Duration = Duration::from_millis(20);
    let _peer = watched(receiver, 0);
    for pause in [Duration::ZERO, TIME / 4] {
        let began = Instant::now();
        sleep(receiver, pause, TIME);
        let slept = began.elapsed();
        assert!(slept >= TIME / 4 && slept < LONG, "{slept:?}");
    }
}

/// Echoes each piece, returns the socket when it receives `!`, and panics when it receives `#`.
struct Echo {
    pace: Pace,
    due: Option<Instant>,
    answer: Vec<u8>,
    heard: Vec<u8>,
    heard_at: Option<Instant>,
    back: SyncSender<Back>,
}

struct Back {
    heard: Vec<u8>,
    heard_at: Option<Instant>,
    socket: TcpStream,
    why: String,
}

impl Echo {
    fn new(pace: Pace, due: Option<Instant>) -> (Box<Self>, Inbox<Back>) {
        let (back, is_back) = sync_channel(1);
        let echo = Self {
            pace,
            due,
            answer: Vec::new(),
            heard: Vec::new(),
            heard_at: None,
            back,
        };
        (Box::new(echo), is_back)
    }
}

impl IntakeReader for Echo {
    fn take(&mut self, bytes: &[u8], now: Instant) -> Next {
        assert!(!bytes.contains(&b'#'), "a defect of the reader");
        self.heard_at = Some(now);
        self.heard.extend_from_slice(bytes);
        self.answer.extend_from_slice(bytes);
        match bytes.contains(&b'!') {
            true => Next::Return,
            false => Next::Go(self.pace),
        }
    }

    fn unsent(&mut self) -> &[u8] {
        &self.answer
    }

    fn sent(&mut self, count: usize) {
        self.answer.drain(..count);
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn give_back(self: Box<Self>, socket: TcpStream, why: Returned) {
        let back = Back {
            heard: self.heard,
            heard_at: self.heard_at,
            socket,
            why: format!("{why:?}"),
        };
        self.back.send(back).ok();
    }
}

/// A peer whose socket the intake reads.
struct WatchedPeer {
    far: TcpStream,
    back: Inbox<Back>,
    ticket: IntakeTicket,
}

impl WatchedPeer {
    fn new(intake: &Intake, pace: Pace, due: Option<Instant>) -> Self {
        let (near, far) = pair();
        far.set_read_timeout(Some(LONG)).unwrap();
        let (echo, is_back) = Echo::new(pace, due);
        let Ok(ticket) = intake.attach(echo, near) else {
            panic!("the intake has not ended");
        };
        Self {
            far,
            back: is_back,
            ticket,
        }
    }

    /// Sends, and waits for the answer.
    fn say(&mut self, bytes: &[u8]) {
        self.far.write_all(bytes).unwrap();
        let mut answer = vec![0; bytes.len()];
        self.far.read_exact(&mut answer).unwrap();
        assert!(answer == bytes);
    }

    fn back(&self) -> Back {
        self.back.recv_timeout(LONG).expect("it comes back")
    }
}

fn methods() -> impl Iterator<Item = Method> {
    let methods = [Method::Epoll, Method::Uring].into_iter();
    methods.filter(|method| *method == Method::Epoll || Method::probe().is_ok())
}

fn intakes() -> impl Iterator<Item = Intake> {
    methods().map(|method| Intake::start(2, method, 0.02).unwrap())
}

#[test]
fn a_reader_that_panics_is_given_up_and_the_others_are_read_on() {
    crate::panics::install_hook();
    for method in methods() {
        // One thread, so that they share it.
        let intake = Intake::start(1, method, 0.02).unwrap();
        let mut other = WatchedPeer::new(&intake, Pace::Prompt, None);
        other.say(b"before");
        for pace in [Pace::Prompt, Pace::Relaxed] {
            let mut broken = WatchedPeer::new(&intake, pace, None);
            broken.say(b"before");
            let panics = Part::Intake.panics();
            broken.far.write_all(b"#").unwrap();
            let mut rest = Vec::new();
            assert_eq!(broken.far.read_to_end(&mut rest).unwrap(), 0, "hung up on");
            // The reader is dropped and not given back.
            let back = broken.back.recv_timeout(LONG).map(|back| back.why);
            assert_eq!(back, Err(RecvTimeoutError::Disconnected));
            assert!(Part::Intake.panics() > panics);
            other.say(b"after");
        }
    }
}

#[test]
fn a_peer_is_read_and_answered_until_it_wants_its_socket_back() {
    for intake in intakes() {
        for pace in [Pace::Prompt, Pace::Relaxed] {
            let mut peer = WatchedPeer::new(&intake, pace, None);
            for _ in 0..20 {
                peer.say(b"hello");
            }
            let sent = Instant::now();
            peer.say(b"bye!");
            let back = peer.back();
            assert_eq!((back.heard.len(), &*back.why), (104, "Asked"));
            assert!(back.heard_at >= Some(sent), "not older than it is");
            // The socket is as good as before.
            peer.far.write_all(b"more").unwrap();
            back.socket.set_nonblocking(false).unwrap();
            let mut more = [0; 4];
            (&back.socket).read_exact(&mut more).unwrap();
            assert_eq!(&more, b"more");
        }
        assert!(intake.wakeups() > 0);
    }
}

#[test]
fn a_thread_shows_that_it_lives_until_it_ends() {
    for intake in intakes() {
        let turns = || intake.turns().collect::<Vec<_>>();
        let before = turns();
        assert_eq!(before.len(), 2);
        let deadline = Instant::now() + Duration::from_secs(20);
        let stands = |now: Vec<u64>| now.iter().zip(&before).any(|(now, before)| now <= before);
        while stands(turns()) {
            assert!(Instant::now() < deadline, "an idle thread does not turn");
            std::thread::yield_now();
        }
        intake.stop();
        let ended = turns();
        std::thread::sleep(2 * IDLE_TURN);
        assert_eq!(turns(), ended);
    }
}

#[test]
fn a_relaxed_socket_loses_nothing_however_much_it_brings() {
    for intake in intakes() {
        let mut peer = WatchedPeer::new(&intake, Pace::Relaxed, None);
        // Long enough for several surveys.
        let until = Instant::now() + SURVEY_INTERVAL * 3;
        let mut len = 0;
        while Instant::now() < until {
            peer.say(&[7; 100]);
            len += 100;
        }
        for _ in 0..3 {
            peer.say(&[8; RELAXED_BYTES_MAX / 2]);
            len += RELAXED_BYTES_MAX / 2;
        }
        drop(peer.far);
        let back = peer.back.recv_timeout(LONG).unwrap();
        assert_eq!((back.heard.len(), &*back.why), (len, "HungUp"));
    }
}

#[test]
fn a_turn_reads_each_relaxed_socket_once_in_slices() {
    const SOCKETS: u32 = 10;
    let mut relaxed = RelaxedSockets::new().unwrap();
    assert!(relaxed.proceed(4, &mut |_, _| panic!("nothing is there")));
    let watched = (0..SOCKETS).map(|index| {
        let (near, far) = nonblocking();
        relaxed.watch(slot(index), &near).unwrap();
        (near, far)
    });
    let (nears, mut peers): (Vec<_>, Vec<_>) = watched.unzip();
    assert!(relaxed.unwatch(slot(3)));
    assert!(!relaxed.unwatch(slot(3)));
    for round in 1..=3 {
        for peer in &mut peers {
            peer.write_all(b"piece").unwrap();
        }
        let deadline = Instant::now() + LONG;
        let mut heard = places(SOCKETS as usize);
        // What is written may take a moment to arrive.
        while heard.iter().filter(|one| one.bytes == b"piece").count() < 9 {
            relaxed.begin();
            let mut slices = 1;
            while !relaxed.proceed(4, &mut |of, news| heard[of.index as usize].note(news)) {
                slices += 1;
            }
            assert_eq!(slices, 3, "in round {round}");
            assert!(Instant::now() < deadline, "it does not come");
        }
        assert_eq!(heard[3], Heard::default());
    }
    relaxed
        .read_ended(&mut |_, _| panic!("none has ended"))
        .unwrap();
    drop(nears);
}

#[test]
fn a_relaxed_socket_is_read_to_its_end_as_soon_as_the_peer_hangs_up() {
    for intake in intakes() {
        // A busy machine may delay any of them; the shortest is decisive.
        let took = (0..8).map(|_| {
            let mut peer = WatchedPeer::new(&intake, Pace::Relaxed, None);
            // The second answer comes with a relaxed turn, so the next one is RELAXED_APART away.
            peer.say(b"one");
            std::thread::sleep(SURVEY_INTERVAL * 2);
            peer.say(b"two");
            let began = Instant::now();
            peer.far.write_all(b"last words").unwrap();
            peer.far.shutdown(Shutdown::Write).unwrap();
            let back = peer.back();
            assert_eq!(back.heard, b"onetwolast words");
            assert_eq!(back.why, "HungUp");
            began.elapsed()
        });
        let shortest = took.min().unwrap();
        assert!(shortest < RELAXED_APART / 4, "{shortest:?}");
    }
}

#[test]
fn a_socket_comes_back_when_it_is_recalled_due_or_forgotten() {
    for intake in intakes() {
        let mut peer = WatchedPeer::new(&intake, Pace::Prompt, None);
        peer.say(b"hello");
        peer.ticket.recall();
        assert_eq!(peer.back().why, "Recalled");
        peer.ticket.recall();

        let peer = WatchedPeer::new(&intake, Pace::Prompt, Some(Instant::now()));
        assert_eq!(peer.back().why, "Asked");

        let WatchedPeer { far, back, ticket } = WatchedPeer::new(&intake, Pace::Prompt, None);
        drop(ticket);
        assert_eq!(back.recv_timeout(LONG).unwrap().why, "Recalled");
        drop(far);
    }
}

#[test]
fn all_sockets_come_back_in_the_end() {
    for intake in intakes() {
        let paces = [Pace::Prompt, Pace::Relaxed].into_iter().cycle();
        let peers = paces.map(|pace| WatchedPeer::new(&intake, pace, None));
        let mut peers: Vec<_> = peers.take(50).collect();
        for peer in &mut peers {
            peer.say(b"hello");
        }
        intake.stop();
        for peer in &peers {
            assert_eq!(peer.back().why, "Recalled");
        }
        let (near, _far) = pair();
        let (late, is_back) = Echo::new(Pace::Prompt, None);
        if let Err((reader, socket)) = intake.attach(late, near) {
            reader.give_back(socket, Returned::Recalled);
        }
        assert_eq!(is_back.recv_timeout(LONG).unwrap().why, "Recalled");
    }
}

#[test]
fn a_reader_that_is_not_heard_is_not_waited_for() {
    for intake in intakes() {
        let mut deaf = WatchedPeer::new(&intake, Pace::Prompt, None);
        // Its answers fill every buffer there is, while it is read on.
        let mut written = 0;
        deaf.far.set_nonblocking(true).unwrap();
        let until = Instant::now() + LONG;
        while written < 16 << 20 && Instant::now() < until {
            match deaf.far.write(&[7; 64 * 1024]) {
                Ok(count) => written += count,
                Err(_) => std::thread::yield_now(),
            }
        }
        assert!(written >= 16 << 20, "it is read on");
        let mut other = WatchedPeer::new(&intake, Pace::Prompt, None);
        other.say(b"hello");
    }
}
