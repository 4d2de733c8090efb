//! Attribute lists of tags (RFC 8216bis §4.2), parsed strictly.

use std::time::Duration;

/// Number of digits after the point that a [`Duration`] holds.
const FRACTION_DIGITS: usize = 9;

/// Attributes of one tag, in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Attributes(Vec<(String, Value)>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Value {
    Plain(String),
    Quoted(String),
}

impl Attributes {
    /// Parses the text after a tag's colon.
    ///
    /// # Errors
    /// The first deviation from the grammar: names outside `[A-Z0-9-]`, a name that occurs twice, spaces, an empty value, a
    /// quoted string that does not end.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        let mut rest = text;
        loop {
            let (name, after) = rest
                .split_once('=')
                .ok_or_else(|| format!("an attribute without a value: {rest:?}"))?;
            let is_allowed =
                |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
            if name.is_empty() || !name.bytes().all(is_allowed) {
                return Err(format!("not an attribute's name: {name:?}"));
            }
            if all.get(name).is_some() {
                return Err(format!("{name} is there twice"));
            }
            let (value, after) = value(name, after)?;
            all.0.push((name.to_owned(), value));
            if after.is_empty() {
                return Ok(all);
            }
            rest = after
                .strip_prefix(',')
                .ok_or_else(|| format!("{name} is followed by {after:?}"))?;
        }
    }

    /// Returns a quoted string.
    ///
    /// # Errors
    /// Returns an error if the value is not quoted.
    pub fn quoted(&self, name: &str) -> Result<Option<&str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Quoted(text)) => Ok(Some(text)),
            Some(Value::Plain(text)) => Err(format!("{name} is not quoted: {text}")),
        }
    }

    /// Returns a quoted string that must be present.
    ///
    /// # Errors
    /// Returns an error if the value is missing, empty or not quoted.
    pub fn need_quoted(&self, name: &str) -> Result<String, String> {
        match self.quoted(name)? {
            Some("") => Err(format!("{name} is empty")),
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("{name} is missing")),
        }
    }

    /// Returns a value without quotes: an enumerated string, a number, a resolution.
    ///
    /// # Errors
    /// Returns an error if the value is quoted.
    pub fn plain(&self, name: &str) -> Result<Option<&str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Plain(text)) => Ok(Some(text)),
            Some(Value::Quoted(text)) => Err(format!("{name} is quoted: {text:?}")),
        }
    }

    /// Returns a decimal integer.
    ///
    /// # Errors
    /// Returns an error if the value is not a 64-bit integer.
    pub fn integer(&self, name: &str) -> Result<Option<u64>, String> {
        let read = |text| integer(text).map_err(|reason| format!("{name}: {reason}"));
        self.plain(name)?.map(read).transpose()
    }

    /// Returns a number of seconds.
    ///
    /// # Errors
    /// Returns an error if the value is not an unsigned decimal number.
    pub fn seconds(&self, name: &str) -> Result<Option<Duration>, String> {
        let read = |text| seconds(text).map_err(|reason| format!("{name}: {reason}"));
        self.plain(name)?.map(read).transpose()
    }

    /// Returns whether the value is `YES`.
    ///
    /// # Errors
    /// Returns an error if the value is anything but `YES` or `NO`.
    pub fn yes(&self, name: &str) -> Result<bool, String> {
        match self.plain(name)? {
            Some("YES") => Ok(true),
            Some("NO") | None => Ok(false),
            Some(text) => Err(format!("{name} is {text}")),
        }
    }

    /// Returns the name of an attribute that both have, with different values.
    pub fn conflict(&self, other: &Self) -> Option<&str> {
        let differs =
            |(name, value): &&(String, Value)| other.get(name).is_some_and(|own| own != value);
        self.0.iter().find(differs).map(|(name, _)| &name[..])
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value)
    }
}

/// Parses a value, and returns the text that follows it.
fn value<'a>(name: &str, text: &'a str) -> Result<(Value, &'a str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (inside, after) = quoted
            .split_once('"')
            .ok_or_else(|| format!("the quotation of {name} does not end"))?;
        return Ok((Value::Quoted(inside.to_owned()), after));
    }
    let end = text.find(',').unwrap_or(text.len());
    let (plain, after) = text.split_at(end);
    if plain.is_empty() || plain.contains(['"', ' ', '\t']) {
        return Err(format!("{name} has the value {plain:?}"));
    }
    Ok((Value::Plain(plain.to_owned()), after))
}

/// Parses a decimal integer of 64 bits.
pub(super) fn integer(text: &str) -> Result<u64, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| format!("not a decimal integer: {text:?}"))
}

/// Parses an unsigned decimal number of seconds, exactly.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = fraction.len();
    if digits > FRACTION_DIGITS {
        return Err(format!("finer than a nanosecond: {text}"));
    }
    let read = |digits| integer(digits).map_err(|_| format!("not a decimal number: {text:?}"));
    let scale = 10_u64.pow((FRACTION_DIGITS - digits) as u32);
    Ok(Duration::from_secs(read(whole)?) + Duration::from_nanos(read(fraction)? * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_read() {
        let list = Attributes::parse("A=12,B-2=\"x, y=z\",C=0.33334,D=YES,E=320x180")
            .expect("it is right");
        assert_eq!(list.integer("A"), Ok(Some(12)));
        assert_eq!(list.quoted("B-2"), Ok(Some("x, y=z")));
        assert_eq!(
            list.seconds("C"),
            Ok(Some(Duration::from_nanos(333_340_000)))
        );
        assert_eq!((list.yes("D"), list.yes("F")), (Ok(true), Ok(false)));
        assert_eq!(list.plain("E"), Ok(Some("320x180")));
        assert_eq!(list.integer("F"), Ok(None));
        assert_eq!(list.need_quoted("B-2"), Ok("x, y=z".to_owned()));
    }

    #[test]
    fn deviations_are_refused() {
        for text in [
            "", "A", "a=1", "A=", "A=1,", "A=1,A=2", "A=\"x", "A=\"x\"y", "A= 1", "A=1, B=2", "=1",
            "A=x\"y",
        ] {
            assert!(Attributes::parse(text).is_err(), "{text:?}");
        }
        let list =
            Attributes::parse("A=\"1\",B=1,C=-1,D=1e3,E=.5,F=yes,G=\"\"").expect("it is right");
        assert!(list.integer("A").is_err() && list.quoted("B").is_err());
        assert!(list.integer("C").is_err() && list.seconds("C").is_err());
        assert!(list.seconds("D").is_err() && list.seconds("E").is_err());
        assert!(list.yes("F").is_err());
        assert!(list.need_quoted("G").is_err() && list.need_quoted("H").is_err());
    }
}
