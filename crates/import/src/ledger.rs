//! Outcome of each directive. A directive for which no importer has accounted is noted as unknown, so that none is dropped
//! silently.

use crate::draft::Import;
use crate::source::Directive;

/// Outcome of a directive.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The directive is set by this key, such as `http.listen`.
    Carried(String),
    /// The directive needs no setting here, for this reason.
    Needless(String),
    /// The directive could not be carried over, for this reason.
    Left(String),
    /// The directive is accounted for together with its parent, or by its children.
    Within,
}

/// A directive and its outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Account {
    /// Line number of the directive, from 1.
    pub line: usize,
    /// Name of the directive with those of its parents, such as `mount.fallback-mount`.
    pub directive: String,
    /// Outcome of the directive.
    pub outcome: Outcome,
}

/// Directives that need no setting here, or have none. Each row has names of directives, a colon, and the reason for their
/// outcome. A name may be preceded by its parent's name and a dot, and a `*` at its end matches any rest.
#[derive(Debug)]
pub(crate) struct Words {
    /// Directives that could not be carried over.
    pub(crate) left: &'static [&'static str],
    /// Directives that need no setting.
    pub(crate) needless: &'static [&'static str],
}

/// Accounts of all directives, by their numbers.
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

/// Reason for leaving a directive that no importer knows.
const UNKNOWN: &str = "the import does not know it";

/// Maximum length of a directive's name that is repeated.
const NAME_CHARACTERS_MAX: usize = 80;

impl Ledger {
    pub(crate) fn new(root: &Directive) -> Self {
        let mut ledger = Self {
            accounts: Vec::new(),
        };
        ledger.open(&root.children, "");
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
            // Two names show where the directive is; more would only be long.
            self.open(&directive.children, &name);
        }
    }

    /// Records that a directive that was carried over is refused after all.
    pub(crate) fn refuse(&mut self, id: usize, reason: String) {
        if let Some(entry) = self.accounts.get_mut(id) {
            entry.outcome = Some(Outcome::Left(reason));
        }
    }

    /// Returns the line and the name of a directive.
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

    /// Returns all accounts, in the order of the input.
    pub(crate) fn close(self) -> Vec<Account> {
        let account = |entry: Entry| {
            let unknown = || match entry.has_children {
                true => Outcome::Within,
                false => Outcome::Left(UNKNOWN.to_owned()),
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

/// Accounting by the importers.
impl Import {
    /// Records that a key sets the directive. The first key counts.
    pub(crate) fn carry(&mut self, directive: &Directive, key: impl Into<String>) {
        let outcome = Outcome::Carried(key.into());
        self.ledger.note(directive, outcome);
    }

    /// Records that the directive needs no setting, with everything in it.
    pub(crate) fn needless(&mut self, directive: &Directive, reason: &str) {
        let outcome = Outcome::Needless(reason.to_owned());
        self.ledger.note(directive, outcome);
        self.ledger.cover(directive);
    }

    /// Records that the directive could not be carried over, with everything in it.
    pub(crate) fn leave(&mut self, directive: &Directive, reason: impl Into<String>) {
        self.ledger.note(directive, Outcome::Left(reason.into()));
        self.ledger.cover(directive);
    }

    /// Records that the directive has no setting, with everything in it, for the reason among the importer's words.
    pub(crate) fn explain(&mut self, directive: &Directive) {
        let (_, path) = self.ledger.place(directive.id).unwrap_or_default();
        let is_named = |name: &str| {
            let own = if name.contains('.') {
                path
            } else {
                &directive.name
            };
            match name.strip_suffix('*') {
                Some(front) => own.starts_with(front),
                None => own == name,
            }
        };
        let find = |rows: &'static [&'static str]| {
            let mut rows = rows.iter().filter_map(|row| row.split_once(": "));
            let found = rows.find(|(names, _)| names.split(' ').any(is_named));
            found.map(|(_, reason)| reason)
        };
        let Words { left, needless } = self.words;
        match (find(left), find(needless)) {
            (Some(reason), _) => self.leave(directive, reason),
            (None, Some(reason)) => self.needless(directive, reason),
            (None, None) => self.leave(directive, UNKNOWN),
        }
    }
}
