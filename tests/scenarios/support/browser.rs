//! Chromium, driven by its WebDriver.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Process, Tool, free_address, http};

use crate::support::{DEADLINE, wait_until};

/// One browser window.
pub(crate) struct Browser {
    driver: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
    _process: Process,
}

impl Browser {
    pub(crate) fn open() -> Self {
        Self::open_with(&[])
    }

    /// Opens a browser with additional arguments for Chromium.
    pub(crate) fn open_with(arguments: &[&str]) -> Self {
        let driver = free_address();
        let process = Tool::new("chromedriver")
            .arg(format!("--port={}", driver.port()))
            .start();
        wait_until("chromedriver", || {
            std::net::TcpStream::connect(driver).is_ok()
        });
        let profile = tempfile::tempdir().unwrap();
        let profile_argument = format!("--user-data-dir={}", profile.path().display());
        let usual = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--autoplay-policy=no-user-gesture-required",
            &profile_argument,
        ];
        let arguments = [&usual, arguments].concat();
        let options = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {
            "args": arguments,
        }}}});
        let answer = call(driver, "POST", "/session", &options);
        let session = answer["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned();
        Self {
            driver,
            session,
            _profile: profile,
            _process: process,
        }
    }

    pub(crate) fn go(&self, url: &str) {
        self.call("url", &json!({ "url": url }));
    }

    pub(crate) fn run(&self, script: &str) -> Value {
        self.call("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Makes every page opened from now on run a script before its own.
    pub(crate) fn before_each_page(&self, script: &str) {
        self.devtools(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": script }),
        );
    }

    /// Resizes the window to this many pixels.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets the visitor's preferences for media features, such as `prefers-color-scheme`.
    pub(crate) fn prefer(&self, preferences: &[(&str, &str)]) {
        let feature = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        let features: Vec<_> = preferences.iter().map(feature).collect();
        let features = json!({ "features": features });
        self.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// Clicks as a person does, which lets the page play aloud from then on.
    pub(crate) fn click(&self, selector: &str) {
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = self.call("element", &wanted);
        let element = found.as_object().and_then(|found| found.values().next());
        let element = element.and_then(Value::as_str);
        let element = element.unwrap_or_else(|| panic!("{selector}: {found}"));
        self.call(&format!("element/{element}/click"), &json!({}));
    }

    /// Opens another window and turns to it. All windows are visible, so that no page is slowed down as in a hidden tab.
    /// Returns the window's name for [`turn_to`](Self::turn_to).
    pub(crate) fn open_window(&self) -> String {
        let opened = self.call("window/new", &json!({ "type": "window" }));
        let window = opened["handle"].as_str();
        let window = window.unwrap_or_else(|| panic!("{opened}")).to_owned();
        self.turn_to(&window);
        window
    }

    /// Makes the following calls apply to this window.
    pub(crate) fn turn_to(&self, window: &str) {
        self.call("window", &json!({ "handle": window }));
    }

    /// Hides the window and freezes its page, as a browser does after a while, or shows and resumes both.
    pub(crate) fn set_frozen(&self, is_frozen: bool) {
        if is_frozen {
            self.set_window("minimized");
        }
        let state = if is_frozen { "frozen" } else { "active" };
        self.devtools("Page.setWebLifecycleState", &json!({ "state": state }));
        if !is_frozen {
            self.set_window("normal");
        }
    }

    fn set_window(&self, state: &str) {
        let window = self.devtools("Browser.getWindowForTarget", &json!({}));
        let bounds = json!({ "windowId": window["windowId"], "bounds": { "windowState": state } });
        self.devtools("Browser.setWindowBounds", &bounds);
    }

    /// Runs a command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.call(
            "goog/cdp/execute",
            &json!({ "cmd": command, "params": parameters }),
        )
    }

    fn call(&self, command: &str, body: &Value) -> Value {
        call(
            self.driver,
            "POST",
            &format!("/session/{}/{command}", self.session),
            body,
        )
    }

    /// Stores a screenshot of the page for later inspection.
    pub(crate) fn screenshot(&self, name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        std::fs::write(path, self.picture()).unwrap();
    }

    /// Takes a screenshot of the page: a PNG.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let path = format!("/session/{}/screenshot", self.session);
        let picture = call(self.driver, "GET", &path, &Value::Null);
        from_base64(picture.as_str().unwrap_or_default())
    }
}

fn call(driver: SocketAddr, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {driver}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = http::request(driver, request.as_bytes(), DEADLINE);
    let document: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer.status, 200, "{document}");
    document["value"].clone()
}

/// Decodes base64 without line breaks; any other character is padding.
fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values = text
        .bytes()
        .map_while(|digit| DIGITS.iter().position(|one| *one == digit));
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0, 0);
    for value in values {
        held = (held << 6 | value) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xFF) as u8);
        }
    }
    bytes
}

/// Arguments for a fake camera and microphone, without a permission prompt.
pub(crate) const CAMERA: &[&str] = &[
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
];
