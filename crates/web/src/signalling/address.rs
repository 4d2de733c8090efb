//! Addresses of WHIP and WHEP: stream, direction and session.

use std::fmt;

use http::Method;
use media::StreamName;

/// Direction of media.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// From us to a listener (WHEP).
    Out,
    /// From a publisher to us (WHIP, RFC 9725).
    In,
}

impl Way {
    /// Returns the last segment of the direction's endpoints.
    pub const fn segment(self) -> &'static str {
        match self {
            Self::Out => "whep",
            Self::In => "whip",
        }
    }

    fn of_segment(segment: &str) -> Option<Self> {
        [Self::Out, Self::In]
            .into_iter()
            .find(|way| way.segment() == segment)
    }
}

/// Name of a session for the client that opened it: 128 random bits, so it cannot be guessed.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Id(u128);

/// Length of a session's name in characters.
const ID_LEN: usize = 32;

impl Id {
    /// Creates a name from random bytes.
    pub(super) const fn new(random: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(random))
    }

    fn parse(text: &str) -> Option<Self> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok();
        number.filter(|_| text.len() == ID_LEN && is_hex).map(Self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Debug form without the name: the name is enough to end the session, so it must not be printed by accident.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id(***)")
    }
}

/// Parsed path of WHIP or WHEP.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// Direction.
    pub way: Way,
    /// Stream.
    pub stream: StreamName,
    /// Resource of that stream.
    pub resource: Resource,
}

/// Resource of a stream's WHIP or WHEP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// The endpoint, where sessions are opened.
    Endpoint,
    /// The endpoint followed by a slash, where nothing exists.
    Beside,
    /// A session; `None` if the segment cannot be a session's name.
    Session(Option<Id>),
}

impl Address {
    /// Parses a request's path. Returns `None` if it does not belong to WHIP or WHEP: the page of a stream whose last segment
    /// is `whep` is a page.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        let (front, last) = path.rsplit_once('/')?;
        let (way, name, resource) = match Way::of_segment(last) {
            Some(way) => (way, front, Resource::Endpoint),
            None => {
                let (name, segment) = front.rsplit_once('/')?;
                let resource = match last {
                    "" if matches!(method, "GET" | "HEAD") => return None,
                    "" => Resource::Beside,
                    _ => Resource::Session(Id::parse(last)),
                };
                (Way::of_segment(segment)?, name, resource)
            }
        };
        let stream = StreamName::parse(name).ok()?;
        Some(Self {
            way,
            stream,
            resource,
        })
    }

    /// Whether listeners open sessions at this address.
    pub fn is_listeners_endpoint(&self) -> bool {
        self.way == Way::Out && self.resource == Resource::Endpoint
    }

    /// Whether a request of this method has an offer or a change in its body.
    pub(crate) fn takes_body_of(&self, method: &Method) -> bool {
        match self.resource {
            Resource::Endpoint => method == Method::POST,
            Resource::Session(_) => method == Method::PATCH,
            Resource::Beside => false,
        }
    }

    /// Returns the endpoint's path.
    pub(super) fn endpoint(&self) -> String {
        format!("/{}/{}", self.stream, self.way.segment())
    }

    /// Returns the path of a session.
    pub(super) fn session(&self, id: Id) -> String {
        format!("{}/{id}", self.endpoint())
    }

    /// Returns the path for logs: it does not name the session, because a client that knows the name may end it.
    pub fn loggable(&self) -> String {
        match self.resource {
            Resource::Endpoint => self.endpoint(),
            Resource::Beside => format!("{}/", self.endpoint()),
            Resource::Session(_) => format!("{}/*", self.endpoint()),
        }
    }
}

#[cfg(test)]
impl Address {
    /// Returns the path of its row in the table.
    pub fn row(&self) -> Option<&'static str> {
        match (self.way, self.resource) {
            (Way::Out, Resource::Session(Some(_))) => Some("/{stream}/whep/{id}"),
            (Way::Out, Resource::Endpoint) => Some("/{stream}/whep"),
            (Way::In, Resource::Session(Some(_))) => Some("/{stream}/whip/{id}"),
            (Way::In, Resource::Endpoint) => Some("/{stream}/whip"),
            (_, Resource::Session(None) | Resource::Beside) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_an_endpoint_a_session_or_nothing() {
        let id = Id::new([0xab; 16]);
        let session = format!("/live/show/whip/{id}");
        let of = |way, stream, resource| {
            let stream = StreamName::parse(stream).expect("a name");
            Some(Address {
                way,
                stream,
                resource,
            })
        };
        let (show, endpoint) = ("live/show", Resource::Endpoint);
        let own = of(Way::In, show, Resource::Session(Some(id)));
        let short = of(Way::Out, "a", Resource::Session(None));
        let beside = of(Way::Out, show, Resource::Beside);
        for (method, path, expected) in [
            ("POST", "/live/show/whep", of(Way::Out, show, endpoint)),
            ("GET", "/radio.mp3/whip", of(Way::In, "radio.mp3", endpoint)),
            ("POST", "/live/show/whep/", beside),
            // The page of a stream with such a name.
            ("GET", "/live/show/whep/", None),
            ("DELETE", &session, own),
            ("DELETE", "/a/whep/short", short),
            ("POST", "/a/whep/whip", of(Way::In, "a/whep", endpoint)),
            ("POST", "/whep", None),
            ("POST", "/live/whepp", None),
            ("POST", "/live//whep", None),
            ("POST", "/live/../whep", None),
            ("POST", "/li%20ve/whep", None),
            ("POST", "whep", None),
            ("POST", "", None),
            ("GET", "/live/show/", None),
        ] {
            assert_eq!(Address::of(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn sessions_have_one_spelling_and_stay_out_of_logs() {
        let id = Id::new([0x0f; 16]);
        assert_eq!(Id::parse(&id.to_string()), Some(id));
        let text = id.to_string();
        let signed = format!("+{}", &text[1..]);
        for wrong in [&text[1..], &signed, &format!("{text}0"), ""] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
        let path = format!("/live/show/whep/{id}");
        let address = Address::of("PATCH", &path).expect("an address");
        assert_eq!(address.session(id), path);
        assert_eq!(address.loggable(), "/live/show/whep/*");
        assert!(!format!("{address:?}").contains(&text));
    }
}
