//! Firefox, driven by Marionette, the protocol between it and its WebDriver: a JSON array per message, preceded by its length
//! and a colon.

use std::cell::RefCell;
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use serde_json::{Value, json};
use testkit::{Process, Tool};

use crate::support::session::Driven;
use crate::support::{connect, wait_until};

/// Preferences for tests on one machine: any port for Marionette, and playback without a click.
const PREFERENCES: &str = r#"
user_pref("marionette.port", 0);
user_pref("media.autoplay.default", 0);
user_pref("media.peerconnection.ice.obfuscate_host_addresses", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("app.update.enabled", false);
"#;

/// One browser window.
pub(crate) struct Firefox {
    wire: RefCell<Wire>,
    _process: Process,
    _profile: tempfile::TempDir,
}

struct Wire {
    socket: BufReader<TcpStream>,
    requests: u64,
}

impl Firefox {
    pub(crate) fn open() -> Self {
        let profile = tempfile::tempdir().unwrap();
        std::fs::write(profile.path().join("user.js"), PREFERENCES).unwrap();
        let process = Tool::new("firefox-esr")
            .args(["--headless", "--marionette", "--no-remote", "--profile"])
            .arg(profile.path())
            .env("HOME", profile.path())
            .start();
        let said = profile.path().join("MarionetteActivePort");
        let mut port = None;
        wait_until("Firefox", || {
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            port = text.trim().parse::<u16>().ok();
            port.is_some()
        });
        let socket = connect((Ipv4Addr::LOCALHOST, port.unwrap()).into());
        let mut wire = Wire {
            socket: BufReader::new(socket),
            requests: 0,
        };
        let hello = wire.read();
        assert_eq!(hello["marionetteProtocol"], 3, "{hello}");
        // The tests' certificates are signed by no authority that Firefox knows.
        wire.call(
            "WebDriver:NewSession",
            &json!({"acceptInsecureCerts": true}),
        );
        Self {
            wire: RefCell::new(wire),
            _process: process,
            _profile: profile,
        }
    }

    /// Returns the audio frames that the page's visible element has decoded. The browser counts them for its developers; pages
    /// cannot read the count. An element that plays a WebRTC session decodes none itself.
    pub(crate) fn decoded_audio(&self) -> u64 {
        self.decoded_by(
            "[...document.querySelectorAll('video, audio')].find(media => !media.hidden)",
        )
    }

    /// Returns the audio frames that the element of an expression has decoded.
    pub(crate) fn decoded_by(&self, element: &str) -> u64 {
        let script = format!(
            "const media = {element}; const [done] = arguments; if (!media) done(0); \
             else media.mozRequestDebugInfo().then(told => done(told.decoder?.reader?.audioFramesDecoded ?? 0));"
        );
        let request = json!({"script": script, "args": [], "sandbox": "system"});
        let mut wire = self.wire.borrow_mut();
        let reported = wire.call("WebDriver:ExecuteAsyncScript", &request)["value"].take();
        reported.as_u64().unwrap_or_else(|| panic!("{reported}"))
    }
}

impl Driven for Firefox {
    fn go(&self, url: &str) {
        let mut wire = self.wire.borrow_mut();
        wire.call("WebDriver:Navigate", &json!({ "url": url }));
    }

    fn run(&self, script: &str) -> Value {
        // The script runs in the page's own world, where its variables stay for the next script.
        let request = json!({"script": script, "args": [], "sandbox": null});
        let mut wire = self.wire.borrow_mut();
        wire.call("WebDriver:ExecuteScript", &request)["value"].take()
    }
}

impl Wire {
    fn call(&mut self, command: &str, parameters: &Value) -> Value {
        self.requests += 1;
        let message = json!([0, self.requests, command, parameters]).to_string();
        let socket = self.socket.get_mut();
        write!(socket, "{}:{message}", message.len()).unwrap();
        let mut answer = self.read();
        assert_eq!(answer[1], self.requests, "{answer}");
        assert!(answer[2].is_null(), "{command}: {answer}");
        answer[3].take()
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut byte = [0];
            self.socket.read_exact(&mut byte).unwrap();
            match byte[0] {
                b':' => break,
                digit => length = length * 10 + usize::from(digit - b'0'),
            }
        }
        let mut message = vec![0; length];
        self.socket.read_exact(&mut message).unwrap();
        serde_json::from_slice(&message).unwrap()
    }
}
