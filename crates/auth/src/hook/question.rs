//! What a hook is asked, and what it may answer.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fanout::gate::Action;
use net::holdings::{Held, Holdings, Kind};

use crate::hook::form::Form;

/// What is told of a client: before, what it wants; meanwhile, what goes on; after, what has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    /// It has connected, and will ask for something.
    Connect,
    /// It asks to begin.
    Begin,
    /// What was permitted goes on.
    Update {
        /// How long so far.
        lasted: Duration,
    },
    /// What was permitted has ended.
    End {
        /// How long it went on.
        lasted: Duration,
    },
}

/// A client's wish. All texts are the client's own and untrusted.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// What it wants to do.
    pub action: Action,
    /// The whole name of the stream, without a slash in front.
    pub stream: &'a str,
    /// The protocol's label: `rtmp`, `icecast`, `whip`, `http`, `webrtc`.
    pub protocol: &'a str,
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The name of its program; may be empty.
    pub agent: &'a str,
    /// The user name that it presents.
    pub user: Option<&'a str>,
    /// The password that it presents.
    pub password: Option<&'a str>,
    /// The bearer token, or the key in the address.
    pub token: Option<&'a str>,
    /// The query of the address, without the question mark.
    pub query: &'a str,
    /// Those of its headers that the hook is to be told, by the names of their fields.
    pub headers: &'a [(&'a str, &'a str)],
    /// When it asks, in ISO 8601 with milliseconds: a field of some dialects.
    pub time: &'a str,
    /// Tells this question apart from others of this process; the end has the same.
    pub number: u64,
}

/// Longest text of a client that is kept for as long as what was permitted lasts: a token of twice the usual length.
const KEPT_BYTES_MAX: usize = 1_024;

/// A question that outlives its request, to tell of the end. What is kept of it is bounded, for there are as many as listeners: a
/// longer name of a program is cut, a longer secret or argument is left out.
pub(crate) struct KeptQuestion {
    action: Action,
    stream: Box<str>,
    protocol: Box<str>,
    peer: SocketAddr,
    agent: Box<str>,
    user: Option<Box<str>>,
    password: Option<Box<str>>,
    token: Option<Box<str>>,
    query: Box<str>,
    number: u64,
    _held: Held,
}

impl KeptQuestion {
    /// What is kept of a question, and counted.
    pub(crate) fn of(question: &Question<'_>, holdings: &Arc<Holdings>) -> Self {
        let (agent, query) = (cut(question.agent), kept_query(question.query));
        let secrets = [question.user, question.password, question.token].map(kept);
        let texts = [question.stream, question.protocol, agent, query];
        let texts = texts.into_iter().chain(secrets.into_iter().flatten());
        let bytes = size_of::<Self>() + texts.map(str::len).sum::<usize>();
        let [user, password, token] = secrets.map(|text| text.map(Into::into));
        Self {
            action: question.action,
            stream: question.stream.into(),
            protocol: question.protocol.into(),
            peer: question.peer,
            agent: agent.into(),
            user,
            password,
            token,
            query: query.into(),
            number: question.number,
            _held: holdings.note(Kind::Questions, bytes),
        }
    }

    /// The question, at another time.
    pub(crate) fn at<'a>(&'a self, time: &'a str) -> Question<'a> {
        Question {
            time,
            action: self.action,
            stream: &self.stream,
            protocol: &self.protocol,
            peer: self.peer,
            agent: &self.agent,
            user: self.user.as_deref(),
            password: self.password.as_deref(),
            token: self.token.as_deref(),
            query: &self.query,
            // What is told later has none.
            headers: &[],
            number: self.number,
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(KEPT_BYTES_MAX)]
}

fn kept(text: Option<&str>) -> Option<&str> {
    text.filter(|text| text.len() <= KEPT_BYTES_MAX)
}

/// The first arguments, whole ones.
fn kept_query(query: &str) -> &str {
    if query.len() <= KEPT_BYTES_MAX {
        return query;
    }
    let first = cut(query);
    match query.as_bytes().get(first.len()) {
        Some(b'&') => first,
        _ => first.rsplit_once('&').map_or("", |(whole, _)| whole),
    }
}

/// Shows no secret.
impl fmt::Debug for KeptQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptQuestion")
            .field("action", &self.action)
            .field("stream", &self.stream)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

impl Question<'_> {
    /// All but the name's last segment: what RTMP calls the application. Empty for a name of one segment.
    pub(crate) fn application(&self) -> &str {
        self.stream.rsplit_once('/').map_or("", |(app, _)| app)
    }

    /// The name's last segment.
    pub(crate) fn last_segment(&self) -> &str {
        self.stream
            .rsplit_once('/')
            .map_or(self.stream, |(_, last)| last)
    }

    /// The query, and what the client presents elsewhere: dialects of RTMP servers have no fields for it, and clients of
    /// other protocols no other place.
    pub(crate) fn arguments(&self) -> String {
        let mut form = Form::default().raw(self.query);
        let has_key = |part: &str| part.starts_with("key=") || part.starts_with("token=");
        let token = self.token.filter(|_| !self.query.split('&').any(has_key));
        for (name, value) in [
            ("user", self.user),
            ("password", self.password),
            ("key", token),
        ] {
            if let Some(value) = value {
                form = form.field(name, value);
            }
        }
        form.finish()
    }

    /// The query with a question mark, or nothing.
    pub(crate) fn with_mark(&self) -> String {
        match self.query {
            "" => String::new(),
            query => format!("?{query}"),
        }
    }

    /// The address as an RTMP client of this server would have written it, without the stream.
    pub(crate) fn tc_url(&self, host: &str) -> String {
        format!("rtmp://{host}/{}", self.application())
    }
}

/// What a hook has answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The client may.
    Allowed {
        /// For how long; `None` for as long as it likes.
        lifetime: Option<Duration>,
        /// What the hook calls it; not checked for length or content.
        identity: Option<String>,
        /// The stream that it gets instead of the one that it has asked for; not checked either.
        stream: Option<String>,
    },
    /// The client may not, with the hook's words for the log.
    Denied {
        /// Why, if it says so.
        reason: Option<String>,
        /// It might with a credential: the client is to be asked for one.
        wants_credential: bool,
    },
}

impl Verdict {
    pub(crate) const ALLOWED: Self = Self::Allowed {
        lifetime: None,
        identity: None,
        stream: None,
    };

    pub(crate) const DENIED: Self = Self::Denied {
        reason: None,
        wants_credential: false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::tests::question;

    #[test]
    fn what_is_kept_of_a_question_is_bounded() {
        let long = "x".repeat(16 * 1024);
        let query = format!("key=a&more={long}");
        let asked = Question {
            agent: &long,
            password: Some(&long),
            query: &query,
            ..question(1)
        };
        let account = Holdings::new(0);
        let kept = KeptQuestion::of(&asked, &account);
        let told = kept.at("");
        assert_eq!(told.agent.len(), KEPT_BYTES_MAX);
        assert_eq!((told.password, told.query), (None, "key=a"));
        assert_eq!(told.token, asked.token);
        let fits = "y".repeat(KEPT_BYTES_MAX);
        assert_eq!(kept_query(&fits), fits);
        assert_eq!(kept_query(&format!("{fits}&z=1")), fits);
        assert_eq!(kept_query(&format!("{fits}y&z=1")), "");
        let bytes = account.bytes(Kind::Questions);
        assert!(
            (KEPT_BYTES_MAX..2 * KEPT_BYTES_MAX).contains(&bytes),
            "{bytes}"
        );
        drop(kept);
        assert_eq!(account.bytes(Kind::Questions), 0);
    }
}
