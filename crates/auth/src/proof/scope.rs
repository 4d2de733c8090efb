//! Scopes: the actions a credential permits.

use fanout::gate::Action;

base::labels! {
    /// One action that a credential may permit, and its name in the configuration.
    pub enum Scope {
        /// Publishing streams.
        Publish = "publish",
        /// Listening to streams.
        Play = "play",
        /// Setting the titles of streams.
        Metadata = "metadata",
        /// Use of the operator's port, and all of `/admin`.
        Admin = "admin",
    }
}

impl Scope {
    /// Returns the scope of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.label() == name)
    }
}

/// Scope that a credential needs to permit an action.
impl From<Action> for Scope {
    fn from(action: Action) -> Self {
        match action {
            Action::Publish => Self::Publish,
            Action::Play => Self::Play,
            Action::UpdateMetadata => Self::Metadata,
        }
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Scopes(u8);

impl Scopes {
    /// Default scopes of a key: publishers set the titles of their streams.
    pub const OF_PUBLISHERS: Self = Self::NONE.with(Scope::Publish).with(Scope::Metadata);

    /// Empty set.
    pub const NONE: Self = Self(0);

    /// Returns the set with one more scope.
    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | 1 << scope as u8)
    }

    /// Whether the set contains a scope.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_into_them() {
        let both = Scopes::NONE.with(Scope::Play).with(Scope::Admin);
        let held: Vec<_> = Scope::ALL.map(|scope| both.contains(scope)).into();
        assert_eq!(held, [false, true, false, true]);
        for scope in Scope::ALL {
            assert_eq!(Scope::of(scope.label()), Some(scope));
            assert!(!Scopes::NONE.contains(scope));
        }
        assert_eq!(Scope::of("Publish"), None);
    }
}
