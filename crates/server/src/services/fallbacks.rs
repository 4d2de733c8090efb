//! Fallback streams, played while the publisher of another stream is away, and their metrics.

use std::sync::Arc;

use config::Config;
use media::StreamName;
use operator::metrics::table::FALLBACKS;
use programme::fallback::{Fallbacks, Orders, Rule};
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Service that moves listeners to fallback streams and back.
pub(super) struct FallbackKeeper {
    pub(super) front: Arc<FrontDoor>,
    pub(super) fallbacks: Fallbacks,
}

impl Service for FallbackKeeper {
    fn metrics(&self) -> Option<Encoder> {
        let stats = Arc::clone(&self.fallbacks.stats);
        Some(Box::new(move |page| {
            page.counters(FALLBACKS, stats.outcomes.values())
        }))
    }

    fn run(self: Box<Self>, phase: Shown) -> Run {
        let front = self.front;
        let (config, gate) = (Arc::clone(&front.config), Arc::clone(&front.gate));
        let Fallbacks {
            origin,
            board,
            stats,
            orders,
        } = self.fallbacks;
        let of_rules = Arc::clone(&orders);
        let shared = programme::fallback::Context {
            registry: Arc::clone(&front.registry),
            rules: Box::new(move |name| rule(&config, &of_rules, name)),
            named: origin.named.clone(),
            permit: Box::new(move |stream, yields| match yields {
                true => gate.publish_until_replaced(stream),
                false => gate.publish_without_key(stream),
            }),
            agent: format!("Carillon/{}", env!("CARGO_PKG_VERSION")),
            demand: Arc::clone(&origin.demand),
            orders,
            board,
            stats,
        };
        Box::pin(phase.cut(Phase::Drained, programme::fallback::keep(Arc::new(shared))))
    }
}

fn rule(config: &Config, orders: &Orders, name: &StreamName) -> Option<Rule> {
    let order = orders.of(name);
    let mount = config.mount(name);
    let is_move = order.moved.is_some();
    let of_config = || config.fallback(name);
    let fallback = order
        .moved
        .or_else(|| order.fallback.unwrap_or_else(of_config))?;
    Some(Rule {
        fallback,
        any_format: mount.fallback_any_format,
        after: mount.fallback_after,
        // Another publisher cannot displace one that is set aside.
        yields: mount.fallback_override || is_move,
        keep: config.linger(name),
        is_move,
    })
}
