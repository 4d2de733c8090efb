//! Rows of the page table: an address, and the code or file that answers it.

use std::fmt;
use std::pin::Pin;

use http::StatusCode;
use media::StreamName;

use super::assets::Asset;
use super::icecast::{self, Subject};
use super::shoutcast::{self, Figures};
use crate::endpoint::{Demand, Endpoint};
use crate::reply::Reply;
use crate::request::Request;

/// Placeholder for a stream's name in an address.
const STREAM: &str = "{stream}";

/// Prefix of the player's address for frames.
pub(crate) const EMBED: &str = "/embed/";

/// Returns the player's address for frames.
pub(super) fn embed_path(name: impl fmt::Display) -> String {
    format!("{EMBED}{name}")
}

/// Future of a reply.
type Answering<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// Row of the page table; call `answer` with a request for it.
pub struct Row {
    /// Address, method and credential.
    pub endpoint: Endpoint,
    /// Whether the page lists all streams.
    pub(crate) is_list: bool,
    /// Whether the reply may take a while, so that it matters whether the client still waits.
    pub(crate) may_wait: bool,
    /// Whether the reply lasts as long as its client takes it.
    pub(crate) lasts: bool,
    answer: Answer,
}

/// Code or file that answers a row.
enum Answer {
    Page(for<'a> fn(&'a Request<'a>) -> Answering<'a>),
    OfStream(for<'a> fn(&'a Request<'a>, &'a StreamName) -> Answering<'a>),
    Asset(&'static Asset),
    Icecast(Subject),
    Shoutcast(Figures),
}

impl Row {
    const fn new(path: &'static str, demand: Demand, answer: Answer) -> Self {
        Self {
            endpoint: Endpoint::page("GET", path, demand),
            is_list: false,
            may_wait: false,
            lasts: false,
            answer,
        }
    }

    /// Creates the row of a page that is not about a single stream.
    pub(super) const fn page(
        path: &'static str,
        answer: for<'a> fn(&'a Request<'a>) -> Answering<'a>,
    ) -> Self {
        Self::new(path, Demand::Nothing, Answer::Page(answer))
    }

    /// Creates the row of a stream's page, with the stream's name in its path.
    pub(super) const fn of_stream(
        path: &'static str,
        answer: for<'a> fn(&'a Request<'a>, &'a StreamName) -> Answering<'a>,
    ) -> Self {
        Self::new(path, Demand::Nothing, Answer::OfStream(answer))
    }

    /// Creates the row of an embedded file.
    pub(super) const fn asset(path: &'static str, asset: &'static Asset) -> Self {
        Self::new(path, Demand::Nothing, Answer::Asset(asset))
    }

    /// Creates the row of a public page of Icecast.
    pub(super) const fn icecast(path: &'static str, subject: Subject) -> Self {
        Self::new(path, Demand::Nothing, Answer::Icecast(subject))
    }

    /// Creates a row of Icecast's administration.
    pub(super) const fn administration(path: &'static str, subject: Subject) -> Self {
        Self::new(path, Demand::Password, Answer::Icecast(subject))
    }

    /// Creates the row of a document for SHOUTcast programs.
    pub(super) const fn shoutcast(path: &'static str, figures: Figures) -> Self {
        Self::new(path, Demand::Nothing, Answer::Shoutcast(figures))
    }

    pub(super) const fn listed(mut self) -> Self {
        self.is_list = true;
        self
    }

    pub(super) const fn waits(mut self) -> Self {
        self.may_wait = true;
        self
    }

    pub(super) const fn lasts(mut self) -> Self {
        self.lasts = true;
        self
    }

    /// Returns the row's path, in which `{stream}` stands for a stream's name.
    pub(crate) const fn path(&self) -> &'static str {
        self.endpoint.path
    }

    /// Whether the row is that of a path without a stream's name.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.path() == path && !path.contains('{')
    }

    /// Whether the row is an embedded file, which all clients share.
    pub(crate) const fn is_asset(&self) -> bool {
        matches!(self.answer, Answer::Asset(_))
    }

    /// Returns the name that a path has in place of the stream's; `None` if the path is not this row's.
    pub(crate) fn name_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (before, behind) = self.path().split_once(STREAM)?;
        // A name keeps its leading slash at the start of a path, and has no more than one.
        let name = match before {
            "/" => path,
            _ => path.strip_prefix(before)?,
        };
        name.strip_suffix(behind)
    }

    /// Answers a request. `stream` is the stream that the path names.
    pub(super) async fn answer<'a>(
        &self,
        request: &'a Request<'a>,
        stream: Option<&'a StreamName>,
    ) -> Reply {
        match (&self.answer, stream) {
            (Answer::Page(answer), _) => answer(request).await,
            (Answer::OfStream(answer), Some(stream)) => answer(request, stream).await,
            (Answer::OfStream(_), None) => Reply::new(StatusCode::NOT_FOUND),
            (Answer::Asset(asset), _) => asset.answer(&request.headers),
            (Answer::Icecast(subject), _) => {
                icecast::answer(request, &self.endpoint, *subject).await
            }
            (Answer::Shoutcast(figures), _) => shoutcast::answer(request, *figures).await,
        }
    }
}

/// Rows are equal if their endpoints are: each address has one row.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.endpoint == other.endpoint
    }
}

impl Eq for Row {}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Row").field(&self.endpoint).finish()
    }
}
