//! Streams that are fetched.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fanout::{Phase, Supply};
use ingest::Protocol;
use ingest::pull::{self, Pull};
use media::StreamName;
use net::link::Status;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Row;
use super::board::Entry;
use crate::config::{Config, PullRule};
use crate::node::Node;

/// A pull on demand ends when nobody has listened, or asked, for so long: a player that lost its
/// connection, or goes through a playlist, is back before, and no request waits longer for a stream,
/// unless `rtmp.play_wait` says so.
const UNWANTED_AFTER: Duration = Duration::from_secs(30);

/// How often it is looked whether somebody listens.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Who has asked for the streams that come on demand: for each, when somebody last did.
#[derive(Debug)]
pub(super) struct Demands(HashMap<StreamName, watch::Sender<Option<Instant>>>);

impl Demands {
    pub(super) fn new(config: &Config) -> Self {
        let rules = config.pulls.iter().filter(|rule| rule.on_demand);
        Self(
            rules
                .map(|rule| (rule.stream.clone(), watch::Sender::new(None)))
                .collect(),
        )
    }
}

impl Supply for Demands {
    fn has(&self, stream: &StreamName) -> bool {
        self.0.contains_key(stream)
    }

    fn demand(&self, stream: &StreamName) {
        if let Some(demand) = self.0.get(stream) {
            demand.send_replace(Some(Instant::now()));
        }
    }
}

/// Begins every pull; those on demand wait until they are wanted.
pub(super) fn begin(node: &Arc<Node>, tasks: &mut JoinSet<()>, stop: &watch::Receiver<bool>) {
    node.registry
        .set_supply(Arc::clone(&node.links.demands) as _);
    for (index, rule) in node.config.pulls.iter().enumerate() {
        let row = Row {
            stream: rule.stream.clone(),
            url: rule.url.to_string(),
            status: Arc::default(),
        };
        let demand = node.links.demands.0.get(&rule.stream);
        let demand = demand.map(watch::Sender::subscribe);
        if let Some(entry) = node.links.pulls.enter(index, row) {
            let (node, rule) = (Arc::clone(node), rule.clone());
            match demand {
                Some(demand) => {
                    tasks.spawn(keep_on_demand(node, rule, entry, demand, stop.clone()));
                }
                None => {
                    tasks.spawn(keep(node, rule, entry, stop.clone()));
                }
            }
        }
    }
}

/// Pulls until `stop` turns true.
async fn keep(
    node: Arc<Node>,
    rule: PullRule,
    entry: Entry<usize>,
    mut stop: watch::Receiver<bool>,
) {
    fetch(&node, &rule, entry.status(), stopped(&mut stop)).await;
}

/// Pulls while somebody wants the stream, until `stop` turns true.
async fn keep_on_demand(
    node: Arc<Node>,
    rule: PullRule,
    entry: Entry<usize>,
    mut demand: watch::Receiver<Option<Instant>>,
    mut stop: watch::Receiver<bool>,
) {
    let patience = UNWANTED_AFTER.max(node.config.rtmp.play_wait);
    let is_heard = || is_heard(&node, &rule.stream);
    while !*stop.borrow() {
        tokio::select! {
            changed = demand.changed() => if changed.is_err() { return },
            () = stopped(&mut stop) => return,
        }
        tracing::info!(stream = %rule.stream, source = %rule.url, "a pull begins: somebody listens");
        let end = async {
            tokio::select! {
                () = unwanted(is_heard, &mut demand, patience) => {}
                () = stopped(&mut stop) => {}
            }
        };
        fetch(&node, &rule, entry.status(), end).await;
        if !*stop.borrow() {
            tracing::info!(stream = %rule.stream, "the pull ends: nobody listens");
            clear(&node, &rule.stream);
        }
    }
}

