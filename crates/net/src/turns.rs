//! Turns at expensive work (a slow hash, a signature, a question to another server), for clients that wait
//! for theirs.
//!
//! A fixed number of clients have a turn at a time, in the order of arrival. A client always gets a place to
//! wait; when too many wait, the oldest one of the address that has the most is turned away ([`Shares`]). So
//! one address waits behind itself, and however many clients it sends, no client of another address is turned
//! away for them.
//!
//! This module does not know the work: the holder of a [`Turn`] does it, and ends the turn by dropping it.

use std::net::IpAddr;
use std::sync::Arc;

use base::Lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use base::shares::{Bounds, ShareTicket, Shares, Standing};

/// Right to do the work now, until it is dropped. It may be moved to another thread.
#[derive(Debug)]
pub struct Turn(#[allow(dead_code, reason = "it is kept")] OwnedSemaphorePermit);

/// Error of a client that is turned away: others arrived, and its address has the most that wait. It may try
/// again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("too many wait for it")]
pub struct TurnedAway;

/// Turns for one kind of work; [`take`](Self::take) waits for one.
#[derive(Debug)]
pub struct Turns {
    free: Arc<Semaphore>,
    /// Waiting clients: dropping an entry turns its client away.
    waiting: Lock<Shares<oneshot::Sender<()>>>,
}

impl Turns {
    /// Creates `at_once` simultaneous turns, with `waiting` as the bounds on waiting clients.
    pub fn new(at_once: usize, waiting: Bounds) -> Self {
        Self {
            free: Arc::new(Semaphore::new(at_once)),
            waiting: Lock::new(Shares::new(waiting)),
        }
    }

    /// Returns the number of free turns.
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Returns the number of waiting clients.
    pub fn waiting(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Waits for a turn of a client at `peer`. Dropping the future frees its place.
    ///
    /// # Errors
    /// The client has to give way to others that wait.
    pub async fn take(&self, peer: IpAddr) -> Result<Turn, TurnedAway> {
        if let Ok(turn) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(Turn(turn));
        }
        let (place, turned_away) = oneshot::channel();
        let (ticket, gives_way) = self.waiting.lock().take(peer, Standing::Stranger, place);
        drop(gives_way);
        let _place = Place {
            turns: self,
            ticket,
        };
        tokio::select! {
            biased;
            turn = Arc::clone(&self.free).acquire_owned() => turn.map(Turn).map_err(|_| TurnedAway),
            _ = turned_away => Err(TurnedAway),
        }
    }
}

/// Place of a waiting client, until its turn has come or nobody waits for it any more.
struct Place<'a> {
    turns: &'a Turns,
    ticket: ShareTicket,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.turns.waiting.lock().give_back(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::at_once;

    const WAITING: Bounds = Bounds {
        max: 4,
        share: 2,
        reserve: 0,
    };

    fn host(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    #[tokio::test]
    async fn turns_are_taken_in_the_order_of_coming_and_places_are_given_back() {
        let turns = Turns::new(1, WAITING);
        let first = turns.take(host(1)).await.expect("free");
        let (mut second, mut third) =
            (Box::pin(turns.take(host(1))), Box::pin(turns.take(host(2))));
        assert!(at_once(&mut second).is_none() && at_once(&mut third).is_none());
        assert_eq!((turns.free(), turns.waiting()), (0, 2));
        drop(first);
        assert!(at_once(&mut third).is_none(), "it came later");
        let second = at_once(&mut second).expect("its turn").expect("a turn");
        assert_eq!(turns.waiting(), 1);
        drop(third);
        drop(second);
        assert_eq!((turns.free(), turns.waiting()), (1, 0));
    }

    #[tokio::test]
    async fn beyond_its_share_an_address_turns_its_own_away_and_no_other() {
        let turns = Turns::new(1, WAITING);
        let _busy = turns.take(host(9)).await.expect("free");
        let mut honest = Box::pin(turns.take(host(2)));
        assert!(at_once(&mut honest).is_none());
        // An IPv6 network counts as one address.
        let crowd = (1..=20_u16).map(|last| {
            let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last);
            let mut waits = Box::pin(turns.take(address.into()));
            assert!(at_once(&mut waits).is_none());
            waits
        });
        let mut crowd: Vec<_> = crowd.collect();
        let mut away = 0;
        for reported in crowd.iter_mut().filter_map(at_once) {
            reported.expect_err("away");
            away += 1;
        }
        assert_eq!(away, 18);
        assert!(at_once(&mut honest).is_none());
        assert_eq!(turns.waiting(), 3);
    }
}
