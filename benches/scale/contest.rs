//! Servers in turn with the same media and the same audience: ours, the floor with an equal number of sends, a peer.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{
    Certificate, Icecast, Nginx, PUBLISH_KEY, Process, Server, ServerBuilder, TlsProxy, Tool,
    wait_until,
};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::figure::{Against, Target, Unit};
use crate::source;

/// Distance of the reads of the server's counters from the ends of the window.
const MARGIN: Duration = Duration::from_millis(500);
/// Time limit from the start of the floor to its address.
const FLOOR_DEADLINE: Duration = Duration::from_secs(10);

/// Path of the media to the audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// An Icecast source, listeners over HTTP.
    Mount(&'static str),
    /// An RTMP publisher and players.
    Rtmp,
    /// An RTMP publisher, listeners over HTTP.
    Flv,
    /// An RTMP publisher, listeners of the same media by WebSocket.
    FlvMessages,
}

/// Names of this build and of another one, in notes and figures.
pub(crate) const OURS: &str = "carillon";
pub(crate) const BEFORE: &str = "before";

/// Name of streams that are sent over RTMP.
const SHOW: &str = "show";

impl Way {
    /// Returns the address at which to publish to our server.
    pub(crate) fn source_url(self, server: &Server) -> String {
        match self {
            Self::Mount(mount) => server.icecast_url(mount, PUBLISH_KEY),
            Self::Rtmp | Self::Flv | Self::FlvMessages => {
                server.rtmp_url(&format!("live/{SHOW}"), PUBLISH_KEY)
            }
        }
    }

    /// Returns the address at which to listen within TLS.
    fn secure_url(self, server: &Server) -> String {
        match self {
            Self::Mount(mount) => format!("https://{}/{mount}", server.addr("https")),
            Self::Rtmp => format!("rtmps://{}/live/{SHOW}", server.addr("rtmps")),
            Self::Flv => format!("https://{}/live/{SHOW}.flv", server.addr("https")),
            Self::FlvMessages => format!("wss://{}/live/{SHOW}.flv", server.addr("https")),
        }
    }

    /// Returns the address at which to listen.
    pub(crate) fn url(self, server: &Server) -> String {
        match self {
            Self::Mount(mount) => server.http_url(&format!("/{mount}")),
            Self::Rtmp => format!("rtmp://{}/live/{SHOW}", server.addr("rtmp")),
            Self::Flv => server.http_url(&format!("/live/{SHOW}.flv")),
            Self::FlvMessages => format!("ws://{}/live/{SHOW}.flv", server.addr("http")),
        }
    }

    /// Returns the number of listeners that the server visits together, by its defaults.
    fn group(self) -> u64 {
        match self {
            Self::Mount(_) => 500,
            Self::Rtmp | Self::Flv | Self::FlvMessages => 50,
        }
    }
}

/// Servers and audiences of a contest, and its media.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) way: Way,
    /// Options for `carillon load publish`.
    pub(crate) media: Vec<String>,
    /// Audiences, which listen at the same time.
    pub(crate) plans: Vec<ListenPlan>,
    /// Table, key and value of each setting that differs from the defaults.
    pub(crate) settings: &'static [(&'static str, &'static str, &'static str)],
    pub(crate) with_floor: bool,
    /// Peer, and the seconds that its listeners may take to settle.
    pub(crate) peer: Option<(Peer, u64)>,
    /// Certificate under which the audiences listen within TLS.
    pub(crate) tls: Option<Certificate>,
}

/// Other servers for such media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Icecast,
    Nginx,
    /// nginx terminates TLS in front of icecast2.
    NginxBeforeIcecast,
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Icecast => "icecast2",
            Self::Nginx => "nginx-rtmp",
            Self::NginxBeforeIcecast => "icecast2 behind nginx with TLS",
        }
    }
}

/// Counts of our server over most of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    seconds: f64,
    sends: f64,
    bytes: f64,
    /// Number of listeners that it dropped, since its start.
    pub(crate) drops: f64,
    /// Number of listeners that it moved forward, since its start.
    pub(crate) skips: f64,
}

impl Flow {
    /// Returns the sends per second, to all listeners.
    pub(crate) fn sends_per_second(&self) -> f64 {
        self.sends / self.seconds
    }

    pub(crate) fn bytes_per_send(&self) -> f64 {
        self.bytes / self.sends
    }
}

/// Result of one turn of one server, a report for each plan.
#[derive(Debug)]
pub(crate) struct Turn(pub(crate) Vec<Report>);

