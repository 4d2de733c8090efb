//! A page: its address, and what answers it.

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

/// Stands for a stream's name in an address.
const STREAM: &str = "{stream}";

/// What the player's address for frames begins with.
pub(crate) const EMBED: &str = "/embed/";

/// The player's address for frames.
pub(super) fn embed_path(name: impl fmt::Display) -> String {
    format!("{EMBED}{name}")
}

/// An answer that is being made.
type Answering<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// See the module's description.
pub struct Row {
    /// Its address.
    pub endpoint: Endpoint,
    /// It lists all streams.
    pub(crate) is_list: bool,
    /// The answer may take a while, so that it matters whether the client still waits.
    pub(crate) may_wait: bool,
    /// The answer lasts as long as its client takes it.
    pub(crate) lasts: bool,
    answer: Answer,
}

/// What answers it.
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

    /// A page that is about no stream alone.
    pub(super) const fn page(
        path: &'static str,
        answer: for<'a> fn(&'a Request<'a>) -> Answering<'a>,
    ) -> Self {
        Self::new(path, Demand::Nothing, Answer::Page(answer))
    }

    /// A page of a stream, whose name stands in its path.
    pub(super) const fn of_stream(
        path: &'static str,
        answer: for<'a> fn(&'a Request<'a>, &'a StreamName) -> Answering<'a>,
    ) -> Self {
        Self::new(path, Demand::Nothing, Answer::OfStream(answer))
    }

    /// An embedded file.
    pub(super) const fn asset(path: &'static str, asset: &'static Asset) -> Self {
        Self::new(path, Demand::Nothing, Answer::Asset(asset))
    }

    /// A page of Icecast that is everyone's.
    pub(super) const fn icecast(path: &'static str, subject: Subject) -> Self {
        Self::new(path, Demand::Nothing, Answer::Icecast(subject))
    }

    /// A row of Icecast's administration.
    pub(super) const fn administration(path: &'static str, subject: Subject) -> Self {
        Self::new(path, Demand::Password, Answer::Icecast(subject))
    }

    /// What programs of SHOUTcast read.
    pub(super) const fn shoutcast(path: &'static str, figures: Figures) -> Self {
        Self::new(path, Demand::Nothing, Answer::Shoutcast(figures))
    }

    pub(super) const fn listed(self) -> Self {
        Self {
            is_list: true,
            ..self
        }
    }

    pub(super) const fn waits(self) -> Self {
        Self {
            may_wait: true,
            ..self
        }
    }

    pub(super) const fn lasts(self) -> Self {
        Self {
            lasts: true,
            ..self
        }
    }

    /// Its path, in which `{stream}` stands for a stream's name.
    pub(crate) const fn path(&self) -> &'static str {
        self.endpoint.path
    }

    /// Whether it is the row of a path, in which no stream stands.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.path() == path && !path.contains('{')
    }

    /// Whether it is an embedded file, which is there for all.
    pub(crate) const fn is_asset(&self) -> bool {
        matches!(self.answer, Answer::Asset(_))
    }

    /// The name that a path has in the place of the stream's; `None` if the path is not this row's.
    pub(crate) fn name_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (before, behind) = self.path().split_once(STREAM)?;
        // A name has its leading slash where it stands first, and no more than one.
        let name = match before {
            "/" => path,
            _ => path.strip_prefix(before)?,
        };
        name.strip_suffix(behind)
    }

    /// What it answers. `stream` is the one that its path names.
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

/// There is one row for an address.
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
