//! Forms as browsers send them: `application/x-www-form-urlencoded`.

use std::fmt::Write;

/// The type of such a body.
pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// A body under way.
#[derive(Debug, Default)]
pub(crate) struct Form(String);

impl Form {
    /// Adds a field.
    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.separate();
        self.0.push_str(name);
        self.0.push('=');
        encode(value, &mut self.0);
        self
    }

    /// Adds fields that are encoded already.
    pub(crate) fn raw(mut self, fields: &str) -> Self {
        if !fields.is_empty() {
            self.separate();
            self.0.push_str(fields);
        }
        self
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
    }
}

/// Leaves RFC 3986's unreserved characters and encodes all others.
fn encode(text: &str, to: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                to.push(char::from(byte));
            }
            // Writing to a string does not fail.
            other => write!(to, "%{other:02X}").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_and_raw_ones_are_not() {
        let form = Form::default()
            .field("mount", "/böll & co?a=b")
            .raw("")
            .raw("key=a%20b")
            .field("empty", "");
        assert_eq!(
            form.finish(),
            "mount=%2Fb%C3%B6ll%20%26%20co%3Fa%3Db&key=a%20b&empty="
        );
    }
}
