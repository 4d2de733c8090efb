//! Set of all guards: one for each stream that a rule names, and one for each present stream that fits a pattern.

use std::sync::Arc;

use fanout::{Phase, Stream, StreamChange, StreamTasks};
use media::StreamName;

use crate::fallback::Context;
use crate::fallback::guard::Guard;

/// Guards streams for as long as the future is polled.
pub async fn keep(context: Arc<Context>) {
    let mut guards = Guards {
        tasks: StreamTasks::new(&context.registry),
        context: Arc::clone(&context),
    };
    for name in &context.named {
        guards.begin(name, true);
    }
    let mut orders = context.orders.news();
    loop {
        tokio::select! {
            change = guards.tasks.next() => match change {
                None => break,
                Some(StreamChange::Here(name)) => guards.begin(&name, false),
                Some(StreamChange::Ended(name)) => guards.forget(&name),
                Some(StreamChange::Over(name)) => guards.end(&name),
            },
            _ = orders.changed() => guards.look_at_orders(),
        }
    }
}

struct Guards {
    context: Arc<Context>,
    tasks: StreamTasks,
}

impl Guards {
    /// Starts the guard of a stream that is to have one and has none. A rendition belongs to its stream's publisher and
    /// has no guard.
    fn begin(&mut self, name: &StreamName, is_named: bool) {
        if self.tasks.has(name) || !is_named && name.parent().is_some() {
            return;
        }
        let Some(rule) = (self.context.rules)(name) else {
            return;
        };
        let guard = Guard::new(Arc::clone(&self.context), name.clone(), rule, is_named);
        self.tasks.begin(name.clone(), guard.run());
    }

    /// Handles the end of a guard whose stream has ended. There may be another stream by now.
    fn end(&mut self, name: &StreamName) {
        let is_named = self.context.named.contains(name);
        if self.context.registry.stream(name).is_some_and(is_here) {
            self.begin(name, is_named);
        }
    }

    /// Forgets the orders about a stream that has ended, unless the configuration names it: they were about that
    /// stream.
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
}

fn is_here(stream: Arc<Stream>) -> bool {
    stream.info().phase != Phase::Ended
}
