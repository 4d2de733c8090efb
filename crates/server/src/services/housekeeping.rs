//! Housekeeping of the core, the log and the file of keys, and the measurement of host and load.

use std::sync::Arc;
use std::time::Duration;

use config::AccessRule;
use limits::host::Host;
use operator::overload::Overload;
use reports::log::Log;
use tokio::time::{Interval, MissedTickBehavior};
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Run, Service};

/// The interval of housekeeping and of measuring.
const TICK: Duration = Duration::from_millis(250);

/// The interval of checking the file of keys: an operator who has revoked a key does not want to wait.
const KEYS_TICK: Duration = Duration::from_secs(1);

/// Service that runs the periodic tasks and measurements.
pub(super) struct Housekeeping {
    pub(super) front: Arc<FrontDoor>,
    pub(super) overload: Arc<Overload>,
    pub(super) log: Log,
}

impl Service for Housekeeping {
    fn run(self: Box<Self>, phase: Shown) -> Run {
        let keeping = housekeep(Arc::clone(&self.front), self.log);
        let measuring = measure(Arc::clone(&self.front), self.overload);
        let keys = watch_keys(self.front);
        Box::pin(phase.cut(Phase::Drained, async {
            tokio::join!(keeping, measuring, keys);
        }))
    }
}

fn ticks() -> Interval {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn housekeep(front: Arc<FrontDoor>, log: Log) {
    let mut ticks = ticks();
    loop {
        let now = ticks.tick().await.into_std();
        front.registry.tick(now);
        front.pages.expire(front.drain.has_begun(), now);
        log.sum_up(now);
    }
}

/// Checks whether files of keys and of clients have changed; runs on blocking threads, because the files may be on a slow disk.
async fn watch_keys(front: Arc<FrontDoor>) {
    let config = &front.config;
    let auth = &config.auth;
    let has_keys =
        auth.keys_file.is_some() || auth.jwt.jwks_file.is_some() || !auth.users.is_empty();
    if !has_keys && !config.access.iter().any(AccessRule::has_file) {
        return;
    }
    let mut ticks = tokio::time::interval(KEYS_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let gate = Arc::clone(&front.gate);
        if tokio::task::spawn_blocking(move || gate.look_at_keys())
            .await
            .is_err()
        {
            tracing::error!("looking at the files of keys and of clients has failed");
            return;
        }
    }
}

/// Measures on blocking threads, where a file that is slow to read delays no connection.
async fn measure(front: Arc<FrontDoor>, overload: Arc<Overload>) {
    let mut host = Host::new();
    let mut ticks = ticks();
    loop {
        let now = ticks.tick().await.into_std();
        let (limits, overload) = (Arc::clone(&front.limits), Arc::clone(&overload));
        let look = move || {
            host.look(&limits.pressure, now);
            overload.measure(now);
            host
        };
        let Ok(looked) = tokio::task::spawn_blocking(look).await else {
            tracing::error!("looking at the host has failed");
            return;
        };
        host = looked;
    }
}
