//! Streams that are sent on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use config::PushRule;
use egress_rtmp::push::{self, Push};
use fanout::Phase;
use media::StreamName;
use rtmp::client::Address;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::board::Entry;
use super::{LOOK_INTERVAL, Row};
use crate::node::Node;

/// Pushes at a time. Each is a connection, a task, and the buffers of both ends of it: some hundred
/// kilobytes with TLS. Streams beyond get theirs when others have ended.
const PUSHES_MAX: usize = 4_096;

/// Begins a push for each rule and live stream that has none.
pub(super) fn begin(node: &Arc<Node>, tasks: &mut JoinSet<()>, stop: &watch::Receiver<bool>) {
    for stream in node.registry.list() {
        let name = stream.name();
        let rules = node.config.pushes.iter().enumerate();
        for (index, rule) in rules.filter(|(_, rule)| rule.pattern.matches(name.as_str())) {
            let key = (name.clone(), index);
            if node.links.pushes.contains(&key) || stream.info().phase != Phase::Live {
                continue;
            }
            if node.links.pushes.len() >= PUSHES_MAX {
                if !node.links.is_crowded.swap(true, Ordering::Relaxed) {
                    tracing::warn!(PUSHES_MAX, "as many pushes as can be; other streams wait");
                }
                return;
            }
            let row = Row {
                stream: name.clone(),
                url: rule.url.shown(name),
                status: Arc::default(),
            };
            let address = address(rule, name);
            if let Some(entry) = node.links.pushes.enter(key, row) {
                let (node, stream) = (Arc::clone(node), name.clone());
                tasks.spawn(keep(node, stream, address, entry, stop.clone()));
            }
        }
    }
}

/// The address that a rule gives a stream, or what its name lacks for one.
fn address(rule: &PushRule, stream: &StreamName) -> Result<Address, String> {
    let url = rule.url.of(stream);
    let url = url.map_err(|error| format!("the address {error}"))?;
    push::address(&url).map_err(|error| error.to_string())
}

/// Pushes until the stream is over or `stop` turns true.
async fn keep(
    node: Arc<Node>,
    stream: StreamName,
    address: Result<Address, String>,
    entry: Entry<(StreamName, usize)>,
    mut stop: watch::Receiver<bool>,
) {
    let status = entry.status();
    let end = async {
        tokio::select! {
            () = over(&node, &stream) => {}
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
        permission: Arc::new(node.gate.play_unasked(&stream)),
        address,
        status: Arc::clone(status),
    };
    push::run(&node.registry, &node.links.connector, &push, end).await;
}

/// Waits until there is no stream of that name. One that begins anew at once is the push's as well:
/// the target need not see it leave and come back.
async fn over(node: &Node, stream: &StreamName) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let present = node.registry.stream(stream);
        if present.is_none_or(|stream| stream.info().phase == Phase::Ended) {
            return;
        }
    }
}
