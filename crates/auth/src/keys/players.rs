//! Limit on the number of players that use one link or token at a time.
//!
//! A player is one address with one program, however many connections it has: an HLS player's requests, a reconnect, a probe
//! and the page beside it are one. When there are more than the credential allows, the newest stays, and the permission of the
//! oldest ends: a listener that moves from one network to another is never shut out by what it has left behind there. A
//! displaced player is refused for [`REFUSED_FOR`] while the others are there, since it would otherwise return at once, and
//! displace the next.
//!
//! Only players that listen have entries, so the table is no larger than the directory of listeners.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use fanout::gate::{Credential, Denied, Ongoing, Request, Witness};
use fanout::{ListenerId, Permit};

use crate::authority::Ender;

/// Time for which a displaced player is refused: longer than players retry by themselves.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// Most displaced players remembered for one credential. Beyond that the first are dropped.
const DISPLACED_MAX: usize = 32;

/// Identity of a player: its address and a hash of its program name.
type Player = (IpAddr, u64);

/// Credential with a limit on simultaneous players.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Credential of the link or token itself, or of the name or subject it is for.
    pub(super) credential: Credential,
    pub(super) players_max: NonZeroU32,
}

/// Players that use links and tokens now, by credential.
#[derive(Debug)]
pub(super) struct Players {
    ender: Ender,
    /// Random, so that no client can choose program names that collide.
    hashes: RandomState,
    table: Lock<HashMap<u64, Uses>>,
}

/// Players of one credential.
#[derive(Debug, Default)]
struct Uses {
    /// Players that listen, in order of arrival.
    present: Vec<(Player, Vec<ListenerId>)>,
    /// Players that were displaced.
    displaced: Vec<(Player, Instant)>,
}

impl Uses {
    fn is_displaced(&self, player: Player, now: Instant) -> bool {
        let mut displaced = self.displaced.iter();
        displaced
            .any(|(one, at)| *one == player && now.saturating_duration_since(*at) < REFUSED_FOR)
    }

    /// Returns the number of other players.
    fn others(&self, player: Player) -> usize {
        let others = self.present.iter().filter(|(one, _)| *one != player);
        others.count()
    }
}

impl Players {
    /// Makes an empty table; `ender` ends the permissions of displaced players.
    pub(super) fn new(ender: Ender) -> Self {
        Self {
            ender,
            hashes: RandomState::new(),
            table: Lock::default(),
        }
    }

    /// Returns a witness that counts a player while it listens.
    ///
    /// # Errors
    /// Fails when the player was displaced, and the others are still there.
    pub(super) fn admit(
        self: &Arc<Self>,
        shared: Shared,
        request: &Request<'_>,
        now: Instant,
    ) -> Result<Arc<dyn Witness>, Denied> {
        let address = request.peer.ip().to_canonical();
        let player = (address, self.hashes.hash_one(request.agent));
        if let Some(uses) = self.table.lock().get(&shared.credential.0)
            && uses.is_displaced(player, now)
            && uses.others(player) >= max(shared)
        {
            return Err(Denied::InUse);
        }
        Ok(Arc::new(Admitted {
            players: Arc::clone(self),
            shared,
            player,
        }))
    }

    /// Adds a listener of a player, and displaces the oldest players beyond the limit.
    fn enter(&self, shared: Shared, player: Player, listener: ListenerId, now: Instant) {
        let mut over = Vec::new();
        {
            let mut table = self.table.lock();
            let uses = table.entry(shared.credential.0).or_default();
            uses.displaced.retain(|(one, _)| *one != player);
            match uses.present.iter_mut().find(|(one, _)| *one == player) {
                Some((_, listeners)) => listeners.push(listener),
                None => uses.present.push((player, vec![listener])),
            }
            while uses.present.len() > max(shared) {
                // The newest player is the last entry, unless it was there before.
                let Some(first) = uses.present.iter().position(|(one, _)| *one != player) else {
                    break;
                };
                let (first, listeners) = uses.present.remove(first);
                over.extend(listeners);
                if uses.displaced.len() >= DISPLACED_MAX {
                    uses.displaced.remove(0);
                }
                uses.displaced.push((first, now));
            }
        }
        // Without the lock: ending a listener takes it.
        for listener in over {
            self.ender.end(Ongoing::Listener(listener));
        }
    }

    /// Removes a listener that has left.
    fn leave(&self, shared: Shared, player: Player, listener: ListenerId) {
        let mut table = self.table.lock();
        let Some(uses) = table.get_mut(&shared.credential.0) else {
            return;
        };
        uses.present.retain_mut(|(one, listeners)| {
            if *one == player {
                listeners.retain(|it| *it != listener);
            }
            !listeners.is_empty()
        });
        if uses.present.is_empty() {
            table.remove(&shared.credential.0);
        }
    }
}

fn max(shared: Shared) -> usize {
    usize::try_from(shared.players_max.get()).unwrap_or(usize::MAX)
}

