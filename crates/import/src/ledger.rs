//! What became of each directive. A directive that no importer has accounted for is noted as unknown, so that none is
//! dropped in silence.

use crate::source::Directive;

/// What became of a directive.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It is set by this key, such as `http.listen`.
    Carried(String),
    /// It needs no setting here, for this reason.
    Needless(String),
    /// It could not be carried over, for this reason.
    Left(String),
    /// It has been accounted for with the directive around it, or by those within it.
    Within,
}

/// A directive and what became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Account {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its name with those of the directives around it, such as `mount.fallback-mount`.
    pub directive: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// The accounts of all directives, by their numbers.
#[derive(Debug)]
pub(crate) struct Ledger {
    accounts: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    line: usize,
    directive: String,
    has_children: bool,
    outcome: Option<Outcome>,
}

/// Longest name of a directive that is repeated.
const NAME_CHARACTERS_MAX: usize = 80;

impl Ledger {
    pub(crate) fn new(directives: &[Directive]) -> Self {
        let mut ledger = Self {
            accounts: Vec::new(),
        };
        ledger.open(directives, "");
        ledger
    }

    fn open(&mut self, directives: &[Directive], around: &str) {
        for directive in directives {
            let name: String = directive.name.chars().take(NAME_CHARACTERS_MAX).collect();
            let path = match around {
                "" => name.clone(),
                _ => format!("{around}.{name}"),
            };
            self.accounts.push(Entry {
                line: directive.line,
                directive: path,
                has_children: !directive.children.is_empty(),
                outcome: None,
            });
            // Two names say where it is; more would only be long.
            self.open(&directive.children, &name);
        }
    }

    /// It is set by a key. The first key counts.
    pub(crate) fn carry(&mut self, directive: &Directive, key: String) {
        self.note(directive, Outcome::Carried(key));
    }

    /// It has no setting: whether it could not be carried over, and why, if an importer knows it.
    pub(crate) fn explain(&mut self, directive: &Directive, found: Option<(bool, &str)>) {
        match found {
            Some((true, reason)) => self.leave(directive, reason),
            Some((false, reason)) => self.needless(directive, reason),
            None => self.leave(directive, "the import does not know it"),
        }
    }

    /// It needs no setting, with all that is within it.
    pub(crate) fn needless(&mut self, directive: &Directive, reason: &str) {
        self.note(directive, Outcome::Needless(reason.to_owned()));
        self.cover(directive);
    }

    /// It could not be carried over, with all that is within it.
    pub(crate) fn leave(&mut self, directive: &Directive, reason: impl Into<String>) {
        self.note(directive, Outcome::Left(reason.into()));
        self.cover(directive);
    }

    /// What was carried over is refused after all.
    pub(crate) fn refuse(&mut self, id: usize, reason: String) {
        if let Some(entry) = self.accounts.get_mut(id) {
            entry.outcome = Some(Outcome::Left(reason));
        }
    }

    /// The place of a directive.
    pub(crate) fn place(&self, id: usize) -> Option<(usize, &str)> {
        let entry = self.accounts.get(id)?;
        Some((entry.line, &entry.directive))
    }

    fn note(&mut self, directive: &Directive, outcome: Outcome) {
        if let Some(entry) = self.accounts.get_mut(directive.id) {
            entry.outcome.get_or_insert(outcome);
        }
    }

    fn cover(&mut self, directive: &Directive) {
        for child in &directive.children {
            self.note(child, Outcome::Within);
            self.cover(child);
        }
    }

    /// All accounts, in the order of the input.
    pub(crate) fn close(self) -> Vec<Account> {
        let account = |entry: Entry| {
            let unknown = || match entry.has_children {
                true => Outcome::Within,
                false => Outcome::Left("the import does not know it".to_owned()),
            };
            Account {
                line: entry.line,
                directive: entry.directive,
                outcome: entry.outcome.unwrap_or_else(unknown),
            }
        };
        self.accounts.into_iter().map(account).collect()
    }
}
