//! Statements and blocks in the syntax of nginx and SRS: `name argument argument;` and `name argument { … }`, with `#` for
//! comments, quotes, and backslashes that escape the next character.

use std::iter::Peekable;
use std::str::Chars;

use super::{Directive, SourceError, Tree};

/// Parses a file.
pub(crate) fn parse(source: &str) -> Result<Directive, SourceError> {
    let mut scanner = Scanner {
        rest: source.chars().peekable(),
        line: 1,
    };
    let mut tree = Tree::new();
    let mut words: Vec<String> = Vec::new();
    let mut first_line = 1;
    while let Some(token) = scanner.next()? {
        let line = scanner.line;
        let wrong = |message| SourceError::syntax(line, message);
        match token {
            Token::Word(word) => {
                if words.is_empty() {
                    first_line = line;
                }
                words.push(word);
            }
            // nginx refuses an empty statement; SRS does not.
            Token::Semicolon if words.is_empty() => {}
            Token::Semicolon => {
                begin(&mut tree, &mut words, first_line)?;
                tree.end();
            }
            Token::Open if words.is_empty() => return Err(wrong("`{` has no name before it")),
            Token::Open => begin(&mut tree, &mut words, first_line)?,
            Token::Close if !words.is_empty() => return Err(wrong("`;` is missing before `}`")),
            Token::Close => {
                if !tree.end() {
                    return Err(wrong("`}` closes nothing"));
                }
            }
        }
    }
    let line = scanner.line;
    let message = match (tree.has_open(), words.is_empty()) {
        (false, true) => return Ok(tree.into_root()),
        (_, false) => "`;` is missing at the end".to_owned(),
        (true, true) => format!("the block `{}` is not closed", tree.present().name),
    };
    Err(SourceError::syntax(line, message))
}

fn begin(tree: &mut Tree, words: &mut Vec<String>, line: usize) -> Result<(), SourceError> {
    let mut words = words.drain(..);
    let name = words.next().unwrap_or_default();
    tree.begin(name, line)?.values = words.collect();
    Ok(())
}

enum Token {
    Word(String),
    Semicolon,
    Open,
    Close,
}

struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
}

impl Scanner<'_> {
    fn take(&mut self) -> Option<char> {
        let next = self.rest.next();
        if next == Some('\n') {
            self.line += 1;
        }
        next
    }

    fn next(&mut self) -> Result<Option<Token>, SourceError> {
        loop {
            let Some(&next) = self.rest.peek() else {
                return Ok(None);
            };
            let token = match next {
                '#' => {
                    while self.rest.peek().is_some_and(|next| *next != '\n') {
                        self.take();
                    }
                    continue;
                }
                _ if next.is_whitespace() || next == '\u{feff}' => {
                    self.take();
                    continue;
                }
                ';' => Token::Semicolon,
                '{' => Token::Open,
                '}' => Token::Close,
                '"' | '\'' => return self.quoted().map(|word| Some(Token::Word(word))),
                _ => return Ok(Some(Token::Word(self.word()))),
            };
            self.take();
            return Ok(Some(token));
        }
    }

    fn quoted(&mut self) -> Result<String, SourceError> {
        let (quote, line) = (self.take(), self.line);
        let mut word = String::new();
        while let Some(next) = self.take() {
            match next {
                _ if Some(next) == quote => return Ok(word),
                '\\' => word.extend(self.take()),
                _ => word.push(next),
            }
        }
        Err(SourceError::syntax(line, "a quote is not closed"))
    }

    /// Reads a word without quotes. `${name}` is part of the word.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(&next) = self.rest.peek() {
            match next {
                '{' if word.ends_with('$') => {
                    while let Some(next) = self.take() {
                        word.push(next);
                        if next == '}' || next == '\n' {
                            break;
                        }
                    }
                    continue;
                }
                ';' | '{' | '}' => break,
                _ if next.is_whitespace() => break,
                '\\' => {
                    self.take();
                    word.extend(self.take());
                    continue;
                }
                _ => word.push(next),
            }
            self.take();
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_blocks_have_lines_and_arguments() {
        let source =
            "# one\nrtmp {\n  push \"rtmp://a/b c\" name='x'; # two\n  exec ls\n    ${a};\n}\n";
        let [rtmp] = &parse(source).unwrap().children[..] else {
            panic!()
        };
        let [push, exec] = &rtmp.children[..] else {
            panic!("{rtmp:?}")
        };
        assert_eq!(
            (push.line, &push.values[..]),
            (3, &["rtmp://a/b c".to_owned(), "name='x'".to_owned()][..])
        );
        assert_eq!(
            (exec.line, &exec.values[..]),
            (4, &["ls".to_owned(), "${a}".to_owned()][..])
        );
    }

    #[test]
    fn what_is_no_block_is_refused_with_its_line() {
        for (source, line) in [
            ("a;\n}", 2),
            ("rtmp {\n", 2),
            ("rtmp {\n a\n}", 3),
            ("{", 1),
            ("\n\"a", 2),
            ("a", 1),
        ] {
            match parse(source) {
                Err(SourceError::Syntax { line: reported, .. }) => {
                    assert_eq!(reported, line, "{source}")
                }
                other => panic!("{source}: {other:?}"),
            }
        }
        assert!(matches!(
            parse(&"a {".repeat(100)),
            Err(SourceError::TooDeep { .. })
        ));
    }
}
