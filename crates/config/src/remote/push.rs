//! Where streams are pushed to.

use std::fmt;

use media::StreamName;
use net::url::{Url, UrlError, last_segment, shown_path};

use super::template::{Named, PUSHED, Placeholder, Template, is_placeholder};
use super::{UrlFault, segments};

/// Where streams are pushed to: `rtmp://` or `rtmps://`, with `{stream}`, `{app}` and `{name}` in
/// its path or query. It shows itself without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PushUrl(Template);

impl PushUrl {
    pub(crate) const SCHEMES: [&str; 2] = ["rtmp", "rtmps"];

    /// Accepts an address, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlFault> {
        let template = Template::parse(text, &Self::SCHEMES, PUSHED)?;
        // `{stream}` alone is enough where every name has two segments; a name that has one is found
        // out when it is pushed.
        let names_both = template.has_in_path(Placeholder::Stream);
        if !names_both && segments(template.url().path()) < 2 {
            return Err(UrlFault::NoStream);
        }
        Ok(Self(template))
    }

    /// The URL for a stream, with its secrets. Its path has only one segment if the name lacks a part.
    ///
    /// # Errors
    /// [`UrlError::TooLong`].
    pub fn of(&self, stream: &StreamName) -> Result<Url, UrlError> {
        self.0.filled(Named { stream, rest: "" })
    }

    /// The URL for a stream, without its secrets.
    pub fn shown(&self, stream: &StreamName) -> String {
        self.0.shown(&self.to_string(), Named { stream, rest: "" })
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.url().is_secure()
    }
}

impl fmt::Display for PushUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.0.url();
        // What the operator wrote out in the last segment is what platforms call the stream key.
        let (_, last, _) = last_segment(url.path());
        match is_placeholder(last) {
            true => url.fmt_with_path(url.path(), f),
            false => url.fmt_with_path(&shown_path(url.path()), f),
        }
    }
}

impl fmt::Debug for PushUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
