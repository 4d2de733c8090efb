//! The operating system's side of Carillon: sockets, readiness, wake-ups, thread clocks.
//!
//! A fan-out worker drives one [`Backend`], which owns the sockets of that worker's listeners. The trait fits
//! readiness ([`Epoll`]) and completions ([`Uring`]) alike: sends are passed in batches, and when the call
//! returns every send in the batch has its outcome, so no buffer outlives the call that lent it.
//!
//! Datagrams are sent and received by [`udp`], whose owner sleeps on a [`Poller`].
//!
//! [`proxy_protocol`] reads a balancer's statement about its client.
//!
//! [`UsualCost`] learns the cost of turns, by which threads space them.
//!
//! A panic caused by one peer's bytes is contained by [`panics`]; one that costs a thread its state ends the
//! process.
//!
//! [`closing`] and [`wait`] serve connections that have a task; [`link`] makes the server's outgoing
//! connections, to the target that a [`url`] names.
//!
//! [`rtmp`] drives an RTMP connection up to its request to publish or play, and [`http_client`] sends one request to another
//! server.
//!
//! Callers: `fanout` (workers), the crates of connections (ends and waits), `config` and `load` (URLs),
//! `server` (accept classes, socket options).

pub mod accept;
#[allow(unsafe_code, reason = "the kernel is given the addresses of memory")]
pub mod arrival;
mod backend;
pub mod closing;
mod control;
mod cost;
pub mod cpu;
mod epoll;
mod guard;
pub mod http_client;
pub mod intake;
#[allow(unsafe_code, reason = "the system's list is made of pointers")]
pub mod interfaces;
pub mod link;
mod network;
pub mod panics;
mod poller;
pub mod proxy_protocol;
pub mod rtmp;
mod slab;
pub mod tcp;
#[allow(
    unsafe_code,
    reason = "the calls are not in any library's safe interface"
)]
pub mod time_slice;
pub mod tls;
mod transport;
pub mod turns;
pub mod udp;
mod uring;
pub mod url;
pub mod wait;
mod waker;

pub use backend::{Backend, Event, Inbound, Received, SendOp, SendOutcome};
pub use cost::UsualCost;
pub use epoll::Epoll;
pub use guard::AbortOnPanic;
pub use network::{Network, NotANetwork};
pub use poller::{Interest, Poller, Ready};
pub use slab::{Slab, Slot};
pub use transport::{Transport, TransportStream};
pub use uring::{Unavailable, Uring};
pub use waker::Waker;