async fn fetch(node: &Node, rule: &PullRule, status: &Arc<Status>, end: impl Future<Output = ()>) {
    let pull = Pull {
        source: rule.url.source().clone(),
        status: Arc::clone(status),
    };
    let permit = || node.gate.publish_as_nobody(&rule.stream);
    pull::run(&node.ingest, &node.links.connector, &pull, permit, end).await;
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Whoever could change it is gone with the server: that is an end too.
    stop.wait_for(|stop| *stop).await.ok();
}

/// Waits until nobody has listened, or asked for the stream, for as long as `patience`.
async fn unwanted(
    is_heard: impl Fn() -> bool,
    demand: &mut watch::Receiver<Option<Instant>>,
    patience: Duration,
) {
    let mut wanted = Instant::now();
    let mut ticks = interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = ticks.tick().await;
        let asked = *demand.borrow_and_update();
        wanted = if is_heard() {
            now
        } else {
            asked.map_or(wanted, |asked| asked.max(wanted))
        };
        if now.saturating_duration_since(wanted) >= patience {
            return;
        }
    }
}

fn is_heard(node: &Node, stream: &StreamName) -> bool {
    let present = node.registry.stream(stream);
    present.is_some_and(|stream| stream.info().listeners > 0)
}

/// Ends what would linger of a pull, so that the next listener asks for the stream and is not kept
/// waiting for a publisher that does not come back by itself.
fn clear(node: &Node, stream: &StreamName) {
    let Some(present) = node.registry.stream(stream) else {
        return;
    };
    let info = present.info();
    if info.phase == Phase::Lingering && info.source.protocol == Protocol::Pull.label() {
        present.end();
        node.registry.tick(Instant::now().into_std());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How long it took until the stream was not wanted any more, while `act` went on.
    async fn wanted_for(
        is_heard: &Cell<bool>,
        act: impl Future<Output = ()>,
        demand: &mut watch::Receiver<Option<Instant>>,
    ) -> Duration {
        let start = Instant::now();
        let end = async {
            unwanted(|| is_heard.get(), demand, UNWANTED_AFTER).await;
            start.elapsed()
        };
        let (lasted, ()) = tokio::join!(end, act);
        lasted
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_wanted_while_it_is_heard_or_asked_for() {
        let (ask, mut asked) = watch::channel(None);
        let is_heard = Cell::new(false);
        let nothing = std::future::ready(());
        let lasted = wanted_for(&is_heard, nothing, &mut asked).await;
        assert!(lasted >= UNWANTED_AFTER && lasted <= UNWANTED_AFTER + LOOK_INTERVAL);

        is_heard.set(true);
        let hour = Duration::from_secs(3_600);
        let listening = async {
            tokio::time::sleep(hour).await;
            is_heard.set(false);
        };
        let lasted = wanted_for(&is_heard, listening, &mut asked).await - hour;
        assert!(lasted + LOOK_INTERVAL >= UNWANTED_AFTER, "{lasted:?}");
        assert!(lasted <= UNWANTED_AFTER + LOOK_INTERVAL, "{lasted:?}");

        let asking = async {
            tokio::time::sleep(UNWANTED_AFTER / 2).await;
            ask.send_replace(Some(Instant::now()));
        };
        let lasted = wanted_for(&is_heard, asking, &mut asked).await - UNWANTED_AFTER / 2;
        assert!(lasted >= UNWANTED_AFTER, "{lasted:?}");
    }

    #[test]
    fn only_what_comes_on_demand_is_promised() {
        let source = "[[pull]]\nstream = \"a\"\nurl = \"rtmp://h/x/a\"\non_demand = true\n\
            [[pull]]\nstream = \"b\"\nurl = \"rtmp://h/x/b\"\n";
        let config = Config::parse("test", source, std::iter::empty()).expect("valid");
        let demands = Demands::new(&config);
        let promised = |name| demands.has(&StreamName::parse(name).expect("a name"));
        assert_eq!(["a", "b", "c"].map(promised), [true, false, false]);
    }
}
