//! How hooks are asked: one module for each server whose hooks are understood. No IO.

mod carillon;
mod icecast;
mod mediamtx;
mod nginx_rtmp;
mod srs;
#[cfg(test)]
mod tests;

use http::{HeaderMap, StatusCode};

use crate::question::{Question, Verdict};

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
    pub(crate) fn body(self, question: &Question<'_>, host: &str) -> Body {
        let json = |value: serde_json::Value| Body {
            content_type: "application/json",
            text: value.to_string(),
        };
        let form = |text| Body {
            content_type: crate::form::CONTENT_TYPE,
            text,
        };
        match self {
            Self::Carillon => json(carillon::question(question)),
            Self::Srs => json(srs::question(question, host)),
            Self::MediaMtx => json(mediamtx::question(question)),
            Self::NginxRtmp => form(nginx_rtmp::question(question, host)),
            Self::Icecast => form(icecast::question(question, host)),
        }
    }

    /// What an answer means. A status of 500 and above is no answer, and is not asked about here.
    pub(crate) fn verdict(
        self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Verdict, Garbled> {
        match self {
            Self::Carillon => carillon::verdict(status, body),
            Self::NginxRtmp => nginx_rtmp::verdict(status),
            Self::Srs => srs::verdict(status, body),
            Self::MediaMtx => Ok(mediamtx::verdict(status)),
            Self::Icecast => Ok(icecast::verdict(status, headers)),
        }
    }
}