/// Player that may listen.
#[derive(Clone, Debug)]
struct Admitted {
    players: Arc<Players>,
    shared: Shared,
    player: Player,
}

impl Witness for Admitted {
    fn begin(&self, ongoing: Ongoing) -> Permit {
        let Ongoing::Listener(listener) = ongoing else {
            // A connection beside the player's listening, and already counted with it.
            return Permit::new(());
        };
        let now = Instant::now();
        self.players.enter(self.shared, self.player, listener, now);
        Permit::new(Listening(self.clone(), listener))
    }
}

/// Listener of a player, removed on drop.
struct Listening(Admitted, ListenerId);

impl Drop for Listening {
    fn drop(&mut self) {
        let Self(admitted, listener) = self;
        let players = &admitted.players;
        players.leave(admitted.shared, admitted.player, *listener);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;
    use crate::tests::name;

    const NOW: Duration = Duration::ZERO;

    struct World {
        players: Arc<Players>,
        ended: Receiver<ListenerId>,
        begun: Instant,
    }

    impl World {
        fn new() -> Self {
            let (end, ended) = sync_channel(1_024);
            let end = move |listener| end.send(listener).expect("the test listens");
            Self {
                players: Arc::new(Players::new(Ender::new(end))),
                ended,
                begun: Instant::now(),
            }
        }

        fn admit(
            &self,
            max: u32,
            (host, agent): (u8, &str),
            after: Duration,
        ) -> Result<Arc<dyn Witness>, Denied> {
            let stream = name("radio");
            let peer = std::net::SocketAddr::from(([192, 0, 2, host], 1));
            let mut request = Request::new(&stream, "http", peer);
            request.agent = agent;
            let shared = Shared {
                credential: Credential(7),
                players_max: NonZeroU32::new(max).expect("some"),
            };
            self.players.admit(shared, &request, self.begun + after)
        }

        /// A listener that has come, until what is returned is dropped.
        fn listen(&self, max: u32, player: (u8, &str), listener: u64) -> Permit {
            let admitted = self.admit(max, player, NOW).expect("admitted");
            admitted.begin(Ongoing::Listener(ListenerId(listener)))
        }

        fn ended(&self) -> Vec<u64> {
            self.ended.try_iter().map(|it| it.0).collect()
        }
    }

    #[test]
    fn the_player_that_came_first_gives_way_and_does_not_come_back_at_once() {
        let world = World::new();
        let first = world.listen(1, (1, "vlc"), 1);
        let second = world.listen(1, (2, "vlc"), 2);
        assert_eq!(world.ended(), [1]);
        drop(first);
        let again = |after| world.admit(1, (1, "vlc"), after).err();
        assert_eq!(again(NOW), Some(Denied::InUse));
        // Another program at its address is another player, which is the newest.
        let third = world.listen(1, (1, "mpv"), 3);
        assert_eq!(world.ended(), [2]);
        drop(second);
        // The clock that says when they had to go is the real one.
        assert_eq!(again(REFUSED_FOR / 2), Some(Denied::InUse));
        assert_eq!(again(REFUSED_FOR * 2), None);
        drop(third);
        assert_eq!(again(NOW), None, "nobody is there");
        assert!(world.players.table.lock().is_empty());
    }

    #[test]
    fn the_connections_of_one_player_count_once() {
        let world = World::new();
        let held: Vec<_> = (1..=5).map(|it| world.listen(2, (1, "hls"), it)).collect();
        let other = world.listen(2, (2, "hls"), 9);
        assert_eq!(world.ended(), [0; 0]);
        let third = world.listen(2, (3, "hls"), 10);
        assert_eq!(world.ended(), [1, 2, 3, 4, 5]);
        drop(held);
        drop((other, third));
        assert!(world.players.table.lock().is_empty());
    }

    #[test]
    fn one_that_joins_again_stays_and_a_smaller_number_counts() {
        let world = World::new();
        let held = [1, 2, 3].map(|it| world.listen(3, (it, "vlc"), it.into()));
        // The first is the newest now.
        let again = world.listen(1, (1, "vlc"), 4);
        assert_eq!(world.ended(), [2, 3]);
        drop(held);
        drop(again);
        assert!(world.players.table.lock().is_empty());
    }

    #[test]
    fn those_that_had_to_go_are_bounded() {
        let world = World::new();
        let held = (1..=100).map(|it| world.listen(1, (it, "vlc"), it.into()));
        let held: Vec<_> = held.collect();
        assert_eq!(world.ended().len(), 99);
        let displaced = world.players.table.lock()[&7].displaced.len();
        assert_eq!(displaced, DISPLACED_MAX);
        assert!(world.admit(1, (1, "vlc"), NOW).is_ok(), "forgotten");
        assert!(world.admit(1, (99, "vlc"), NOW).is_err());
        drop(held);
    }
}
