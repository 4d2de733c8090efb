//! Output of an encoder of a tone as listeners receive it: its pitch, and the facts of its mount. And the program mpd, which
//! sends as well as plays.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use testkit::{Server, Tool};

use crate::support::titles::facts;
use crate::support::tones::{self, assert_pitch};
use crate::support::{DEADLINE, wait_for_stream, wait_until};

pub(crate) const TONE_HZ: f64 = 440.0;

/// Seconds that are decoded of each stream.
const SECONDS: u32 = 10;

/// Decodes a stream as a listener, and asserts that nothing of it is broken.
pub(crate) fn decode(server: &Server, stream: &str) -> Vec<i16> {
    wait_for_stream(server, stream);
    let audio = Tool::ffmpeg()
        .args(["-xerror", "-i", &server.http_url(&format!("/{stream}"))])
        .args(["-t", &SECONDS.to_string()])
        .args(tones::RAW)
        .arg("-")
        .run(DEADLINE);
    let audio = tones::samples(&audio);
    // Some codecs begin with a packet that has no audio of its own.
    let least = tones::RATE as usize * SECONDS as usize * 99 / 100;
    assert!(audio.len() > least, "{stream}: {} samples", audio.len());
    audio
}

pub(crate) fn tone_is_heard(server: &Server, stream: &str) {
    assert_pitch(stream, &decode(server, stream), TONE_HZ);
}

/// Returns the facts of a mount as monitors read them.
pub(crate) fn mount(server: &Server, stream: &str) -> serde_json::Value {
    facts(server.addr("http"), stream)
}

/// A connection to mpd.
pub(crate) struct Mpd {
    input: BufReader<TcpStream>,
}

impl Mpd {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        wait_until("mpd", || TcpStream::connect(addr).is_ok());
        let mut input = BufReader::new(TcpStream::connect(addr).unwrap());
        input.get_ref().set_read_timeout(Some(DEADLINE)).unwrap();
        input.read_line(&mut String::new()).unwrap();
        Self { input }
    }

    /// Waits for replies from now on, however long they take.
    pub(crate) fn wait_on(&self) {
        self.input.get_ref().set_read_timeout(None).unwrap();
    }

    /// Sends a command and returns the reply; `Err` when mpd is gone or refuses.
    pub(crate) fn try_ask(&mut self, line: &str) -> Result<String, String> {
        let mut answer = String::new();
        writeln!(self.input.get_mut(), "{line}").map_err(|error| error.to_string())?;
        loop {
            let start = answer.len();
            let length = self.input.read_line(&mut answer).unwrap_or_default();
            if length == 0 || answer[start..].starts_with("ACK") {
                return Err(answer);
            }
            if answer[start..] == *"OK\n" {
                return Ok(answer);
            }
        }
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        let answer = self.try_ask(line);
        answer.unwrap_or_else(|answer| panic!("{line}: {answer}"))
    }
}
