//! VLC, driven by its remote control: a line of text for each command, over TCP.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use testkit::{Process, vlc, wait_until};

use crate::support::{DEADLINE, connect};

/// One player, without a window and without sound.
pub(crate) struct Vlc {
    wire: RefCell<BufReader<TcpStream>>,
    process: Process,
}

impl Vlc {
    /// Plays an address.
    pub(crate) fn open(url: &str) -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // It takes no commands over TCP either unless it believes in a terminal.
        let process = vlc()
            .args(["-vv", "--intf", "oldrc", "--rc-fake-tty", "--rc-host"])
            .arg(address.to_string())
            .args(["--no-video-title-show", "--vout", "dummy"])
            .args(["--aout", "dummy"])
            .arg(url)
            .start();
        wait_until("VLC", DEADLINE, || TcpStream::connect(address).is_ok());
        Self {
            wire: RefCell::new(BufReader::new(connect(address))),
            process,
        }
    }

    /// How long it takes the file to be, in seconds; 0 while it does not know.
    pub(crate) fn length(&self) -> u32 {
        self.number("get_length")
    }

    /// Where it is, in seconds.
    pub(crate) fn time(&self) -> u32 {
        self.number("get_time")
    }

    pub(crate) fn seek(&self, to: u32) {
        self.say(&format!("seek {to}"), |line| {
            line.starts_with("seek: returned 0").then_some(())
        });
    }

    /// Pictures and blocks of sound that it has decoded so far.
    pub(crate) fn decoded(&self) -> [u32; 2] {
        let mut pictures = None;
        self.say("stats", |line| {
            let count = |of: &str| line.split_once(of)?.1.trim_matches([' ', ':']).parse().ok();
            pictures = pictures.or_else(|| count("video decoded"));
            Some([pictures?, count("audio decoded")?])
        })
    }

    /// What it has written so far of what it does.
    pub(crate) fn log(&self) -> String {
        self.process.stderr()
    }

    fn number(&self, command: &str) -> u32 {
        self.say(command, |line| line.parse().ok())
    }

    /// Gives a command, and waits for its answer. What else it says is about changes of its state.
    fn say<T>(&self, command: &str, mut answer: impl FnMut(&str) -> Option<T>) -> T {
        let mut wire = self.wire.borrow_mut();
        writeln!(wire.get_mut(), "{command}").unwrap();
        loop {
            let mut line = String::new();
            let read = wire.read_line(&mut line).unwrap();
            assert!(read > 0, "VLC has left: {}", self.log());
            // A prompt may precede it.
            let line = line.trim().trim_start_matches("> ");
            if let Some(answer) = answer(line) {
                return answer;
            }
        }
    }
}
