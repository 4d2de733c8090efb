//! `/{stream}/titles`: the current title, as Server-Sent Events (HTML Living Standard, section 9.2), for pages that play a
//! stream whose audio does not carry titles.
//!
//! The first event is the current title, and each further one the next; a stream that does not exist has none. A title is sent
//! at about the time at which listeners are sent it, so a player that is behind by its buffer shows it early. Under the name of
//! several qualities the title is that of the leading one, as in `info.json`.
//!
//! A client costs a connection and its task, which sleeps until the title changes. There are at most 2,048 clients; a new one
//! always gets a place, for which the oldest of the address with the most may have to end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::shares::ShareTicket;
use bytes::Bytes;
use fanout::gate::{Authorized, Ongoing, Revocation};
use fanout::{Permit, Stream};
use http::{StatusCode, header};
use hyper::body::Frame;
use media::{StreamName, Title};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::info::{picture, publisher};
use super::lasting::Lasting;
use super::presentation::Presentation;
use crate::front_door::FrontDoor;
use crate::refusal;
use crate::reply::Reply;
use crate::request::Request;
use crate::sse::{COMMENT, Silence};

/// Media type of Server-Sent Events.
const MEDIA_TYPE: &str = "text/event-stream";

/// Interval at which the leading one of several qualities is determined again while its title stays the same. All qualities of
/// one programme have the same titles; the check matters when a quality ends and others continue.
const LEAD_LOOK: Duration = Duration::from_secs(2);

/// Place of a client, held until its body is dropped.
struct Place {
    front: Arc<FrontDoor>,
    ticket: ShareTicket,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.front.pages.titles.shares().give_back(self.ticket);
    }
}

/// Starts sending the titles of a stream, until the client's permission ends.
pub(super) async fn answer(request: &Request<'_>, name: &StreamName) -> Reply {
    let front = request.front;
    let lead = Presentation::of(front, name.clone());
    let permission = match request.may_be_reported(lead.stream()).await {
        Ok(permission) => permission,
        Err(denied) => return refusal::denied(denied),
    };
    if request.is_head() {
        return Reply::full(StatusCode::OK, MEDIA_TYPE, "");
    }
    let revocation = Revocation::default();
    let until = permission.as_ref().and_then(Authorized::until);
    let ongoing = Ongoing::Beside(revocation.clone());
    let witness = permission.and_then(|permission| permission.begin(ongoing));
    let (ticket, given_up) = front.pages.titles.take(request.visitor.peer.ip());
    let place = Place {
        front: Arc::clone(front),
        ticket,
    };
    let body = TitleBody {
        next: Box::pin(next(Arc::clone(front), name.clone(), None)),
        front: Arc::clone(front),
        name: name.clone(),
        has_begun: false,
        given_up,
        silence: Silence::begin(),
        end: Box::pin(async move {
            tokio::select! {
                () = net::wait::at(until) => {}
                () = revocation.revoked() => {}
            }
        }),
        _connection: Lasting::begin(&request.handover, place),
        _witness: witness,
    };
    Reply::of(StatusCode::OK, body).with(header::CONTENT_TYPE, MEDIA_TYPE)
}

/// Title that was last sent to a client.
type Reported = Option<Arc<Title>>;

/// Waits until the title of a name differs from `reported`. The outer `None` is a client that was sent nothing yet.
async fn next(
    front: Arc<FrontDoor>,
    name: StreamName,
    reported: Option<Reported>,
) -> Option<Reported> {
    let changed = async {
        loop {
            let title = match lead(&front, &name) {
                Some(stream) if *stream.name() == name => {
                    stream.next_title(reported.as_ref()).await
                }
                Some(stream) => {
                    match timeout(LEAD_LOOK, stream.next_title(reported.as_ref())).await {
                        Ok(title) => title,
                        Err(_) => continue,
                    }
                }
                None => None,
            };
            match title {
                Some(title) => return title,
                None if matches!(reported, Some(Some(_))) => return None,
                None => publisher(&front, &name).await,
            }
        }
    };
    tokio::select! {
        title = changed => Some(title),
        () = front.drain.begun() => None,
    }
}

/// Returns the stream whose title is that of the name, if there is one.
fn lead(front: &FrontDoor, name: &StreamName) -> Option<Arc<Stream>> {
    let lead = Presentation::of(front, name.clone()).lead?;
    front.registry.stream(&lead.name)
}

/// Events as the body of a reply.
struct TitleBody {
    front: Arc<FrontDoor>,
    name: StreamName,
    /// Whether a piece has been made: the head of the reply goes with the first one.
    has_begun: bool,
    next: Pin<Box<dyn Future<Output = Option<Reported>> + Send>>,
    /// Resolves when the place is given to another client: this body ends, and its client connects again.
    given_up: oneshot::Receiver<()>,
    silence: Silence,
    /// Resolves when the permission ends.
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    _connection: Lasting<Place>,
    /// Registration of the permission, by which it can be revoked early.
    _witness: Option<Permit>,
}

impl hyper::body::Body for TitleBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let is_given_up = Pin::new(&mut this.given_up).poll(cx).is_ready();
        if is_given_up || this.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let piece = match this.next.as_mut().poll(cx) {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(title)) => {
                let piece = event(title.as_deref());
                let (front, name) = (Arc::clone(&this.front), this.name.clone());
                this.next = Box::pin(next(front, name, Some(title)));
                piece
            }
            Poll::Pending if !this.has_begun || this.silence.poll(cx).is_ready() => {
                COMMENT.to_owned()
            }
            Poll::Pending => return Poll::Pending,
        };
        this.has_begun = true;
        this.silence.end();
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }
}

fn event(title: Option<&Title>) -> String {
    let text = title.map(|title| title.text.as_str());
    let url = title
        .map(|title| title.url.as_str())
        .filter(|url| !url.is_empty());
    let picture = title.and_then(picture);
    let data = json!({ "title": text, "url": url, "picture": picture });
    format!("data: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line() {
        let title = Title {
            text: "A\nB".to_owned(),
            url: String::new(),
        };
        let nothing = "\"picture\":null,\"title\":null,\"url\":null";
        assert_eq!(event(None), format!("data: {{{nothing}}}\n\n"));
        let expected = nothing.replace("\"title\":null", "\"title\":\"A\\nB\"");
        assert_eq!(event(Some(&title)), format!("data: {{{expected}}}\n\n"));
        let linked = Title {
            url: "http://h/a.png".to_owned(),
            ..title
        };
        let reported = event(Some(&linked));
        let picture = "\"picture\":\"http://h/a.png\"";
        assert!(reported.contains(picture), "{reported}");
    }
}
