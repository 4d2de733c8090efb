//! Which guards there are: one for each stream that a rule names, and one for each that is here and fits a pattern.

use std::collections::HashSet;
use std::sync::Arc;

use fanout::events::{EventKind, Received};
use fanout::{Phase, Stream};
use media::StreamName;
use tokio::task::JoinSet;

use crate::Context;
use crate::guard::Guard;

/// Guards streams for as long as it is polled.
pub async fn keep(context: Arc<Context>) {
    let events = context.registry.fanout().events();
    let mut events = events.subscribe();
    let mut guards = Guards {
        context: Arc::clone(&context),
        names: HashSet::new(),
        tasks: JoinSet::new(),
    };
    for name in &context.named {
        guards.begin(name, true);
    }
    guards.look_around();
    let mut orders = context.orders.news();
    loop {
        tokio::select! {
            received = events.next() => match received {
                None => break,
                Some(Received::Missed { .. }) => guards.look_around(),
                Some(Received::Event(event)) => match (event.kind, event.stream) {
                    (EventKind::Began, Some(name)) => guards.begin(&name, false),
                    (EventKind::Ended { .. }, Some(name)) => guards.forget(&name),
                    _ => {}
                },
            },
            _ = orders.changed() => guards.look_at_orders(),
            Some(ended) = guards.tasks.join_next() => match ended {
                Ok(name) => guards.end(&name),
                // Its stream is as one without a fallback from here on.
                Err(error) => tracing::error!(%error, "a guard of a stream has failed"),
            },
        }
    }
}

struct Guards {
    context: Arc<Context>,
    /// The streams that have one.
    names: HashSet<StreamName>,
    tasks: JoinSet<StreamName>,
}

impl Guards {
    /// Begins the guard of a stream that is to have one and has none. A rendition belongs to its stream's publisher.
    fn begin(&mut self, name: &StreamName, is_named: bool) {
        if self.names.contains(name) || !is_named && name.parent().is_some() {
            return;
        }
        let Some(rule) = (self.context.rules)(name) else {
            return;
        };
        let (context, name) = (Arc::clone(&self.context), name.clone());
        self.names.insert(name.clone());
        self.tasks.spawn(async move {
            Guard::new(context, name.clone(), rule, is_named)
                .run()
                .await;
            name
        });
    }

    /// A guard has seen its stream end. There may be another by now.
    fn end(&mut self, name: &StreamName) {
        self.names.remove(name);
        let is_named = self.context.named.contains(name);
        if self.context.registry.stream(name).is_some_and(is_here) {
            self.begin(name, is_named);
        }
    }

    /// A stream has ended: what was ordered about it was about that one, unless the configuration names it.
    fn forget(&self, name: &StreamName) {
        if !self.context.named.contains(name) {
            self.context.orders.forget(name);
        }
    }

    fn look_at_orders(&mut self) {
        for name in self.context.orders.names() {
            self.begin(&name, self.context.named.contains(&name));
        }
    }

    fn look_around(&mut self) {
        for stream in self.context.registry.list() {
            self.begin(stream.name(), false);
        }
    }
}

fn is_here(stream: Arc<Stream>) -> bool {
    stream.info().phase != Phase::Ended
}
