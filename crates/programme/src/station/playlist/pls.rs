//! PLS: `FileN=location` and `TitleN=title` below `[playlist]`.

use std::collections::BTreeMap;

use super::{ENTRIES_MAX, Entry};

/// Location and title with the same number.
#[derive(Default)]
struct Numbered<'a> {
    location: Option<&'a str>,
    title: Option<&'a str>,
}

pub(super) fn parse(text: &str) -> Vec<Entry> {
    // The map sorts by number, whatever the order of the lines.
    let mut numbered: BTreeMap<u32, Numbered<'_>> = BTreeMap::new();
    for line in text.split(['\n', '\r']) {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase();
        let is_title = key.starts_with("title");
        let number = key
            .strip_prefix("file")
            .or_else(|| key.strip_prefix("title"));
        let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        let is_known = numbered.contains_key(&number);
        if !is_known && numbered.len() >= ENTRIES_MAX {
            continue;
        }
        let entry = numbered.entry(number).or_default();
        let field = if is_title {
            &mut entry.title
        } else {
            &mut entry.location
        };
        field.get_or_insert(value);
    }
    numbered
        .into_values()
        .filter_map(|entry| Entry::new(entry.location?, entry.title))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Syntax;
    use super::super::tests::pairs;

    #[test]
    fn numbers_are_the_order() {
        let text = "[playlist]\r\nNumberOfEntries=3\r\nFile2=b=1.mp3\r\ntitle1=One\r\nFile1=a.mp3\r\n\
                    Title2=Two\r\nLength2=-1\r\nFile10=/c.mp3\r\nFile10=again.mp3\r\nTitle4=none\r\nVersion=2\r\n";
        let entries = Syntax::Pls.parse(text.as_bytes());
        let expected = [("a.mp3", "One"), ("b=1.mp3", "Two"), ("/c.mp3", "")];
        assert_eq!(pairs(&entries), expected);
    }
}
