//! How hooks are asked: one module for each server whose hooks are understood. No IO.

mod carillon;
mod icecast;
mod mediamtx;
mod nginx_rtmp;
mod ome;
mod srs;
#[cfg(test)]
mod tests;

use http::{HeaderMap, StatusCode};

use crate::hook::mounts::Mount;
use crate::hook::question::{Moment, Question, Verdict};
use fanout::gate::Action;

/// Whose hooks are asked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Dialect {
    /// Our own: JSON, and an answer in JSON that may be empty.
    #[default]
    Carillon,
    /// nginx-rtmp's `on_publish` and `on_play`: a form, and a status.
    NginxRtmp,
    /// SRS's `http_hooks`: JSON, and a code in the body.
    Srs,
    /// MediaMTX's `authHTTPAddress`: JSON, and a status.
    MediaMtx,
    /// Icecast's `<authentication type="url">`: a form, and headers.
    Icecast,
    /// OvenMediaEngine's `AdmissionWebhooks`: signed JSON, and JSON.
    Ome,
}

/// What is posted.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Body {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
}

/// An answer that cannot be understood.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("its answer is not understood: {0}")]
pub(crate) struct Garbled(pub(crate) &'static str);

impl Dialect {
    /// What is posted. `host` is what clients call this server, with the port.
    pub(crate) fn body(self, question: &Question<'_>, moment: Moment, host: &str) -> Body {
        let json = |value: serde_json::Value| Body {
            content_type: "application/json",
            text: value.to_string(),
        };
        let form = |text| Body {
            content_type: crate::hook::form::CONTENT_TYPE,
            text,
        };
        match self {
            Self::Carillon => json(carillon::body(question, moment)),
            Self::Srs => json(srs::body(question, moment, host)),
            Self::MediaMtx => json(mediamtx::body(question)),
            Self::Ome => json(ome::body(question, moment, host)),
            Self::NginxRtmp => form(nginx_rtmp::body(question, moment, host)),
            Self::Icecast => form(icecast::body(question, moment, host)),
        }
    }

    /// The header that proves to the hook who asks, where the dialect has one.
    pub(crate) fn signature_header(self) -> Option<&'static str> {
        match self {
            Self::Ome => Some("x-ome-signature"),
            _ => None,
        }
    }

    /// Whether the hook is told of the end of what it has permitted. Titles have none.
    pub(crate) fn tells_of_ends(self, action: Action) -> bool {
        self != Self::MediaMtx && action != Action::UpdateMetadata
    }

    /// Whether the hook can be asked about clients that have connected and want nothing yet.
    pub fn asks_about_connections(self) -> bool {
        matches!(self, Self::NginxRtmp | Self::Srs)
    }

    /// Whether the hook can be told of what goes on.
    pub fn tells_of_updates(self) -> bool {
        matches!(self, Self::Carillon | Self::NginxRtmp)
    }

    /// Whether the hook can be told of publishers, whoever has permitted them.
    pub fn tells_of_mounts(self) -> bool {
        self == Self::Icecast
    }

    /// Whether the hook can be told headers of listeners.
    pub fn tells_headers(self) -> bool {
        self == Self::Icecast
    }

    /// What is posted of a stream's publisher.
    pub(crate) fn mount(self, stream: &str, mount: Mount, host: &str) -> Body {
        Body {
            content_type: crate::hook::form::CONTENT_TYPE,
            text: icecast::mount(stream, mount, host),
        }
    }

    /// Whether an answer to an update means that what it was about may go on. A status of 500 and above is no answer, as below.
    pub(crate) fn permits_update(self, status: StatusCode, body: &[u8]) -> Result<bool, Garbled> {
        match self {
            Self::NginxRtmp => Ok(status.is_success() || status.is_redirection()),
            _ => Ok(matches!(
                carillon::verdict(status, body)?,
                Verdict::Allowed { .. }
            )),
        }
    }

    /// Whether an answer about a client that has connected lets it ask for something. A status of 500 and above is no answer, as below.
    pub(crate) fn permits_connection(
        self,
        status: StatusCode,
        body: &[u8],
    ) -> Result<bool, Garbled> {
        match self {
            // Another application is not offered: a redirection is no refusal.
            Self::NginxRtmp => Ok(status.is_success() || status.is_redirection()),
            _ => Ok(matches!(
                srs::verdict(status, body)?,
                Verdict::Allowed { .. }
            )),
        }
    }

    /// What an answer to a question means. A status of 500 and above is no answer, and is not asked about here.
    pub(crate) fn verdict(
        self,
        question: &Question<'_>,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Verdict, Garbled> {
        match self {
            Self::Carillon => carillon::verdict(status, body),
            Self::NginxRtmp => nginx_rtmp::verdict(question, status, headers),
            Self::Srs => srs::verdict(status, body),
            Self::MediaMtx => Ok(mediamtx::verdict(status)),
            Self::Icecast => Ok(icecast::verdict(status, headers)),
            Self::Ome => ome::verdict(status, body),
        }
    }
}
