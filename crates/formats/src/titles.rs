//! Titles as timed metadata of segments (RFC 8216bis §3.1; "Timed Metadata for HTTP Live Streaming", Apple).

use std::sync::Arc;

use container::id3::Tag;
use media::{Item, Title};

/// How the link that a source gives with a title is described: with the name that it has in ICY.
const LINK: &str = "StreamUrl";

/// The title in force, and whether a part has told it.
///
/// A title is told with the first part that is written after it has come: that one is still being collected,
/// so players show the title up to a part's length early.
#[derive(Debug, Default)]
pub(crate) struct Titles {
    /// `None` if nothing is known to be playing.
    now: Option<Arc<Title>>,
    /// No part has told it.
    is_news: bool,
}

impl Titles {
    /// Takes what `item` says about titles. Parts that it ends are written before.
    pub(crate) fn hear(&mut self, item: &Item) {
        match item {
            // The next publisher's programme has titles of its own.
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

    /// The title to tell with a part, if it is news; an empty one if there is none any more.
    pub(crate) fn take_news(&mut self) -> Option<Arc<Title>> {
        let is_news = std::mem::take(&mut self.is_news);
        is_news.then(|| self.now.clone().unwrap_or_default())
    }

    /// The title in force.
    pub(crate) fn now(&self) -> Option<Arc<Title>> {
        self.now.clone()
    }
}

/// Adds the frames that tell `title`.
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

    fn title(text: &str) -> Item {
        Item::Title(Arc::new(Title {
            text: text.to_owned(),
            url: String::new(),
        }))
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
