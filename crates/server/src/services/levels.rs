//! What is told of the sound of streams, and how often it was.

use std::fmt;
use std::sync::Arc;

use config::Config;
use levels::{Condition, Rule, Stats};
use media::StreamName;

use super::phase::{Phase, Shown};
use super::{Context, Encoder, Run, Service};
use crate::admin::metrics::Page;
use crate::admin::metrics::table::SOUND_CONDITIONS;

/// See the module's description.
#[derive(Default)]
pub(super) struct LevelWatch {
    stats: Arc<Stats>,
}

impl Service for LevelWatch {
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn metrics(&self, _: &Context) -> Option<Encoder> {
        let stats = Arc::clone(&self.stats);
        Some(Box::new(move |page| encode(&stats, page)))
    }

    fn run(self: Box<Self>, context: &Arc<Context>, mut phase: Shown) -> Run {
        let config = Arc::clone(&context.front.config);
        if !config.streams.iter().any(|rule| rule.sound.is_watched()) {
            return Box::pin(async move { phase.reached(Phase::Drained).await });
        }
        let shared = levels::Context {
            registry: Arc::clone(&context.front.registry),
            rules: Box::new(move |name| rule(&config, name)),
            stats: self.stats,
        };
        Box::pin(phase.cut(Phase::Drained, levels::watch(Arc::new(shared))))
    }
}

fn rule(config: &Config, name: &StreamName) -> Option<Rule> {
    let sound = config.sound(name);
    sound.is_watched().then(|| Rule {
        silence_after: sound.silence_after,
        silence_peak: sound.silence_peak(),
        clipping: sound.clipping,
    })
}

fn encode(stats: &Stats, page: &mut Page<'_>) -> fmt::Result {
    let begun = Condition::ALL.map(|one| (one.label(), stats.begun(one) as f64));
    page.counters(SOUND_CONDITIONS, begun)
}
