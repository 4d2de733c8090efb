//! Addresses of WHIP and WHEP: stream, direction and session.

use std::fmt;

use http::Method;
use media::StreamName;

/// The direction of media.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// From us to a listener (WHEP).
    Out,
    /// From a publisher to us (WHIP, RFC 9725).
    In,
}

impl Way {
    /// The last segment of its endpoints.
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

/// Names a session for the client that opened it: 128 random bits, so it cannot be guessed.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Id(u128);

/// Characters of a session's name.
const ID_LEN: usize = 32;

impl Id {
    /// From random bytes.
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

/// The name is enough to end the session, so it is not printed by accident.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id(***)")
    }
}

/// The meaning of a path of WHIP or WHEP.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// The direction.
    pub way: Way,
    /// The stream.
    pub stream: StreamName,
    /// The resource of that stream.
    pub resource: Resource,
}

/// A resource of a stream's WHIP or WHEP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// The endpoint, where sessions are opened.
    Endpoint,
    /// The endpoint with a slash after it, where there is nothing.
    Beside,
    /// A session; `None` if the segment cannot be a session's name.
    Session(Option<Id>),
}

impl Address {
    /// Parses a request's path. `None` when it does not belong to WHIP or WHEP: the page of a stream whose last
    /// segment is `whep` is a page.
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

    /// Whether listeners open sessions there.
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

    /// The endpoint's path.
    pub(super) fn endpoint(&self) -> String {
        format!("/{}/{}", self.stream, self.way.segment())
    }

    /// The path of a session.
    pub(super) fn session(&self, id: Id) -> String {
        format!("{}/{id}", self.endpoint())
    }

    /// The path for logs: it does not name the session, because a client that knows the name may end
    /// it.
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
    /// The path of its row in the table.
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
        let cases = [
            (
                "POST",
                "/live/show/whep",
                Some(("live/show", Way::Out, Resource::Endpoint)),
            ),
            (
                "GET",
                "/radio.mp3/whip",
                Some(("radio.mp3", Way::In, Resource::Endpoint)),
            ),
            (
                "POST",
                "/live/show/whep/",
                Some(("live/show", Way::Out, Resource::Beside)),
            ),
            // The page of a stream with such a name.
            ("GET", "/live/show/whep/", None),
            (
                "DELETE",
                &session,
                Some(("live/show", Way::In, Resource::Session(Some(id)))),
            ),
            (
                "DELETE",
                "/a/whep/short",
                Some(("a", Way::Out, Resource::Session(None))),
            ),
            (
                "POST",
                "/a/whep/whip",
                Some(("a/whep", Way::In, Resource::Endpoint)),
            ),
            ("POST", "/whep", None),
            ("POST", "/live/whepp", None),
            ("POST", "/live//whep", None),
            ("POST", "/live/../whep", None),
            ("POST", "/li%20ve/whep", None),
            ("POST", "whep", None),
            ("POST", "", None),
            ("GET", "/live/show/", None),
        ];
        for (method, path, expected) in cases {
            let expected = expected.map(|(stream, way, resource)| Address {
                way,
                stream: StreamName::parse(stream).expect("a name"),
                resource,
            });
            assert_eq!(Address::of(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn sessions_have_one_spelling_and_stay_out_of_logs() {
        let id = Id::new([0x0f; 16]);
        assert_eq!(Id::parse(&id.to_string()), Some(id));
        let text = id.to_string();
        for wrong in [
            &text[1..],
            &format!("+{}", &text[1..]),
            &format!("{text}0"),
            "",
        ] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
        let path = format!("/live/show/whep/{id}");
        let address = Address::of("PATCH", &path).expect("an address");
        assert_eq!(address.session(id), path);
        assert_eq!(address.loggable(), "/live/show/whep/*");
        assert!(!format!("{address:?}").contains(&text));
    }
}
