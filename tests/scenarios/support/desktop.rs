//! Substitutes for the display and the sound card that programs with windows and audio need.

use std::path::Path;

use testkit::{Process, Signal, Tool, free_address};

use crate::support::{DEADLINE, wait_until};

/// JACK with its dummy driver: the inputs are silent, and as fast as a real card's.
pub(crate) struct Jack {
    pub(crate) name: String,
    process: Process,
}

impl Jack {
    pub(crate) fn start() -> Self {
        // The name is unique, because several tests' servers may run, and the files of a killed one block its name.
        let name = format!("carillon-{}", free_address().port());
        let process = Tool::new("jackd")
            .args(["--no-mlock", "--no-realtime", "-d", "dummy"])
            .args(["--rate", "48000", "--period", "1024"])
            .env("JACK_DEFAULT_SERVER", &name)
            .env("JACK_NO_AUDIO_RESERVATION", "1")
            .start();
        // Clients connect to this socket first.
        let socket = Path::new("/dev/shm").join(format!("jack_{name}_0_0"));
        wait_until("JACK to listen", || socket.exists());
        Self { name, process }
    }
}

/// JACK removes its files itself.
impl Drop for Jack {
    fn drop(&mut self) {
        if self.process.is_running() {
            self.process.signal(Signal::TERM);
            self.process.wait(DEADLINE);
        }
    }
}

/// X server without a screen.
pub(crate) struct Display {
    _process: Process,
    pub(crate) name: String,
}

impl Display {
    pub(crate) fn start() -> Self {
        let process = Tool::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1024x768x24"])
            // The server would reset when its last client leaves, and refuse clients that come meanwhile: a program whose
            // window another one is looking for finds no display, once in twelve times.
            .arg("-noreset")
            .args(["-nolisten", "tcp"])
            .start();
        wait_until("the number of the display", || {
            process.stdout().ends_with(b"\n")
        });
        let number = String::from_utf8(process.stdout()).unwrap();
        Self {
            name: format!(":{}", number.trim()),
            _process: process,
        }
    }
}
