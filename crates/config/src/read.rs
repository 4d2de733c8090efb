//! Reader that walks the file and the environment together.
//!
//! There is no separate list of keys: the code that fills a field names its key, and a key of a section that no code has named
//! is unknown. Every problem is noted and the walk continues.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::foreign;
use super::report::{Location, Problem};
use super::setting::{Fault, Faults, Setting, nearest};

/// Environment variables with this prefix are settings; others are ignored.
pub(super) const ENVIRONMENT_PREFIX: &str = "CARILLON__";

/// Largest number of entries in an array of tables; matching is linear, and nobody writes more by hand.
const ENTRIES_MAX: usize = 1_000;

/// State of one walk.
#[derive(Debug)]
pub(super) struct Walk<'s> {
    source: &'s str,
    /// Settings of the environment that no key has claimed yet.
    environment: BTreeMap<String, String>,
    problems: Vec<Problem>,
    /// Position of each setting that is not the default.
    places: BTreeMap<String, Location>,
    known: Vec<Key>,
    unknown: Vec<(Key, Range<usize>)>,
}

/// A key with the sections around it.
#[derive(Clone, Debug, Default)]
struct Key(Vec<String>);

/// One table of the file, with the keys that code has read from it.
#[derive(Debug)]
pub(super) struct Section<'w, 's> {
    walk: &'w mut Walk<'s>,
    table: Option<&'w DeTable<'w>>,
    key: Key,
    known: Vec<&'static str>,
    /// Required keys that are missing, with advice on what to write.
    missing: Vec<(&'static str, &'static str)>,
}

