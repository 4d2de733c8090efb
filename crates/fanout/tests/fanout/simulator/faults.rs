//! Faults of clocks and turns.

use super::agenda::What;
use super::peer::{MILLI, SECOND};
use super::world::World;

impl World {
    /// Causes a fault now, and plans the next.
    pub(crate) fn fault(&mut self) {
        let next = self.now + self.rng.range(5, 60) * SECOND;
        self.plan(next, What::Fault);
        self.tally.faults += 1;
        let lasts = match self.rng.range(0, 3) {
            // The machine stood still.
            0 => {
                let leap = self.rng.range(1, 6) * SECOND;
                self.now += leap;
                leap
            }
            // The clock stands still.
            1 => {
                let time = self.rng.range(10, 2_000) * MILLI;
                self.frozen = Some((self.now, self.now + time));
                time
            }
            // A turn takes half a second.
            2 => {
                self.sockets().hiccup = 500 * MILLI;
                SECOND
            }
            // A wake-up for nothing.
            _ => {
                let index = self.rng.next() as usize % self.workers.len();
                self.give_turn(index, self.now);
                0
            }
        };
        self.show_time();
        self.troubled_until = self.troubled_until.max(self.now + 2 * lasts);
    }
}
