//! Kinds of requests that this server answers: port, method, path, and the credential they demand.

/// Listening socket of an endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Surface {
    /// The RTMP and RTMPS ports.
    Rtmp,
    /// The public HTTP and HTTPS ports, for sources and live bodies, which the door reads itself.
    Live,
    /// The public HTTP and HTTPS ports, for pages.
    Page,
    /// The operator's port.
    Admin,
}

/// Credential that an endpoint demands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    /// No credential: the endpoint is public.
    Nothing,
    /// The stream's key.
    PublishKey,
    /// The stream's key, or the operator's password.
    KeyOrPassword,
    /// The operator's password, except on the operator's port if that is on loopback and no password was configured.
    Password,
}

/// One kind of request that this server answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Endpoint {
    /// Listening socket.
    pub surface: Surface,
    /// HTTP method, or RTMP command.
    pub method: &'static str,
    /// Path; `{stream}` stands for a stream's name, `{folder}` for a `path` of `[[files]]`.
    pub path: &'static str,
    /// Credential.
    pub demand: Demand,
}

impl Endpoint {
    pub(crate) const fn live(method: &'static str, path: &'static str, demand: Demand) -> Self {
        Self {
            surface: Surface::Live,
            method,
            path,
            demand,
        }
    }

    /// Creates the row of a page, or of a reply whose body has several pieces.
    pub(crate) const fn page(method: &'static str, path: &'static str, demand: Demand) -> Self {
        Self {
            surface: Surface::Page,
            ..Self::live(method, path, demand)
        }
    }

    pub(crate) const fn rtmp(command: &'static str, demand: Demand) -> Self {
        Self {
            surface: Surface::Rtmp,
            ..Self::live(command, "{stream}", demand)
        }
    }
}
