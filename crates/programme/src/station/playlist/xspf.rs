//! XSPF (version 1): `<location>`, `<creator>` and `<title>` of each `<track>`.
//!
//! The parser supports the XML that such files contain: elements with or without a prefix, comments, CDATA, the five
//! named references and numeric ones. It expands nothing else and follows no declaration.

use std::borrow::Cow;

use super::{ENTRIES_MAX, Entry, text};

/// Most bytes of text taken from one element: more than an escaped location may have.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Length in bytes of the longest reference, `&#x10FFFF;`.
const REFERENCE_BYTES_MAX: usize = 10;

/// Track that is being parsed.
#[derive(Default)]
struct Track {
    location: Option<String>,
    creator: Option<String>,
    title: Option<String>,
}

pub(super) fn parse(document: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut track: Option<Track> = None;
    let mut content = String::new();
    let mut rest = document;
    while entries.len() < ENTRIES_MAX
        && let Some((before, tag, after)) = next_tag(rest)
    {
        rest = after;
        push(&mut content, &resolved(before));
        if let Some(data) = tag.strip_prefix("![CDATA[") {
            push(&mut content, data);
            continue;
        }
        if tag.starts_with(['!', '?']) {
            continue;
        }
        let (is_end, name) = match tag.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, tag),
        };
        let name = name
            .split(['/', ' ', '\t', '\r', '\n'])
            .next()
            .unwrap_or("");
        let name = name.rsplit(':').next().unwrap_or("");
        match (name, is_end, &mut track) {
            ("track", false, _) => track = Some(Track::default()),
            ("track", true, present) => entries.extend(present.take().and_then(Track::entry)),
            ("location", true, Some(track)) => keep(&mut track.location, &mut content),
            ("creator", true, Some(track)) => keep(&mut track.creator, &mut content),
            ("title", true, Some(track)) => keep(&mut track.title, &mut content),
            _ => {}
        }
        content.clear();
    }
    entries
}

impl Track {
    fn entry(self) -> Option<Entry> {
        let location = self.location?;
        // The location is an address, absolute or relative.
        let location = match location.contains("://") {
            true => Cow::Borrowed(&location[..]),
            false => text::unescaped(&location),
        };
        let title = match (self.creator, self.title) {
            (Some(creator), Some(title)) => Some(format!("{creator} - {title}")),
            (one, other) => one.or(other),
        };
        Entry::new(&location, title.as_deref())
    }
}

/// Keeps the first text of a field: the first of several locations is the preferred one.
fn keep(field: &mut Option<String>, content: &mut String) {
    let text = std::mem::take(content);
    if field.is_none() && !text.trim().is_empty() {
        *field = Some(text.trim().to_owned());
    }
}

/// Returns the text before the next tag, the tag without its brackets, and the text after it.
fn next_tag(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('<')?;
    let end = if rest.starts_with("![CDATA[") {
        "]]>"
    } else if rest.starts_with("!--") {
        "-->"
    } else {
        ">"
    };
    let (tag, after) = rest.split_once(end)?;
    Some((before, tag, after))
}

fn push(content: &mut String, text: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(content.len());
    content.push_str(&text[..text.floor_char_boundary(room)]);
}

/// Resolves the references in a text; an unknown one stays unchanged.
fn resolved(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.floor_char_boundary(REFERENCE_BYTES_MAX);
        let reference = after[..end].split_once(';').map(|(name, _)| name);
        match reference.and_then(character) {
            Some(character) => {
                out.push(character);
                rest = &after[reference.map_or(0, str::len) + 1..];
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn character(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Syntax;
    use super::super::tests::pairs;

    #[test]
    fn tracks_are_read() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<playlist version="1" xmlns="http://xspf.org/ns/0/"><title>All &amp; more</title>
 <!-- <track><location>no.mp3</location></track> -->
 <trackList>
  <track>
    <location>file:///music/a%20b.mp3</location><location>other.mp3</location>
    <creator>A &lt;B&gt;</creator><title>C &#228;&#xDF; &unknown; &</title><duration>1</duration>
  </track>
  <x:track><x:title><![CDATA[1 < 2]]></x:title><x:location>d%2Fe.mp3</x:location></x:track>
  <track><title>none</title></track>
  <track/><track><location>http://host/f.mp3</location></track>
 </trackList></playlist>"#;
        let entries = Syntax::Xspf.parse(text.as_bytes());
        let expected = [
            ("/music/a b.mp3", "A <B> - C äß &unknown; &"),
            ("d/e.mp3", "1 < 2"),
            ("http://host/f.mp3", ""),
        ];
        assert_eq!(pairs(&entries), expected);
    }

    #[test]
    fn broken_files_end() {
        let texts = "<track><location>a|<track|<![CDATA[|&&&;&#x;|<track><location>&#99999999;";
        for text in texts.split('|') {
            assert!(Syntax::Xspf.parse(text.as_bytes()).is_empty(), "{text}");
        }
    }
}
