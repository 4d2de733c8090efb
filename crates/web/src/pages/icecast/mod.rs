//! Icecast's administration, as in version 2.4, on the port that its panels, scripts and monitors know.
//!
//! Addresses that end in `.xsl` are pages for people; those outside of `/admin/` are public. All other addresses demand the
//! operator's password; the user may have any name. Bad requests are answered with Icecast's status and words. Changes are GET
//! requests there, so such a request is refused when a page of another site has a browser send it (`http1::is_of_other_site`).
//! A stream of any protocol is a mount.

mod changes;
mod lists;
mod page;
mod sheet;
mod stats;
mod watch;
pub(super) mod watchers;

use std::sync::Arc;

use config::BaseUrl;
use fanout::Stream;
use http::{HeaderMap, StatusCode};
use http1::Query;
use media::StreamName;
use programme::fallback::OrderRefused;

use self::page::Place;
use self::sheet::{Outcome, Sheet};
use super::html::{self, escape};
use crate::endpoint::{Demand, Endpoint};
use crate::front_door::FrontDoor;
use crate::refusal;
use crate::reply::Reply;
use crate::request::Request;

pub use self::watch::watch;

/// Subject of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Subject {
    Public,
    Version,
    Stats,
    Mounts,
    Names,
    Listeners,
    Title,
    Kick,
    End,
    Move,
    FallBack,
    Playlist,
}

impl Subject {
    /// Returns the heading of the subject's page.
    const fn title(self) -> &'static str {
        match self {
            Self::Public => "Server status",
            Self::Version => "Server information",
            Self::Stats => "All figures",
            Self::Mounts | Self::Names => "Sources",
            Self::Listeners => "Listeners",
            Self::Title => "Title",
            Self::Move => "Move listeners",
            Self::Kick | Self::End | Self::FallBack => "Response",
            Self::Playlist => "Playlist",
        }
    }

    const fn is_change(self) -> bool {
        matches!(self, Self::Kick | Self::End | Self::Move | Self::FallBack)
    }
}

/// Reason why a request is refused, in Icecast's words where it has some.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
enum Refusal {
    #[error("Source does not exist")]
    NoStream,
    #[error("Missing parameter")]
    NoParameter,
    #[error("No such destination")]
    NoDestination,
    #[error("Destination not running")]
    DestinationAway,
    #[error("supplied mountpoints are identical")]
    SameMount,
    #[error("The destination is of another format")]
    OtherFormat,
    #[error("The stream is one of several qualities")]
    Qualities,
    #[error("That leads back to the mount")]
    Circle,
    #[error("There are too many such orders")]
    TooMany,
    #[error("Listeners of a mount are moved together")]
    OneListener,
    /// A page of another site has made a browser send the request, or might have.
    #[error("Not for pages of other sites")]
    OtherSite,
    #[error("Internal error")]
    Failed,
}

impl From<OrderRefused> for Refusal {
    fn from(refused: OrderRefused) -> Self {
        match refused {
            OrderRefused::Circle => Self::Circle,
            OrderRefused::TooMany => Self::TooMany,
        }
    }
}

impl Refusal {
    fn answer(self) -> Reply {
        let status = match self {
            Self::OtherSite => StatusCode::FORBIDDEN,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        // An operator who does intend it confirms on this page, which cannot be framed.
        let again = match self {
            Self::OtherSite => "<p><a href=\"\">Do it all the same</a></p>",
            _ => "",
        };
        let (code, words) = (status.as_u16(), escape(&self.to_string()));
        let page = format!(
            "<html><head><title>Error {code}</title></head><body><b>{code} - {words}</b>{again}</body></html>\r\n"
        );
        html::answer(POLICY_REFUSAL, status, page)
    }
}

/// Policy for the page of a refusal: no other page can frame it.
const POLICY_REFUSAL: &str = "default-src 'none'; frame-ancestors 'none'";

/// Request of the operator.
struct Ask<'a> {
    front: &'a FrontDoor,
    /// Address by which the server was reached.
    base: &'a BaseUrl,
    query: Query<'a>,
}

/// Reply to a request.
enum Answer {
    Sheet(Sheet),
    Done(Outcome),
    Whole(Reply),
}

/// Answers a request for a row.
pub(super) async fn answer(request: &Request<'_>, row: &Endpoint, subject: Subject) -> Reply {
    let is_operators = row.demand != Demand::Nothing;
    if is_operators && let Err(denied) = request.administer(None).await {
        return refusal::not_the_operator(denied);
    }
    let base = request.base();
    let ask = Ask {
        front: request.front,
        base: &base,
        query: request.parameters(),
    };
    let answered = match subject {
        _ if subject.is_change() && is_of_other_site(&request.headers, &base) => {
            Err(Refusal::OtherSite)
        }
        subject => ask.about(subject).await,
    };
    let path = row.path;
    let is_page = path.ends_with(".xsl") || path.ends_with('/');
    let place = Place {
        path,
        title: subject.title(),
        is_operators,
        asks_title: subject == Subject::Title,
    };
    match answered {
        Ok(Answer::Sheet(sheet)) if is_page => sheet.page(place),
        Ok(Answer::Sheet(sheet)) => sheet.xml(),
        Ok(Answer::Done(outcome)) if is_page => outcome.page(place),
        Ok(Answer::Done(outcome)) => outcome.xml(),
        Ok(Answer::Whole(reply)) => reply,
        Err(refusal) => refusal.answer(),
    }
}

impl Ask<'_> {
    async fn about(&self, subject: Subject) -> Result<Answer, Refusal> {
        Ok(match subject {
            Subject::Public => Answer::Sheet(self.public()),
            Subject::Version => Answer::Sheet(self.version()),
            Subject::Stats => Answer::Sheet(self.stats().await?),
            Subject::Mounts => Answer::Sheet(self.mounts()),
            Subject::Names => Answer::Whole(self.names()),
            Subject::Listeners => Answer::Sheet(self.listeners().await?),
            Subject::Title => Answer::Sheet(self.titled()?),
            Subject::Kick => Answer::Done(self.kick().await?),
            Subject::End => Answer::Done(self.end()?),
            Subject::Move => self.move_listeners()?,
            Subject::FallBack => self.fall_back()?,
            Subject::Playlist => Answer::Whole(self.playlist()?),
        })
    }

    /// Returns the stream that the request is about.
    fn stream(&self) -> Result<Arc<Stream>, Refusal> {
        let mount = self.parameter("mount")?;
        let name = StreamName::parse(&mount).map_err(|_| Refusal::NoStream)?;
        self.front.registry.stream(&name).ok_or(Refusal::NoStream)
    }

    fn parameter(&self, name: &str) -> Result<String, Refusal> {
        self.query.get(name).ok_or(Refusal::NoParameter)
    }
}

/// Returns a mount's name: the stream's, with a leading `/`.
fn mount(name: &StreamName) -> String {
    format!("/{name}")
}

fn is_of_other_site(headers: &HeaderMap, base: &BaseUrl) -> bool {
    let header = |name: &str| Some(headers.get(name)?.to_str().unwrap_or_default());
    http1::is_of_other_site(header, Some(base.host()))
}
