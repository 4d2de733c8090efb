//! Requirements of every back-end, tested on each of them.

use std::io::{IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Instant;

use socket2::{Domain, Socket, Type};

use super::*;
use crate::{Epoll, Uring};

/// Deadline for events that are due soon: a failing test waits this long, and a busy machine may need some of
/// it.
const LONG: Duration = Duration::from_secs(60);

macro_rules! on_every_backend {
    ($($name:ident,)*) => {
        mod epoll { $(
            #[test]
            fn $name() {
                super::$name(&mut super::Epoll::new().unwrap());
            }
        )* }
        mod io_uring { $(
            #[test]
            fn $name() {
                super::on(super::tried().and_then(|()| super::Uring::new()), super::$name);
            }
        )* }
        /// As on kernels without deferred work.
        mod io_uring_cooperative { $(
            #[test]
            fn $name() {
                super::on(super::Uring::cooperative(), super::$name);
            }
        )* }
        /// Every sixteen sockets need another ring.
        mod io_uring_in_many_rings { $(
            #[test]
            fn $name() {
                super::on(super::Uring::cramped(), super::$name);
            }
        )* }
    };
}

on_every_backend![
    a_batch_has_an_outcome_for_every_send,
    a_full_socket_blocks_and_then_reports_room,
    a_hang_up_is_reported_and_stale_slots_are_ignored,
    what_happened_to_a_socket_is_not_reported_of_its_successor,
    a_hang_up_ends_the_sleep,
    a_half_closed_connection_is_over,
    a_send_to_a_reset_connection_finds_it_closed,
    a_detached_socket_is_closed_although_older_ones_stay,
    stray_requests_are_dropped_but_a_flood_ends_the_connection,
    reported_input_is_received_and_the_socket_can_be_had_back,
    input_is_reported_anew_once_there_was_nothing_and_so_is_the_hang_up,
    a_socket_that_says_nothing_can_be_had_back_too,
    a_waker_ends_the_sleep_again_and_again,
    a_sleep_ends_when_its_time_is_over,
    many_sockets_hang_up_at_once,
    whatever_the_order_bytes_and_events_are_those_of_the_present_sockets,
];

/// Runs a test where io_uring is available, and reports where it is not.
pub(crate) fn on(made: Result<Uring, crate::Unavailable>, test: impl FnOnce(&mut dyn Backend)) {
    match made {
        Ok(mut backend) => test(&mut backend),
        // Not by a macro of the test harness, whose output is captured.
        Err(why) => writeln!(io::stderr(), "NOT TESTED on io_uring: {why}").unwrap(),
    }
}

/// Tests io_uring on this host, on another thread: the end of its ring may interrupt a sleep.
pub(crate) fn tried() -> Result<(), crate::Unavailable> {
    std::thread::spawn(Uring::probe).join().unwrap()
}

/// Two ends of a connection, each from an address of its own: closed connections keep their ports
/// for a minute, and these tests make thousands.
pub(crate) fn pair() -> (TcpStream, TcpStream) {
    static DOOR: Mutex<Option<(TcpListener, u32)>> = Mutex::new(None);
    let mut door = DOOR.lock().unwrap();
    let (door, made) = door.get_or_insert_with(|| {
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        (door, std::process::id() << 12)
    });
    *made += 1;
    let from = Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() | (*made & 0x003f_ffff) << 1);
    let near = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    near.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    near.connect(&door.local_addr().unwrap().into()).unwrap();
    (near.into(), door.accept().unwrap().0)
}

pub(crate) fn slot(index: u32) -> Slot {
    Slot { index, reuse: 7 }
}

/// Attaches a new socket; returns its peer's end.
pub(crate) fn attached(backend: &mut dyn Backend, index: u32, inbound: Inbound) -> TcpStream {
    let (near, far) = pair();
    backend.attach(slot(index), near, inbound).unwrap();
    far
}

