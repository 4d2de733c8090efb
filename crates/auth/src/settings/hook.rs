//! Who is asked for permission, over HTTP.

use std::time::Duration;

use fanout::gate::Action;
use media::Glob;
use net::url::Url;

use crate::hook::Dialect;
use crate::secret::Secret;

/// Section `[auth.hook]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuthHook {
    /// Where questions are posted; `None` asks nobody.
    pub url: Option<Url>,
    /// Where those of listeners are, if elsewhere.
    pub play_url: Option<Url>,
    /// Where it is asked about clients of RTMP as soon as they have connected; `None` does not.
    pub connect_url: Option<Url>,
    /// Where ends are told; `None` tells of none.
    pub end_url: Option<Url>,
    /// Where it is told of what goes on; `None` does not.
    pub update_url: Option<Url>,
    /// How often.
    pub update_every: Duration,
    /// Where it is told that publishers come and go, whoever has permitted them; `None` tells of none.
    pub mount_url: Option<Url>,
    /// Which headers of listeners it is told, in whatever case.
    pub headers: Vec<String>,
    /// What stands before their names.
    pub header_prefix: String,
    /// What questions are signed with, in dialects that do that.
    pub secret: Option<Secret>,
    /// In which form.
    pub dialect: Dialect,
    /// Which actions are asked about.
    pub asks: HookAsks,
    /// Which streams are; see [`Permissions::asks_hook`](super::Permissions::asks_hook).
    pub patterns: Vec<Glob>,
    /// What clients call this server, with the port if it has to be named.
    pub host: String,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How long a permission is kept.
    pub cache: Duration,
    /// What happens without an answer.
    pub unanswered: HookUnanswered,
}

/// What a hook is asked about.
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
    /// Returns whether it is asked about an action.
    pub fn are_for(self, action: Action) -> bool {
        match self {
            Self::All => true,
            Self::Publish => action != Action::Play,
            Self::Play => action == Action::Play,
        }
    }
}

/// What happens when a hook gives no answer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HookUnanswered {
    /// Clients are refused, with words to try again.
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
