//! Pushed streams: a link for each `[[push]]` and each live stream that it matches.

use std::sync::Arc;

use config::PushRule;
use egress_rtmp::push::{self, Push};
use fanout::{Phase, Registry};
use media::StreamName;
use rtmp::client::Address;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::board::Entry;
use super::{Context, LOOK_INTERVAL, Row};

/// Maximum number of pushes at a time. Each is a connection, a task, and the buffers of both ends of it: some hundred kilobytes
/// with TLS. Further streams are pushed when others have ended.
const PUSHES_MAX: usize = 4_096;

/// Starter of pushes; call [`begin`](Self::begin) at an interval.
pub(super) struct Pushes {
    context: Arc<Context>,
    stop: watch::Receiver<bool>,
    /// Whether the log has already reported that there are [`PUSHES_MAX`].
    is_reported: bool,
}

impl Pushes {
    /// Creates a starter with no push begun. All pushes end when `stop` turns true.
    pub(super) fn new(context: &Arc<Context>, stop: &watch::Receiver<bool>) -> Self {
        Self {
            context: Arc::clone(context),
            stop: stop.clone(),
            is_reported: false,
        }
    }

    /// Whether there are streams to push.
    pub(super) fn has_rules(&self) -> bool {
        !self.context.config.pushes.is_empty()
    }

    /// Begins a push for each rule and live stream that has none.
    pub(super) fn begin(&mut self, tasks: &mut JoinSet<()>) {
        let board = &self.context.links.pushes;
        for stream in self.context.registry.list() {
            let name = stream.name();
            let rules = self.context.config.pushes.iter().enumerate();
            for (index, rule) in rules.filter(|(_, rule)| rule.pattern.matches(name.as_str())) {
                let key = (name.clone(), index);
                if board.contains(&key) || stream.info().phase != Phase::Live {
                    continue;
                }
                if board.len() >= PUSHES_MAX {
                    if !std::mem::replace(&mut self.is_reported, true) {
                        tracing::warn!(PUSHES_MAX, "as many pushes as can be; other streams wait");
                    }
                    return;
                }
                let row = Row {
                    stream: name.clone(),
                    url: rule.url.shown(name),
                    status: Arc::default(),
                };
                let (stream, address) = (name.clone(), address(rule, name));
                if let Some(entry) = board.enter(key, row) {
                    let (context, stop) = (Arc::clone(&self.context), self.stop.clone());
                    tasks.spawn(keep(context, stream, address, entry, stop));
                }
            }
        }
    }
}

/// Returns the address that a rule gives a stream, or the error if the name lacks a part of it.
fn address(rule: &PushRule, stream: &StreamName) -> Result<Address, String> {
    let url = rule.url.of(stream);
    let url = url.map_err(|error| format!("the address {error}"))?;
    net::rtmp::address(&url).map_err(|error| error.to_string())
}

/// Pushes until the stream is over or `stop` turns true.
async fn keep(
    context: Arc<Context>,
    stream: StreamName,
    address: Result<Address, String>,
    entry: Entry<(StreamName, usize)>,
    mut stop: watch::Receiver<bool>,
) {
    let status = entry.status();
    let end = async {
        tokio::select! {
            () = over(&context.registry, &stream) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    };
    let address = match address {
        Ok(address) => address,
        Err(error) => {
            tracing::warn!(%stream, %error, "a stream cannot be pushed");
            status.fail(&error);
            return end.await;
        }
    };
    let push = Push {
        permission: Arc::new(context.gate.play_unasked(&stream)),
        address,
        status: Arc::clone(status),
    };
    push::run(&context.registry, &context.connector, &push, end).await;
}

/// Waits until there is no stream of that name. A stream that begins anew at once keeps its push: the target need not see it
/// leave and come back.
async fn over(registry: &Registry, stream: &StreamName) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let present = registry.stream(stream);
        if present.is_none_or(|stream| stream.info().phase == Phase::Ended) {
            return;
        }
    }
}
