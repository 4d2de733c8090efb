//! The file under construction: tables with keys, each with the directive that it comes from. No table has a key twice, so
//! the text is TOML whatever the importers do.

use crate::ledger::{Ledger, Words};
use crate::source::Directive;
use crate::units::{self, Value};

/// Most entries of an array of tables: that of `config`.
const ENTRIES_MAX: usize = 1_000;

/// The sections and arrays of tables, in the order in which they are written.
const ORDER: [&str; 22] = [
    "rtmp",
    "http",
    "shoutcast",
    "hls",
    "webrtc",
    "auth",
    "auth.jwt",
    "auth.hook",
    "ingest",
    "fanout.audio",
    "fanout.video",
    "limits",
    "log",
    "auth.key",
    "auth.htpasswd",
    "access",
    "record",
    "push",
    "pull",
    "files",
    "alias",
    "stream",
];

/// What an importer works with.
pub(crate) struct Import {
    pub(crate) draft: Draft,
    pub(crate) ledger: Ledger,
    /// What the importer knows and has no setting for.
    pub(crate) words: &'static Words,
}

/// The file.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    tables: Vec<Table>,
}

/// A section, or an entry of an array of tables.
#[derive(Debug)]
struct Table {
    name: &'static str,
    is_entry: bool,
    remarks: Vec<String>,
    lines: Vec<Line>,
    refused: Option<String>,
}

/// One key.
#[derive(Debug)]
struct Line {
    key: &'static str,
    value: String,
    /// The numbers of the directives that it comes from.
    from: Vec<usize>,
    refused: Option<String>,
}

/// Names a table of the draft.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TableId(usize);

/// Says which table is meant: a section by its name, any table by what names it.
pub(crate) trait Which {
    /// What names the table. A section that is not there yet is made.
    fn id(self, import: &mut Import) -> TableId;
}

impl Which for TableId {
    fn id(self, _: &mut Import) -> TableId {
        self
    }
}

impl Which for &'static str {
    fn id(self, import: &mut Import) -> TableId {
        import.section(self)
    }
}

/// What a line of the text is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The head of a table.
    Table(usize),
    /// A key of a table.
    Key(usize, usize),
}

/// Keys that are never commented out, for they keep clients out: a server with the file does not start until they are mended.
const GUARDS: [(&str, &str); 3] = [("auth.hook", "url"), ("auth", "play"), ("stream", "play")];

/// A table of which the same is true as a whole.
const GUARD: &str = "access";

/// Keys without which an entry of an array of tables says nothing.
const NEEDED: [&str; 7] = [
    "match",
    "name",
    "stream",
    "url",
    "path",
    "directory",
    "file",
];

impl Import {
    /// The section of that name.
    pub(crate) fn section(&mut self, name: &'static str) -> TableId {
        let tables = &mut self.draft.tables;
        let found = tables.iter().position(|table| table.name == name);
        TableId(found.unwrap_or_else(|| {
            tables.push(Table::new(name, false));
            tables.len() - 1
        }))
    }

