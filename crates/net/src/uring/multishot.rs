//! Receiver of many sockets by multishot receives into shared buffers.
//!
//! A receive is submitted once per socket; from then on each piece that arrives is a completion that names
//! its buffer, which is lent again as soon as the piece has been reported. The ring is deferred: bytes that
//! arrive while its thread sleeps cost nothing until the thread polls, and then each socket is read once,
//! however many packets there were.
//!
//! A receive ends by itself at the end of the connection, when no buffer was lent, and when the completion
//! queue was full; in the last two cases it is submitted again.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::cqueue;
use rustix::io::Errno;

use super::buffers::{BUFFERS_MIN, Buffers};
use super::probe::{self, Unavailable};
use super::ring::{Completion, Mode, Ring, Sizes, Target};
use super::token::{Name, Token};
use crate::intake::receiver::{News, Receiver};
use crate::waker::Waker;
use crate::{Slot, slab};

/// Completions that the queue holds: more than there are buffers, so that it does not overflow while sockets
/// bring bytes; further ones wait in the kernel.
const COMPLETIONS: u32 = 2_048;

/// Receiver by multishot receives; one thread uses it.
pub(crate) struct Multishot {
    ring: Ring,
    buffers: Buffers,
    waker: Waker,
    is_waker_watched: bool,
    /// Descriptor that also ends sleeps while it is readable.
    another: Option<Arc<OwnedFd>>,
    is_another_watched: bool,
    sockets: Vec<Option<Watched>>,
    count: usize,
    /// Sockets whose receive must be submitted again.
    starved: Vec<Slot>,
    unwatched: Vec<Slot>,
}

struct Watched {
    slot: Slot,
    /// Socket, whose descriptor stays open as long as the ring may know it.
    socket: Arc<TcpStream>,
    /// Whether the kernel has a receive for it, or will get the entry with the next call.
    is_armed: bool,
    is_ending: bool,
}

