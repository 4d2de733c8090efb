//! Destinations of pushes.

use std::fmt;

use media::StreamName;
use net::url::{Url, UrlError, last_segment, shown_path};

use super::template::{Named, PUSHED, Placeholder, Template, is_placeholder};
use super::{UrlFault, segments};

/// Address that streams are pushed to: `rtmp://` or `rtmps://`, with `{stream}`, `{app}` and `{name}` in its path or query. It
/// is displayed without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PushUrl(Template);

impl PushUrl {
    pub(crate) const SCHEMES: [&str; 2] = ["rtmp", "rtmps"];

    /// Parses an address.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlFault> {
        let template = Template::parse(text, &Self::SCHEMES, PUSHED)?;
        // `{stream}` alone is enough if every name has two segments; a name with only one is detected when it is pushed.
        let names_both = template.has_in_path(Placeholder::Stream);
        if !names_both && segments(template.url().path()) < 2 {
            return Err(UrlFault::NoStream);
        }
        Ok(Self(template))
    }

    /// Returns the URL for a stream, with its secrets. Its path has only one segment if the name lacks a part.
    ///
    /// # Errors
    /// [`UrlError::TooLong`].
    pub fn of(&self, stream: &StreamName) -> Result<Url, UrlError> {
        self.0.filled(Named { stream, rest: "" })
    }

    /// Returns the URL for a stream, without its secrets.
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
        // A last segment that the operator wrote out is what platforms call the stream key.
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
