//! The core from outside: streams, lanes and workers through the crate's public interface, with real threads and
//! sockets, and its laws on virtual time ([`simulator`]). One binary, because linking each file alone takes longer than
//! its tests.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says so when it fails"
)]

extern crate carillon_fanout as fanout;

mod support;

mod appear;
mod archive;
mod bursts;
mod carry;
mod converse;
mod derive;
mod events;
mod fail;
mod follow;
mod handle;
mod join;
mod joins;
mod permissions;
mod ranges;
mod renditions;
mod simulator;
mod stream_tasks;
mod takeover;