impl Multishot {
    /// Creates a receiver, to be used by this thread.
    pub(crate) fn new(waker: Waker) -> Result<Self, Unavailable> {
        let sizes = Sizes {
            completions: COMPLETIONS,
            table: 0,
        };
        let ring = match Ring::new(Mode::Deferred, sizes) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                Ring::new(Mode::Cooperative, sizes)
            }
            made => made,
        };
        Self::with(waker, ring)
    }

    fn with(waker: Waker, ring: io::Result<Ring>) -> Result<Self, Unavailable> {
        let mut ring = ring.map_err(Unavailable::Refused)?;
        probe::check(&ring)?;
        ring.enable().map_err(Unavailable::Refused)?;
        let buffers =
            Buffers::new(&ring).map_err(|_| Unavailable::Lacks("shared rings of buffers"))?;
        Ok(Self {
            ring,
            buffers,
            waker,
            is_waker_watched: false,
            another: None,
            is_another_watched: false,
            sockets: Vec::new(),
            count: 0,
            starved: Vec::new(),
            unwatched: Vec::new(),
        })
    }

    fn watched(&mut self, slot: Slot) -> Option<&mut Watched> {
        let watched = self.sockets.get_mut(slot.index as usize)?.as_mut()?;
        (watched.slot == slot).then_some(watched)
    }

    fn let_go(&mut self, slot: Slot) {
        if self.watched(slot).is_some() {
            self.sockets[slot.index as usize] = None;
            self.count -= 1;
        }
    }

    fn arm(&mut self, slot: Slot) {
        let Some(watched) = self.watched(slot) else {
            return;
        };
        watched.is_armed = true;
        let fd = watched.socket.as_raw_fd();
        self.ring
            .receive_all(fd, Buffers::GROUP, Token::Input(slot.into()));
    }

    /// Submits the watches and receives that are needed again.
    fn prepare(&mut self) {
        if !std::mem::replace(&mut self.is_waker_watched, true) {
            let waker = Target::Open(self.waker.as_fd().as_raw_fd());
            self.ring.watch(waker, libc::POLLIN as u32, Token::Waker);
        }
        if let Some(another) = &self.another
            && !std::mem::replace(&mut self.is_another_watched, true)
        {
            let another = Target::Open(another.as_raw_fd());
            self.ring
                .watch(another, libc::POLLIN as u32, Token::Another);
        }
        for slot in std::mem::take(&mut self.starved) {
            self.arm(slot);
        }
    }

    /// Reports the completions; returns their number.
    fn tell(&mut self, tell: &mut dyn FnMut(Slot, News<'_>)) -> usize {
        let seen = self.ring.take_seen();
        for &completion in &seen {
            match completion.token {
                Token::Input(name) => self.note(name, completion, tell),
                Token::Waker => {
                    self.waker.drain();
                    self.is_waker_watched = false;
                }
                Token::Another => self.is_another_watched = false,
                _ => {}
            }
        }
        let count = seen.len();
        self.ring.give_back(seen);
        count
    }

    fn note(
        &mut self,
        name: Name,
        Completion { result, flags, .. }: Completion,
        tell: &mut dyn FnMut(Slot, News<'_>),
    ) {
        let watched = self.sockets.get_mut(name.index as usize);
        let watched = watched.and_then(Option::as_mut);
        // A removed socket has had its last completion; this returns the buffer.
        let watched = watched.filter(|watched| name.is(watched.slot));
        let slot = watched.as_ref().map(|watched| watched.slot);
        if let Some(buffer) = cqueue::buffer_select(flags) {
            let len = usize::try_from(result).unwrap_or(0);
            if let Some(slot) = slot
                && len > 0
            {
                tell(slot, News::Bytes(self.buffers.bytes(buffer, len)));
            }
            self.buffers.lend(buffer);
        }
        let (Some(slot), Some(watched)) = (slot, watched) else {
            return;
        };
        if cqueue::more(flags) {
            return;
        }
        watched.is_armed = false;
        let end = match result {
            0 => News::HungUp,
            _ if continues(result) => {
                let list = match watched.is_ending {
                    true => &mut self.unwatched,
                    false => &mut self.starved,
                };
                list.push(slot);
                return;
            }
            error => News::Failed(io::Error::from_raw_os_error(-error)),
        };
        self.let_go(slot);
        tell(slot, end);
    }
}

impl Receiver for Multishot {
    fn watch(&mut self, slot: Slot, socket: &Arc<TcpStream>) -> io::Result<()> {
        let watched = Watched {
            slot,
            socket: Arc::clone(socket),
            is_armed: false,
            is_ending: false,
        };
        slab::put(&mut self.sockets, slot, watched);
        self.count += 1;
        // Each socket brings one piece at a time; half of them at once is a lot.
        let buffers = u16::try_from(self.count / 2).unwrap_or(u16::MAX);
        self.buffers.have(buffers.max(BUFFERS_MIN));
        self.arm(slot);
        Ok(())
    }

    fn unwatch(&mut self, slot: Slot) {
        let Some(watched) = self.watched(slot) else {
            return;
        };
        if std::mem::replace(&mut watched.is_ending, true) {
            return;
        }
        if watched.is_armed {
            self.ring.cancel(Token::Input(slot.into()));
        } else {
            self.starved.retain(|starved| *starved != slot);
            self.unwatched.push(slot);
        }
    }

    fn wake_by(&mut self, readable: Arc<OwnedFd>) -> io::Result<()> {
        self.another = Some(readable);
        Ok(())
    }

    fn wait(
        &mut self,
        pause: Duration,
        timeout: Option<Duration>,
        most: usize,
        tell: &mut dyn FnMut(Slot, News<'_>),
    ) -> io::Result<usize> {
        self.prepare();
        let is_short = !self.unwatched.is_empty() || self.ring.has_seen();
        if timeout != Some(Duration::ZERO) && !is_short {
            self.ring.pause(pause, timeout)?;
        } else {
            self.ring.poll()?;
        }
        // The kernel hands out some 20 pieces at a time.
        let mut total = 0;
        loop {
            let reported = self.tell(tell);
            self.prepare();
            total += reported;
            if reported == 0 || total >= most {
                break;
            }
            self.ring.poll()?;
        }
        for slot in std::mem::take(&mut self.unwatched) {
            if self.watched(slot).is_some() {
                self.let_go(slot);
                tell(slot, News::Unwatched);
            }
        }
        Ok(total)
    }
}

/// Whether the connection is unharmed after a receive ended with this result.
fn continues(result: i32) -> bool {
    result > 0
        || matches!(
            Errno::from_raw_os_error(-result),
            Errno::CANCELED | Errno::NOBUFS | Errno::AGAIN | Errno::INTR
        )
}

impl Drop for Multishot {
    fn drop(&mut self) {
        self.buffers.call_in(&self.ring);
    }
}

#[cfg(test)]
impl Multishot {
    /// Creates a receiver whose queue overflows.
    pub(crate) fn cramped(waker: Waker) -> Result<Self, Unavailable> {
        Self::probe()?;
        let sizes = Sizes {
            completions: 64,
            table: 0,
        };
        Self::with(waker, Ring::new(Mode::Deferred, sizes))
    }

    /// Creates a receiver as for kernels without deferred work.
    pub(crate) fn cooperative(waker: Waker) -> Result<Self, Unavailable> {
        Self::probe()?;
        let sizes = Sizes {
            completions: COMPLETIONS,
            table: 0,
        };
        Self::with(waker, Ring::new(Mode::Cooperative, sizes))
    }
}
