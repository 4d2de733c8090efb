//! What shows the fallbacks of streams, and has listeners wait for them.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};

use fanout::{Expected, Info, Located, Origin, Registry};
use media::StreamName;

use crate::{Board, Demand, Orders, Stats};

/// The stream that the configuration has another one fall back to.
pub type Configured = Box<dyn Fn(&StreamName) -> Option<StreamName> + Send + Sync>;

/// See the module's description.
#[derive(Clone)]
pub struct Fallbacks {
    /// Has listeners wait for streams that have a fallback.
    pub origin: Arc<FallbackOrigin>,
    /// What the guards are doing.
    pub board: Arc<Board>,
    /// What they have done.
    pub stats: Arc<Stats>,
    /// What the operator has ordered.
    pub orders: Arc<Orders>,
}

base::debug!(Fallbacks {});

impl Fallbacks {
    /// Fallbacks of which nothing runs yet. `named` are the streams that have one by their very name; a chain has
    /// `chain_max` streams at most.
    pub fn new(
        named: Vec<StreamName>,
        configured: Configured,
        chain_max: usize,
        registry: &Arc<Registry>,
        orders: &Arc<Orders>,
    ) -> Self {
        let origin = FallbackOrigin {
            named,
            configured,
            chain_max,
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
pub struct FallbackOrigin {
    /// Streams that have a guard from the beginning.
    pub named: Vec<StreamName>,
    configured: Configured,
    chain_max: usize,
    /// It holds this.
    registry: Weak<Registry>,
    /// Who wants streams that are not here.
    pub demand: Arc<Demand>,
    next: OnceLock<Arc<dyn Origin>>,
}

impl FallbackOrigin {
    /// Becomes the registry's origin, before `next` if there is one. To be called once.
    pub fn install(self: &Arc<Self>, registry: &Registry, next: Option<Arc<dyn Origin>>) {
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
        let mut next = (self.configured)(name);
        // A chain has no cycle, and as many names as there are rules at most.
        for _ in 0..=self.chain_max {
            let Some(fallback) = next else { return false };
            let info = registry.stream(&fallback).map(|stream| stream.info());
            if info.as_ref().is_some_and(Info::is_on_air) {
                return true;
            }
            let is_guarded = info.is_some() || self.named.contains(&fallback);
            next = (self.configured)(&fallback).filter(|_| is_guarded);
        }
        false
    }
}

base::debug!(FallbackOrigin {});

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
