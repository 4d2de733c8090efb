//! Events in a world, each at its own time.

/// Kind of an event.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum What {
    /// A worker takes its turn.
    Step(usize),
    /// A peer may have room.
    Room(usize),
    /// A publisher acts.
    Station(usize),
    /// A listener connects.
    Arrive,
    /// The one listener that makes the difference connects.
    Ghost,
    /// A listener hangs up.
    Leave(usize),
    /// A listener's player takes nothing from here on, or continues.
    Stall(usize, bool),
    /// A listener sends something.
    Speak(usize),
    /// Many come or go at once.
    Storm,
    /// An operator removes a listener.
    Kick,
    /// Something is wrong with a clock, or a turn takes long.
    Fault,
    /// A second has passed.
    Second,
}
