//! YAML in the style of MediaMTX: mappings, scalars and sequences. A scalar is a value, and so is each item of a sequence; a
//! mapping in a sequence is a directive named `-`. Aliases are kept as `*` and never expanded.

use saphyr_parser::{Event, Parser, ScanError};

use super::{Directive, SourceError, Tree};

/// Collection that is open around an event.
enum Around {
    /// A mapping whose next scalar is a key.
    Key,
    /// A mapping, after a key.
    Value,
    /// A sequence.
    Items,
}

/// Parses the first document.
pub(crate) fn parse(source: &str) -> Result<Directive, SourceError> {
    let mut tree = Tree::new();
    let mut around: Vec<Around> = Vec::new();
    let lines = Lines::of(source);
    let mut documents = 0;
    for event in Parser::new_from_str(source) {
        let wrong = |error: ScanError| {
            SourceError::syntax(lines.shown(error.marker().line()), error.info())
        };
        let (event, span) = event.map_err(wrong)?;
        let line = lines.shown(span.start.line());
        match event {
            Event::DocumentStart(_) if documents == 1 => {
                return Err(SourceError::syntax(line, "a second document begins"));
            }
            Event::DocumentStart(_) => documents += 1,
            Event::Scalar(text, ..) => match around.last_mut() {
                Some(key @ Around::Key) => {
                    *key = Around::Value;
                    tree.begin(text.into_owned(), line)?;
                }
                Some(_) => value(&mut tree, &mut around, text.into_owned()),
                None => {}
            },
            Event::Alias(_) => match around.last_mut() {
                Some(key @ Around::Key) => {
                    *key = Around::Value;
                    tree.begin("*".to_owned(), line)?;
                }
                _ => value(&mut tree, &mut around, "*".to_owned()),
            },
            Event::MappingStart(..) => {
                nest(&mut tree, &around, line)?;
                around.push(Around::Key);
            }
            Event::SequenceStart(..) => {
                nest(&mut tree, &around, line)?;
                around.push(Around::Items);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                around.pop();
                if !around.is_empty() {
                    tree.end();
                    ended(&mut around);
                }
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Nothing => {}
        }
    }
    Ok(tree.into_root())
}

/// Begins a mapping or a sequence, within the depth limit: the parser keeps open collections on the heap, but the importers
/// recurse.
fn nest(tree: &mut Tree, around: &[Around], line: usize) -> Result<(), SourceError> {
    if around.len() >= super::DEPTH_MAX {
        return Err(SourceError::TooDeep { line });
    }
    match around.last() {
        Some(Around::Key) => Err(SourceError::syntax(line, "a key is not a word")),
        Some(Around::Items) => tree.begin("-".to_owned(), line).map(|_| ()),
        Some(Around::Value) | None => Ok(()),
    }
}

fn value(tree: &mut Tree, around: &mut [Around], text: String) {
    // `~` and an empty text mean nothing.
    if !matches!(&*text, "" | "~" | "null") {
        tree.present().values.push(text);
    }
    if let Some(Around::Value) = around.last() {
        tree.end();
        ended(around);
    }
}

/// Expects a key after a value.
fn ended(around: &mut [Around]) {
    if let Some(value @ Around::Value) = around.last_mut() {
        *value = Around::Key;
    }
}

/// Line numbers as editors show them, for each line of YAML, which a single carriage return also ends (YAML 1.2 §5.4).
struct Lines(Vec<usize>);

impl Lines {
    fn of(source: &str) -> Self {
        let mut shown = 1;
        let mut lines = vec![shown];
        let mut bytes = source.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\n' => shown += 1,
                b'\r' if bytes.peek() != Some(&b'\n') => {}
                _ => continue,
            }
            lines.push(shown);
        }
        Self(lines)
    }

    fn shown(&self, line: usize) -> usize {
        let index = line.saturating_sub(1).min(self.0.len() - 1);
        self.0[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_scalars_and_sequences_are_directives() {
        let source = "# one\nlogLevel: info\nempty:\nlist: [a, 'b c']\nusers:\n- user: any\n  permissions:\n  - action: read\n\
            paths:\n  live/a:\n    source: \"rtmp://h/a\"\n  all_others:\n";
        let root = parse(source).unwrap().children;
        let names: Vec<_> = root.iter().map(|d| (&*d.name, d.line)).collect();
        let (level, list, users) = (("logLevel", 2), ("list", 4), ("users", 5));
        assert_eq!(names, [level, ("empty", 3), list, users, ("paths", 9)]);
        assert_eq!(root[2].values, ["a", "b c"]);
        let user = &root[3].children[0];
        assert_eq!((&*user.name, user.value_of("user")), ("-", Some("any")));
        let permission = &user.child("permissions").unwrap().children[0];
        assert_eq!(permission.value_of("action"), Some("read"));
        let path = root[4].child("live/a").unwrap();
        assert_eq!(path.value_of("source"), Some("rtmp://h/a"));
        assert!(root[4].child("all_others").is_some());
    }

    #[test]
    fn lines_are_those_that_editors_show() {
        let root = parse("a: 1\r\nb: 2\rc: 3\r\r\nd: 4\n").unwrap().children;
        let names: Vec<_> = root.iter().map(|d| (&*d.name, d.line)).collect();
        assert_eq!(names, [("a", 1), ("b", 2), ("c", 2), ("d", 3)]);
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_line() {
        let cut = parse("a: b\nc: [\n");
        assert!(matches!(cut, Err(SourceError::Syntax { line: 2.., .. })));
        let deep = parse(&"[".repeat(100));
        assert!(matches!(deep, Err(SourceError::TooDeep { .. })));
        let two = parse("a: 1\n---\nb: 2\n");
        assert!(matches!(two, Err(SourceError::Syntax { line: 2, .. })));
    }
}
