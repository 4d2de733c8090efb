//! VLC, driven by its remote control: a line of text for each command, over TCP.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use testkit::{Process, free_address, vlc};

use crate::support::{connect, wait_until};

/// One player, without a window and without audio output.
pub(crate) struct Vlc {
    wire: RefCell<BufReader<TcpStream>>,
    process: Process,
}

impl Vlc {
    /// Opens an address and plays it.
    pub(crate) fn open(url: &str) -> Self {
        let address = free_address();
        // VLC takes no commands over TCP either unless it believes that it has a terminal.
        let process = vlc()
            .args(["-vv", "--intf", "oldrc", "--rc-fake-tty", "--rc-host"])
            .arg(address.to_string())
            .args(["--no-video-title-show", "--vout", "dummy"])
            .args(["--aout", "dummy"])
            .arg(url)
            .start();
        wait_until("VLC", || TcpStream::connect(address).is_ok());
        Self {
            wire: RefCell::new(BufReader::new(connect(address))),
            process,
        }
    }

    /// Returns the length of the file by VLC, in seconds; 0 while VLC does not know it.
    pub(crate) fn length(&self) -> u32 {
        self.number("get_length")
    }

    /// Returns VLC's position, in seconds.
    pub(crate) fn time(&self) -> u32 {
        self.number("get_time")
    }

    pub(crate) fn seek(&self, to: u32) {
        self.say(&format!("seek {to}"), |line| {
            line.starts_with("seek: returned 0").then_some(())
        });
    }

    /// Returns the numbers of frames and of blocks of audio decoded so far.
    pub(crate) fn decoded(&self) -> [u32; 2] {
        let mut pictures = None;
        self.say("stats", |line| {
            let count = |of: &str| line.split_once(of)?.1.trim_matches([' ', ':']).parse().ok();
            pictures = pictures.or_else(|| count("video decoded"));
            Some([pictures?, count("audio decoded")?])
        })
    }

    /// Returns VLC's log so far.
    pub(crate) fn log(&self) -> String {
        self.process.stderr()
    }

    fn number(&self, command: &str) -> u32 {
        self.say(command, |line| line.parse().ok())
    }

    /// Sends a command, and waits for its reply. Other lines are about changes of VLC's state.
    fn say<T>(&self, command: &str, mut answer: impl FnMut(&str) -> Option<T>) -> T {
        let mut wire = self.wire.borrow_mut();
        writeln!(wire.get_mut(), "{command}").unwrap();
        loop {
            let mut line = String::new();
            let read = wire.read_line(&mut line).unwrap();
            assert!(read > 0, "VLC has left: {}", self.log());
            // A prompt may precede the line.
            let line = line.trim().trim_start_matches("> ");
            if let Some(answer) = answer(line) {
                return answer;
            }
        }
    }
}
