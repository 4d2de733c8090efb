//! Origin of streams that are not here and that a pull may bring, for the listeners that request them.

use std::pin::Pin;
use std::sync::Arc;

use config::{Config, Pulled};
use fanout::{Expected, Located, Origin};
use media::StreamName;
use tokio::sync::{mpsc, oneshot, watch};

use super::link::Finding;

/// Maximum number of questions that wait for the task of the pulls; beyond it, listeners wait to send theirs. The task answers
/// at once.
pub(super) const QUESTIONS_MAX: usize = 64;

/// Request for a stream that a listener wants.
#[derive(Debug)]
pub(crate) struct Question {
    /// Name of the stream.
    pub(super) stream: StreamName,
    /// Number of the rule that brings the stream.
    pub(super) rule: usize,
    /// Reply: the channel of the finding; dropped if the stream cannot be looked for.
    pub(super) answer: oneshot::Sender<watch::Receiver<Finding>>,
}

/// Origin that sends requests for streams to the task of the pulls.
#[derive(Debug)]
pub(super) struct PullOrigin {
    config: Arc<Config>,
    questions: mpsc::Sender<Question>,
}

impl PullOrigin {
    pub(super) fn new(config: Arc<Config>, questions: mpsc::Sender<Question>) -> Self {
        Self { config, questions }
    }

    /// Returns the rule that brings a stream on demand. A rule for that very name precedes all patterns.
    fn rule(&self, stream: &StreamName) -> Option<(usize, Expected)> {
        let rules = self.config.pulls.iter().enumerate();
        let fitting = rules.filter(|(_, rule)| rule.on_demand && rule.stream.matches(stream));
        let mut perhaps = None;
        for (index, rule) in fitting {
            match rule.stream {
                Pulled::One(_) => return Some((index, Expected::Named)),
                Pulled::Fitting(_) if rule.brings_mounts() => {
                    perhaps = perhaps.or(Some((index, Expected::Mount)));
                }
                Pulled::Fitting(_) => perhaps = perhaps.or(Some((index, Expected::Perhaps))),
            }
        }
        // A pattern may match the server's own pages.
        perhaps.filter(|_| !stream.is_reserved())
    }
}

impl Origin for PullOrigin {
    fn expects(&self, name: &StreamName) -> Expected {
        self.rule(name)
            .map_or(Expected::No, |(_, expected)| expected)
    }

    fn locate(&self, name: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
        let rule = self.rule(name).map(|(rule, _)| rule);
        // A name may match a pattern and lack the parts that its URL needs.
        let has_source = |rule: &usize| !self.config.pulls[*rule].sources(name).is_empty();
        let Some(rule) = rule.filter(has_source) else {
            return Box::pin(std::future::ready(Located::Unknown));
        };
        let (questions, stream) = (self.questions.clone(), name.clone());
        Box::pin(async move {
            let found = look(questions, stream, rule).await;
            found.unwrap_or(Located::Unavailable)
        })
    }
}

/// Waits until it is known whether the stream exists. Returns `None` if it is not looked for, and will not be.
async fn look(
    questions: mpsc::Sender<Question>,
    stream: StreamName,
    rule: usize,
) -> Option<Located> {
    let (answer, answered) = oneshot::channel();
    let question = Question {
        stream,
        rule,
        answer,
    };
    questions.send(question).await.ok()?;
    let mut finding = answered.await.ok()?;
    let shown = finding.wait_for(|finding| *finding != Finding::Looking);
    Some(match *shown.await.ok()? {
        Finding::Looking => return None,
        Finding::Found => Located::Coming,
        Finding::Nothing => Located::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(source: &str) -> (PullOrigin, mpsc::Receiver<Question>) {
        let config = Config::parse("test", source, std::iter::empty()).expect("valid");
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        (PullOrigin::new(Arc::new(config), questions), asked)
    }

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    const RULES: &str = "\
        [[pull]]\nstream = \"cam/*\"\nurl = \"rtmp://h/x/{name}\"\non_demand = true\n\
        [[pull]]\nstream = \"*\"\nurl = \"rtmp://h/y/{name}\"\non_demand = true\n\
        [[pull]]\nstream = \"cam/a.flv\"\nurl = \"rtmp://h/z/a\"\non_demand = true\n\
        [[pull]]\nstream = \"always\"\nurl = \"rtmp://h/z/b\"\n\
        [[pull]]\nstream = \"far/**\"\nurl = \"http://h/{rest}?key=k\"\non_demand = true\n\
        [[pull]]\nstream = \"near/**\"\nurl = \"http://h/{rest}.flv\"\non_demand = true\n";

    #[test]
    fn names_are_known_by_their_rule_and_patterns_hide_nothing() {
        let (origin, _asked) = origin(RULES);
        for (stream, expected) in [
            ("cam/a.flv", Some((2, Expected::Named))),
            ("cam/a", Some((0, Expected::Perhaps))),
            ("radio", Some((1, Expected::Perhaps))),
            ("cam/a/b", None),
            ("far/a.mp3", Some((4, Expected::Mount))),
            ("near/a.mp3", Some((5, Expected::Perhaps))),
            // The server's own.
            ("status-json.xsl", None),
            ("favicon.ico", None),
        ] {
            assert_eq!(origin.rule(&name(stream)), expected, "{stream}");
            let expected = expected.map_or(Expected::No, |(_, expected)| expected);
            assert_eq!(origin.expects(&name(stream)), expected, "{stream}");
        }
        let (origin, _asked) = self::origin(&RULES.replace("\"*\"", "\"b*\""));
        // It comes unasked.
        assert_eq!(origin.expects(&name("always")), Expected::No);
    }

    #[tokio::test]
    async fn what_no_rule_brings_is_unknown_at_once() {
        let (origin, mut asked) = origin(RULES);
        assert_eq!(origin.locate(&name("cam/a/b")).await, Located::Unknown);
        assert!(asked.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_finding_is_waited_for_and_a_look_that_is_given_up_says_nothing() {
        let (origin, mut asked) = origin(RULES);
        for (shown, expected) in [
            (Some(Finding::Found), Located::Coming),
            (Some(Finding::Nothing), Located::Unknown),
            (None, Located::Unavailable),
        ] {
            let looking = tokio::spawn(origin.locate(&name("cam/a")));
            let question = asked.recv().await.expect("a question");
            assert_eq!((question.rule, question.stream), (0, name("cam/a")));
            let (finding, look) = watch::channel(Finding::Looking);
            question.answer.send(look).expect("it waits");
            if let Some(shown) = shown {
                finding.send_replace(shown);
            }
            drop(finding);
            assert_eq!(looking.await.expect("no panic"), expected);
        }
        let looking = tokio::spawn(origin.locate(&name("cam/a")));
        drop(asked.recv().await.expect("a question"));
        assert_eq!(looking.await.expect("no panic"), Located::Unavailable);
        drop(asked);
        assert_eq!(origin.locate(&name("cam/a")).await, Located::Unavailable);
    }
}
