//! Handle of all fallbacks, and the origin that lets listeners wait for them.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};

use fanout::{Expected, Info, Located, Origin, Registry};
use media::StreamName;

use crate::fallback::{Board, Demand, Orders, Stats};

/// Lookup of the fallback that the configuration gives a stream.
pub type Configured = Box<dyn Fn(&StreamName) -> Option<StreamName> + Send + Sync>;

/// Handle of all fallbacks; [`FallbackOrigin::install`] puts its origin in place.
#[derive(Clone)]
pub struct Fallbacks {
    /// Origin through which listeners wait for streams that have a fallback.
    pub origin: Arc<FallbackOrigin>,
    /// State of the guards.
    pub board: Arc<Board>,
    /// Counts of all guards.
    pub stats: Arc<Stats>,
    /// Orders of the operator.
    pub orders: Arc<Orders>,
}

base::debug!(Fallbacks {});

impl Fallbacks {
    /// Makes the handle, with no guard running yet. `named` are the streams whose exact names have a fallback; a chain
    /// has at most `chain_max` streams.
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

/// Origin that answers requests for a stream that is not present, if the exact name has a fallback; it passes all other
/// requests on to another origin.
pub struct FallbackOrigin {
    /// Streams that have a guard from the beginning.
    pub named: Vec<StreamName>,
    configured: Configured,
    chain_max: usize,
    /// Registry, which holds this origin.
    registry: Weak<Registry>,
    /// Demand for streams that are not present.
    pub demand: Arc<Demand>,
    next: OnceLock<Arc<dyn Origin>>,
}

impl FallbackOrigin {
    /// Becomes the registry's origin, before `next` if there is one. Call it once.
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

    /// Returns whether listeners of the stream can receive it, or anything that it falls back to.
    fn can_be_heard(&self, name: &StreamName) -> bool {
        let Some(registry) = self.registry.upgrade() else {
            return false;
        };
        let mut next = (self.configured)(name);
        // A chain has no cycle, and at most as many names as there are rules.
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
            self.demand.ask(name, crate::now());
            return Box::pin(std::future::ready(Located::Coming));
        }
        match self.next.get() {
            Some(next) => next.locate(name),
            None => Box::pin(std::future::ready(Located::Unknown)),
        }
    }
}
