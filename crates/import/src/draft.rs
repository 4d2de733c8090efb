//! The file under construction: tables with keys, each with the directive that it comes from. No table contains a key twice, so
//! the text is valid TOML whatever the importers do.

use crate::ledger::{Ledger, Words};
use crate::source::Directive;
use crate::units::{self, Value};

/// Maximum number of entries of an array of tables, as in `config`.
const ENTRIES_MAX: usize = 1_000;

/// Names of the sections and arrays of tables, in the order in which they are written.
const ORDER: &str = "\
    rtmp http shoutcast hls webrtc auth auth.jwt auth.hook ingest fanout.audio fanout.video \
    limits log auth.key auth.htpasswd access record push pull files alias stream";

/// State of an import.
pub(crate) struct Import {
    pub(crate) draft: Draft,
    pub(crate) ledger: Ledger,
    /// Directives that the importer knows and for which there is no setting.
    pub(crate) words: &'static Words,
}

/// The file under construction; render it with [`render`](Self::render).
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

/// A key of a table.
#[derive(Debug)]
struct Line {
    key: &'static str,
    value: String,
    /// Numbers of the directives that the key comes from.
    from: Vec<usize>,
    refused: Option<String>,
}

/// Identifier of a table of the draft.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TableId(usize);

/// Reference to a table: a section by its name, or any table by its identifier.
pub(crate) trait Which {
    /// Returns the table's identifier. Creates a section that does not exist yet.
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

/// Kind of a line of the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The head of a table.
    Table(usize),
    /// A key of a table.
    Key(usize, usize),
}

/// Keys that are never commented out, because they keep clients out: a server with the file does not start until they are
/// fixed.
const GUARDS: [(&str, &str); 3] = [("auth.hook", "url"), ("auth", "play"), ("stream", "play")];

/// Name of an array of tables that are never commented out, for the same reason.
const GUARD: &str = "access";

/// Keys without which an entry of an array of tables means nothing.
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
    /// Returns the section with a name, and creates it if necessary.
    pub(crate) fn section(&mut self, name: &'static str) -> TableId {
        let tables = &mut self.draft.tables;
        let found = tables.iter().position(|table| table.name == name);
        TableId(found.unwrap_or_else(|| {
            tables.push(Table::new(name, false));
            tables.len() - 1
        }))
    }

    /// Creates an entry of an array of tables and sets its keys, unless there are too many entries; `from` is the directive
    /// that requires the entry.
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

    /// Creates an entry for recordings: the streams it matches, and the path of one of their files, each with the directive
    /// that states it.
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

    /// Sets a key that comes from several directives.
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

    /// Returns the section with a name, if a given key of it has been set.
    pub(crate) fn with_key(&self, section: &str, key: &str) -> Option<TableId> {
        let mut tables = self.draft.tables.iter();
        let has_it =
            |table: &Table| table.name == section && table.lines.iter().any(|line| line.key == key);
        tables.position(has_it).map(TableId)
    }

    /// Adds texts to a key that is an array, unless they are in it already.
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

    /// Sets a time; a number without a unit counts as this many milliseconds.
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

    /// Writes a remark above a table.
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
        let found = ORDER.split(' ').position(|name| name == self.name);
        found.unwrap_or(usize::MAX)
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
    /// Returns the text of all tables, and the kind of each line from the first on. `place` returns the line and the name of a
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

    /// Comments a place out. Returns the directives that it comes from, or `None` if it was commented out already or has to
    /// stay.
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