impl Turn {
    /// Returns the mean processor time: all audiences watch the same server at nearly the same time.
    pub(crate) fn cpu(&self) -> f64 {
        self.0.iter().map(Report::cpu).sum::<f64>() / self.0.len() as f64
    }

    /// Returns the bytes sent to all in the window.
    fn bytes(&self) -> f64 {
        self.sum(|report| report.number("/window/bytes"))
    }

    pub(crate) fn worst(&self, of: impl Fn(&Report) -> f64) -> f64 {
        self.0.iter().map(of).fold(0.0, f64::max)
    }

    pub(crate) fn sum(&self, of: impl Fn(&Report) -> f64) -> f64 {
        self.0.iter().map(of).sum()
    }
}

/// Result of one round.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) ours: Turn,
    pub(crate) flow: Flow,
    pub(crate) floor: Option<Turn>,
    pub(crate) peer: Option<Turn>,
    /// Turn of another build of our server.
    pub(crate) before: Option<Turn>,
}

/// All rounds of a contest.
#[derive(Debug)]
pub(crate) struct Rounds {
    rounds: Vec<Round>,
    peer: Option<Peer>,
}

impl Contest {
    /// Gives each server its turns.
    pub(crate) fn run(&self, bench: &mut Bench) -> Rounds {
        self.run_rounds(bench, bench.rounds())
    }

    /// Gives each server its turns, fewer times than requested.
    pub(crate) fn run_rounds(&self, bench: &mut Bench, rounds: usize) -> Rounds {
        Rounds {
            rounds: (0..rounds).map(|round| self.round(bench, round)).collect(),
            peer: self.peer.map(|(peer, _)| peer),
        }
    }

    /// Runs each server's turns round by round, interleaved with those of another contest.
    pub(crate) fn run_beside(&self, other: &Self, bench: &mut Bench) -> [Rounds; 2] {
        let mut rounds = [Vec::new(), Vec::new()];
        for round in 0..bench.rounds() {
            let contests = [self, other];
            // The order alternates, so that a machine that slows down favours neither side.
            for turn in 0..contests.len() {
                let which = (round + turn) % contests.len();
                rounds[which].push(contests[which].round(bench, round));
            }
        }
        let [ours, theirs] = rounds;
        [(ours, self), (theirs, other)].map(|(rounds, contest)| Rounds {
            rounds,
            peer: contest.peer.map(|(peer, _)| peer),
        })
    }

    fn round(&self, bench: &mut Bench, round: usize) -> Round {
        let server = self.serve(Server::builder().release());
        bench.learn_backend(&server);
        let (ours, flow) = self.ours(bench, round, OURS, &server);
        drop(server);
        let before = bench.before().map(|build| {
            let server = self.serve(Server::builder().build(&build));
            self.ours(bench, round, BEFORE, &server).0
        });
        let floor = self.with_floor.then(|| self.floor(bench, round, &flow));
        let peer = self
            .peer
            .map(|(peer, settle)| self.peer(bench, round, peer, settle));
        for (who, turn) in [("floor", &floor), ("peer", &peer), (BEFORE, &before)] {
            if let Some(turn) = turn {
                // A server that costs less may simply have sent less.
                let share = turn.bytes() / ours.bytes();
                bench.note_value(round, who, json!({ "bytes_beside_ours": share }));
            }
        }
        Round {
            ours,
            flow,
            floor,
            peer,
            before,
        }
    }

    /// Starts a build of our server, with its defaults except for the contest's settings.
    fn serve(&self, server: ServerBuilder) -> Server {
        let mut server = set(server, self.settings);
        if let Some(certificate) = &self.tls {
            server = certificate.serve_at(&["http", "rtmp"], server);
        }
        server.start()
    }

    /// Runs a turn of a build of our server.
    fn ours(&self, bench: &mut Bench, round: usize, who: &str, server: &Server) -> (Turn, Flow) {
        let _publisher = source::publish(&self.way.source_url(server), &self.media);
        source::wait_for_publisher(server);
        let url = match self.tls {
            Some(_) => self.way.secure_url(server),
            None => self.way.url(server),
        };
        let (turn, flow) = attend(server, &self.plans, &url);
        bench.note(round, who, &turn.0.iter().collect::<Vec<_>>());
        bench.note_value(
            round,
            who,
            json!({
                "sends_per_second": flow.sends_per_second(),
                "bytes_per_send": flow.bytes_per_send(),
                "drops": flow.drops,
                "skips": flow.skips,
            }),
        );
        (turn, flow)
    }

