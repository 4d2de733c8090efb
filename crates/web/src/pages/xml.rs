//! Small XML document, written front to back. Text is escaped as it is added.

use http::StatusCode;

use super::html::escape;
use crate::reply::Reply;

/// Document being written; finish it with [`end`](Self::end).
#[derive(Debug)]
pub(super) struct Xml(String);

impl Xml {
    /// Creates an empty document.
    pub(super) fn document() -> Self {
        Self("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned())
    }

    /// Writes an element with attributes, and the contents that `inside` writes.
    pub(super) fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        inside: impl FnOnce(&mut Self),
    ) {
        self.0.push('<');
        self.0.push_str(name);
        for (key, value) in attributes {
            self.0.push_str(&format!(" {key}=\"{}\"", xml_text(value)));
        }
        self.0.push('>');
        inside(self);
        self.0.push_str(&format!("</{name}>"));
    }

    /// Writes an element that holds text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.element(name, &[], |xml| xml.0.push_str(&xml_text(text)));
    }

    /// Returns the document.
    pub(super) fn end(self) -> String {
        self.0 + "\n"
    }
}

/// Wraps a document in a reply.
pub(super) fn answer(document: Xml) -> Reply {
    Reply::full(StatusCode::OK, "text/xml; charset=utf-8", document.end())
}

/// Returns text without the two characters that no XML document may contain (XML 1.0 §2.2) and that [`escape`] keeps; line
/// breaks stay.
fn xml_text(text: &str) -> String {
    let lines = text.split('\n').map(escape);
    let lines = lines.collect::<Vec<_>>().join("\n");
    lines.replace(['\u{fffe}', '\u{ffff}'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut xml = Xml::document();
        xml.element("a", &[("b", "\"<&\u{1}")], |xml| {
            xml.text("c", "</c>\r\n'\u{ffff}\u{7f}é");
        });
        assert_eq!(
            xml.end(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <a b=\"&quot;&lt;&amp; \"><c>&lt;/c&gt; \n&#39;  é</c></a>\n"
        );
    }
}
