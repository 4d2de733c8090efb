//! Faults from outside: calls that fail, steps of the clock, and a listener of another stream that must not notice.

use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::{Clip, Process, Server, ServerBuilder, Signal, Tool, paced};

use crate::support::{DEADLINE, metric, repeat_rtmp, wait_until};

/// System calls of a server that fail until this is dropped: strace replies to them in the kernel's place.
pub(crate) struct Injection {
    strace: Process,
}

impl Injection {
    /// Makes calls of the threads of a name fail, in the syntax of strace's `inject`: `pwrite64:error=EIO`. Other threads are
    /// not even slowed down.
    pub(crate) fn into_threads(server: &Server, name: &str, inject: &str) -> Self {
        let threads = threads(server.pid(), name);
        assert!(!threads.is_empty(), "no thread is named {name}");
        let named = threads.iter().flat_map(|id| ["-p", id.as_str()]);
        Self::start(Tool::new("strace").args(named), inject, threads.len())
    }

    /// Makes calls about one file fail, whichever thread makes them.
    pub(crate) fn into_file(server: &Server, path: &Path, inject: &str) -> Self {
        let path = path.canonicalize().unwrap();
        let strace = Tool::new("strace").args(["-f", "-p", &server.pid().to_string(), "-P"]);
        Self::start(strace.arg(path), inject, 1)
    }

    fn start(strace: Tool, inject: &str, attached: usize) -> Self {
        let (calls, _) = inject.split_once(':').expect("calls, and what they return");
        let strace = strace
            .args(["-e", &format!("trace={calls}"), "-e", "signal=none"])
            .args(["-e", &format!("inject={inject}")])
            .start();
        wait_until("strace to attach", || {
            strace.stderr().matches(" attached").count() >= attached
        });
        Self { strace }
    }

    /// Counts the calls that have failed.
    pub(crate) fn count(&self) -> usize {
        self.strace.stderr().matches("(INJECTED)").count()
    }

    /// Waits for the first failed call.
    pub(crate) fn wait(&self) {
        wait_until("a call to fail", || self.count() > 0);
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        // strace detaches from the server in its own time: killed in the middle of a call, it would leave the call undone.
        self.strace.signal(Signal::TERM);
        self.strace.wait(DEADLINE);
    }
}

