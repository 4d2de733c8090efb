//! Listeners of a mount while programs poll its figures, compared with as many that are not polled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testkit::Server;

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{self, Flow, Turn, Way};
use crate::figure::{Against, Target, Unit};
use crate::source;

const LISTENERS: u64 = 5_000;
/// Joins per second.
const RAMP: u64 = 1_000;
/// Interval at which the figures are requested, in both forms.
const STATS_EVERY: Duration = Duration::from_secs(1);
/// Number of such requests after which the listeners are listed as well.
const LISTED_EVERY: u32 = 10;
/// Maximum cost of listeners while they are polled, relative to those that are not.
const RATIO_MAX: f64 = 1.1;

const MOUNT: Way = Way::Mount("radio.mp3");
const ALONE: &str = "not polled";

pub(crate) fn five_thousand(bench: &mut Bench) {
    let plans = [ListenPlan::new(LISTENERS, RAMP, bench.window()).option("--icy")];
    let [mut polled, mut alone, mut lost] = [const { Vec::new() }; 3];
    for round in 0..bench.rounds() {
        let mut measure = |is_polled: bool| {
            let (turn, flow) = turn(bench, &plans, is_polled);
            let who = if is_polled { contest::OURS } else { ALONE };
            bench.note(round, who, &turn.0.iter().collect::<Vec<_>>());
            lost.push(flow.drops + turn.sum(Report::missing));
            turn.cpu()
        };
        // The order alternates, so that a machine that slows down favours neither side.
        if round % 2 == 0 {
            polled.push(measure(true));
            alone.push(measure(false));
        } else {
            alone.push(measure(false));
            polled.push(measure(true));
        }
    }
    let against = Some(Against::Itself(ALONE, alone));
    let target = Some(Target::AtMost(RATIO_MAX));
    let what =
        "CPU of 5,000 ICY listeners, figures polled each second and listeners listed each ten";
    bench.figure(what, Unit::Core, polled, against, target);
    bench.losses(lost);
}

fn turn(bench: &mut Bench, plans: &[ListenPlan], is_polled: bool) -> (Turn, Flow) {
    let server = Server::builder().release().with_admin_password().start();
    bench.learn_backend(&server);
    let _publisher = source::publish(&MOUNT.source_url(&server), &super::mp3_media());
    source::wait_for_publisher(&server);
    let is_over = AtomicBool::new(!is_polled);
    std::thread::scope(|scope| {
        scope.spawn(|| poll(&server, &is_over));
        let attended = contest::attend(&server, plans, &MOUNT.url(&server));
        is_over.store(true, Ordering::Relaxed);
        attended
    })
}

/// Polls as AzuraCast and monitors do, until the turn is over.
fn poll(server: &Server, is_over: &AtomicBool) {
    let mut due = Instant::now();
    for number in 0_u32.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        assert_eq!(server.get("/status-json.xsl").status, 200);
        assert_eq!(server.operator_get("/admin/stats").status, 200);
        if number % LISTED_EVERY == 0 {
            let listed = server.operator_get("/admin/listclients?mount=/radio.mp3");
            assert_eq!(listed.status, 200);
        }
        due += STATS_EVERY;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
