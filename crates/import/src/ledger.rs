//! What became of each directive. A directive that no importer has accounted for is noted as unknown, so that none is
//! dropped in silence.

use crate::draft::Import;
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

/// Directives that need no setting here, or have none.
#[derive(Debug)]
pub(crate) struct Words {
    /// Those that could not be carried over.
    pub(crate) left: &'static [Reason],
    /// Those that need no setting.
    pub(crate) needless: &'static [Reason],
}

/// Names of directives, and what becomes of them. A name may have that of the directive around it and a dot in front, and a `*`
/// at its end stands for whatever else names have.
pub(crate) type Reason = (&'static [&'static str], &'static str);

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

/// Why a directive is left that no importer knows.
const UNKNOWN: &str = "the import does not know it";

/// Longest name of a directive that is repeated.
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
            // Two names say where it is; more would only be long.
            self.open(&directive.children, &name);
        }
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

/// What importers say of directives.
impl Import {
    /// It is set by a key. The first key counts.
    pub(crate) fn carry(&mut self, directive: &Directive, key: impl Into<String>) {
        let outcome = Outcome::Carried(key.into());
        self.ledger.note(directive, outcome);
    }

    /// It needs no setting, with all that is within it.
    pub(crate) fn needless(&mut self, directive: &Directive, reason: &str) {
        let outcome = Outcome::Needless(reason.to_owned());
        self.ledger.note(directive, outcome);
        self.ledger.cover(directive);
    }

    /// It could not be carried over, with all that is within it.
    pub(crate) fn leave(&mut self, directive: &Directive, reason: impl Into<String>) {
        self.ledger.note(directive, Outcome::Left(reason.into()));
        self.ledger.cover(directive);
    }

    /// It has no setting, with all that is within it, for the reason among the importer's words.
    pub(crate) fn explain(&mut self, directive: &Directive) {
        let (_, path) = self.ledger.place(directive.id).unwrap_or_default();
        let is_named = |name: &&str| {
            let own = if name.contains('.') {
                path
            } else {
                &directive.name
            };
            match name.strip_suffix('*') {
                Some(front) => own.starts_with(front),
                None => own == *name,
            }
        };
        let find = |reasons: &'static [Reason]| {
            let mut reasons = reasons.iter();
            let found = reasons.find(|(names, _)| names.iter().any(is_named));
            found.map(|(_, reason)| *reason)
        };
        let Words { left, needless } = self.words;
        match (find(left), find(needless)) {
            (Some(reason), _) => self.leave(directive, reason),
            (None, Some(reason)) => self.needless(directive, reason),
            (None, None) => self.leave(directive, UNKNOWN),
        }
    }
}
