//! One listener: from the connect to the first media, and then what it is sent.

use std::borrow::Cow;
use std::os::fd::OwnedFd;

use crate::answer::{Answer, AnswerReader};
use crate::checker::Checker;
use crate::conversation::{ClientConversation, Event, Trouble, Wish};
use crate::group::Member;
use crate::ledger::{Findings, Kind};
use crate::listen::role::Role;
use crate::reception::Reception;
use crate::socket;
use crate::target::{Protocol, Target};
use crate::tls::Secured;

/// A listener. There are thousands in a process, so what only the beginning or a check needs is boxed.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    pub(crate) role: Role,
    pub(crate) phase: Phase,
    pub(crate) reception: Reception,
    /// Its side of TLS, for as long as it knows what it receives.
    pub(crate) secured: Option<Box<Secured>>,
}

#[derive(Debug)]
pub(crate) enum Phase {
    /// With its first message.
    Connecting(Vec<u8>, Box<Joining>),
    Joining(Box<Joining>),
    Listening,
    Checked(Box<Followed>),
    Stalled,
}

/// The stages of an answer before the media.
#[derive(Debug)]
pub(crate) enum Joining {
    Head(AnswerReader),
    /// The request was accepted, and its body has yet to come.
    Body(Answer),
    Rtmp(Box<ClientConversation>),
}

/// A listener whose frames are checked.
#[derive(Debug)]
pub(crate) struct Followed {
    checker: Checker,
    /// An RTMP player goes on in the protocol.
    conversation: Option<Box<ClientConversation>>,
}

/// How far a listener that joins has come.
#[derive(Debug)]
pub(crate) enum Step {
    /// The media is yet to come.
    Waiting,
    /// It has come: that many bytes of it. They have already been passed to a checked listener's follower.
    Joined(Option<Box<Followed>>, usize),
}

/// Why a listener did not get in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error("status {0}")]
    Status(u16),
    #[error(transparent)]
    Answer(#[from] crate::answer::AnswerError),
    #[error(transparent)]
    Rtmp(#[from] Trouble),
}

impl Member for Listener {
    fn role(&self) -> Role {
        self.role
    }

    fn has_media(&self) -> bool {
        !matches!(self.phase, Phase::Connecting(..) | Phase::Joining(_))
    }

    fn reception(&mut self) -> &mut Reception {
        &mut self.reception
    }
}

impl Listener {
    /// What the received `bytes` say. Answers that TLS itself asks for are sent.
    pub(crate) fn open<'a>(&mut self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
        let Some(secured) = &mut self.secured else {
            return Ok(Cow::Borrowed(bytes));
        };
        let said = secured.push(bytes).map_err(|error| error.to_string())?;
        self.reply(&[])?;
        Ok(Cow::Owned(said))
    }

    /// Sends `words`, and what TLS has to say.
    pub(crate) fn reply(&mut self, words: &[u8]) -> Result<(), String> {
        let sealed;
        let bytes = match &mut self.secured {
            None => words,
            Some(secured) => {
                let output = secured.say(words).and_then(|()| secured.take_output());
                sealed = output.map_err(|error| error.to_string())?;
                &sealed
            }
        };
        match bytes.is_empty() {
            true => Ok(()),
            false => socket::say(&self.socket, bytes).map_err(str::to_owned),
        }
    }
}

impl Joining {
    /// The first message for stream `number` of `target`, and what reads the answer. Over HTTP it may ask for titles, and have
    /// a query of its own.
    pub(crate) fn begin(
        target: &Target,
        number: u64,
        (icy, query): (bool, Option<&str>),
    ) -> Result<(Vec<u8>, Self), JoinError> {
        if target.protocol() == Protocol::Rtmp {
            let mut conversation = ClientConversation::new(target, number, Wish::Play)?;
            return Ok((
                conversation.take_output(),
                Self::Rtmp(Box::new(conversation)),
            ));
        }
        let icy = if icy { "Icy-MetaData: 1\r\n" } else { "" };
        let request = format!(
            "GET /{}{}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: carillon-load\r\n{icy}\r\n",
            target.path(number),
            query.map_or("", |_| "?"),
            query.unwrap_or_default(),
            target.authority()
        );
        Ok((request.into_bytes(), Self::Head(AnswerReader::default())))
    }

    /// Takes what the server sent at `now` to a listener that asked at `asked`, both wall clock. Answers are
    /// appended to `reply`. With `findings`, the listener's frames are checked.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        (asked, now): (u64, u64),
        reply: &mut Vec<u8>,
        findings: Option<&mut Findings>,
    ) -> Result<Step, JoinError> {
        match self {
            Self::Head(reader) => {
                let Some((answer, body)) = reader.push(bytes)? else {
                    return Ok(Step::Waiting);
                };
                if answer.status != 200 {
                    return Err(JoinError::Status(answer.status));
                }
                *self = Self::Body(answer);
                if body.is_empty() {
                    return Ok(Step::Waiting);
                }
                self.push(&body, (asked, now), reply, findings)
            }
            Self::Body(answer) => {
                let followed = findings.map(|findings| {
                    let mut checker = Checker::http(answer, asked);
                    checker.body(bytes, now, findings);
                    Box::new(Followed {
                        checker,
                        conversation: None,
                    })
                });
                Ok(Step::Joined(followed, bytes.len()))
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
                    // The conversation moves on; an empty reader stays behind.
                    let joining = std::mem::replace(self, Self::Head(AnswerReader::default()));
                    let conversation = match joining {
                        Self::Rtmp(conversation) => Some(conversation),
                        Self::Head(_) | Self::Body(_) => None,
                    };
                    Box::new(Followed {
                        checker,
                        conversation,
                    })
                });
                Ok(Step::Joined(followed, bytes.len()))
            }
        }
    }
}

impl Followed {
    /// Takes what the server sent at `now`, wall clock. Answers are appended to `reply`.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        now: u64,
        reply: &mut Vec<u8>,
        findings: &mut Findings,
    ) -> Result<(), Trouble> {
        let Some(conversation) = &mut self.conversation else {
            self.checker.body(bytes, now, findings);
            return Ok(());
        };
        let mut events = Vec::new();
        let heard = conversation.push(bytes, &mut events);
        reply.extend(conversation.take_output());
        enter(&mut self.checker, events, now, findings);
        heard
    }
}

fn enter(checker: &mut Checker, events: Vec<Event>, now: u64, findings: &mut Findings) {
    for event in events {
        match event {
            Event::Accepted => {}
            Event::Audio(millis, body) => checker.tag(Kind::Audio, millis, body, now, findings),
            Event::Video(millis, body) => checker.tag(Kind::Video, millis, body, now, findings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_small() {
        // Beside its socket in the kernel; the table of listeners is a vector of these.
        assert!(size_of::<Option<Listener>>() <= 200);
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
    fn a_head_alone_is_no_media() {
        let mut joining = Joining::Head(AnswerReader::default());
        let mut push = |bytes: &[u8]| joining.push(bytes, (0, 0), &mut Vec::new(), None);
        assert!(matches!(
            push(b"HTTP/1.1 200 OK\r\n\r\n"),
            Ok(Step::Waiting)
        ));
        assert!(matches!(push(b"sound"), Ok(Step::Joined(None, 5))));
    }
}
