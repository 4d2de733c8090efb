//! Query strings and form bodies.

use crate::text::{percent_decode, utf8_or_latin1};

/// Maximum length in bytes of a client's own query that playlists repeat in each of their addresses: a token signed by an RSA
/// key of 2,048 bits has some 700. A longer one is answered 414.
pub const OWN_QUERY_BYTES_MAX: usize = 1_024;

/// Pairs `name=value` joined by `&`, still encoded. Also reads an `application/x-www-form-urlencoded` body. All of it is
/// untrusted.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a>(&'a [u8]);

impl<'a> Query<'a> {
    /// Wraps the bytes after the `?`, or a form's body.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes as received.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Returns all pairs in order, decoded as UTF-8 if they are valid, else as Latin-1.
    pub fn pairs(&self) -> impl Iterator<Item = (String, String)> + use<'a> {
        self.raw_pairs()
            .map(|(name, value)| (text(name), text(value)))
    }

    /// Returns the first value of a name, decoded as UTF-8 if it is valid, else as Latin-1.
    pub fn get(&self, name: &str) -> Option<String> {
        self.find(name).map(text)
    }

    /// Returns the bytes of the first value of a name, for texts in the character set that the query names: `/admin/metadata`
    /// carries titles that way.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.find(name).map(decode)
    }

    fn find(&self, name: &str) -> Option<&'a [u8]> {
        self.raw_pairs()
            .find(|(n, _)| decode(n) == name.as_bytes())
            .map(|(_, value)| value)
    }

    fn raw_pairs(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.0
            .split(|byte| *byte == b'&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| match pair.iter().position(|byte| *byte == b'=') {
                Some(at) => (&pair[..at], &pair[at + 1..]),
                None => (pair, &[][..]),
            })
    }
}

fn text(value: &[u8]) -> String {
    utf8_or_latin1(&decode(value)).into_owned()
}

/// Decodes `%XX`, and `+` as a space if the writer meant one. Liquidsoap writes spaces as `+`; butt writes them as `%20` and
/// leaves a real `+` alone. If a value has spaces in another form, its `+` is a plus.
fn decode(value: &[u8]) -> Vec<u8> {
    let other_space = value.contains(&b' ') || value.windows(3).any(|w| w == b"%20");
    if other_space || !value.contains(&b'+') {
        return percent_decode(value).into_owned();
    }
    let spaced: Vec<u8> = value
        .iter()
        .map(|&b| if b == b'+' { b' ' } else { b })
        .collect();
    percent_decode(&spaced).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_whatever_they_are() {
        for (query, expected) in [
            (&b"song=Bj%C3%B6rk+-+J%C3%B3ga"[..], "Björk - Jóga"),
            (b"song=Bj%F6rk", "Björk"),
            ("song=Björk - 1+1=2".as_bytes(), "Björk - 1+1=2"),
            (b"song=C%26A%20+%20co", "C&A + co"),
            (b"song=", ""),
            (b"song", ""),
        ] {
            let found = Query::new(query).get("song");
            assert_eq!(found.as_deref(), Some(expected), "{query:?}");
        }
        let found = Query::new(b"song=Bj%F6rk+x").bytes("song");
        assert_eq!(found.as_deref(), Some(&b"Bj\xf6rk x"[..]));
        assert_eq!(Query::new(b"mode=updinfo").bytes("song"), None);
    }

    #[test]
    fn pairs_keep_their_order_and_the_first_wins() {
        let query = Query::new(b"a=1&&b=2=3&a=4&%63=5&=6");
        let text = |(name, value): (String, String)| name + ":" + &value + " ";
        let pairs: String = query.pairs().map(text).collect();
        assert_eq!(pairs, "a:1 b:2=3 a:4 c:5 :6 ");
        assert_eq!(query.get("a").as_deref(), Some("1"));
        assert_eq!(query.get("c").as_deref(), Some("5"));
        assert_eq!(Query::new(b"").pairs().count(), 0);
    }
}
