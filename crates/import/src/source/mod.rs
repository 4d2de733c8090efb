//! The ways in which configurations are written, all read into one tree of [`Directive`]s.

pub(crate) mod block;
pub(crate) mod xml;
pub(crate) mod yaml;

/// Largest input; that of `config` is the same. The configurations of large stations have some 100 KiB.
pub const SOURCE_BYTES_MAX: usize = 1024 * 1024;

/// Deepest nesting. Files of these servers have six levels at most.
pub(crate) const DEPTH_MAX: usize = 64;

/// An element of XML, a statement of nginx, or a key of YAML.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directive {
    /// Its number in the order of the input, from 0.
    pub(crate) id: usize,
    /// Its name, in lower case for XML; `-` for a mapping in a sequence of YAML.
    pub(crate) name: String,
    /// Its line, counted from 1.
    pub(crate) line: usize,
    /// Its text, arguments, scalar or items.
    pub(crate) values: Vec<String>,
    /// Of XML.
    pub(crate) attributes: Vec<(String, String)>,
    /// What is within it.
    pub(crate) children: Vec<Self>,
}

/// Why a configuration cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SourceError {
    /// It is larger than [`SOURCE_BYTES_MAX`].
    #[error("is larger than {} KiB", SOURCE_BYTES_MAX / 1024)]
    TooLarge,
    /// It is nested deeper than 64 levels.
    #[error("line {line}: is nested deeper than {DEPTH_MAX} levels")]
    TooDeep {
        /// Where.
        line: usize,
    },
    /// It is not written as it should be.
    #[error("line {line}: {message}")]
    Syntax {
        /// Where.
        line: usize,
        /// What is wrong.
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
    /// Its first value, or nothing.
    pub(crate) fn value(&self) -> &str {
        self.values.first().map_or("", String::as_str)
    }

    /// The first directive of that name within it.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.all(name).next()
    }

    /// All of that name within it.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The value of that directive within it.
    pub(crate) fn value_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(Self::value)
    }

    /// An attribute of XML.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether its value means yes, as these servers write it.
    pub(crate) fn is_on(&self) -> bool {
        let words = ["1", "on", "yes", "true"];
        words
            .iter()
            .any(|word| self.value().eq_ignore_ascii_case(word))
    }
}

/// A tree under construction: the directives that are open, outermost first.
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

    /// Begins a directive within the present one.
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

    /// Ends the present one. Nothing is there to be ended if it returns false.
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

    /// What has all directives within it.
    fn into_root(mut self) -> Directive {
        while self.end() {}
        std::mem::take(self.present())
    }
}
