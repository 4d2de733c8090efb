//! The sockets of one intake thread, by slot.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::{Attach, Next, Pace, Reader, Returned};
use crate::backend::Slot;
use crate::panics::{self, Panic, Part};

/// One socket.
pub(super) struct Entry {
    pub(super) slot: Slot,
    pub(super) reader: Box<dyn Reader>,
    pub(super) socket: Arc<TcpStream>,
    /// Which receiver watches it.
    pub(super) pace: Pace,
    /// What the reader asked for last.
    pub(super) wish: Pace,
    /// What happens when its watch has ended, once that has been asked for.
    pub(super) then: Option<Then>,
    /// It is wanted back.
    pub(super) recalled: Arc<AtomicBool>,
    /// Received since the last survey.
    pub(super) bytes: usize,
}

impl Entry {
    /// Drops a reader that has panicked, and with it whatever it had. The socket stays until its watch has
    /// ended.
    pub(super) fn give_up(&mut self, panic: &Panic) {
        report(panic, self.socket.peer_addr().ok());
        let broken = std::mem::replace(&mut self.reader, Box::new(Spent));
        if let Err(panic) = panics::contain(|| drop(broken)) {
            report(&panic, None);
        }
    }
}

/// Reports a reader that has panicked.
pub(super) fn report(panic: &Panic, peer: Option<SocketAddr>) {
    match peer {
        Some(peer) => panic.report(Part::Intake, &format_args!("the publisher at {peer}")),
        None => panic.report(Part::Intake, &"a publisher"),
    }
}

/// Stands in for a reader that has panicked: takes nothing, sends nothing, and ends.
struct Spent;

impl Reader for Spent {
    fn take(&mut self, _: &[u8], _: Instant) -> Next {
        Next::Return
    }

    fn unsent(&mut self) -> &[u8] {
        &[]
    }

    fn sent(&mut self, _: usize) {}

    fn due(&self) -> Option<Instant> {
        None
    }

    fn give_back(self: Box<Self>, _: TcpStream, _: Returned) {}
}

/// What happens to a socket that is no longer watched.
#[derive(Debug)]
pub(super) enum Then {
    /// It is watched by the other receiver.
    Move,
    /// It is given back.
    Leave(Returned),
}

/// All of them.
#[derive(Default)]
pub(super) struct Entries {
    slab: Vec<WatchSlot>,
    vacant: Vec<u32>,
    len: usize,
    /// How many are watched promptly.
    pub(super) prompt: usize,
}

#[derive(Default)]
struct WatchSlot {
    reuse: u32,
    entry: Option<Entry>,
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Enters a socket, to be watched promptly.
    pub(super) fn add(&mut self, attach: Attach) -> &Entry {
        let Attach {
            reader,
            socket,
            recalled,
        } = attach;
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.slab.push(WatchSlot::default());
            self.slab.len() as u32 - 1
        });
        self.len += 1;
        self.prompt += 1;
        let place = &mut self.slab[index as usize];
        let slot = Slot {
            index,
            reuse: place.reuse,
        };
        place.entry.insert(Entry {
            slot,
            reader,
            socket: Arc::new(socket),
            pace: Pace::Prompt,
            wish: Pace::Prompt,
            then: None,
            recalled,
            bytes: 0,
        })
    }

    pub(super) fn get(&mut self, slot: Slot) -> Option<&mut Entry> {
        let entry = self.slab.get_mut(slot.index as usize)?.entry.as_mut()?;
        (entry.slot == slot).then_some(entry)
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<Entry> {
        self.get(slot)?;
        let place = &mut self.slab[slot.index as usize];
        let entry = place.entry.take()?;
        place.reuse = place.reuse.wrapping_add(1);
        self.vacant.push(slot.index);
        self.len -= 1;
        if entry.pace == Pace::Prompt {
            self.prompt -= 1;
        }
        Some(entry)
    }

    /// It is watched by the other receiver from now on.
    pub(super) fn change_pace(&mut self, slot: Slot) {
        let Some(entry) = self.get(slot) else {
            return;
        };
        match entry.pace {
            Pace::Prompt => {
                entry.pace = Pace::Relaxed;
                self.prompt -= 1;
            }
            Pace::Relaxed => {
                entry.pace = Pace::Prompt;
                self.prompt += 1;
            }
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.slab
            .iter_mut()
            .filter_map(|place| place.entry.as_mut())
    }
}
