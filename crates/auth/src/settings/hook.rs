//! Settings of the authorization hook, which is asked for permission over HTTP.

use std::time::Duration;

use fanout::gate::Action;
use media::Glob;
use net::url::Url;

use crate::hook::Dialect;
use crate::secret::Secret;

/// Section `[auth.hook]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuthHook {
    /// URL that questions are posted to; `None` disables the hook.
    pub url: Option<Url>,
    /// URL for questions about listeners, if different.
    pub play_url: Option<Url>,
    /// URL for a question about each RTMP client on connect; `None` asks none.
    pub connect_url: Option<Url>,
    /// URL that ends are reported to; `None` reports none.
    pub end_url: Option<Url>,
    /// URL for periodic updates on ongoing sessions; `None` sends none.
    pub update_url: Option<Url>,
    /// Interval between updates.
    pub update_every: Duration,
    /// URL for reports of publishers that start and stop, whoever has permitted them; `None` reports none.
    pub mount_url: Option<Url>,
    /// Names of the listeners' headers that the hook receives, case-insensitive.
    pub headers: Vec<String>,
    /// Prefix of their names in a question.
    pub header_prefix: String,
    /// Secret that signs questions, in dialects that sign them.
    pub secret: Option<Secret>,
    /// Form of questions and answers.
    pub dialect: Dialect,
    /// Actions the hook is asked about.
    pub asks: HookAsks,
    /// Streams the hook is asked about; see [`Permissions::asks_hook`](super::Permissions::asks_hook).
    pub patterns: Vec<Glob>,
    /// Host name that clients use for this server, with the port if it is needed.
    pub host: String,
    /// Longest time to wait for an answer.
    pub timeout: Duration,
    /// Time for which a permission is cached.
    pub cache: Duration,
    /// Policy for a question without an answer.
    pub unanswered: HookUnanswered,
}

/// Actions a hook is asked about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HookAsks {
    /// Publishing, titles and listening.
    #[default]
    All,
    /// Publishing and titles.
    Publish,
    /// Listening.
    Play,
}

impl HookAsks {
    /// Returns whether the hook is asked about an action.
    pub fn are_for(self, action: Action) -> bool {
        match self {
            Self::All => true,
            Self::Publish => action != Action::Play,
            Self::Play => action == Action::Play,
        }
    }
}

/// Policy for when a hook gives no answer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HookUnanswered {
    /// Clients are refused and asked to try again.
    #[default]
    Deny,
    /// Listeners are let in; publishers are refused.
    Allow,
}

impl Default for AuthHook {
    fn default() -> Self {
        Self {
            url: None,
            play_url: None,
            connect_url: None,
            end_url: None,
            update_url: None,
            update_every: Duration::from_secs(30),
            mount_url: None,
            headers: Vec::new(),
            header_prefix: String::new(),
            secret: None,
            dialect: Dialect::default(),
            asks: HookAsks::default(),
            patterns: Glob::parse("**").into_iter().collect(),
            host: "localhost".to_owned(),
            timeout: Duration::from_secs(2),
            cache: Duration::ZERO,
            unanswered: HookUnanswered::default(),
        }
    }
}
