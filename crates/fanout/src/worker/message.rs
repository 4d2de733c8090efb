//! Bytes of one send: slices of the log, after any bytes that a listener must have first.

use std::io::IoSlice;

use log::View;
use net::SendOp;

use super::listener::{HEAD_PARTS, Listener};

const _: () = assert!(
    HEAD_PARTS < SendOp::SLICES_MAX,
    "a send has room for the log's bytes"
);

/// Bytes of one send.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    slices: [IoSlice<'a>; SendOp::SLICES_MAX],
    count: usize,
    /// Total of all slices, in bytes.
    pub(super) len: usize,
}

impl<'a> Message<'a> {
    fn empty() -> Self {
        Self {
            slices: [IoSlice::new(&[]); SendOp::SLICES_MAX],
            count: 0,
            len: 0,
        }
    }

    /// Creates a message of sealed bytes.
    pub(super) fn sealed(wire: IoSlice<'a>) -> Self {
        let mut message = Self::empty();
        message.slices[0] = wire;
        (message.count, message.len) = (1, wire.len());
        message
    }

    pub(super) fn between(view: &'a View, from: u64, to: u64) -> Self {
        let mut message = Self::empty();
        message.append(view, from, to);
        message
    }

    // Few listeners need a message of their own, so the loop over all of them should not carry its weight.
    #[inline(never)]
    pub(super) fn for_listener(view: &'a View, listener: &'a Listener, to: u64) -> Self {
        let mut message = Self::empty();
        for part in listener.head().filter(|part| !part.is_empty()) {
            message.slices[message.count] = IoSlice::new(part);
            message.count += 1;
            message.len += part.len();
        }
        if !listener.is_waiting() {
            message.append(view, listener.offset, to);
        }
        message
    }

    fn append(&mut self, view: &'a View, from: u64, to: u64) {
        let used = view.slices(from, to, &mut self.slices[self.count..]);
        self.len += self.slices[self.count..][..used]
            .iter()
            .map(|slice| slice.len())
            .sum::<usize>();
        self.count += used;
    }

    pub(super) fn slices(&self) -> &[IoSlice<'a>] {
        &self.slices[..self.count]
    }
}
