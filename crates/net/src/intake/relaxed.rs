//! Sockets of publishers without listeners: read by turns, and to the end as soon as the peer has hung up.
//!
//! A turn polls each socket, because nearly all of them have something: readiness would be one more system
//! call. The last bytes of a peer are read at once all the same, because otherwise a publisher that takes its
//! place before the next turn would cut them off; so an epoll instance watches for ends alone, and the kernel
//! does not report packets through it. Called by `thread`.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::receiver::News;
use crate::backend::EVENTS_PER_WAIT;
use crate::epoll::{pack, sleep, unpack};
use crate::{Slot, slab};

/// Bytes per receive: more than a socket that stays relaxed brings between two turns. One buffer serves all
/// sockets.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Sockets that are read by turns: [`begin`](Self::begin) a turn, then call [`proceed`](Self::proceed) until it
/// is over.
pub(super) struct RelaxedSockets {
    ends: Arc<OwnedFd>,
    /// Sockets by slot index.
    sockets: Vec<Option<(Slot, Arc<TcpStream>)>>,
    count: usize,
    /// Position of the present turn; at the end of `sockets` when the turn is over.
    at: usize,
    buffer: Vec<u8>,
}

impl RelaxedSockets {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            ends: Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?),
            sockets: Vec::new(),
            count: 0,
            at: 0,
            buffer: vec![0; RECEIVE_BYTES],
        })
    }

    /// Returns a descriptor that is readable while there are sockets whose peers have hung up.
    pub(super) fn ends(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.ends)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a non-blocking socket. The slot is not in use.
    pub(super) fn watch(&mut self, slot: Slot, socket: &Arc<TcpStream>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(pack(slot));
        epoll::add(&self.ends, socket, data, epoll::EventFlags::RDHUP)?;
        slab::put(&mut self.sockets, slot, (slot, Arc::clone(socket)));
        self.count += 1;
        Ok(())
    }

    /// Removes a socket; returns whether it was present.
    pub(super) fn unwatch(&mut self, slot: Slot) -> bool {
        let place = self.sockets.get_mut(slot.index as usize);
        let Some((_, socket)) = place.and_then(|place| place.take_if(|(own, _)| *own == slot))
        else {
            return false;
        };
        self.count -= 1;
        // Fails only for a socket that is not in the set, which is the desired state.
        epoll::delete(&self.ends, &socket).ok();
        true
    }

    /// Begins a turn.
    pub(super) fn begin(&mut self) {
        self.at = 0;
    }

    /// Continues the turn: reads up to `most` sockets, each once. Returns whether the turn is over.
    pub(super) fn proceed(&mut self, most: usize, tell: &mut dyn FnMut(Slot, News<'_>)) -> bool {
        for _ in 0..most {
            let rest = self.sockets.get(self.at..).unwrap_or_default();
            let Some(skipped) = rest.iter().position(Option::is_some) else {
                self.at = self.sockets.len();
                return true;
            };
            let at = self.at + skipped;
            self.at = at + 1;
            if let Some((slot, _)) = self.sockets[at] {
                self.receive(slot, tell);
            }
        }
        self.at >= self.sockets.len()
    }

    /// Reads sockets whose peers have hung up, to the end, some at a time.
    ///
    /// # Errors
    /// Only failures that make all of this unusable.
    pub(super) fn read_ended(&mut self, tell: &mut dyn FnMut(Slot, News<'_>)) -> io::Result<()> {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
        for event in sleep(&self.ends, &mut room, Some(Duration::ZERO))? {
            // The kernel's struct is packed; copy before use.
            let slot = unpack({ event.data }.u64());
            // The loop ends: nothing can arrive any more.
            while self.receive(slot, tell) {}
        }
        Ok(())
    }

    /// Receives once; returns whether there was something.
    fn receive(&mut self, slot: Slot, tell: &mut dyn FnMut(Slot, News<'_>)) -> bool {
        let place = self.sockets.get(slot.index as usize);
        let Some((own, socket)) = place.and_then(Option::as_ref) else {
            return false;
        };
        if *own != slot {
            return false;
        }
        let end = match rustix::net::recv(socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => News::HungUp,
            Ok((count, _)) => {
                tell(slot, News::Bytes(&self.buffer[..count]));
                return true;
            }
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Err(error) => News::Failed(error.into()),
        };
        self.unwatch(slot);
        tell(slot, end);
        false
    }
}
