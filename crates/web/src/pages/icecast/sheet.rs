//! Facts in the administration's replies: about the server, sources, and the listeners of one source. The same facts are
//! written as XML for programs and as a page for people.

use serde_json::{Map, Value};

use crate::pages::xml::{self, Xml};
use crate::reply::Reply;

/// Names and their values, in order.
pub(super) type Facts = Vec<(String, String)>;

/// Facts of one reply.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub(super) server: Facts,
    pub(super) sources: Vec<Source>,
    /// Mount whose listeners may be moved to these sources, if the request is about a move.
    pub(super) moved_from: Option<String>,
}

/// Facts of one source.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Stream name with a leading `/`.
    pub(super) mount: String,
    pub(super) facts: Facts,
    /// Facts of the listeners; `None` if the request is not about them.
    pub(super) listeners: Option<Vec<Facts>>,
}

impl Sheet {
    /// Renders the facts as Icecast's XML.
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

/// Returns the texts and numbers of a JSON object, in the order of their names.
pub(super) fn facts(map: Map<String, Value>) -> Facts {
    let facts = map.into_iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Number(number) => Some((name, number.to_string())),
        _ => None,
    });
    facts.collect()
}

/// Outcome of a request for a change.
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

    /// Renders the outcome as Icecast's XML.
    pub(super) fn xml(&self) -> Reply {
        let mut document = Xml::document();
        document.element("iceresponse", &[], |xml| {
            xml.text("message", &self.words);
            xml.text("return", if self.is_done { "1" } else { "0" });
        });
        xml::answer(document)
    }
}
