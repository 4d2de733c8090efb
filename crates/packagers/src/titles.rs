//! Titles as timed metadata of segments (RFC 8216bis §3.1; "Timed Metadata for HTTP Live Streaming", Apple).

use std::sync::Arc;

use container::id3::Tag;
use media::{Item, Title};

/// Description of the link that a source gives with a title: the name that it has in ICY.
const LINK: &str = "StreamUrl";

/// Title in force, with a flag whether a part has carried it.
///
/// A title is sent with the first part that is written after its arrival. That part is still being collected, so players show
/// the title early by up to a part's length.
#[derive(Debug, Default)]
pub(crate) struct Titles {
    /// Title in force; `None` if nothing is known to be playing.
    now: Option<Arc<Title>>,
    /// Whether no part has carried it.
    is_news: bool,
}

impl Titles {
    /// Takes titles from `item`. Parts that the item ends are written before.
    pub(crate) fn hear(&mut self, item: &Item) {
        match item {
            // The next publisher's programme has its own titles.
            Item::Epoch => self.set(None),
            Item::Title(title) => self.set((!title.is_empty()).then(|| Arc::clone(title))),
            _ => {}
        }
    }

    fn set(&mut self, title: Option<Arc<Title>>) {
        if title != self.now {
            self.now = title;
            self.is_news = true;
        }
    }

    /// Returns the title to send with a part, if it is news; an empty one if there is no longer any.
    pub(crate) fn take_news(&mut self) -> Option<Arc<Title>> {
        let is_news = std::mem::take(&mut self.is_news);
        is_news.then(|| self.now.clone().unwrap_or_default())
    }

    /// Returns the title in force.
    pub(crate) fn now(&self) -> Option<Arc<Title>> {
        self.now.clone()
    }
}

/// Adds the frames that carry `title`.
pub(crate) fn tell(title: &Title, tag: Tag) -> Tag {
    let tag = tag.title(&title.text);
    if title.url.is_empty() {
        tag
    } else {
        tag.user_text(LINK, &title.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn title(text: &str) -> Item {
        testing::title(text, "")
    }

    #[test]
    fn a_title_is_news_once() {
        let mut titles = Titles::default();
        let mut news = |items: &[Item]| {
            items.iter().for_each(|item| titles.hear(item));
            titles.take_news().map(|title| title.text.clone())
        };
        assert_eq!(news(&[]), None);
        assert_eq!(news(&[title("")]), None, "nothing was playing before");
        assert_eq!(news(&[title("A"), title("B")]), Some("B".to_owned()));
        assert_eq!(news(&[title("B")]), None);
        assert_eq!(news(&[Item::Epoch]), Some(String::new()));
        assert_eq!(news(&[Item::Epoch]), None);
        assert_eq!(news(&[Item::Epoch, title("B")]), Some("B".to_owned()));
    }
}
