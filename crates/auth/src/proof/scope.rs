//! What a credential is for.

use fanout::gate::Action;

/// One thing that a credential may permit.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scope {
    /// To publish streams.
    Publish,
    /// To listen to streams.
    Play,
    /// To set the titles of streams.
    Metadata,
    /// To use the operator's port, and all of `/admin`.
    Admin,
}

impl Scope {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::Publish, Self::Play, Self::Metadata, Self::Admin];

    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Play => "play",
            Self::Metadata => "metadata",
            Self::Admin => "admin",
        }
    }

    /// The scope of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The scope that a credential needs to permit an action.
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
    /// What a key is for that does not say: publishers set the titles of their streams.
    pub const OF_PUBLISHERS: Self = Self::NONE.with(Scope::Publish).with(Scope::Metadata);

    /// None.
    pub const NONE: Self = Self(0);

    /// These and one more.
    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | 1 << scope as u8)
    }

    /// Whether a scope is one of them.
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
            assert_eq!(Scope::of(scope.name()), Some(scope));
            assert!(!Scopes::NONE.contains(scope));
        }
        assert_eq!(Scope::of("Publish"), None);
    }
}
