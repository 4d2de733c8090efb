//! Forms as browsers send them (`application/x-www-form-urlencoded`), and address parts as RTMP servers name them.

use std::fmt::Write;

use fanout::gate::Request;

use super::Body;

/// Form under construction.
#[derive(Debug, Default)]
pub(super) struct Form(String);

impl Form {
    /// Adds a field.
    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        self.separate();
        self.0.push_str(name);
        self.0.push('=');
        encode(value, &mut self.0);
        self
    }

    /// Adds fields that are already encoded.
    pub(super) fn raw(mut self, fields: &str) -> Self {
        if !fields.is_empty() {
            self.separate();
            self.0.push_str(fields);
        }
        self
    }

    pub(super) fn finish(self) -> Body {
        Body {
            content_type: "application/x-www-form-urlencoded",
            text: self.0,
            signature: None,
        }
    }

    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
    }
}

/// Percent-encodes all characters but RFC 3986's unreserved ones.
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

/// Returns all but the last segment of the stream's name, which RTMP calls the application. Empty for a name of one segment.
pub(super) fn application<'a>(request: &Request<'a>) -> &'a str {
    let segments = request.stream.as_str().rsplit_once('/');
    segments.map_or("", |(application, _)| application)
}

/// Returns the last segment of the stream's name.
pub(super) fn last_segment<'a>(request: &Request<'a>) -> &'a str {
    let name = request.stream.as_str();
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

/// Returns the address as an RTMP client of this server would have written it, without the stream.
pub(super) fn tc_url(request: &Request<'_>, host: &str) -> String {
    format!("rtmp://{host}/{}", application(request))
}

/// Returns the query, followed by credentials that the client presents elsewhere: dialects of RTMP servers have no fields for
/// these, and clients of other protocols do not put them in the query.
pub(super) fn arguments(request: &Request<'_>) -> String {
    let mut form = Form::default().raw(request.query);
    let token = request.token.filter(|_| !has_key(request.query));
    for (name, value) in [
        ("user", request.user),
        ("password", request.password),
        ("key", token),
    ] {
        if let Some(value) = value {
            form = form.field(name, value);
        }
    }
    form.0
}

/// Returns whether a query has a key.
pub(super) fn has_key(query: &str) -> bool {
    let is_key = |part: &str| part.starts_with("key=") || part.starts_with("token=");
    query.split('&').any(is_key)
}

/// Returns arguments after a question mark, or nothing.
pub(super) fn with_mark(arguments: &str) -> String {
    match arguments {
        "" => String::new(),
        arguments => format!("?{arguments}"),
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
        let text = "mount=%2Fb%C3%B6ll%20%26%20co%3Fa%3Db&key=a%20b&empty=";
        assert_eq!(form.finish().text, text);
    }
}
