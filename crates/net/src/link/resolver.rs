//! Lookup of the addresses of a name by the system.
//!
//! The system's resolver blocks a thread until the name server replies or times out, and cannot be stopped.
//! So the number of open lookups is bounded by the threads that can be spared for them; one whose caller has
//! given up still counts.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Most lookups open at a time. The runtime has some hundred threads for blocking work, which files and other
/// users need, too.
const QUESTIONS_MAX: usize = 16;

/// Lookup function of a name; blocks.
type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// Resolver with a bound on open lookups, which clones share.
#[derive(Clone)]
pub(super) struct Resolver {
    permits: Arc<Semaphore>,
    lookup: Lookup,
}

impl Resolver {
    fn new(lookup: Lookup) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            lookup,
        }
    }

    /// Returns the addresses of a host, in the order of preference.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
        let (lookup, host) = (self.lookup, host.to_owned());
        let answer = tokio::task::spawn_blocking(move || {
            // The permit belongs to the thread: the caller may end before it.
            let _permit = permit;
            lookup(&host, port)
        });
        answer.await.map_err(io::Error::other)?
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use tokio::task::JoinSet;

    use super::*;

    /// A name server that does not answer before it may.
    static ANSWERS: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

    /// Lets it answer in the end: its threads could not be ended otherwise.
    struct Answering;

    impl Drop for Answering {
        fn drop(&mut self) {
            *ANSWERS.0.lock().unwrap() = true;
            ANSWERS.1.notify_all();
        }
    }

    fn slow(_: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let (answers, bell) = &ANSWERS;
        let answers = answers.lock().unwrap();
        drop(bell.wait_while(answers, |answers| !*answers).unwrap());
        Ok(vec![([127, 0, 0, 1], port).into()])
    }

    #[test]
    fn unanswered_names_leave_threads_for_others() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(QUESTIONS_MAX + 1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let answering = Answering;
            let resolver = Resolver::new(slow);
            for _ in 0..2 {
                let begun = Arc::new(AtomicUsize::new(0));
                let mut questions = JoinSet::new();
                for _ in 0..2 * QUESTIONS_MAX {
                    let (resolver, begun) = (resolver.clone(), Arc::clone(&begun));
                    questions.spawn(async move {
                        begun.fetch_add(1, Ordering::Relaxed);
                        resolver.resolve("slow.example", 1935).await
                    });
                }
                while begun.load(Ordering::Relaxed) < 2 * QUESTIONS_MAX {
                    tokio::task::yield_now().await;
                }
                // The callers gave up; the threads cannot.
                questions.shutdown().await;
                let free = tokio::task::spawn_blocking(|| ());
                let free = tokio::time::timeout(Duration::from_secs(5), free).await;
                free.expect("a thread is free").unwrap();
            }
            let literal = resolver.resolve("::1", 80).await.unwrap();
            assert_eq!(literal, ["[::1]:80".parse().unwrap()], "no name");
            drop(answering);
            let found = resolver.resolve("slow.example", 1935).await.unwrap();
            assert_eq!(found, ["127.0.0.1:1935".parse().unwrap()]);
        });
    }
}
