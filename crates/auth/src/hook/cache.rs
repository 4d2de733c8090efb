//! Permissions that are still good: what was asked, by digest, and until when.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use crate::hook::question::{Question, Verdict};

/// Most permissions that are kept: each takes some hundred bytes.
const ENTRIES_MAX: usize = 10_000;

/// What was asked, as two digests with keys of this process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Digest(u64, u64);

/// See the module's description. One that is full forgets what has ended, and keeps nothing new if nothing has.
#[derive(Debug)]
pub(crate) struct Cache {
    hashers: [RandomState; 2],
    kept: HashMap<Digest, Kept>,
    lifetime: Duration,
}

#[derive(Debug)]
struct Kept {
    verdict: Verdict,
    until: Instant,
    /// When the permission itself ends, if it does.
    over: Option<Instant>,
}

impl Cache {
    /// Keeps permissions for `lifetime`, or as long as they last if that is shorter.
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            kept: HashMap::new(),
            lifetime,
        }
    }

    /// What names a question. The port of the client and the number do not count: a viewer's further connections over a protocol
    /// are the same viewer's.
    pub(crate) fn digest(&self, question: &Question<'_>) -> Digest {
        let [first, second] = self.hashers.each_ref().map(|hasher| {
            let mut hasher = hasher.build_hasher();
            let Question {
                action,
                stream,
                peer,
                agent,
                user,
                password,
                token,
                query,
                protocol,
                headers,
                time: _,
                number: _,
            } = question;
            (action, stream, peer.ip(), agent).hash(&mut hasher);
            (protocol, user, password, token, query, headers).hash(&mut hasher);
            hasher.finish()
        });
        Digest(first, second)
    }

    /// A permission that is good, with what is left of it.
    pub(crate) fn find(&self, digest: Digest, now: Instant) -> Option<Verdict> {
        let kept = self.kept.get(&digest).filter(|kept| now < kept.until)?;
        let mut verdict = kept.verdict.clone();
        if let (Verdict::Allowed { lifetime, .. }, Some(over)) = (&mut verdict, kept.over) {
            *lifetime = Some(over.saturating_duration_since(now));
        }
        Some(verdict)
    }

    /// Keeps a permission; a denial is not kept.
    pub(crate) fn keep(&mut self, digest: Digest, verdict: &Verdict, now: Instant) {
        let Verdict::Allowed { lifetime, .. } = verdict else {
            return;
        };
        if self.lifetime.is_zero() {
            return;
        }
        if self.kept.len() >= ENTRIES_MAX {
            self.kept.retain(|_, kept| now < kept.until);
        }
        if self.kept.len() < ENTRIES_MAX {
            let kept = Kept {
                verdict: verdict.clone(),
                until: now + lifetime.map_or(self.lifetime, |lasts| lasts.min(self.lifetime)),
                over: lifetime.and_then(|lasts| now.checked_add(lasts)),
            };
            self.kept.insert(digest, kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use fanout::gate::Action;

    const LIFETIME: Duration = Duration::from_secs(10);

    fn question() -> Question<'static> {
        Question {
            action: Action::Play,
            stream: "live/show",
            protocol: "http",
            peer: SocketAddr::from(([192, 0, 2, 7], 4711)),
            agent: "VLC",
            user: Some("ann"),
            password: None,
            token: None,
            query: "",
            headers: &[],
            time: "",
            number: 1,
        }
    }

    #[test]
    fn only_the_same_question_finds_a_permission() {
        let mut cache = Cache::new(LIFETIME);
        let now = Instant::now();
        let asked = cache.digest(&question());
        cache.keep(asked, &Verdict::ALLOWED, now);
        assert_eq!(cache.find(asked, now), Some(Verdict::ALLOWED));
        let again = Question {
            peer: SocketAddr::from(([192, 0, 2, 7], 4712)),
            number: 2,
            ..question()
        };
        assert!(cache.find(cache.digest(&again), now).is_some());
        let other = SocketAddr::from(([192, 0, 2, 8], 4711));
        let base = question();
        for other in [
            Question {
                action: Action::Publish,
                ..base
            },
            Question {
                stream: "live/other",
                ..base
            },
            Question {
                peer: other,
                ..base
            },
            Question {
                agent: "mpv",
                ..base
            },
            Question {
                protocol: "webrtc",
                ..base
            },
            Question {
                user: None,
                password: Some("ann"),
                ..base
            },
            Question {
                user: Some("bob"),
                ..base
            },
            Question {
                token: Some("t"),
                ..base
            },
            Question {
                query: "ann",
                ..base
            },
            Question {
                headers: &[("referer", "http://a/")],
                ..base
            },
        ] {
            assert_eq!(cache.find(cache.digest(&other), now), None);
        }
    }

    #[test]
    fn a_permission_is_kept_as_long_as_it_lasts_and_a_denial_not_at_all() {
        let mut cache = Cache::new(LIFETIME);
        let now = Instant::now();
        let asked = cache.digest(&question());
        cache.keep(asked, &Verdict::DENIED, now);
        assert_eq!(cache.find(asked, now), None);
        cache.keep(asked, &Verdict::ALLOWED, now);
        let last = now + LIFETIME - Duration::from_millis(1);
        assert!(cache.find(asked, last).is_some());
        assert_eq!(cache.find(asked, now + LIFETIME), None);
        let lasting = |seconds| Verdict::Allowed {
            lifetime: Some(Duration::from_secs(seconds)),
            identity: None,
            stream: None,
        };
        cache.keep(asked, &lasting(3), now);
        let second = Duration::from_secs(1);
        assert_eq!(cache.find(asked, now + second), Some(lasting(2)));
        assert_eq!(cache.find(asked, now + 3 * second), None);
        let mut none = Cache::new(Duration::ZERO);
        none.keep(asked, &Verdict::ALLOWED, now);
        assert_eq!(none.find(asked, now), None);
    }

    #[test]
    fn a_full_cache_forgets_what_has_ended() {
        let mut cache = Cache::new(LIFETIME);
        let now = Instant::now();
        let keep = |cache: &mut Cache, token: usize, now| {
            let token = token.to_string();
            let asked = Question {
                token: Some(&token),
                ..question()
            };
            let digest = cache.digest(&asked);
            cache.keep(digest, &Verdict::ALLOWED, now);
            cache.find(digest, now).is_some()
        };
        assert!((0..ENTRIES_MAX).all(|token| keep(&mut cache, token, now)));
        assert!(!keep(&mut cache, ENTRIES_MAX, now));
        assert!(keep(&mut cache, ENTRIES_MAX, now + LIFETIME));
        assert_eq!(cache.kept.len(), 1);
    }
}