impl<'s> Walk<'s> {
    pub(super) fn new(
        source: &'s str,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Self {
        Self {
            source,
            environment: environment
                .filter(|(n, _)| n.starts_with(ENVIRONMENT_PREFIX))
                .collect(),
            problems: Vec::new(),
            places: BTreeMap::new(),
            known: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Reads everything; `visit` names the keys.
    pub(super) fn root(&mut self, table: &DeTable<'_>, visit: impl FnOnce(&mut Section<'_, '_>)) {
        Section::visit(self, Some(table), Key::default(), visit);
        self.report_unknown_keys();
        self.report_unknown_variables();
    }

    /// Reports a problem of a key at the position where the key was set.
    pub(super) fn problem(&mut self, key: &str, message: impl Into<String>, help: Option<&str>) {
        let at = self.place(key);
        let fault = Fault {
            message: message.into(),
            help: help.map(str::to_owned),
        };
        self.note(at, key.to_owned(), fault);
    }

    /// Returns the position at which a key was set.
    fn place(&self, key: &str) -> Location {
        self.places.get(key).cloned().unwrap_or(Location::Nowhere)
    }

    fn note(&mut self, at: Location, key: String, Fault { message, help }: Fault) {
        self.problems.push(Problem {
            at,
            key,
            message,
            help,
        });
    }

    /// Whether a key is set, in the file or in the environment.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Returns the settings that code has read, as `section.key`.
    #[cfg(test)]
    pub(super) fn known_keys(&self) -> impl Iterator<Item = String> {
        self.known.iter().map(Key::path)
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    fn in_file(&mut self, key: &Key, span: Range<usize>, fault: Fault) {
        let at = Location::in_file(self.source, span);
        self.note(at, key.path(), fault);
    }

    fn report_unknown_keys(&mut self) {
        for (key, span) in std::mem::take(&mut self.unknown) {
            let instead = foreign::instead(key.name()).map(str::to_owned);
            let known = || self.suggestion(&key);
            let meant = || Some(format!("did you mean `{}`?", known()?));
            let help = instead.or_else(meant);
            let message = "no such key".to_owned();
            self.in_file(&key, span, Fault { message, help });
        }
    }

    /// Returns the key of that name in another section, or else the most similar one of the same section.
    fn suggestion(&self, unknown: &Key) -> Option<String> {
        let elsewhere = self
            .known
            .iter()
            .find(|known| known.name() == unknown.name());
        let siblings = self
            .known
            .iter()
            .filter(|known| known.parent() == unknown.parent());
        let similar = || nearest(unknown.name(), siblings.map(Key::name)).map(str::to_owned);
        elsewhere.map(Key::path).or_else(similar)
    }

    fn report_unknown_variables(&mut self) {
        for name in std::mem::take(&mut self.environment).into_keys() {
            let known: Vec<_> = self.known.iter().map(Key::variable).collect();
            let nearest = nearest(&name, known.iter().map(String::as_str));
            let help = nearest.map(|known| format!("did you mean `{known}`?"));
            let message = "no such setting".to_owned();
            let at = Location::Environment(name);
            self.note(at, String::new(), Fault { message, help });
        }
    }
}

impl Section<'_, '_> {
    fn visit(
        walk: &mut Walk<'_>,
        table: Option<&DeTable<'_>>,
        key: Key,
        visit: impl FnOnce(&mut Section<'_, '_>),
    ) {
        let mut section = Section {
            walk,
            table,
            key,
            known: Vec::new(),
            missing: Vec::new(),
        };
        visit(&mut section);
        section.note_missing();
        section.note_unknown();
    }

    /// Reads a key into `field`, which keeps its default when the key is absent or wrong.
    pub(super) fn set<T: Setting>(&mut self, name: &'static str, field: &mut T) {
        if let Some(value) = self.read(name) {
            *field = value;
        }
    }

    /// Reads a required key; `help` says what to write.
    pub(super) fn needed<T: Setting>(
        &mut self,
        name: &'static str,
        help: &'static str,
    ) -> Option<T> {
        let value = self.read(name);
        if value.is_none() {
            self.missing(name, help);
        }
        value
    }

    /// Reports a problem of a key unless `holds`.
    pub(super) fn require(&mut self, name: &'static str, holds: bool, message: &str) {
        if !holds {
            self.walk
                .problem(&self.key.child(name).path(), message, None);
        }
    }

    /// Reports that a key is missing; `help` says what to write.
    pub(super) fn missing(&mut self, name: &'static str, help: &'static str) {
        self.missing.push((name, help));
    }

    /// Returns the key of this table.
    pub(super) fn path(&self) -> String {
        self.key.path()
    }

    /// Reads a table within this one.
    pub(super) fn section(&mut self, name: &'static str, visit: impl FnOnce(&mut Section<'_, '_>)) {
        let key = self.claim(name);
        let table = self
            .table
            .and_then(|table| table.get(name))
            .and_then(|value| self.walk.table(&key, value));
        Section::visit(self.walk, table, key, visit);
    }

    /// Reads an array of tables, and `NAME__0__…`, `NAME__1__…` of the environment; `visit` is called once per entry.
    pub(super) fn sections(
        &mut self,
        name: &'static str,
        mut visit: impl FnMut(&mut Section<'_, '_>),
    ) {
        let key = self.claim(name);
        let entries: &[Spanned<DeValue<'_>>] = match self.table.and_then(|table| table.get(name)) {
            None => &[],
            Some(value) => match value.get_ref().as_array() {
                Some(entries) => entries,
                None => {
                    let message = format!("is not an array of tables; write [[{name}]]");
                    self.walk.in_file(&key, value.span(), Fault::new(message));
                    &[]
                }
            },
        };
        if entries.len() > ENTRIES_MAX {
            self.walk.in_file(
                &key,
                entries[0].span(),
                Fault::new("has more than 1000 entries"),
            );
        }
        let count = entries.len().max(self.walk.entries_in_environment(&key));
        for index in 0..count.min(ENTRIES_MAX) {
            let key = key.child(&index.to_string());
            let value = entries.get(index);
            let table = value.and_then(|value| self.walk.table(&key, value));
            if value.is_some() && table.is_none() {
                continue;
            }
            Section::visit(self.walk, table, key, &mut visit);
        }
    }

    /// Returns the value of a key from the environment, or else from the file. Both are checked.
    pub(super) fn read<T: Setting>(&mut self, name: &'static str) -> Option<T> {
        let key = self.claim(name);
        self.walk.known.push(key.clone());
        let value = self.table.and_then(|table| table.get(name));
        let of_file = value.and_then(|value| self.walk.read_value(&key, value));
        self.walk.read_variable(&key).or(of_file)
    }

    /// Returns the full key of a name, and marks the name as known.
    fn claim(&mut self, name: &'static str) -> Key {
        self.known.push(name);
        self.key.child(name)
    }

    /// Reports the missing keys, except those that are present but wrong, and those in whose place an unknown key is probably
    /// meant.
    fn note_missing(&mut self) {
        let at = self.walk.place(&self.key.path());
        for (name, help) in std::mem::take(&mut self.missing) {
            let explained = self.table.is_some_and(|table| {
                let is_unknown = |name: &str| !self.known.contains(&name);
                table.contains_key(name) || table.keys().any(|key| is_unknown(key.get_ref()))
            });
            if !explained {
                let fault = Fault::helped("is missing", help);
                let key = self.key.child(name).path();
                self.walk.note(at.clone(), key, fault);
            }
        }
    }

    /// Records the unknown keys of the table.
    fn note_unknown(self) {
        // Names of tables are suggestions, too.
        self.walk
            .known
            .extend(self.known.iter().map(|name| self.key.child(name)));
        for name in self.table.into_iter().flat_map(|table| table.keys()) {
            if !self.known.contains(&name.get_ref().as_ref()) {
                self.walk
                    .unknown
                    .push((self.key.child(name.get_ref()), name.span()));
            }
        }
    }
}

impl Walk<'_> {
    fn table<'t>(&mut self, key: &Key, value: &'t Spanned<DeValue<'t>>) -> Option<&'t DeTable<'t>> {
        let table = value.get_ref().as_table();
        match table {
            Some(_) => {
                let place = Location::in_file(self.source, value.span());
                self.places.insert(key.path(), place);
            }
            None => {
                let message = format!("is not a table; write [{}]", key.path());
                self.in_file(key, value.span(), Fault::new(message));
            }
        }
        table
    }

    fn read_value<T: Setting>(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) -> Option<T> {
        let mut faults = Faults::new();
        let read = T::from_value(value, &mut faults);
        for (span, fault) in faults {
            self.in_file(key, span, fault);
        }
        if read.is_some() {
            self.places
                .insert(key.path(), Location::in_file(self.source, value.span()));
        }
        read
    }

    fn read_variable<T: Setting>(&mut self, key: &Key) -> Option<T> {
        let variable = key.variable();
        let text = self.environment.remove(&variable)?;
        let at = Location::Environment(variable);
        match T::from_text(&text) {
            Ok(value) => {
                self.places.insert(key.path(), at);
                Some(value)
            }
            Err(fault) => {
                self.note(at, key.path(), fault);
                None
            }
        }
    }

    /// Returns one more than the highest index that the environment gives to an array.
    fn entries_in_environment(&self, key: &Key) -> usize {
        let prefix = format!("{}__", key.variable());
        self.environment
            .keys()
            .filter_map(|name| name.strip_prefix(&prefix)?.split_once("__")?.0.parse().ok())
            .filter(|index: &usize| *index < ENTRIES_MAX)
            .map(|index| index + 1)
            .max()
            .unwrap_or(0)
    }
}

impl Key {
    fn child(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Returns the section. All entries of an array have the same keys, so their indices do not count.
    fn parent(&self) -> Vec<&str> {
        let section = self.0.split_last().map_or(&[][..], |(_, section)| section);
        section
            .iter()
            .map(String::as_str)
            .filter(|s| s.parse::<usize>().is_err())
            .collect()
    }

    fn path(&self) -> String {
        self.0.join(".")
    }

    fn variable(&self) -> String {
        format!(
            "{ENVIRONMENT_PREFIX}{}",
            self.0.join("__").to_ascii_uppercase()
        )
    }
}
