//! Housekeeping of the core, of the log and of the file of keys, and the measuring of host and load.

use std::sync::Arc;
use std::time::Duration;

use config::AccessRule;
use tokio::time::{Interval, MissedTickBehavior};

use super::phase::{Phase, Shown};
use super::{Context, Run, Service};
use limits::host::Host;

/// The interval of housekeeping and of measuring.
const TICK: Duration = Duration::from_millis(250);

/// The interval of looking at the file of keys: an operator who has revoked a key does not want to wait.
const KEYS_TICK: Duration = Duration::from_secs(1);

/// See the module's description.
pub(super) struct Housekeeping;

impl Service for Housekeeping {
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run {
        let (keeping, measuring) = (housekeep(Arc::clone(context)), measure(Arc::clone(context)));
        let keys = watch_keys(Arc::clone(context));
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

async fn housekeep(context: Arc<Context>) {
    let mut ticks = ticks();
    loop {
        let now = ticks.tick().await.into_std();
        let front = &context.front;
        front.registry.tick(now);
        front.pages.expire(front.drain.has_begun(), now);
        context.log.sum_up(now);
    }
}

/// Looks whether files of keys and of clients have changed, on threads, because they may be on a slow disk.
async fn watch_keys(context: Arc<Context>) {
    let config = &context.front.config;
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
        let gate = Arc::clone(&context.front.gate);
        if tokio::task::spawn_blocking(move || gate.look_at_keys())
            .await
            .is_err()
        {
            tracing::error!("looking at the files of keys and of clients has failed");
            return;
        }
    }
}

/// Measures on threads where a file that is slow to read delays no connection.
async fn measure(context: Arc<Context>) {
    let mut host = Host::new();
    let mut ticks = ticks();
    loop {
        let now = ticks.tick().await.into_std();
        let context = Arc::clone(&context);
        let look = move || {
            host.look(&context.front.limits.pressure, now);
            context.overload.measure(now);
            host
        };
        let Ok(looked) = tokio::task::spawn_blocking(look).await else {
            tracing::error!("looking at the host has failed");
            return;
        };
        host = looked;
    }
}
