//! Recently rendered documents of the public streams.

use std::time::{Duration, Instant};

use base::{Bounded, Lock};
use bytes::Bytes;
use config::BaseUrl;

use super::assets::tag;

/// Maximum age of a document.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Maximum number of addresses for which the document is kept: one public name, and a few that tests and monitors use.
const KEPT_MAX: usize = 4;

/// Cache of rendered documents, by the server's address.
#[derive(Debug)]
pub(super) struct Rendered(Lock<Bounded<BaseUrl, Document>>);

impl Default for Rendered {
    fn default() -> Self {
        Self(Lock::new(Bounded::new(KEPT_MAX)))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Document {
    made: Instant,
    pub(super) text: Bytes,
    pub(super) tag: String,
}

impl Rendered {
    /// Returns the document for `base`: a fresh one if kept, else one from `make`; `None` if `make` returns none.
    pub(super) fn of(
        &self,
        base: &BaseUrl,
        now: Instant,
        make: impl FnOnce() -> Option<String>,
    ) -> Option<Document> {
        let mut kept = self.0.lock();
        kept.drop_while(|one| now.saturating_duration_since(one.made) >= FRESH_FOR);
        if let Some(known) = kept.get(base) {
            return Some(known.clone());
        }
        let text = Bytes::from(make()?);
        let document = Document {
            made: now,
            tag: tag(&text),
            text,
        };
        kept.insert(base.clone(), document.clone());
        Some(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> BaseUrl {
        text.parse().expect("an address")
    }

    #[test]
    fn a_document_is_made_once_for_all_who_ask_at_a_time() {
        let kept = Rendered::default();
        let now = Instant::now();
        let (one, other) = (base("https://radio.example"), base("http://10.0.0.1:8000"));
        let mut made = 0;
        let mut ask = |base: &BaseUrl, now| {
            let document = kept.of(base, now, || {
                made += 1;
                Some(format!("{base} {made}"))
            });
            let document = document.expect("it is made");
            String::from_utf8(document.text.to_vec()).expect("text")
        };
        assert_eq!(ask(&one, now), "https://radio.example 1");
        assert_eq!(ask(&one, now + FRESH_FOR / 2), "https://radio.example 1");
        assert_eq!(ask(&other, now), "http://10.0.0.1:8000 2");
        assert_eq!(ask(&one, now + FRESH_FOR), "https://radio.example 3");
    }

    #[test]
    fn hosts_that_clients_make_up_take_no_memory() {
        let kept = Rendered::default();
        let now = Instant::now();
        for host in 0..100 {
            let base = base(&format!("http://host-{host}"));
            let document = kept.of(&base, now, || Some(base.to_string()));
            let text = document.map(|one| one.text);
            assert_eq!(text, Some(Bytes::from(base.to_string())));
        }
        assert_eq!(kept.0.lock().len(), KEPT_MAX);
    }
}
