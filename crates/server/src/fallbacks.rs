//! What shows the fallbacks of streams, and has listeners wait for them.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};

use config::Config;
use fallback::{Board, Demand, Orders, Stats};
use fanout::{Expected, Info, Located, Origin, Registry};
use media::StreamName;

/// See the module's description.
#[derive(Clone)]
pub(crate) struct Fallbacks {
    pub(crate) origin: Arc<FallbackOrigin>,
    pub(crate) board: Arc<Board>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) orders: Arc<Orders>,
}

impl Fallbacks {
    /// Those of a configuration, of which nothing runs yet.
    pub(crate) fn new(
        config: &Arc<Config>,
        registry: &Arc<Registry>,
        orders: &Arc<Orders>,
    ) -> Self {
        let origin = FallbackOrigin {
            config: Arc::clone(config),
            named: config.named_with_fallback(),
            registry: Arc::downgrade(registry),
            demand: Arc::default(),
            next: OnceLock::new(),
        };
        Self {
            origin: Arc::new(origin),
            board: Arc::default(),
            stats: Arc::default(),
            orders: Arc::clone(orders),
        }
    }
}

/// What listeners are told that ask for a stream which is not here and has a fallback by its very name; what else they ask
/// for is left to another origin.
pub(crate) struct FallbackOrigin {
    config: Arc<Config>,
    pub(crate) named: Vec<StreamName>,
    /// It holds this.
    registry: Weak<Registry>,
    pub(crate) demand: Arc<Demand>,
    next: OnceLock<Arc<dyn Origin>>,
}

impl FallbackOrigin {
    /// Becomes the registry's origin, before `next` if there is one. To be called once.
    pub(crate) fn install(self: &Arc<Self>, registry: &Registry, next: Option<Arc<dyn Origin>>) {
        match (self.named.is_empty(), next) {
            (true, None) => {}
            (true, Some(next)) => registry.set_origin(next),
            (false, next) => {
                if let Some(next) = next {
                    self.next.get_or_init(|| next);
                }
                registry.set_origin(Arc::clone(self) as _);
            }
        }
    }

    /// Whether the stream, or what it falls back to, can be heard.
    fn can_be_heard(&self, name: &StreamName) -> bool {
        let Some(registry) = self.registry.upgrade() else {
            return false;
        };
        let mut next = self.config.fallback(name);
        // A chain has no cycle, and as many names as there are rules at most.
        for _ in 0..=self.config.streams.len() {
            let Some(fallback) = next else { return false };
            let info = registry.stream(&fallback).map(|stream| stream.info());
            if info.as_ref().is_some_and(Info::is_on_air) {
                return true;
            }
            let is_guarded = info.is_some() || self.named.contains(&fallback);
            next = self.config.fallback(&fallback).filter(|_| is_guarded);
        }
        false
    }
}

impl Origin for FallbackOrigin {
    fn expects(&self, name: &StreamName) -> Expected {
        match self.named.contains(name) {
            true => Expected::Named,
            false => self
                .next
                .get()
                .map_or(Expected::No, |next| next.expects(name)),
        }
    }

    fn locate(&self, name: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
        if self.named.contains(name) && self.can_be_heard(name) {
            self.demand
                .ask(name, tokio::time::Instant::now().into_std());
            return Box::pin(std::future::ready(Located::Coming));
        }
        match self.next.get() {
            Some(next) => next.locate(name),
            None => Box::pin(std::future::ready(Located::Unknown)),
        }
    }
}
