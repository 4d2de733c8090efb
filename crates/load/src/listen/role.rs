//! Roles of listeners: exact shares, spread evenly.

/// Behaviour of a listener once media arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads everything.
    Plain,
    /// Reads everything, and every frame is checked.
    Checked,
    /// Stops reading.
    Stalled,
    /// Reads less than arrives.
    Slow,
}

impl Role {
    /// Returns whether the listener reads less than it is sent.
    pub(crate) fn is_held_back(self) -> bool {
        matches!(self, Self::Stalled | Self::Slow)
    }
}

/// Number of listeners in each role; the rest is plain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roles {
    members: u64,
    stalled: u64,
    slow: u64,
    checked: u64,
    stride: u64,
}

impl Roles {
    pub(crate) fn new(members: u64, stalled: f64, slow: f64, checked: u64) -> Self {
        let of = |share: f64| (share * members as f64).round() as u64;
        let stalled = of(stalled).min(members);
        let slow = of(slow).min(members - stalled);
        Self {
            members,
            stalled,
            slow,
            checked: checked.min(members - stalled - slow),
            stride: stride(members),
        }
    }

    /// Returns the role of member `number`. Listeners that replace others are plain.
    pub(crate) fn of(&self, number: u64) -> Role {
        if number >= self.members {
            return Role::Plain;
        }
        // A permutation, because the stride and the number of members have no common factor.
        let place =
            (u128::from(number) * u128::from(self.stride) % u128::from(self.members)) as u64;
        if place < self.stalled {
            Role::Stalled
        } else if place < self.stalled + self.slow {
            Role::Slow
        } else if place >= self.members - self.checked {
            Role::Checked
        } else {
            Role::Plain
        }
    }
}

/// Returns a stride near the golden section, which spreads neighbours best, and coprime to `members`.
fn stride(members: u64) -> u64 {
    let golden = (members as f64 * 0.618) as u64;
    (golden.max(1)..)
        .find(|stride| divisor(*stride, members) == 1)
        .unwrap_or(1)
}

fn divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        for members in [1, 2, 10, 97, 1_000, 14_000] {
            let roles = Roles::new(members, 0.05, 0.05, 10);
            let count = |role| {
                (0..members)
                    .filter(|number| roles.of(*number) == role)
                    .count() as u64
            };
            let part = (members as f64 * 0.05).round() as u64;
            assert_eq!(count(Role::Stalled), part, "of {members}");
            assert_eq!(count(Role::Slow), part.min(members - part), "of {members}");
            assert_eq!(
                count(Role::Checked),
                10.min(members - count(Role::Stalled) - count(Role::Slow))
            );
        }
    }

    #[test]
    fn roles_are_spread() {
        let roles = Roles::new(1_000, 0.1, 0.0, 0);
        for hundred in (0..1_000).step_by(100) {
            let stalled =
                (hundred..hundred + 100).filter(|number| roles.of(*number) == Role::Stalled);
            let stalled = stalled.count();
            assert!((7..=13).contains(&stalled), "{hundred}: {stalled}");
        }
    }

    #[test]
    fn no_members_have_no_role() {
        assert_eq!(Roles::new(0, 0.5, 0.5, 10).of(0), Role::Plain);
    }
}
