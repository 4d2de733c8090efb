//! What is told of the sound of streams, and how often it was.

use std::sync::Arc;

use base::Labelled;
use config::Config;
use levels::{Condition, Rule};
use media::StreamName;
use operator::metrics::table::SOUND_CONDITIONS;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// See the module's description.
pub(super) struct LevelWatch {
    pub(super) front: Arc<FrontDoor>,
    pub(super) begun: Arc<Labelled<Condition>>,
}

impl Service for LevelWatch {
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn metrics(&self) -> Option<Encoder> {
        let begun = Arc::clone(&self.begun);
        Some(Box::new(move |page| {
            page.counters(SOUND_CONDITIONS, begun.values())
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let config = Arc::clone(&self.front.config);
        if !config.streams.iter().any(|rule| rule.sound.is_watched()) {
            return Box::pin(async move { phase.reached(Phase::Drained).await });
        }
        let shared = levels::Context {
            registry: Arc::clone(&self.front.registry),
            rules: Box::new(move |name| rule(&config, name)),
            begun: self.begun,
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