/// Returns the identifiers of a process's threads of a name.
fn threads(pid: u32, name: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let tasks = tasks.map(|task| task.unwrap().path());
    let named = tasks.filter(|task| {
        let comm = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        comm.trim_end() == name
    });
    named
        .map(|task| task.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// Clock that makes steps: libfaketime adds an offset from a file to the time of day. The monotonic clock is the system's.
pub(crate) struct Clock {
    folder: TempDir,
}

impl Clock {
    /// Makes a clock that is this many days ahead, or behind.
    pub(crate) fn ahead(days: i64) -> Self {
        let clock = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        clock.set(days);
        clock
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("offset")
    }

    /// Makes a step, which the server sees within a second.
    pub(crate) fn set(&self, days: i64) {
        let next = self.folder.path().join("next");
        std::fs::write(&next, format!("{days:+}d\n")).unwrap();
        std::fs::rename(next, self.path()).unwrap();
    }

    /// Makes a server use this clock.
    pub(crate) fn of(&self, server: ServerBuilder) -> ServerBuilder {
        let library = Tool::new("faketime")
            .args(["-f", "+0d", "printenv", "LD_PRELOAD"])
            .run(DEADLINE);
        let library = String::from_utf8(library).unwrap();
        server
            .env("LD_PRELOAD", library.trim())
            .env("FAKETIME_TIMESTAMP_FILE", self.path().to_str().unwrap())
            .env("FAKETIME_CACHE_DURATION", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    }
}

/// Interval at which the control's connection brings something: the interval of frames.
const PACE: Duration = Duration::from_millis(40);

/// Listener of a stream that is not recorded and causes no notifications, which measures pauses in its media. A connection
/// without a server, on which something arrives as often, shows the share of the machine.
pub(crate) struct Bystander {
    _publisher: Process,
    is_over: Arc<AtomicBool>,
    begin: Instant,
    live: JoinHandle<Vec<Instant>>,
    control: JoinHandle<Vec<Instant>>,
    faults: Vec<[Instant; 2]>,
}

/// Name of the listener's stream.
pub(crate) const OTHER: &str = "elsewhere/other";

impl Bystander {
    /// Starts a listener.
    pub(crate) fn of(server: &Server) -> Self {
        let publisher = repeat_rtmp(server, Clip::Flv, OTHER);
        let path = format!("/{OTHER}.flv");
        let mut listener = server.listen(&path);
        assert_eq!(listener.status(), 200);
        // The stream's first seconds arrive at once.
        listener.read_until(DEADLINE, |body| !body.is_empty());
        listener.read_for(Duration::from_secs(1));
        let is_over = Arc::<AtomicBool>::default();
        let stop = Arc::clone(&is_over);
        let live = spawn(move || {
            let went_on = listener.read_until(10 * DEADLINE, |_| stop.load(Ordering::Relaxed));
            assert!(went_on, "the other stream has ended");
            listener.arrivals().iter().map(|it| it.at).collect()
        });
        let control = paced(1, PACE).remove(0);
        let stop = Arc::clone(&is_over);
        Self {
            _publisher: publisher,
            is_over,
            begin: Instant::now(),
            live,
            control: spawn(move || arrivals(control, &stop)),
            faults: Vec::new(),
        }
    }

    /// Runs `work`, and marks its time as that of a fault.
    pub(crate) fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let done = work();
        self.faults.push([begin, Instant::now()]);
        done
    }

    /// Asserts that the longest pause during a fault was no longer than twice that of the rest or of the control, plus the
    /// delay that the scheduler may cause for one of them alone.
    pub(crate) fn noticed_nothing(self) {
        let end = Instant::now();
        self.is_over.store(true, Ordering::Relaxed);
        let [live, control] =
            [self.live, self.control].map(|it| it.join().expect("it has heard all"));
        let mut rest = vec![self.begin];
        rest.extend(self.faults.as_flattened());
        rest.push(end);
        let rest: Vec<[Instant; 2]> = rest.as_chunks().0.to_vec();
        let [during, besides] = [&self.faults, &rest].map(|spans| longest(&live, spans));
        let machine = longest(&control, &self.faults);
        let lasted: Duration = self.faults.iter().map(|[begin, end]| *end - *begin).sum();
        println!(
            "longest pause in {lasted:.1?} of faults: {during:.3?}, besides: {besides:.3?}, control: {machine:.3?}"
        );
        let bound = 2 * besides.max(machine) + Duration::from_millis(500);
        assert!(lasted > 2 * bound, "{lasted:?} of faults show nothing");
        assert!(during <= bound, "{during:?} of silence");
    }
}

/// Returns the longest time without an arrival within each of some spans.
fn longest(arrivals: &[Instant], spans: &[[Instant; 2]]) -> Duration {
    let pauses = spans.iter().flat_map(|[begin, end]| {
        let within = arrivals.iter().filter(move |at| (begin..end).contains(at));
        let edges: Vec<Instant> = [*begin]
            .into_iter()
            .chain(within.copied())
            .chain([*end])
            .collect();
        edges
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect::<Vec<_>>()
    });
    pauses.max().unwrap_or_default()
}

fn arrivals(mut socket: TcpStream, is_over: &AtomicBool) -> Vec<Instant> {
    let mut all = Vec::new();
    let mut piece = [0; 4_096];
    while !is_over.load(Ordering::Relaxed) && socket.read(&mut piece).unwrap() > 0 {
        all.push(Instant::now());
    }
    all
}

/// Returns whether there are journal entries that the disk does not accept.
pub(crate) fn is_journal_failing(server: &Server, journal: &str) -> bool {
    let label = format!("journal={journal}");
    metric(server, "carillon_journal_failing", &label) > 0.0
}
