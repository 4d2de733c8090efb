//! Audio-level reports of streams, and counters of the conditions they report.

use std::sync::Arc;

use audio::levels::{Condition, Rule};
use base::Labelled;
use config::Config;
use media::StreamName;
use operator::metrics::table::AUDIO_CONDITIONS;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Service that watches audio levels if a rule requires it.
pub(super) struct LevelWatch {
    pub(super) front: Arc<FrontDoor>,
    pub(super) begun: Arc<Labelled<Condition>>,
}

impl Service for LevelWatch {
    fn metrics(&self) -> Option<Encoder> {
        let begun = Arc::clone(&self.begun);
        Some(Box::new(move |page| {
            page.counters(AUDIO_CONDITIONS, begun.values())
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let config = Arc::clone(&self.front.config);
        if !config.streams.iter().any(|rule| rule.audio.is_watched()) {
            return Box::pin(async move { phase.reached(Phase::Drained).await });
        }
        let shared = audio::levels::Context {
            registry: Arc::clone(&self.front.registry),
            rules: Box::new(move |name| rule(&config, name)),
            begun: self.begun,
        };
        Box::pin(phase.cut(Phase::Drained, audio::levels::watch(Arc::new(shared))))
    }
}

fn rule(config: &Config, name: &StreamName) -> Option<Rule> {
    let audio = config.audio(name);
    audio.is_watched().then(|| Rule {
        silence_after: audio.silence_after,
        silence_peak: audio.silence_peak(),
        clipping: audio.clipping,
    })
}
