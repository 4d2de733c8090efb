//! Parsers of the configuration formats, all of which produce one tree of [`Directive`]s.

pub(crate) mod block;
pub(crate) mod xml;
pub(crate) mod yaml;

/// Maximum length of the input in bytes, as in `config`. The configurations of large stations have some 100 KiB.
pub const SOURCE_BYTES_MAX: usize = 1024 * 1024;

/// Maximum nesting depth. Files of these servers have six levels at most.
pub(crate) const DEPTH_MAX: usize = 64;

/// An element of XML, a statement of nginx, or a key of YAML.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directive {
    /// Number in the order of the input, from 0.
    pub(crate) id: usize,
    /// Name, in lower case for XML; `-` for a mapping in a YAML sequence.
    pub(crate) name: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Text, arguments, scalar or items.
    pub(crate) values: Vec<String>,
    /// XML attributes.
    pub(crate) attributes: Vec<(String, String)>,
    /// Directives within this one.
    pub(crate) children: Vec<Self>,
}

/// Reasons why a configuration cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SourceError {
    /// The text is larger than [`SOURCE_BYTES_MAX`].
    #[error("is larger than {} KiB", SOURCE_BYTES_MAX / 1024)]
    TooLarge,
    /// The text is nested deeper than 64 levels.
    #[error("line {line}: is nested deeper than {DEPTH_MAX} levels")]
    TooDeep {
        /// Line of the error.
        line: usize,
    },
    /// The syntax is wrong.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line of the error.
        line: usize,
        /// Description of the error.
        message: String,
    },
}

impl SourceError {
    fn syntax(line: usize, message: impl ToString) -> Self {
        let message = message.to_string();
        Self::Syntax { line, message }
    }
}

impl Directive {
    /// Returns the first value, or an empty text.
    pub(crate) fn value(&self) -> &str {
        self.values.first().map_or("", String::as_str)
    }

    /// Returns the first child with a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.all(name).next()
    }

    /// Returns all children with a name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the value of the first child with a name.
    pub(crate) fn value_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(Self::value)
    }

    /// Returns an XML attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns whether the value means yes in the notation of these servers.
    pub(crate) fn is_on(&self) -> bool {
        let words = ["1", "on", "yes", "true"];
        words
            .iter()
            .any(|word| self.value().eq_ignore_ascii_case(word))
    }
}

/// A tree under construction: the open directives, outermost first.
#[derive(Debug)]
struct Tree {
    open: Vec<Directive>,
    next: usize,
}

impl Tree {
    fn new() -> Self {
        Self {
            open: vec![Directive::default()],
            next: 0,
        }
    }

    /// Begins a directive within the current one.
    fn begin(&mut self, name: String, line: usize) -> Result<&mut Directive, SourceError> {
        if self.open.len() > DEPTH_MAX {
            return Err(SourceError::TooDeep { line });
        }
        let id = self.next;
        self.next += 1;
        self.open.push(Directive {
            id,
            name,
            line,
            ..Directive::default()
        });
        Ok(self.present())
    }

    /// Ends the current directive. Returns false if none is open.
    fn end(&mut self) -> bool {
        if self.open.len() < 2 {
            return false;
        }
        let ended = self.open.pop();
        self.present().children.extend(ended);
        true
    }

    fn present(&mut self) -> &mut Directive {
        self.open.last_mut().expect("the root is never ended")
    }

    fn has_open(&self) -> bool {
        self.open.len() > 1
    }

    /// Returns the root, which contains all directives.
    fn into_root(mut self) -> Directive {
        while self.end() {}
        std::mem::take(self.present())
    }
}