    /// A new entry of an array of tables, unless there are too many of it; `from` is what it is for, and has these keys set.
    pub(crate) fn entry(
        &mut self,
        name: &'static str,
        from: &Directive,
        keys: &[(&'static str, &dyn Value)],
    ) -> Option<TableId> {
        let tables = &mut self.draft.tables;
        if tables.iter().filter(|table| table.name == name).count() >= ENTRIES_MAX {
            let reason = format!("there may be {ENTRIES_MAX} [[{name}]] at most");
            self.leave(from, reason);
            return None;
        }
        tables.push(Table::new(name, true));
        let id = TableId(tables.len() - 1);
        for &(key, value) in keys {
            self.set(id, key, value, from);
        }
        Some(id)
    }

    /// A new entry for recordings: of which streams, and the path of a file of theirs, each with what says so.
    pub(crate) fn record(
        &mut self,
        from: &Directive,
        (pattern, matched): (&str, &Directive),
        (file, placed): (&str, &Directive),
    ) -> Option<TableId> {
        let id = self.entry("record", from, &[])?;
        self.remark(
            id,
            "Files are named by stream and time: docs/recordings.md.",
        );
        self.set(id, "match", pattern, matched);
        self.set(id, "directory", units::directory(file), placed);
        Some(id)
    }

    /// Sets a key.
    pub(crate) fn set(
        &mut self,
        table: impl Which,
        key: &'static str,
        value: impl Value,
        from: &Directive,
    ) {
        self.set_from(table, key, value, &[from]);
    }

    /// The same, from several directives.
    pub(crate) fn set_from(
        &mut self,
        table: impl Which,
        key: &'static str,
        value: impl Value,
        from: &[&Directive],
    ) {
        let TableId(at) = table.id(self);
        let table = &mut self.draft.tables[at];
        let path = table.path(key);
        let value = value.toml();
        let ids = from.iter().map(|from| from.id);
        let is_set = match table.lines.iter_mut().find(|line| line.key == key) {
            Some(line) if line.value != value => false,
            Some(line) => {
                line.from.extend(ids);
                true
            }
            None => {
                table.lines.push(Line::new(key, value, ids.collect()));
                true
            }
        };
        for from in from {
            match is_set {
                true => self.carry(from, &*path),
                false => self.leave(from, format!("{path} is one for all, and is set already")),
            }
        }
    }

    /// The section of that name, if that key of it has been set.
    pub(crate) fn with_key(&self, section: &str, key: &str) -> Option<TableId> {
        let mut tables = self.draft.tables.iter();
        let has_it =
            |table: &Table| table.name == section && table.lines.iter().any(|line| line.key == key);
        tables.position(has_it).map(TableId)
    }

    /// Adds to a key that is an array of texts, unless they are in it.
    pub(crate) fn add(
        &mut self,
        TableId(at): TableId,
        key: &'static str,
        text: &str,
        from: &Directive,
    ) {
        let added = text.toml();
        let table = &mut self.draft.tables[at];
        match table.lines.iter_mut().find(|line| line.key == key) {
            Some(line) => {
                if !line.value.contains(&added) {
                    let others = line.value.trim_end_matches(']');
                    line.value = format!("{others}, {added}]");
                }
                line.from.push(from.id);
            }
            None => {
                let value = format!("[{added}]");
                table.lines.push(Line::new(key, value, vec![from.id]));
            }
        }
        let path = table.path(key);
        self.carry(from, path);
    }

    /// Sets a time, of which a number without a unit is of so many milliseconds.
    pub(crate) fn set_time(
        &mut self,
        table: impl Which,
        key: &'static str,
        unit: f64,
        from: &Directive,
    ) {
        let id = table.id(self);
        match units::millis(from.value(), unit) {
            Some(millis) => self.set(id, key, units::time(millis), from),
            None => self.leave(from, "is no time that the import can read"),
        }
    }

    /// Sets a number.
    pub(crate) fn set_number(&mut self, table: impl Which, key: &'static str, from: &Directive) {
        let id = table.id(self);
        match from.value().parse::<u32>() {
            Ok(number) => self.set(id, key, u64::from(number), from),
            Err(_) => self.leave(from, "is no number that the import can read"),
        }
    }

    /// Writes words above a table.
    pub(crate) fn remark(&mut self, table: impl Which, words: &str) {
        let TableId(at) = table.id(self);
        let remarks = &mut self.draft.tables[at].remarks;
        if !remarks.iter().any(|known| known == words) {
            remarks.push(words.to_owned());
        }
    }
}

impl Table {
    const fn new(name: &'static str, is_entry: bool) -> Self {
        Self {
            name,
            is_entry,
            remarks: Vec::new(),
            lines: Vec::new(),
            refused: None,
        }
    }

    fn path(&self, key: &str) -> String {
        match self.is_entry {
            true => format!("[[{}]] {key}", self.name),
            false => format!("{}.{key}", self.name),
        }
    }

    fn rank(&self) -> usize {
        let found = ORDER.iter().position(|name| *name == self.name);
        found.unwrap_or(ORDER.len())
    }
}

impl Line {
    const fn new(key: &'static str, value: String, from: Vec<usize>) -> Self {
        Self {
            key,
            value,
            from,
            refused: None,
        }
    }
}

impl Draft {
    /// The text of all tables, and what its lines are, from the first on. `place` gives the line and the name of a
    /// directive.
    pub(crate) fn render<'l>(
        &self,
        place: impl Fn(usize) -> Option<(usize, &'l str)>,
    ) -> (String, Vec<Option<Place>>) {
        let mut order: Vec<usize> = (0..self.tables.len()).collect();
        order.sort_by_key(|at| self.tables[*at].rank());
        let (mut text, mut places) = (String::new(), Vec::new());
        let mut write = |line: &str, place: Option<Place>| {
            text.push_str(line);
            text.push('\n');
            places.push(place);
        };
        for at in order {
            let table = &self.tables[at];
            write("", None);
            for remark in &table.remarks {
                write(&format!("# {}", units::comment(remark)), None);
            }
            if let Some(message) = &table.refused {
                write(&format!("# Refused: {}", units::comment(message)), None);
            }
            let off = if table.refused.is_some() { "#" } else { "" };
            let head = match table.is_entry {
                true => format!("{off}[[{}]]", table.name),
                false => format!("{off}[{}]", table.name),
            };
            write(&head, Some(Place::Table(at)));
            for (number, line) in table.lines.iter().enumerate() {
                if let Some(message) = &line.refused {
                    write(&format!("# Refused: {}", units::comment(message)), None);
                }
                let off = if line.refused.is_some() { "#" } else { off };
                let mut ids = line.from.clone();
                ids.dedup();
                let from = ids.into_iter().filter_map(&place);
                let from: Vec<_> = from
                    .map(|(line, name)| format!("{line}: {}", units::comment(name)))
                    .collect();
                let from = match &from[..] {
                    [] => String::new(),
                    [one] => format!("  # line {one}"),
                    many => format!("  # lines {}", many.join(", ")),
                };
                let written = format!("{off}{} = {}{from}", line.key, line.value);
                write(&written, Some(Place::Key(at, number)));
            }
        }
        (text, places)
    }

    /// Comments a place out. Returns the directives that it comes from, or nothing if it was out already or has to stay.
    pub(crate) fn refuse(&mut self, place: Place, message: &str) -> Option<Vec<usize>> {
        let (at, number) = match place {
            Place::Table(at) => (at, None),
            Place::Key(at, number) => (at, Some(number)),
        };
        let table = self.tables.get_mut(at)?;
        if table.name == GUARD {
            return None;
        }
        match number {
            Some(number) if !table.is_entry || !NEEDED.contains(&table.lines[number].key) => {
                let line = &mut table.lines[number];
                if line.refused.is_some() || GUARDS.contains(&(table.name, line.key)) {
                    return None;
                }
                line.refused = Some(message.to_owned());
                Some(line.from.clone())
            }
            _ if table.refused.is_some() => None,
            _ => {
                table.refused = Some(message.to_owned());
                let lines = table.lines.iter();
                Some(lines.flat_map(|line| line.from.clone()).collect())
            }
        }
    }
}
