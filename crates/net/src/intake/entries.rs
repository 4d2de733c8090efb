//! The sockets of one intake thread, by slot.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::{Attach, IntakeReader, Next, Pace, Returned};
use crate::panics::{self, Panic, Part};
use crate::{Slab, Slot};

/// One socket.
pub(super) struct Entry {
    pub(super) slot: Slot,
    pub(super) reader: Box<dyn IntakeReader>,
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
    slab: Slab<Entry>,
    /// How many are watched promptly.
    pub(super) prompt: usize,
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Enters a socket, to be watched promptly.
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
        self.slab.values_mut()
    }
}
