//! XML in the style of Icecast: elements with text, and attributes. Entities other than the predefined ones are kept as they
//! are written; none is ever expanded.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{Directive, SourceError, Tree};

/// Parses a document. The only directive within the result is its root element.
pub(crate) fn parse(source: &str) -> Result<Directive, SourceError> {
    let mut reader = Reader::from_str(source);
    let mut tree = Tree::new();
    let mut lines = Lines {
        source,
        at: 0,
        line: 1,
    };
    loop {
        let before = position(reader.buffer_position());
        let event = reader.read_event();
        let line = lines.of(before);
        let event = event.map_err(|error| {
            SourceError::syntax(lines.of(position(reader.error_position())), error)
        })?;
        match event {
            Event::Start(element) => begin(&mut tree, &element, line)?,
            Event::Empty(element) => {
                begin(&mut tree, &element, line)?;
                tree.end();
            }
            Event::End(_) => {
                tidy(tree.present());
                tree.end();
            }
            Event::Text(text) => push(tree.present(), &text.decode().unwrap_or_default()),
            Event::CData(text) => push(tree.present(), &text.decode().unwrap_or_default()),
            Event::GeneralRef(reference) => {
                let name = reference.decode().unwrap_or_default();
                let character = reference.resolve_char_ref().ok().flatten();
                let text = match (&*name, character) {
                    (_, Some(character)) => character.to_string(),
                    ("lt", _) => "<".to_owned(),
                    ("gt", _) => ">".to_owned(),
                    ("amp", _) => "&".to_owned(),
                    ("quot", _) => "\"".to_owned(),
                    ("apos", _) => "'".to_owned(),
                    (other, _) => format!("&{other};"),
                };
                push(tree.present(), &text);
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof if tree.has_open() => {
                let message = format!("<{}> is not closed", tree.present().name);
                return Err(SourceError::syntax(line, message));
            }
            Event::Eof => return Ok(tree.into_root()),
        }
    }
}

fn position(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Line counter for increasing positions.
struct Lines<'a> {
    source: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, position: usize) -> usize {
        let position = position.min(self.source.len());
        if position > self.at {
            let passed = &self.source.as_bytes()[self.at..position];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.at = position;
        }
        self.line
    }
}

fn begin(tree: &mut Tree, element: &BytesStart<'_>, line: usize) -> Result<(), SourceError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase();
    let directive = tree.begin(text(element.name().as_ref()), line)?;
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| SourceError::syntax(line, error))?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| SourceError::syntax(line, error))?;
        let key = text(attribute.key.as_ref());
        directive.attributes.push((key, value.into_owned()));
    }
    Ok(())
}

/// Appends text, which arrives in pieces around references.
fn push(directive: &mut Directive, text: &str) {
    match directive.values.first_mut() {
        Some(value) => value.push_str(text),
        None => directive.values.push(text.to_owned()),
    }
}

/// Trims the text; an element with children has none.
fn tidy(directive: &mut Directive) {
    for value in &mut directive.values {
        *value = value.trim().to_owned();
    }
    directive.values.retain(|value| !value.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_lines_texts_and_attributes() {
        let source = "<?xml version=\"1.0\"?>\n<icecast>\n <!-- <hidden/> -->\n <Limits>\n  <clients> 10\n</clients>\n </Limits>\n \
            <option name=\"url\" value=\"http://h/?a=1&amp;b=2\"/><text>a &lt; <![CDATA[b & c]]></text></icecast>";
        let root = parse(source).unwrap();
        let [icecast] = &root.children[..] else {
            panic!("{root:?}")
        };
        assert_eq!(
            (&*icecast.name, icecast.line, icecast.children.len()),
            ("icecast", 2, 3)
        );
        let clients = icecast.child("limits").unwrap().child("clients").unwrap();
        assert_eq!((clients.value(), clients.line), ("10", 5));
        let option = icecast.child("option").unwrap();
        assert_eq!(option.attribute("value"), Some("http://h/?a=1&b=2"));
        assert_eq!(icecast.value_of("text"), Some("a < b & c"));
    }

    #[test]
    fn what_is_no_xml_is_refused_with_its_line() {
        for (source, line) in [("<icecast>\n<a>\n</b>\n</icecast>", 3), ("<icecast>\n", 2)] {
            match parse(source) {
                Err(SourceError::Syntax { line: reported, .. }) => {
                    assert_eq!(reported, line, "{source}")
                }
                other => panic!("{other:?}"),
            }
        }
        let deep = "<a>".repeat(100);
        assert!(matches!(parse(&deep), Err(SourceError::TooDeep { .. })));
        // Entities are not expanded.
        let bomb = "<!DOCTYPE a [<!ENTITY b \"cccc\">]>\n<a>&b;&b;</a>";
        assert_eq!(parse(bomb).unwrap().value_of("a"), Some("&b;&b;"));
    }
}
