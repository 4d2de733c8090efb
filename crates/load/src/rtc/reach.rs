//! From the answer to the socket: the address of a server's media.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use webrtc::client::Answer;

use super::offer;
use crate::plan::Plan;
use crate::socket;

/// A UDP socket of member `number` that talks to the server behind `answer`, watched as `place`; and that
/// server's address.
pub(super) fn reach(
    plan: &Plan,
    answer: &Answer,
    number: u64,
    epoll: &OwnedFd,
    place: usize,
) -> Result<(OwnedFd, SocketAddr), String> {
    let own = || offer::choose_candidate(answer, plan.target.addr());
    let server = plan
        .via
        .or_else(own)
        .ok_or("the answer names no UDP address")?;
    let socket =
        socket::converse(server, number).map_err(|error| format!("no UDP socket: {error}"))?;
    let data = epoll::EventData::new_u64(place as u64);
    epoll::add(epoll, &socket, data, epoll::EventFlags::IN)
        .map_err(|error| format!("not watched: {error}"))?;
    Ok((socket, server))
}
