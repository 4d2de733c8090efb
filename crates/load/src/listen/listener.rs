//! A single listener: from the connect to the first media, and the media after that.

use std::borrow::Cow;
use std::os::fd::OwnedFd;

use crate::answer::{Answer, AnswerReader};
use crate::checker::Checker;
use crate::conversation::{ClientConversation, Event, Trouble, Wish};
use crate::group::Reason;
use crate::ledger::Findings;
use crate::messages::{self, MessageError, Messages};
use crate::socket;
use crate::target::{Protocol, Target};
use crate::tls::Secured;

/// A listener. There are thousands in a process, so state that only the beginning or a check needs is boxed.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    pub(crate) phase: Phase,
    /// The listener's side of TLS, as long as it needs to decrypt what it receives.
    pub(crate) secured: Option<Box<Secured>>,
}

#[derive(Debug)]
pub(crate) enum Phase {
    /// Joining; with the first message, until it is sent.
    Joining(Option<Vec<u8>>, Box<Joining>),
    Listening,
    Checked(Box<Followed>),
    Stalled,
}

/// Stages of a response before the media.
#[derive(Debug)]
pub(crate) enum Joining {
    /// Reading the head; with the media type of the messages, if a WebSocket was requested.
    Head(AnswerReader, Option<&'static str>),
    /// The request was accepted, and its body has yet to arrive, in messages or as it is.
    Body(Answer, Option<Messages>),
    Rtmp(Box<ClientConversation>),
}

/// A listener whose frames are checked.
#[derive(Debug)]
pub(crate) struct Followed {
    checker: Checker,
    speech: Speech,
}

/// Protocol that a listener continues to speak while it receives frames.
#[derive(Debug)]
enum Speech {
    /// Nothing more is sent.
    Http,
    Websocket(Messages),
    Rtmp(Box<ClientConversation>),
}

/// Progress of a listener that joins.
#[derive(Debug)]
pub(crate) enum Step {
    /// The media has yet to arrive.
    Waiting,
    /// That many bytes of media have arrived. They have already been passed to a checked listener's follower.
    Joined(Option<Box<Followed>>, usize),
}

/// Reasons why a listener was not admitted, or cannot continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListenError {
    #[error("status {0}")]
    Status(u16),
    #[error(transparent)]
    Answer(#[from] crate::answer::AnswerError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Rtmp(#[from] Trouble),
}

impl Listener {
    /// Decrypts the received `bytes`. Sends the replies that TLS itself requires.
    pub(crate) fn open<'a>(&mut self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, Reason> {
        let Some(secured) = &mut self.secured else {
            return Ok(Cow::Borrowed(bytes));
        };
        let said = secured.push(bytes)?;
        self.reply(&[])?;
        Ok(Cow::Owned(said))
    }

    /// Sends `words`, and whatever TLS has to send.
    pub(crate) fn reply(&mut self, words: &[u8]) -> Result<(), Reason> {
        let sealed;
        let bytes = match &mut self.secured {
            None => words,
            Some(secured) => {
                secured.say(words)?;
                sealed = secured.take_output()?;
                &sealed
            }
        };
        if !bytes.is_empty() {
            socket::say(&self.socket, bytes)?;
        }
        Ok(())
    }
}

impl Joining {
    /// Returns the first message for stream `number` of `target`, and the state that reads the response. Over HTTP, the message
    /// may request titles and carry its own query.
    pub(crate) fn begin(
        target: &Target,
        number: u64,
        (icy, query): (bool, Option<&str>),
    ) -> Result<(Vec<u8>, Self), ListenError> {
        if target.protocol == Protocol::Rtmp {
            let mut conversation = ClientConversation::new(target, number, Wish::Play)?;
            return Ok((
                conversation.take_output(),
                Self::Rtmp(Box::new(conversation)),
            ));
        }
        let path = target.path(number);
        let is_websocket = target.protocol == Protocol::Websocket;
        let more = match (is_websocket, icy) {
            (true, _) => messages::headers(),
            (false, true) => "Icy-MetaData: 1\r\n".to_owned(),
            (false, false) => String::new(),
        };
        let request = format!(
            "GET /{path}{}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: carillon-load\r\n{more}\r\n",
            query.map_or("", |_| "?"),
            query.unwrap_or_default(),
            target.authority
        );
        let media_type = is_websocket.then(|| messages::media_type(&path));
        let head = Self::Head(AnswerReader::default(), media_type);
        Ok((request.into_bytes(), head))
    }

