//! Tests of the details of rings; the requirements of every back-end are tested with the trait.

use std::os::unix::fs::MetadataExt;

use super::*;
use crate::backend::tests::{attached, attached_all, pair, slot, tried, wait_for};

impl Uring {
    /// As on kernels without deferred work.
    pub(crate) fn cooperative() -> Result<Self, Unavailable> {
        tried()?;
        let sizes = Sizes {
            completions: COMPLETIONS,
            table: 1_024,
        };
        Self::with(Mode::Cooperative, sizes).map_err(Unavailable::Refused)
    }

    /// With tables that are soon full and queues that overflow.
    pub(crate) fn cramped() -> Result<Self, Unavailable> {
        Self::of_sizes(64, 16)
    }

    fn of_sizes(completions: u32, table: u32) -> Result<Self, Unavailable> {
        tried()?;
        let sizes = Sizes { completions, table };
        Self::with(Mode::Deferred, sizes).map_err(Unavailable::Refused)
    }
}

/// Whether this process has a descriptor for that socket.
fn is_ours(inode: u64) -> bool {
    let link = format!("socket:[{inode}]");
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == &*link))
}

fn inode(stream: &TcpStream) -> u64 {
    let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn listeners_leave_the_process_s_descriptors_and_players_keep_theirs() {
    let Ok(mut backend) = Uring::new() else {
        return;
    };
    for (index, inbound, kept) in [(0, Inbound::Dropped, false), (1, Inbound::Reported, true)] {
        let (near, _far) = pair();
        let inode = inode(&near);
        assert!(is_ours(inode));
        backend.attach(slot(index), near, inbound).unwrap();
        assert_eq!(is_ours(inode), kept, "{inbound:?}");
    }
}

#[test]
fn table_entries_of_closed_sockets_are_given_to_new_ones() {
    let Ok(mut backend) = Uring::cramped() else {
        return;
    };
    for index in 0..300 {
        let far = attached(&mut backend, index % 10, Inbound::Dropped);
        drop(far);
        wait_for(&mut backend, Event::Closed(slot(index % 10)));
        backend.detach(slot(index % 10));
        backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    }
    assert_eq!(backend.rings.len(), 1);
}

#[test]
fn a_full_table_makes_another_ring() {
    let Ok(mut backend) = Uring::cramped() else {
        return;
    };
    let mut peers = attached_all(&mut backend, 40);
    assert_eq!(backend.rings.len(), 3);
    // The last, so that the sleep is on one ring and the news in another.
    drop(peers.pop());
    wait_for(&mut backend, Event::Closed(slot(39)));
}

#[test]
fn a_listener_that_gets_no_ring_keeps_its_descriptor() {
    let Ok(mut backend) = Uring::cramped() else {
        return;
    };
    // No process may have as many.
    backend.sizes.table = u32::MAX;
    let mut peers = Vec::new();
    for index in 0..20 {
        let (near, far) = pair();
        let inode = inode(&near);
        backend.attach(slot(index), near, Inbound::Dropped).unwrap();
        assert_eq!(is_ours(inode), index >= 16, "the table has 16 places");
        peers.push(far);
    }
    drop(peers.remove(19));
    wait_for(&mut backend, Event::Closed(slot(19)));
    // Once there is room again, it is used.
    backend.detach(slot(3));
    backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    let (near, _far) = pair();
    let inode = inode(&near);
    backend.attach(slot(20), near, Inbound::Dropped).unwrap();
    assert!(!is_ours(inode));
}

#[test]
fn a_watch_that_is_there_is_not_asked_for_again() {
    let Ok(mut backend) = Uring::new() else {
        return;
    };
    let _far = attached(&mut backend, 0, Inbound::Reported);
    backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    assert_eq!(backend.receive(slot(0), &mut [0]), Received::Nothing);
    assert!(!backend.rings[0].has_entries());
}

#[test]
fn completions_that_overflow_the_queue_are_not_lost() {
    let Ok(mut backend) = Uring::of_sizes(64, 128) else {
        return;
    };
    let peers = attached_all(&mut backend, 256);
    backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    drop(peers);
    // The kernel works through the watches of the second ring with every call into it.
    backend.rings[0].wait(None).unwrap();
    let second = backend.rings[1].inner();
    second.submit_and_wait(1).unwrap();
    // SAFETY: no other view of the queue exists.
    let overflows = unsafe { second.submission_shared() }.cq_overflow();
    assert!(overflows, "128 hang-ups do not fit into 64 entries");
    let mut events = Vec::new();
    while events.len() < 256 {
        backend.wait(Some(Duration::ZERO), &mut events).unwrap();
    }
}