    /// Runs the floor, which sends as often as the server did, and as much each time.
    fn floor(&self, bench: &mut Bench, round: usize, flow: &Flow) -> Turn {
        let listeners: u64 = self.plans.iter().map(|plan| plan.listeners).sum();
        let tls = self.tls.is_some().then(|| "--tls".to_owned());
        let every = listeners as f64 / flow.sends_per_second();
        let (process, addr) = run_floor(
            floor_words(every, flow.bytes_per_send(), listeners, self.way.group()).chain(tls),
        );
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let turn = listen(
            &self.plans,
            &format!("{scheme}://{addr}/"),
            &[process.pid()],
        );
        bench.note(round, "floor", &turn.0.iter().collect::<Vec<_>>());
        turn
    }

    fn peer(&self, bench: &mut Bench, round: usize, peer: Peer, settle: u64) -> Turn {
        let plans = self.plans.iter().map(|plan| plan.clone().settle(settle));
        let plans: Vec<ListenPlan> = plans.collect();
        let listeners: u64 = plans.iter().map(|plan| plan.listeners).sum();
        let turn = match (peer, self.way) {
            (Peer::Icecast, Way::Mount(mount)) => {
                let server = Icecast::start(listeners as usize + 100);
                let _publisher = source::publish(&server.source_url(mount), &self.media);
                source::wait_for_mount(server.addr(), mount);
                listen(&plans, &server.http_url(mount), &[server.pid()])
            }
            (Peer::Nginx, Way::Rtmp) => {
                let server = Nginx::with("");
                let _publisher = source::publish(&server.rtmp_url(SHOW), &self.media);
                server.wait_for_stream(SHOW);
                listen(&plans, &server.rtmp_url(SHOW), &server.pids()[..1])
            }
            (Peer::NginxBeforeIcecast, Way::Mount(mount)) => {
                let Some(certificate) = &self.tls else {
                    panic!("nginx does the TLS");
                };
                let server = Icecast::start(listeners as usize + 100);
                let _publisher = source::publish(&server.source_url(mount), &self.media);
                source::wait_for_mount(server.addr(), mount);
                let proxy = TlsProxy::start(server.addr(), certificate);
                let url = format!("https://{}/{mount}", proxy.addr());
                listen(&plans, &url, &[proxy.pid(), server.pid()])
            }
            (peer, way) => panic!("{} does not serve {way:?}", peer.name()),
        };
        bench.note(round, peer.name(), &turn.0.iter().collect::<Vec<_>>());
        turn
    }
}

/// Starts our server with its defaults except for `settings`.
pub(crate) fn serve(bench: &mut Bench, settings: &[(&str, &str, &str)]) -> Server {
    let server = set(Server::builder().release(), settings).start();
    bench.learn_backend(&server);
    server
}

/// Starts another build of our server with its defaults except for `settings`.
pub(crate) fn serve_build(build: &Path, settings: &[(&str, &str, &str)]) -> Server {
    set(Server::builder().build(build), settings).start()
}

fn set(server: ServerBuilder, settings: &[(&str, &str, &str)]) -> ServerBuilder {
    settings.iter().fold(server, |server, (table, key, value)| {
        server.set(table, key, value)
    })
}

/// Carries out `plans` on our server at `url`, whose counters are read meanwhile.
pub(crate) fn attend(server: &Server, plans: &[ListenPlan], url: &str) -> (Turn, Flow) {
    let pids = [server.pid()];
    let listening: Vec<_> = plans.iter().map(|plan| plan.start(url, &pids)).collect();
    let longest = plans.iter().map(ListenPlan::before_window).max();
    let window = plans
        .iter()
        .map(|plan| plan.window)
        .min()
        .unwrap_or_default();
    std::thread::sleep(longest.unwrap_or_default());
    let (begin, before) = (Instant::now(), server.metrics());
    std::thread::sleep(window.saturating_sub(MARGIN + crate::audience::START_TIME));
    let (seconds, after) = (begin.elapsed().as_secs_f64(), server.metrics());
    let turn = Turn(listening.into_iter().map(|one| one.finish()).collect());
    let grown = |name: &str| after.sum(name, &[]) - before.sum(name, &[]);
    let flow = Flow {
        seconds,
        sends: grown("carillon_sends_total"),
        bytes: grown("carillon_egress_bytes_total"),
        drops: after.sum("carillon_drops_total", &[]),
        skips: after.sum("carillon_skips_total", &[]),
    };
    (turn, flow)
}

