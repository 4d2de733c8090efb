//! The tasks: one for each stream that is here and has a rule.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use fanout::events::{EventKind, Received};
use fanout::{Phase, Stream};
use media::{Kind, StreamName};
use tokio::task::{JoinSet, spawn_blocking};

use crate::gauge::{Found, Gauge};
use crate::{Context, Rule};

/// How often a stream's sound is measured: no condition is told within less, and a tap holds twenty seconds.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches streams for as long as it is polled.
pub async fn watch(context: Arc<Context>) {
    let events = context.registry.fanout().events();
    let mut events = events.subscribe();
    let mut watches = Watches {
        context: Arc::clone(&context),
        names: HashSet::new(),
        tasks: JoinSet::new(),
    };
    watches.look_around();
    loop {
        tokio::select! {
            received = events.next() => match received {
                None => break,
                Some(Received::Missed { .. }) => watches.look_around(),
                Some(Received::Event(event)) => {
                    if let (EventKind::Began, Some(name)) = (event.kind, event.stream) {
                        watches.begin(&name);
                    }
                }
            },
            Some(ended) = watches.tasks.join_next() => match ended {
                // There may be another stream of that name by now.
                Ok(name) => {
                    watches.names.remove(&name);
                    watches.begin(&name);
                }
                Err(error) => tracing::error!(%error, "a stream is no longer watched"),
            },
        }
    }
}

struct Watches {
    context: Arc<Context>,
    /// The streams that have a task.
    names: HashSet<StreamName>,
    tasks: JoinSet<StreamName>,
}

impl Watches {
    /// Begins the watch of a stream that is to have one and has none. A rendition belongs to its stream's publisher.
    fn begin(&mut self, name: &StreamName) {
        if self.names.contains(name) || name.parent().is_some() {
            return;
        }
        let stream = self.context.registry.stream(name);
        let stream = stream.filter(|stream| stream.info().phase != Phase::Ended);
        let (Some(stream), Some(rule)) = (stream, (self.context.rules)(name)) else {
            return;
        };
        let (context, name) = (Arc::clone(&self.context), name.clone());
        self.names.insert(name.clone());
        self.tasks.spawn(async move {
            one(&context, &stream, rule).await;
            name
        });
    }

    fn look_around(&mut self) {
        for stream in self.context.registry.list() {
            self.begin(stream.name());
        }
    }
}

/// Watches a stream until it ends.
async fn one(context: &Context, stream: &Stream, rule: Rule) {
    let name = stream.name();
    let Some(mut tap) = stream.tap(Some(Kind::Audio)) else {
        // It has ended, or has as many taps as it may have: it is looked at again, and not at once.
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
                tracing::error!(stream = %name, %error, "its sound can no longer be measured");
                return stream.vacated().await;
            }
        };
        tell(context, name, found);
        tokio::time::sleep(INTERVAL).await;
    }
}

fn tell(context: &Context, name: &StreamName, found: Found) {
    if let Some(reason) = found.refused {
        tracing::warn!(stream = %name, %reason, "silence and clipping of a stream cannot be told");
    }
    for (condition, holds) in found.changes {
        let what = condition.label();
        if holds {
            context.stats.note(condition);
            tracing::warn!(stream = %name, "{what} begins");
        } else {
            tracing::info!(stream = %name, "{what} has ended");
        }
        let outcome = if holds { "began" } else { "ended" };
        let event = EventKind::Sound {
            condition: what,
            outcome,
        };
        context.registry.fanout().events().emit(Some(name), event);
    }
}