    /// Takes the bytes that the server sent at `now` to a listener that made its request at `asked`, both wall clock. Replies
    /// are appended to `reply`. With `findings`, the listener's frames are checked.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        (asked, now): (u64, u64),
        reply: &mut Vec<u8>,
        findings: Option<&mut Findings>,
    ) -> Result<Step, ListenError> {
        match self {
            Self::Head(reader, media_type) => {
                let Some((mut answer, body)) = reader.push(bytes)? else {
                    return Ok(Step::Waiting);
                };
                let expected = if media_type.is_some() { 101 } else { 200 };
                if answer.status != expected {
                    return Err(ListenError::Status(answer.status));
                }
                let messages = media_type.map(|_| Messages::new());
                if let Some(media_type) = media_type {
                    answer.content_type = (*media_type).to_owned();
                }
                *self = Self::Body(answer, messages);
                if body.is_empty() {
                    return Ok(Step::Waiting);
                }
                self.push(&body, (asked, now), reply, findings)
            }
            Self::Body(answer, messages) => {
                let Some(findings) = findings else {
                    return Ok(Step::Joined(None, bytes.len()));
                };
                let speech = messages.take().map_or(Speech::Http, Speech::Websocket);
                let mut followed = Followed {
                    checker: Checker::http(answer, asked),
                    speech,
                };
                followed.push(bytes, now, reply, findings)?;
                Ok(Step::Joined(Some(Box::new(followed)), bytes.len()))
            }
            Self::Rtmp(conversation) => {
                let mut events = Vec::new();
                let heard = conversation.push(bytes, &mut events);
                reply.extend(conversation.take_output());
                heard?;
                let has_media = events.iter().any(|event| !matches!(event, Event::Accepted));
                if !has_media {
                    return Ok(Step::Waiting);
                }
                let followed = findings.map(|findings| {
                    let mut checker = Checker::rtmp(asked);
                    enter(&mut checker, events, now, findings);
                    // The conversation is moved out; an empty reader stays behind.
                    let empty = Self::Head(AnswerReader::default(), None);
                    let speech = match std::mem::replace(self, empty) {
                        Self::Rtmp(conversation) => Speech::Rtmp(conversation),
                        Self::Head(..) | Self::Body(..) => Speech::Http,
                    };
                    Box::new(Followed { checker, speech })
                });
                Ok(Step::Joined(followed, bytes.len()))
            }
        }
    }
}

impl Followed {
    /// Takes the bytes that the server sent at `now`, wall clock. Replies are appended to `reply`.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        now: u64,
        reply: &mut Vec<u8>,
        findings: &mut Findings,
    ) -> Result<(), ListenError> {
        let conversation = match &mut self.speech {
            Speech::Http => {
                self.checker.body(bytes, now, findings);
                return Ok(());
            }
            Speech::Websocket(messages) => {
                let checker = &mut self.checker;
                let pass_on = |data: &[u8]| checker.body(data, now, findings);
                return Ok(messages.push(bytes, reply, pass_on)?);
            }
            Speech::Rtmp(conversation) => conversation,
        };
        let mut events = Vec::new();
        let heard = conversation.push(bytes, &mut events);
        reply.extend(conversation.take_output());
        enter(&mut self.checker, events, now, findings);
        Ok(heard?)
    }
}

fn enter(checker: &mut Checker, events: Vec<Event>, now: u64, findings: &mut Findings) {
    for event in events {
        if let Event::Tag(kind, millis, body) = event {
            checker.tag(kind, millis, body, now, findings);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Member;

    #[test]
    fn a_listener_is_small() {
        // Besides its socket in the kernel; the table of listeners is a vector of these.
        assert!(size_of::<Option<Member<Listener>>>() <= 200);
    }

    #[test]
    fn a_status_that_is_no_yes_is_the_reason() {
        let target = "http://127.0.0.1:1/x".parse().expect("an address");
        let (request, mut joining) =
            Joining::begin(&target, 0, (true, Some("jwt=a.b"))).expect("nothing to go wrong");
        assert_eq!(
            String::from_utf8_lossy(&request),
            "GET /x?jwt=a.b HTTP/1.1\r\nHost: 127.0.0.1:1\r\nUser-Agent: carillon-load\r\nIcy-MetaData: 1\r\n\r\n"
        );
        let step = joining.push(b"HTTP/1.1 503 Full\r\n\r\n", (0, 0), &mut Vec::new(), None);
        assert_eq!(step.expect_err("refused").to_string(), "status 503");
    }

    #[test]
    fn a_websocket_that_is_not_granted_is_refused() {
        let target = "ws://127.0.0.1:1/x.flv".parse().expect("an address");
        let (request, mut joining) = Joining::begin(&target, 0, (false, None)).expect("a request");
        let request = String::from_utf8_lossy(&request).into_owned();
        assert!(request.contains("\r\nUpgrade: websocket\r\n"), "{request}");
        let mut push = |bytes: &[u8]| joining.push(bytes, (0, 0), &mut Vec::new(), None);
        let refused = push(b"HTTP/1.1 200 OK\r\n\r\n").expect_err("plain HTTP");
        assert_eq!(refused.to_string(), "status 200");
    }

    #[test]
    fn a_head_alone_is_no_media() {
        let mut joining = Joining::Head(AnswerReader::default(), None);
        let mut push = |bytes: &[u8]| joining.push(bytes, (0, 0), &mut Vec::new(), None);
        assert!(matches!(
            push(b"HTTP/1.1 200 OK\r\n\r\n"),
            Ok(Step::Waiting)
        ));
        assert!(matches!(push(b"sound"), Ok(Step::Joined(None, 5))));
    }
}
