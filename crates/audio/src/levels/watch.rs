//! Tasks of the watch: one for each present stream that has a rule.

use std::sync::Arc;
use std::time::Duration;

use fanout::events::EventKind;
use fanout::{Phase, Stream, StreamChange, StreamTasks};
use media::{Kind, StreamName};
use tokio::task::spawn_blocking;

use crate::levels::gauge::{Found, Gauge};
use crate::levels::{Context, Rule};

/// Interval at which a stream's audio is measured: no condition is reported faster than this, and a tap holds twenty seconds.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches streams for as long as it is polled.
pub async fn watch(context: Arc<Context>) {
    let mut tasks = StreamTasks::new(&context.registry);
    while let Some(change) = tasks.next().await {
        if let StreamChange::Here(name) | StreamChange::Over(name) = change {
            begin(&context, &mut tasks, name);
        }
    }
}

/// Begins the watch of a stream that should have one and has none. A rendition belongs to its stream's publisher.
fn begin(context: &Arc<Context>, tasks: &mut StreamTasks, name: StreamName) {
    if tasks.has(&name) || name.parent().is_some() {
        return;
    }
    let stream = context.registry.stream(&name);
    let stream = stream.filter(|stream| stream.info().phase != Phase::Ended);
    let (Some(stream), Some(rule)) = (stream, (context.rules)(&name)) else {
        return;
    };
    let context = Arc::clone(context);
    tasks.begin(name, async move { one(&context, &stream, rule).await });
}

/// Watches a stream until it ends.
async fn one(context: &Context, stream: &Stream, rule: Rule) {
    let name = stream.name();
    let Some(mut tap) = stream.tap(Some(Kind::Audio)) else {
        // The stream has ended, or has as many taps as it may have; it is checked again, but not at once.
        return tokio::time::sleep(INTERVAL).await;
    };
    let mut gauge = Gauge::new(rule);
    loop {
        let mut tapped = Vec::new();
        if !tap.take_all(&mut tapped).await {
            return;
        }
        let container = stream.info().source.container;
        let measured = spawn_blocking(move || {
            let found = gauge.take(tapped, container);
            (gauge, found)
        });
        let found = match measured.await {
            Ok((back, found)) => {
                gauge = back;
                found
            }
            Err(error) => {
                tracing::error!(stream = %name, %error, "its audio can no longer be measured");
                return stream.vacated().await;
            }
        };
        tell(context, name, found);
        tokio::time::sleep(INTERVAL).await;
    }
}

fn tell(context: &Context, name: &StreamName, found: Found) {
    if let Some(reason) = found.refused {
        tracing::warn!(stream = %name, %reason, "silence and clipping of a stream cannot be detected");
    }
    for (condition, holds) in found.changes {
        let what = condition.label();
        if holds {
            context.begun.count(condition);
            tracing::warn!(stream = %name, "{what} begins");
        } else {
            tracing::info!(stream = %name, "{what} has ended");
        }
        let outcome = if holds { "began" } else { "ended" };
        let event = EventKind::Audio {
            condition: what,
            outcome,
        };
        context.registry.fanout().events().emit(Some(name), event);
    }
}
