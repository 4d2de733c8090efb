//! URLs with placeholders, and the parts of a stream's name that replace them.

use media::StreamName;
use net::url::{Url, UrlError};

use super::UrlFault;

/// Part of a stream's name that a placeholder stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Placeholder {
    /// The whole name: `live/show`.
    Stream,
    /// All segments but the last: `live`.
    App,
    /// Last segment: `show`.
    Name,
    /// Part after the prefix of a pattern that contains no `*` and no `?`: with `live/**`, `a/b` from `live/a/b`.
    Rest,
}

/// Placeholders that an address may have, by their words.
pub(super) type Words = [(&'static str, Placeholder)];

/// Placeholders in addresses of pushes.
pub(super) const PUSHED: &Words = &[
    ("stream", Placeholder::Stream),
    ("app", Placeholder::App),
    ("name", Placeholder::Name),
];

/// Placeholders in addresses of pulls.
pub(super) const PULLED: &Words = &[
    ("stream", Placeholder::Stream),
    ("app", Placeholder::App),
    ("name", Placeholder::Name),
    ("rest", Placeholder::Rest),
];

/// URL whose path and query may contain placeholders. It is checked when it is parsed.
#[derive(Clone, Eq, PartialEq)]
pub(super) struct Template {
    url: Url,
    words: &'static Words,
}

/// Name of a stream, and the part of it after the fixed part of the pattern that it fits. Neither contains anything except the
/// characters of names and `/`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub(super) stream: &'a StreamName,
    pub(super) rest: &'a str,
}

impl Template {
    /// Parses a URL of one of the schemes, with placeholders of the words.
    pub(super) fn parse(
        text: &str,
        schemes: &[&str],
        words: &'static Words,
    ) -> Result<Self, UrlFault> {
        let url = match text.parse::<Url>() {
            Err(UrlError::HostCharacter('{' | '}')) => return Err(UrlFault::HostPlaceholder),
            parsed => parsed?,
        };
        if !schemes.contains(&url.scheme()) {
            return Err(UrlFault::Scheme(url.scheme().to_owned()));
        }
        if url.userinfo().is_some_and(has_brace) {
            return Err(UrlFault::HostPlaceholder);
        }
        for text in [url.path(), url.query().unwrap_or_default()] {
            pieces(text, words)?;
        }
        Ok(Self { url, words })
    }

    /// Returns the URL with its placeholders as they were written.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Whether it has any placeholder.
    pub(super) fn has_any(&self) -> bool {
        self.texts().into_iter().any(has_brace)
    }

    /// Whether the placeholder occurs in path or query.
    pub(super) fn has(&self, placeholder: Placeholder) -> bool {
        let mut texts = self.texts().into_iter();
        texts.any(|text| has(text, self.words, placeholder))
    }

    /// Whether the placeholder occurs in the path.
    pub(super) fn has_in_path(&self, placeholder: Placeholder) -> bool {
        has(self.url.path(), self.words, placeholder)
    }

    /// Whether it needs a part that the name lacks.
    pub(super) fn wants_more(&self, name: Named<'_>) -> bool {
        let mut texts = self.texts().into_iter();
        texts.any(|text| wants_more(text, self.words, name))
    }

    /// Returns the URL with the parts of a name inserted. Fails if that is too long.
    pub(super) fn filled(&self, name: Named<'_>) -> Result<Url, UrlError> {
        let path = fill(self.url.path(), self.words, name);
        let query = self.url.query();
        let query = query.map(|query| fill(query, self.words, name));
        self.url.with_path(path, query)
    }

    /// Returns the displayed form of the URL, with the parts of a name inserted.
    pub(super) fn shown(&self, shown: &str, name: Named<'_>) -> String {
        fill(shown, self.words, name)
    }

    fn texts(&self) -> [&str; 2] {
        [self.url.path(), self.url.query().unwrap_or_default()]
    }
}

impl<'a> Named<'a> {
    /// Creates a name with which every template can be tested.
    pub(super) fn example(stream: &'a StreamName) -> Self {
        let (_, rest) = stream.as_str().split_once('/').unwrap_or_default();
        Self { stream, rest }
    }

    fn value(self, placeholder: Placeholder) -> &'a str {
        let whole = self.stream.as_str();
        let (app, name) = whole.rsplit_once('/').unwrap_or(("", whole));
        match placeholder {
            Placeholder::Stream => whole,
            Placeholder::App => app,
            Placeholder::Name => name,
            Placeholder::Rest => self.rest,
        }
    }
}

/// Piece of a text with placeholders.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Stands(Placeholder),
}

/// Splits a text with placeholders into pieces.
fn pieces<'a>(text: &'a str, words: &Words) -> Result<Vec<Piece<'a>>, UrlFault> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (word, behind) = after.split_once('}').ok_or(UrlFault::Brace)?;
        if before.contains('}') || word.contains('{') {
            return Err(UrlFault::Brace);
        }
        let known = words.iter().find(|(known, _)| *known == word);
        let (_, placeholder) = known.ok_or_else(|| UrlFault::Placeholder(word.to_owned()))?;
        pieces.extend([Piece::Text(before), Piece::Stands(*placeholder)]);
        rest = behind;
    }
    if rest.contains('}') {
        return Err(UrlFault::Brace);
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Inserts the parts of a name. Names contain only characters that need no escape in a URL.
fn fill(template: &str, words: &Words, name: Named<'_>) -> String {
    let pieces = pieces(template, words).expect("a template was checked when it was read");
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Stands(placeholder) => name.value(placeholder),
        })
        .collect()
}

/// Whether a text has a certain placeholder.
fn has(template: &str, words: &Words, placeholder: Placeholder) -> bool {
    let pieces = pieces(template, words);
    pieces.is_ok_and(|pieces| pieces.contains(&Piece::Stands(placeholder)))
}

/// Whether a text needs a part that the name lacks.
fn wants_more(template: &str, words: &Words, name: Named<'_>) -> bool {
    let pieces = pieces(template, words).expect("a template was checked when it was read");
    pieces.iter().any(|piece| match piece {
        Piece::Text(_) => false,
        Piece::Stands(placeholder) => name.value(*placeholder).is_empty(),
    })
}

/// Whether a segment is a placeholder and nothing else.
pub(super) fn is_placeholder(segment: &str) -> bool {
    let word = segment
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    word.is_some_and(|word| !has_brace(word))
}

/// Whether a text contains braces, which only placeholders have.
fn has_brace(text: &str) -> bool {
    text.contains(['{', '}'])
}
