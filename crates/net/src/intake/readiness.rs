//! Receiving by epoll: level-triggered readiness, then one `recv` per ready socket.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::receiver::{News, Receiver};
use crate::backend::EVENTS_PER_WAIT;
use crate::epoll::{WAKER_DATA, pack, sleep, unpack, watch_over};
use crate::waker::Waker;
use crate::{Slot, slab};

/// Bytes per receive: a few frames of video. One buffer serves all sockets.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Receiver by epoll readiness.
pub(super) struct Readiness {
    epoll: OwnedFd,
    waker: Waker,
    sockets: Vec<Option<(Slot, Arc<TcpStream>)>>,
    unwatched: Vec<Slot>,
    buffer: Vec<u8>,
}

impl Readiness {
    pub(super) fn new(waker: Waker) -> io::Result<Self> {
        Ok(Self {
            epoll: watch_over(&waker)?,
            waker,
            sockets: Vec::new(),
            unwatched: Vec::new(),
            buffer: vec![0; RECEIVE_BYTES],
        })
    }

    fn let_go(&mut self, slot: Slot) -> bool {
        let place = self.sockets.get_mut(slot.index as usize);
        let Some((_, socket)) = place.and_then(|place| place.take_if(|(own, _)| *own == slot))
        else {
            return false;
        };
        // Fails only for a socket that is not in the set, which is the desired state.
        epoll::delete(&self.epoll, &socket).ok();
        true
    }

    fn receive(&mut self, slot: Slot, tell: &mut dyn FnMut(Slot, News<'_>)) {
        let Some(Some((own, socket))) = self.sockets.get(slot.index as usize) else {
            return;
        };
        if *own != slot {
            return;
        }
        let end = match rustix::net::recv(socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => News::HungUp,
            Ok((count, _)) => return tell(slot, News::Bytes(&self.buffer[..count])),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(error) => News::Failed(error.into()),
        };
        self.let_go(slot);
        tell(slot, end);
    }
}

impl Receiver for Readiness {
    fn watch(&mut self, slot: Slot, socket: &Arc<TcpStream>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(pack(slot));
        epoll::add(&self.epoll, socket, data, epoll::EventFlags::IN)?;
        slab::put(&mut self.sockets, slot, (slot, Arc::clone(socket)));
        Ok(())
    }

    fn unwatch(&mut self, slot: Slot) {
        if self.let_go(slot) {
            self.unwatched.push(slot);
        }
    }

    fn wake_by(&mut self, readable: Arc<OwnedFd>) -> io::Result<()> {
        // Uses the waker's data: the event belongs to no socket, and draining an empty waker does no harm.
        let data = epoll::EventData::new_u64(WAKER_DATA);
        Ok(epoll::add(
            &self.epoll,
            readable,
            data,
            epoll::EventFlags::IN,
        )?)
    }

    fn wait(
        &mut self,
        pause: Duration,
        timeout: Option<Duration>,
        most: usize,
        tell: &mut dyn FnMut(Slot, News<'_>),
    ) -> io::Result<usize> {
        let began = Instant::now();
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        let mut timeout = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        if !self.unwatched.is_empty() {
            timeout = Some(Duration::ZERO);
        }
        for slot in self.unwatched.drain(..) {
            tell(slot, News::Unwatched);
        }
        let mut reported = 0;
        loop {
            let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
            let room = most.saturating_sub(reported).clamp(1, EVENTS_PER_WAIT);
            let ready = sleep(&self.epoll, &mut ready[..room], timeout)?;
            for event in &mut *ready {
                // The kernel's struct is packed; copy before use.
                let data = { event.data }.u64();
                if data == WAKER_DATA {
                    self.waker.drain();
                } else {
                    self.receive(unpack(data), tell);
                }
            }
            reported += ready.len();
            if ready.len() < room || reported >= most {
                return Ok(reported);
            }
            timeout = Some(Duration::ZERO);
        }
    }
}