/// Attaches so many sockets that only hang up.
pub(crate) fn attached_all(backend: &mut dyn Backend, count: u32) -> Vec<TcpStream> {
    let attach = |index| attached(backend, index, Inbound::Dropped);
    (0..count).map(attach).collect()
}

/// The peer finds that the connection was closed.
fn assert_closed(mut far: TcpStream) {
    far.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(far.read(&mut [0]).unwrap(), 0);
}

fn assert_read(far: &mut TcpStream, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    far.read_exact(&mut got).unwrap();
    assert_eq!(got, expected);
}

fn send_one(backend: &mut dyn Backend, slot: Slot, slices: &[IoSlice<'_>]) -> SendOutcome {
    let mut outcomes = [SendOutcome::Blocked];
    backend.send_batch(&[SendOp { slot, slices }], &mut outcomes);
    outcomes[0]
}

/// Waits until an event comes. Others may come before, such as that a new socket has room.
pub(crate) fn wait_for(backend: &mut dyn Backend, wanted: Event) {
    let mut events = Vec::new();
    let deadline = Instant::now() + LONG;
    while !events.contains(&wanted) {
        backend.wait(Some(LONG), &mut events).unwrap();
        let is_so = Instant::now() < deadline;
        assert!(is_so, "wanted {wanted:?}, got {events:?}");
    }
}

/// Two ends of a connection that stays as full as it was filled: of TCP's, the receiver's window may grow, and
/// take more, a moment later.
fn pair_of_fixed_room() -> (TcpStream, TcpStream) {
    let (near, far) = UnixStream::pair().unwrap();
    (OwnedFd::from(near).into(), OwnedFd::from(far).into())
}

/// Everything there is to report now.
fn events_now(backend: &mut dyn Backend) -> Vec<Event> {
    let mut events = Vec::new();
    // What was asked for with the first look may be there at the second.
    for _ in 0..3 {
        backend.wait(Some(Duration::ZERO), &mut events).unwrap();
    }
    events.retain(|event| !matches!(event, Event::Writable(_)));
    events
}

/// Sends until the socket takes no more; returns how much it took.
fn fill(backend: &mut dyn Backend, slot: Slot) -> usize {
    let block = vec![1_u8; 1 << 20];
    let mut sent = 0;
    loop {
        match send_one(backend, slot, &[IoSlice::new(&block)]) {
            SendOutcome::Sent(count) => sent += count,
            SendOutcome::Blocked => return sent,
            SendOutcome::Closed => panic!("closed"),
        }
    }
}

fn a_batch_has_an_outcome_for_every_send(backend: &mut dyn Backend) {
    const COUNT: u32 = 100;
    const FULL: u32 = 40;
    let mut peers = Vec::new();
    for index in 0..COUNT {
        let (near, far) = match index {
            FULL => pair_of_fixed_room(),
            _ => pair(),
        };
        let inbound = match index % 3 {
            0 => Inbound::Reported,
            _ => Inbound::Dropped,
        };
        backend.attach(slot(index), near, inbound).unwrap();
        peers.push(far);
    }
    fill(backend, slot(FULL));
    let texts: Vec<_> = (0..COUNT).map(|index| format!("to {index}")).collect();
    let slices: Vec<_> = texts
        .iter()
        .map(|text| [IoSlice::new(text.as_bytes()), IoSlice::new(b"!")])
        .collect();
    let batch: Vec<_> = (0..COUNT)
        .map(|index| SendOp {
            slot: Slot {
                index,
                // One of them is gone, and another one has its place.
                reuse: if index == 50 { 6 } else { 7 },
            },
            slices: &slices[index as usize][..1 + index as usize % 2],
        })
        .collect();
    let mut outcomes = vec![SendOutcome::Sent(0); COUNT as usize + 1];
    backend.send_batch(&batch, &mut outcomes);
    assert_eq!(outcomes.pop(), Some(SendOutcome::Sent(0)), "untouched");
    for (index, (outcome, far)) in outcomes.into_iter().zip(&mut peers).enumerate() {
        let text = format!("to {index}{}", if index % 2 == 1 { "!" } else { "" });
        match index as u32 {
            FULL => assert_eq!(outcome, SendOutcome::Blocked),
            50 => assert_eq!(outcome, SendOutcome::Closed),
            _ => {
                assert_eq!(outcome, SendOutcome::Sent(text.len()));
                assert_read(far, text.as_bytes());
            }
        }
    }
}

fn a_full_socket_blocks_and_then_reports_room(backend: &mut dyn Backend) {
    let mut far = attached(backend, 0, Inbound::Dropped);
    backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    for _ in 0..2 {
        let mut left = fill(backend, slot(0));
        let mut scratch = vec![0; 1 << 20];
        while left > 0 {
            left -= far.read(&mut scratch).unwrap();
        }
        wait_for(backend, Event::Writable(slot(0)));
    }
}

fn a_hang_up_is_reported_and_stale_slots_are_ignored(backend: &mut dyn Backend) {
    let far = attached(backend, 1, Inbound::Dropped);
    drop(far);
    wait_for(backend, Event::Closed(slot(1)));
    let stale = Slot { index: 1, reuse: 6 };
    backend.detach(stale);
    assert!(backend.release(stale).is_none());
    let text = [IoSlice::new(b"x")];
    assert_eq!(send_one(backend, stale, &text), SendOutcome::Closed);
    // The peer is gone, but the socket is still there: its first send is taken.
    assert_eq!(send_one(backend, slot(1), &text), SendOutcome::Sent(1));
    backend.detach(slot(1));
    assert_eq!(send_one(backend, slot(1), &text), SendOutcome::Closed);
}

fn what_happened_to_a_socket_is_not_reported_of_its_successor(backend: &mut dyn Backend) {
    for inbound in [Inbound::Dropped, Inbound::Reported] {
        let mut peers = Vec::new();
        for reuse in 0..20 {
            let (near, far) = pair();
            let slot = Slot { index: 0, reuse };
            backend.attach(slot, near, inbound).unwrap();
            backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
            peers.push(far);
            if reuse < 19 {
                // The hang-up has happened, and the back-end has not looked yet.
                peers.pop();
                backend.detach(slot);
            }
        }
        assert_eq!(events_now(backend), []);
        let (index, reuse) = (0, 19);
        let last = Slot { index, reuse };
        let sent = send_one(backend, last, &[IoSlice::new(b"x")]);
        assert_eq!(sent, SendOutcome::Sent(1));
        peers.pop();
        wait_for(backend, Event::Closed(last));
        backend.detach(last);
    }
}

fn a_hang_up_ends_the_sleep(backend: &mut dyn Backend) {
    let peers = attached_all(backend, 5);
    assert_eq!(events_now(backend), []);
    for (index, far) in (0..).zip(peers) {
        let hang_up = std::thread::spawn(move || drop(far));
        wait_for(backend, Event::Closed(slot(index)));
        hang_up.join().unwrap();
    }
}

fn a_half_closed_connection_is_over(backend: &mut dyn Backend) {
    let far = attached(backend, 0, Inbound::Dropped);
    // Full, and therefore watched for room: the hang-up must be reported all the same.
    fill(backend, slot(0));
    far.shutdown(Shutdown::Write).unwrap();
    wait_for(backend, Event::Closed(slot(0)));
}

fn a_send_to_a_reset_connection_finds_it_closed(backend: &mut dyn Backend) {
    let far = attached(backend, 0, Inbound::Dropped);
    drop(far);
    let text = [IoSlice::new(b"x")];
    // The first is answered by a reset.
    send_one(backend, slot(0), &text);
    assert_eq!(send_one(backend, slot(0), &text), SendOutcome::Closed);
}

fn a_detached_socket_is_closed_although_older_ones_stay(backend: &mut dyn Backend) {
    let mut stays = attached(backend, 0, Inbound::Dropped);
    for (index, inbound) in [(1, Inbound::Dropped), (2, Inbound::Reported)] {
        let far = attached(backend, index, inbound);
        assert_eq!(events_now(backend), []);
        backend.detach(slot(index));
        assert_eq!(events_now(backend), []);
        assert_closed(far);
    }
    stays.set_nonblocking(true).unwrap();
    let kind = stays.read(&mut [0]).unwrap_err().kind();
    assert_eq!(kind, io::ErrorKind::WouldBlock);
}

fn stray_requests_are_dropped_but_a_flood_ends_the_connection(backend: &mut dyn Backend) {
    let mut far = attached(backend, 0, Inbound::Dropped);
    for _ in 0..3 {
        far.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(events_now(backend), []);
    }
    // The peer does not read it all, so not all of it need be taken.
    far.set_nonblocking(true).unwrap();
    assert!(far.write(&vec![b'x'; 4 * STRAY_BYTES_MAX]).unwrap() > STRAY_BYTES_MAX);
    wait_for(backend, Event::Closed(slot(0)));
}

fn reported_input_is_received_and_the_socket_can_be_had_back(backend: &mut dyn Backend) {
    let (near, mut far) = pair();
    // What arrived before is reported as well.
    far.write_all(b"early").unwrap();
    backend.attach(slot(2), near, Inbound::Reported).unwrap();
    wait_for(backend, Event::Readable(slot(2)));
    let mut buffer = [0; 3];
    assert_eq!(backend.receive(slot(2), &mut buffer), Received::Bytes(3));
    assert_eq!(backend.receive(slot(2), &mut buffer), Received::Bytes(2));
    assert_eq!(backend.receive(slot(2), &mut buffer), Received::Nothing);
    let mut near = backend.release(slot(2)).unwrap();
    assert_eq!(backend.receive(slot(2), &mut buffer), Received::Closed);
    near.write_all(b"mine again").unwrap();
    assert_read(&mut far, b"mine again");
    drop(far);
    assert_eq!(events_now(backend), [], "it is not watched any more");
    // Nor does anything hold it open.
    let far = attached(backend, 2, Inbound::Reported);
    assert_eq!(events_now(backend), []);
    drop(backend.release(slot(2)).unwrap());
    assert_eq!(events_now(backend), []);
    assert_closed(far);
}

fn input_is_reported_anew_once_there_was_nothing_and_so_is_the_hang_up(backend: &mut dyn Backend) {
    let mut far = attached(backend, 0, Inbound::Reported);
    let mut buffer = [0; 16];
    for _ in 0..3 {
        far.write_all(b"word").unwrap();
        wait_for(backend, Event::Readable(slot(0)));
        assert_eq!(backend.receive(slot(0), &mut buffer), Received::Bytes(4));
        assert_eq!(backend.receive(slot(0), &mut buffer), Received::Nothing);
        assert_eq!(events_now(backend), []);
    }
    drop(far);
    wait_for(backend, Event::Closed(slot(0)));
    assert_eq!(backend.receive(slot(0), &mut buffer), Received::Closed);
}

fn a_socket_that_says_nothing_can_be_had_back_too(backend: &mut dyn Backend) {
    let mut far = attached(backend, 0, Inbound::Dropped);
    let Some(mut near) = backend.release(slot(0)) else {
        // Linux before 6.8 cannot turn a direct descriptor into a usual one; it is closed.
        assert_eq!(backend.name(), "io_uring");
        assert_eq!(events_now(backend), []);
        assert_closed(far);
        return;
    };
    assert_eq!(events_now(backend), []);
    let kind = near.read(&mut [0]).unwrap_err().kind();
    assert_eq!(kind, io::ErrorKind::WouldBlock);
    near.write_all(b"back").unwrap();
    assert_read(&mut far, b"back");
}

fn a_waker_ends_the_sleep_again_and_again(backend: &mut dyn Backend) {
    for round in 0..100 {
        let waker = backend.waker();
        let wakes = std::thread::spawn(move || waker.wake());
        // Half of them come before the sleep.
        while round % 2 == 0 && !wakes.is_finished() {
            std::thread::yield_now();
        }
        let mut events = Vec::new();
        backend.wait(None, &mut events).unwrap();
        assert_eq!(events, []);
        wakes.join().unwrap();
    }
}

fn a_sleep_ends_when_its_time_is_over(backend: &mut dyn Backend) {
    let began = Instant::now();
    let nap = Duration::from_millis(20);
    backend.wait(Some(nap), &mut Vec::new()).unwrap();
    assert!(began.elapsed() >= nap);
}

fn many_sockets_hang_up_at_once(backend: &mut dyn Backend) {
    const COUNT: u32 = EVENTS_PER_WAIT as u32 + 100;
    let peers = attached_all(backend, COUNT);
    assert_eq!(events_now(backend), []);
    drop(peers);
    let mut gone = vec![false; COUNT as usize];
    let deadline = Instant::now() + LONG;
    while gone.contains(&false) {
        assert!(Instant::now() < deadline, "some are never reported");
        let mut events = Vec::new();
        backend.wait(Some(LONG), &mut events).unwrap();
        assert!(events.len() <= EVENTS_PER_WAIT);
        for event in events {
            if let Event::Closed(slot) = event {
                assert!(!std::mem::replace(&mut gone[slot.index as usize], true));
                backend.detach(slot);
            }
        }
    }
}

/// One of the sockets of a random walk, from both ends.
#[derive(Debug)]
struct Walker {
    slot: Slot,
    inbound: Inbound,
    /// `None` once the peer has hung up.
    far: Option<TcpStream>,
    sent: usize,
    read: usize,
    is_blocked: bool,
    /// Bytes that the peer has written and the test has not received, of a socket whose input is reported.
    unheard: usize,
}

impl Walker {
    /// The peer reads what there is. `true` when it has found the end.
    fn read(&mut self) -> bool {
        let Some(far) = &mut self.far else {
            return false;
        };
        let mut got = [0; 64 << 10];
        loop {
            match far.read(&mut got) {
                Ok(0) => return true,
                Ok(count) => {
                    for byte in &got[..count] {
                        assert_eq!(*byte, pattern(self.read), "at {}", self.read);
                        self.read += 1;
                    }
                }
                Err(_) => return false,
            }
        }
    }
}

/// The byte at a place of what is sent to a socket.
fn pattern(at: usize) -> u8 {
    (at % 251) as u8
}

/// Sockets come, are sent to, are spoken to, are taken back and hang up, in any order.
fn whatever_the_order_bytes_and_events_are_those_of_the_present_sockets(backend: &mut dyn Backend) {
    const PLACES: u64 = 24;
    let mut walkers: Vec<Option<Walker>> = (0..PLACES).map(|_| None).collect();
    let mut reuse = 0;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for _ in 0..2_000 {
        let index = next(PLACES) as usize;
        match (next(8), &mut walkers[index]) {
            (_, place @ None) => {
                reuse += 1;
                *place = Some(come(backend, index as u32, reuse, next(2) == 0));
            }
            (0, Some(walker)) => {
                walker.far = None;
            }
            (1, place @ Some(_)) => {
                let walker = place.take().unwrap();
                go(backend, &mut walkers, walker, next(2) == 0);
            }
            (2 | 3, Some(walker)) => send_some(backend, walker, 1 + next(300_000) as usize),
            (4, Some(walker)) => {
                walker.read();
            }
            (5, Some(walker)) => {
                let count = 1 + next(100) as usize;
                let far = walker.far.as_mut();
                let wrote = far.and_then(|far| far.write(&vec![b'?'; count]).ok());
                if wrote == Some(count) {
                    walker.unheard += count;
                }
            }
            _ => look(backend, &mut walkers),
        }
    }
    let deadline = Instant::now() + LONG;
    let is_due = |walker: &Walker| {
        let can_hear = walker.inbound == Inbound::Reported && walker.unheard > 0;
        walker.far.is_none() || walker.is_blocked || can_hear
    };
    while walkers.iter().flatten().any(is_due) {
        let is_late = Instant::now() >= deadline;
        assert!(!is_late, "some news never come of {walkers:?}");
        for walker in walkers.iter_mut().flatten() {
            walker.read();
        }
        look(backend, &mut walkers);
    }
    while let Some(walker) = walkers.iter_mut().find_map(Option::take) {
        go(backend, &mut walkers, walker, false);
    }
}

fn come(backend: &mut dyn Backend, index: u32, reuse: u32, converses: bool) -> Walker {
    let (near, far) = pair();
    far.set_nonblocking(true).unwrap();
    let slot = Slot { index, reuse };
    let inbound = match converses {
        true => Inbound::Reported,
        false => Inbound::Dropped,
    };
    backend.attach(slot, near, inbound).unwrap();
    Walker {
        slot,
        inbound,
        far: Some(far),
        sent: 0,
        read: 0,
        is_blocked: false,
        unheard: 0,
    }
}

/// Detaches or takes back a socket; its peer gets every byte, and then the end.
fn go(
    backend: &mut dyn Backend,
    walkers: &mut [Option<Walker>],
    mut walker: Walker,
    takes_back: bool,
) {
    if takes_back {
        drop(backend.release(walker.slot));
    } else {
        backend.detach(walker.slot);
    }
    for _ in 0..3 {
        look(backend, walkers);
    }
    // What was never received makes a reset of the closing.
    if let Some(far) = &walker.far
        && walker.unheard == 0
    {
        far.set_nonblocking(false).unwrap();
        far.set_read_timeout(Some(LONG)).unwrap();
        assert!(walker.read(), "{:?} is not closed", walker.slot);
        assert_eq!(walker.read, walker.sent);
    }
}

fn send_some(backend: &mut dyn Backend, walker: &mut Walker, count: usize) {
    if walker.is_blocked {
        return;
    }
    let bytes: Vec<u8> = (walker.sent..walker.sent + count).map(pattern).collect();
    let (front, back) = bytes.split_at(count / 3);
    let slices = [IoSlice::new(front), IoSlice::new(back)];
    let slices = &slices[usize::from(front.is_empty())..];
    match send_one(backend, walker.slot, slices) {
        SendOutcome::Sent(taken) => {
            walker.sent += taken;
            walker.is_blocked = taken < count;
        }
        SendOutcome::Blocked => walker.is_blocked = true,
        SendOutcome::Closed => assert!(walker.far.is_none(), "the peer is still there"),
    }
}

/// Handles events as a worker does.
fn look(backend: &mut dyn Backend, walkers: &mut [Option<Walker>]) {
    let mut events = Vec::new();
    backend.wait(Some(Duration::ZERO), &mut events).unwrap();
    for event in events {
        let (Event::Writable(slot) | Event::Readable(slot) | Event::Closed(slot)) = event;
        let place = &mut walkers[slot.index as usize];
        let walker = place.as_mut();
        let walker = walker.expect("no event names a socket that is gone");
        assert_eq!(walker.slot, slot, "nor of another one");
        let mut is_closed = false;
        match event {
            Event::Writable(_) => walker.is_blocked = false,
            Event::Readable(_) => {
                let mut buffer = [0; 64];
                is_closed = loop {
                    match backend.receive(slot, &mut buffer) {
                        Received::Bytes(count) => walker.unheard -= count,
                        end => break end == Received::Closed,
                    }
                };
            }
            Event::Closed(_) => is_closed = true,
        }
        if is_closed {
            assert!(walker.far.is_none(), "the peer is still there");
            backend.detach(slot);
            *place = None;
        }
    }
}
