//! Controls: the delays of the machine when no server is involved.
//!
//! A figure about delays means little on a machine that does other work. A test therefore measures the same quantity without
//! the server, at the same time, and compares.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Number of bytes sent at a time on a control's connection: an audio frame.
const PIECE_BYTES: usize = 400;

/// Returns the near ends of `count` connections on which a thread sends a piece every `pace`, until they are closed.
///
/// # Panics
/// Panics if no socket can be opened.
pub fn paced(count: usize, pace: Duration) -> Vec<TcpStream> {
    let (near, mut far): (Vec<_>, Vec<_>) = (0..count).map(|_| pair()).unzip();
    std::thread::spawn(move || {
        let mut due = Instant::now();
        while !far.is_empty() {
            // As publishing programs do: a late piece is made up for.
            due += pace;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            far.retain_mut(|socket| socket.write_all(&[0; PIECE_BYTES]).is_ok());
        }
    });
    near
}

fn pair() -> (TcpStream, TcpStream) {
    let connected = TcpListener::bind("127.0.0.1:0").and_then(|door| {
        let near = TcpStream::connect(door.local_addr()?)?;
        let (far, _) = door.accept()?;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        Ok((near, far))
    });
    connected.unwrap_or_else(|error| panic!("no connection to ourselves: {error}"))
}

/// Measurement of the time a message takes from one thread to another over a socket, plus a while of work in the receiver: once
/// through the kernel, a wake-up, and a thread that the scheduler may interrupt like any other that works as much as often.
#[derive(Debug)]
pub struct Hops {
    stop: Arc<AtomicBool>,
    threads: Option<(JoinHandle<()>, JoinHandle<Vec<Duration>>)>,
}

impl Hops {
    /// Starts measuring: a message every `pace`, after which the receiver works for `work`. The work counts towards the
    /// message's time.
    ///
    /// # Panics
    /// Panics if no socket can be opened.
    #[must_use]
    pub fn watch(pace: Duration, work: Duration) -> Self {
        let (mut near, mut far) = pair();
        let stop = Arc::new(AtomicBool::new(false));
        let begin = Instant::now();
        let is_over = Arc::clone(&stop);
        let sender = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(pace);
                let sent = begin.elapsed().as_nanos() as u64;
                if far.write_all(&sent.to_be_bytes()).is_err() {
                    return;
                }
            }
        });
        let receiver = std::thread::spawn(move || {
            let mut delays = Vec::new();
            let mut word = [0; 8];
            while near.read_exact(&mut word).is_ok() {
                let sent = Duration::from_nanos(u64::from_be_bytes(word));
                let done = Instant::now() + work;
                while Instant::now() < done {
                    std::hint::spin_loop();
                }
                delays.push(begin.elapsed().saturating_sub(sent));
            }
            delays
        });
        Self {
            stop,
            threads: Some((sender, receiver)),
        }
    }

    /// Returns the share of messages that took longer than `bound`.
    ///
    /// # Panics
    /// Panics if a thread has panicked.
    pub fn share_above(mut self, bound: Duration) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        let Some((sender, receiver)) = self.threads.take() else {
            return 0.0;
        };
        sender.join().expect("the sender does not panic");
        let delays = receiver.join().expect("the receiver does not panic");
        let late = delays.iter().filter(|delay| **delay > bound).count();
        late as f64 / delays.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_take_time_but_not_for_ever() {
        let pace = Duration::from_millis(5);
        let hops = Hops::watch(pace, pace / 10);
        std::thread::sleep(20 * pace);
        assert!(hops.share_above(crate::DEADLINE) == 0.0);
    }

    #[test]
    fn a_paced_connection_brings_pieces_until_it_is_closed() {
        let mut sockets = paced(2, Duration::from_millis(1));
        for socket in &mut sockets {
            socket
                .read_exact(&mut [0; 10 * PIECE_BYTES])
                .expect("pieces");
        }
    }
}
