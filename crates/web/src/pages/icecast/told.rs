//! What the administration tells: facts of the server, of sources, and of the listeners of one. It is written as XML for
//! programs and as a page for people, from the same facts.

use serde_json::{Map, Value};

use crate::pages::xml::{self, Xml};
use crate::reply::Reply;

/// Names and what belongs to them, in their order.
pub(super) type Facts = Vec<(String, String)>;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) server: Facts,
    pub(super) sources: Vec<Source>,
    /// The mount whose listeners may be moved to these sources, where that is what is asked for.
    pub(super) moved_from: Option<String>,
}

/// A source.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Its stream's name with a leading `/`.
    pub(super) mount: String,
    pub(super) facts: Facts,
    /// `None` where they are not what is asked for.
    pub(super) listeners: Option<Vec<Facts>>,
}

impl Told {
    /// As Icecast's XML.
    pub(super) fn xml(&self) -> Reply {
        let mut document = Xml::document();
        document.element("icestats", &[], |xml| {
            write(xml, &self.server);
            for source in &self.sources {
                xml.element("source", &[("mount", &source.mount)], |xml| {
                    write(xml, &source.facts);
                    for listener in source.listeners.iter().flatten() {
                        xml.element("listener", &[], |xml| write(xml, listener));
                    }
                });
            }
        });
        xml::answer(document)
    }
}

fn write(xml: &mut Xml, facts: &Facts) {
    for (name, text) in facts {
        xml.text(name, text);
    }
}

/// The texts and numbers of a JSON object, in the order of their names.
pub(super) fn facts(map: Map<String, Value>) -> Facts {
    let facts = map.into_iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Number(number) => Some((name, number.to_string())),
        _ => None,
    });
    facts.collect()
}

/// What came of a request that changes something.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) words: String,
    pub(super) is_done: bool,
}

impl Outcome {
    pub(super) fn new(words: impl Into<String>, is_done: bool) -> Self {
        Self {
            words: words.into(),
            is_done,
        }
    }

    /// As Icecast's XML.
    pub(super) fn xml(&self) -> Reply {
        let mut document = Xml::document();
        document.element("iceresponse", &[], |xml| {
            xml.text("message", &self.words);
            xml.text("return", if self.is_done { "1" } else { "0" });
        });
        xml::answer(document)
    }
}
