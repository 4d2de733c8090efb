//! Sleep of a thread until sockets of several kinds have news, or its waker is called.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll;

use crate::backend::EVENTS_PER_WAIT;
use crate::epoll::{WAKER_DATA, sleep, watch_over};
use crate::waker::Waker;

/// Sockets under the caller's numbers, watched by one epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    waker: Waker,
}

/// Events wanted of a socket. Hang-ups and errors are reported as input in any case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interest {
    /// Input to read.
    Input,
    /// Input to read, and room to write.
    InputAndRoom,
}

/// State of a ready socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ready {
    /// Number of the socket.
    pub number: u64,
    /// Whether there is something to read, which may be the end.
    pub has_input: bool,
    /// Whether there is room to write.
    pub has_room: bool,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Input => epoll::EventFlags::IN,
            Self::InputAndRoom => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}

impl Poller {
    /// Creates a poller that watches only its own waker.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let waker = Waker::new()?;
        let epoll = watch_over(&waker)?;
        Ok(Self { epoll, waker })
    }

    /// Returns a handle that ends a sleep from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Watches a socket; `number` is below `u64::MAX`.
    ///
    /// # Errors
    /// Those of `epoll_ctl`.
    pub fn watch(&self, socket: impl AsFd, number: u64, interest: Interest) -> io::Result<()> {
        debug_assert!(number != WAKER_DATA);
        let data = epoll::EventData::new_u64(number);
        Ok(epoll::add(&self.epoll, socket, data, interest.flags())?)
    }

    /// Changes the events wanted of a socket.
    pub fn change(&self, socket: impl AsFd, number: u64, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number);
        Ok(epoll::modify(&self.epoll, socket, data, interest.flags())?)
    }

    /// Stops watching a socket. Sockets that are closed need not be removed.
    pub fn unwatch(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Sleeps until there is news, the waker is called, or the timeout has passed, and appends the ready
    /// sockets.
    ///
    /// # Errors
    /// Those of `epoll_wait`, except interruption by signals.
    pub fn wait(&self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
        for event in sleep(&self.epoll, &mut room, timeout)? {
            // The kernel's struct is packed; copy before use.
            let (flags, number) = ({ event.flags }, { event.data }.u64());
            if number == WAKER_DATA {
                self.waker.drain();
                continue;
            }
            use epoll::EventFlags as F;
            ready.push(Ready {
                number,
                has_input: flags.intersects(F::IN | F::HUP | F::ERR),
                has_room: flags.contains(F::OUT),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(10));

    #[test]
    fn it_tells_of_input_room_and_rings() {
        let poller = Poller::new().expect("descriptors");
        let (near, mut far) = UnixStream::pair().expect("a pair");
        poller.watch(&near, 7, Interest::Input).expect("watched");
        far.write_all(b"?").expect("room");
        let mut ready = Vec::new();
        // The report repeats until the bytes are read.
        for _ in 0..2 {
            ready.clear();
            poller.wait(LONG, &mut ready).expect("no error");
            let input = Ready {
                number: 7,
                has_input: true,
                has_room: false,
            };
            assert_eq!(ready, [input]);
        }
        poller
            .change(&near, 7, Interest::InputAndRoom)
            .expect("changed");
        ready.clear();
        poller.wait(LONG, &mut ready).expect("no error");
        assert!(ready[0].has_room);
        poller.unwatch(&near).expect("unwatched");
        ready.clear();
        poller.waker().wake();
        poller.wait(LONG, &mut ready).expect("no error");
        assert_eq!(ready, []);
        poller
            .wait(Some(Duration::ZERO), &mut ready)
            .expect("no error");
        assert_eq!(ready, []);
    }

    #[test]
    fn a_hang_up_is_input() {
        let poller = Poller::new().expect("descriptors");
        let (near, far) = UnixStream::pair().expect("a pair");
        poller.watch(&near, 1, Interest::Input).expect("watched");
        drop(far);
        let mut ready = Vec::new();
        poller.wait(LONG, &mut ready).expect("no error");
        assert!(ready[0].has_input);
    }
}
