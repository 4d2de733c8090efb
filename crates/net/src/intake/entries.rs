//! Sockets of one intake thread, by slot.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::{Attach, IntakeReader, Next, Pace, Returned};
use crate::panics::{self, Panic, Part};
use crate::{Slab, Slot};

/// One socket with its reader.
pub(super) struct Entry {
    pub(super) slot: Slot,
    pub(super) reader: Box<dyn IntakeReader>,
    pub(super) socket: Arc<TcpStream>,
    /// Receiver that watches the socket.
    pub(super) pace: Pace,
    /// Pace that the reader last requested.
    pub(super) wish: Pace,
    /// Next step once the watch has ended, if its end was requested.
    pub(super) then: Option<Then>,
    /// Set once the socket is wanted back.
    pub(super) recalled: Arc<AtomicBool>,
    /// Bytes received since the last survey.
    pub(super) bytes: usize,
}

impl Entry {
    /// Drops a reader that has panicked, with all its state. The socket stays until its watch has ended.
    pub(super) fn give_up(&mut self, panic: &Panic) {
        report(panic, self.socket.peer_addr().ok());
        let broken = std::mem::replace(&mut self.reader, Box::new(Spent));
        if let Err(panic) = panics::contain(|| drop(broken)) {
            report(&panic, None);
        }
    }
}

/// Reports a panic of a reader.
pub(super) fn report(panic: &Panic, peer: Option<SocketAddr>) {
    match peer {
        Some(peer) => panic.report(Part::Intake, &format_args!("the publisher at {peer}")),
        None => panic.report(Part::Intake, &"a publisher"),
    }
}

/// Stand-in for a reader that has panicked: takes nothing, sends nothing, and ends.
struct Spent;

impl IntakeReader for Spent {
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

/// Next step for a socket that is no longer watched.
#[derive(Debug)]
pub(super) enum Then {
    /// The other receiver watches it.
    Move,
    /// The socket is returned.
    Leave(Returned),
}

/// All sockets of the thread.
#[derive(Default)]
pub(super) struct Entries {
    slab: Slab<Entry>,
    /// Number of sockets that are watched promptly.
    pub(super) prompt: usize,
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Adds a socket, to be watched promptly.
    pub(super) fn add(&mut self, attach: Attach) -> &Entry {
        let Attach {
            reader,
            socket,
            recalled,
        } = attach;
        self.prompt += 1;
        self.slab.insert_with(|slot| Entry {
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
        self.slab.get_mut(slot)
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<Entry> {
        let entry = self.slab.remove(slot)?;
        if entry.pace == Pace::Prompt {
            self.prompt -= 1;
        }
        Some(entry)
    }

    /// Records that the other receiver watches the socket from now on.
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
        self.slab.values_mut()
    }
}