fn listen(plans: &[ListenPlan], url: &str, pids: &[u32]) -> Turn {
    let listening: Vec<_> = plans.iter().map(|plan| plan.start(url, pids)).collect();
    Turn(listening.into_iter().map(|one| one.finish()).collect())
}

/// Returns the arguments of the floor over TCP.
fn floor_words(every: f64, bytes: f64, listeners: u64, group: u64) -> impl Iterator<Item = String> {
    let arguments = [
        ("--every", format!("{:.3}", every * 1e3)),
        ("--bytes", format!("{bytes:.0}")),
        ("--listeners", listeners.to_string()),
        ("--group", group.to_string()),
    ];
    let words = arguments.into_iter();
    words.flat_map(|(name, value)| [name.to_owned(), value])
}

/// Starts the floor, which is built next to this program.
pub(crate) fn run_floor(arguments: impl Iterator<Item = String>) -> (Process, SocketAddr) {
    let here = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let mut process = Tool::built(&here.with_file_name("floor"))
        .args(arguments)
        .start();
    let mut addr = None;
    wait_until("the floor", FLOOR_DEADLINE, || {
        let said = String::from_utf8_lossy(&process.stdout()).into_owned();
        addr = said.lines().find_map(|line| {
            line.strip_prefix("listening ")?
                .split(' ')
                .nth(1)?
                .parse()
                .ok()
        });
        assert!(addr.is_some() || process.is_running(), "the floor ended");
        addr.is_some()
    });
    let addr = addr.unwrap_or_else(|| panic!("the floor has no address"));
    (process, addr)
}

impl Rounds {
    /// Returns a value of each round.
    pub(crate) fn each(&self, of: impl Fn(&Round) -> f64) -> Vec<f64> {
        self.rounds.iter().map(of).collect()
    }

    /// Returns the cost of another server's bytes, for as many bytes as ours: a server that accepts fewer listeners, or sends
    /// less to each, must not look cheaper for it.
    fn cpu_of(&self, of: impl Fn(&Round) -> Option<&Turn>) -> Vec<f64> {
        let turns = self.rounds.iter().filter_map(|round| {
            let other = of(round)?;
            Some(other.cpu() * round.ours.bytes() / other.bytes())
        });
        turns.collect()
    }

    /// Records the CPU cost compared with the floor's and the peer's.
    pub(crate) fn judge_cpu(&self, bench: &mut Bench, floor: Option<f64>, peer: Option<f64>) {
        let ours = self.each(|round| round.ours.cpu());
        if let Some(limit) = floor {
            let floor = Against::Floor(self.cpu_of(|round| round.floor.as_ref()));
            let target = Some(Target::AtMost(limit));
            bench.figure("CPU", Unit::Core, ours.clone(), Some(floor), target);
        }
        if let (Some(limit), Some(peer)) = (peer, self.peer) {
            let theirs = self.cpu_of(|round| round.peer.as_ref());
            let theirs = Against::Peer(peer.name(), theirs);
            let target = Some(Target::AtMost(limit));
            bench.figure("CPU", Unit::Core, ours.clone(), Some(theirs), target);
        }
        let before = self.cpu_of(|round| round.before.as_ref());
        if !before.is_empty() {
            let before = Some(Against::Itself(BEFORE, before));
            bench.figure("CPU", Unit::Core, ours, before, None);
        }
    }

    /// Records a time or a size of ours, compared with the peer's if there is one.
    pub(crate) fn judge(
        &self,
        bench: &mut Bench,
        what: &str,
        unit: Unit,
        of: impl Fn(&Turn) -> f64,
        target: Option<Target>,
    ) {
        bench.figure(what, unit, self.each(|round| of(&round.ours)), None, target);
    }

    /// Records the CPU cost compared with that of the same audience in another contest, in the same rounds; with the limit of
    /// their ratio, if one is promised.
    pub(crate) fn judge_cpu_beside(
        &self,
        bench: &mut Bench,
        name: &'static str,
        other: &Self,
        limit: Option<f64>,
    ) {
        let ours = self.each(|round| round.ours.cpu());
        let theirs = Against::Itself(name, other.each(|round| round.ours.cpu()));
        let target = limit.map(Target::AtMost);
        bench.figure("CPU", Unit::Core, ours, Some(theirs), target);
    }

    /// Records whether any listener was lost.
    pub(crate) fn judge_losses(&self, bench: &mut Bench) {
        let lost = self.each(|round| round.flow.drops + round.ours.sum(Report::missing));
        bench.losses(lost);
    }
}
