//! The core on virtual time: seeded worlds of publishers, listeners and faults, in which the laws of
//! the data plane are checked at every step.
//!
//! No thread, no socket and no sleep: [`world`] steps the workers itself, [`sockets`] and [`peer`] model the listeners'
//! ends, [`station`] the publishers and [`audience`] the behaviour of listeners; [`reader`] and [`laws`] check the
//! laws, [`scenes`] single situations. All chance comes from one seed. A failure names it; this replays it:
//!
//! ```text
//! SIMULATOR_SEED=17 cargo test -p carillon-fanout --test fanout one_world -- --nocapture
//! ```

/// Checks a law of a world; a failure is described by the format and its arguments.
macro_rules! law {
    ($world:expr, $holds:expr, $($what:tt)+) => {
        $world.check($holds, || format!($($what)+))
    };
}

mod agenda;
mod audience;
mod faults;
mod laws;
mod peer;
mod plan;
mod reader;
mod rng;
mod scenes;
mod sockets;
mod station;
mod tally;
mod wire;
mod world;

use plan::{Pace, Plan};
use tally::Tally;
use world::World;

/// Names the seed of a test, or the first of several.
const SEED: &str = "SIMULATOR_SEED";

/// Prints how to reproduce a failure.
struct Replay {
    seed: u64,
    test: &'static str,
}

impl Drop for Replay {
    fn drop(&mut self) {
        let Self { seed, test } = self;
        if std::thread::panicking() {
            eprintln!(
                "replay: {SEED}={seed} cargo test -p carillon-fanout --test fanout {test} -- --nocapture"
            );
        }
    }
}

/// The seed that the environment names, or else this one.
fn seed_or(usual: u64) -> u64 {
    std::env::var(SEED).map_or(usual, |seed| seed.parse().expect("a number"))
}

fn small(seed: u64) -> Tally {
    let test = "one_world";
    let _replay = Replay { seed, test };
    World::new(Plan::small(seed)).run().close()
}

#[test]
fn one_world() {
    let seed = seed_or(1);
    println!("{:#?}", Plan::small(seed));
    println!("{:#?}", small(seed));
}

#[test]
fn a_hundred_worlds_keep_the_laws() {
    let mut all = Tally::default();
    for seed in 0..100 {
        all.add(&small(seed));
    }
    println!("{all:#?}");
    // All the events that the laws are about did happen.
    let lack = fanout::Reason::ALL
        .into_iter()
        .filter(|reason| *reason != fanout::Reason::Shutdown)
        .find(|reason| all.departures[*reason as usize] == 0);
    assert_eq!(lack, None);
    assert!(all.skips > 0 && all.faults > 0 && all.refused > 0);
}

#[test]
fn an_hour_of_ten_thousand_listeners() {
    let seed = seed_or(1);
    let test = "an_hour";
    let _replay = Replay { seed, test };
    println!("{:#?}", World::new(Plan::hour(seed)).run().close());
}

#[test]
fn a_seed_is_a_world() {
    for seed in 200..205 {
        assert_eq!(small(seed), small(seed), "seed {seed}");
    }
}

/// Returns the bytes, counts and times of each listener, without the one that makes the difference.
fn fates(plan: Plan) -> Vec<(u64, u64, Option<u64>)> {
    let world = World::new(plan).run();
    let ghost = world.ghost_peer;
    let sockets = world.sockets();
    let peers = sockets.peers.iter().enumerate();
    let others = peers.filter(|(peer, _)| Some(*peer) != ghost);
    let fate = |peer: &peer::Peer| (peer.trace, peer.accepted, peer.reader.next);
    others.map(|(_, peer)| fate(peer)).collect()
}

#[test]
fn whether_one_listener_reads_changes_nothing_for_the_others() {
    let first = seed_or(0);
    for seed in first..first + 20 {
        let test = "whether_one_listener";
        let _replay = Replay { seed, test };
        let reads = Plan {
            ghost: Some(Pace::Fast),
            ..Plan::still(seed)
        };
        let stalls = Plan {
            ghost: Some(Pace::Dead),
            ..reads.clone()
        };
        assert!(fates(reads) == fates(stalls), "seed {seed}");
    }
}
