//! A kind of request that this server answers: where, how, and what it demands.

/// Which listening socket an endpoint is on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Surface {
    /// The RTMP and RTMPS ports.
    Rtmp,
    /// The public HTTP and HTTPS ports, read by the door itself: sources and live bodies.
    Live,
    /// The same ports: pages.
    Page,
    /// The operator's port.
    Admin,
}

/// The credential that an endpoint demands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    /// None: it is public.
    Nothing,
    /// The key of the stream.
    PublishKey,
    /// The key of the stream, or the operator's password.
    KeyOrPassword,
    /// The operator's password, unless it is the operator's port, on loopback, and none was configured.
    Password,
}

/// One kind of request that this server answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Endpoint {
    /// The port it is on.
    pub surface: Surface,
    /// Its method.
    pub method: &'static str,
    /// Its path; `{stream}` stands for a stream's name, `{folder}` for a `path` of `[[files]]`.
    pub path: &'static str,
    /// What it demands.
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

    /// One that pages are at, and what has a body in pieces.
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
