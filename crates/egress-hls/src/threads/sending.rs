//! Sending in batches.

use std::io::IoSlice;

use net::{Backend, SendOp, SendOutcome, Slab, Slot};

use super::connection::{Connection, Phase};

/// Number of sends handed to the system at once.
const BATCH: usize = 32;

/// Progress of a connection's answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    /// All of it is sent.
    Done,
    /// The socket has room for more.
    More,
    /// The socket is full; epoll reports when it has room.
    Full,
    /// The connection is gone.
    Gone,
}

/// Sends the rest of its answer to each of `slots`, in one attempt each, and appends the progress.
pub(super) fn send(
    backend: &mut dyn Backend,
    connections: &mut Slab<Connection>,
    slots: &[Slot],
    progress: &mut Vec<(Slot, Progress)>,
) {
    for batch in slots.chunks(BATCH) {
        send_batch(backend, connections, batch, progress);
    }
}

fn send_batch(
    backend: &mut dyn Backend,
    connections: &mut Slab<Connection>,
    batch: &[Slot],
    progress: &mut Vec<(Slot, Progress)>,
) {
    let mut tables = [[IoSlice::new(&[]); SendOp::SLICES_MAX]; BATCH];
    let mut ops = Vec::with_capacity(batch.len());
    for (slot, table) in batch.iter().zip(&mut tables) {
        if let Some(Phase::Sending { prepared, sent, .. }) =
            connections.get(*slot).map(|connection| &connection.phase)
        {
            let count = prepared.slices(*sent, table);
            ops.push(SendOp {
                slot: *slot,
                slices: &table[..count],
            });
        }
    }
    let mut outcomes = [SendOutcome::Blocked; BATCH];
    backend.send_batch(&ops, &mut outcomes);
    let sent: Vec<_> = ops
        .iter()
        .zip(outcomes)
        .map(|(op, outcome)| {
            let offered = op.slices.iter().map(|slice| slice.len()).sum::<usize>();
            (op.slot, offered, outcome)
        })
        .collect();
    for (slot, offered, outcome) in sent {
        let Some(Phase::Sending {
            prepared,
            sent,
            is_full,
            ..
        }) = connections
            .get_mut(slot)
            .map(|connection| &mut connection.phase)
        else {
            continue;
        };
        let now = match outcome {
            SendOutcome::Sent(count) => {
                *sent += count;
                if *sent >= prepared.len {
                    Progress::Done
                } else if count == offered {
                    Progress::More
                } else {
                    Progress::Full
                }
            }
            SendOutcome::Blocked => Progress::Full,
            SendOutcome::Closed => Progress::Gone,
        };
        *is_full = now == Progress::Full;
        progress.push((slot, now));
    }
}
