//! A worker that cannot continue ends the process.

use std::io;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use fanout::{Config, Fanout};
use net::{Backend, Event, Inbound, Received, SendOp, SendOutcome, Slot, Waker};

/// Set in the process that is to end.
const INSIDE: &str = "CARILLON_TEST_OF_A_FAILING_BACKEND";

/// The signal of `abort`.
const SIGABRT: i32 = 6;

#[test]
fn a_back_end_that_fails_ends_the_process() {
    if std::env::var_os(INSIDE).is_some() {
        let config = Config {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max: 1 << 20,
        };
        let make = || Ok(Box::new(Failing(Waker::new()?)) as Box<dyn Backend>);
        let (_fanout, departures) = Fanout::start(&config, make).unwrap();
        // No listener departs: this ends when the worker is gone, one way or the other.
        departures.recv_timeout(Duration::from_secs(60)).ok();
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fail::a_back_end_that_fails_ends_the_process"])
        .env(INSIDE, "")
        .output()
        .unwrap();
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
}

/// Its first sleep is its last.
struct Failing(Waker);

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn attach(&mut self, _: Slot, _: TcpStream, _: Inbound) -> io::Result<()> {
        Ok(())
    }

    fn detach(&mut self, _: Slot) {}

    fn release(&mut self, _: Slot) -> Option<TcpStream> {
        None
    }

    fn receive(&mut self, _: Slot, _: &mut [u8]) -> Received {
        Received::Closed
    }

    fn send_batch(&mut self, _: &[SendOp<'_>], outcomes: &mut [SendOutcome]) {
        outcomes.fill(SendOutcome::Closed);
    }

    fn wait(&mut self, _: Option<Duration>, _: &mut Vec<Event>) -> io::Result<()> {
        Err(io::Error::other("the system took it away"))
    }

    fn waker(&self) -> Waker {
        self.0.clone()
    }
}
