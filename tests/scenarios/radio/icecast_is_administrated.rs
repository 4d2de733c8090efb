//! Panels and monitors of Icecast keep working: icecast2 and this server have the same sources and listeners, and the replies
//! of their administration are compared. Our replies report what Icecast's do, in the same form, with the same values except
//! for times and places; this file lists what else they report.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};
use testkit::http::{self, Listener, Response};
use testkit::{ADMIN_PASSWORD, Clip, Icecast, PUBLISH_KEY, Process, Proxy, Server, Tool};

use crate::support::titles::{basic, update};
use crate::support::{DEADLINE, script, wait_until};

const AGENT: &str = "Ear & Co/1.0";
const LISTENERS: usize = 3;

/// Fields about time and place, or about the server itself.
const VOLATILE: &str = "
    host listenurl server_id server_start server_start_iso8601 stream_start stream_start_iso8601
    total_bytes_read total_bytes_sent client_connections clients connections Connected ID
";

/// Fields of a source that only our server reports, as listed in `docs/icecast.md`: what its frames say, and one name for every
/// title.
const OWN: &str =
    "audio_channels audio_samplerate bitrate channels samplerate tracks yp_currently_playing";

/// One of the two servers, with its sources and some listeners of the first.
struct Station {
    addr: SocketAddr,
    source: &'static str,
    admin: &'static str,
    sources: Vec<Process>,
    listeners: Vec<Listener>,
}

impl Station {
    fn new(addr: SocketAddr, source: &'static str, admin: &'static str) -> Self {
        Self {
            addr,
            source,
            admin,
            sources: Vec::new(),
            listeners: Vec::new(),
        }
    }

    /// Starts a source that sends every header there is.
    fn publish_radio(&mut self) {
        let spoken = ["-ice_name", "Tom & <Jerry>", "-ice_genre", "Jazz"];
        let written = ["-ice_description", "\"Quoted\"", "-ice_public", "1"];
        let link = ["-ice_url", "http://radio.example/?a=1&b=2"];
        let said = [&spoken[..], &written, &link].concat();
        self.publish(mp3().args(said), "radio.mp3");
    }

    /// Starts a source with tags, and one that sends no headers and does not want to be in directories.
    fn publish_others(&mut self) {
        let tone = ["-re", "-f", "lavfi", "-i", "sine=f=440:d=600"];
        let vorbis = Tool::ffmpeg()
            .args(tone)
            .args(["-c:a", "libvorbis", "-f", "ogg"])
            .args(["-metadata", "artist=Ann", "-metadata", "title=Song"])
            .args(["-content_type", "application/ogg"]);
        self.publish(vorbis, "vorbis.ogg");
        self.publish(mp3().args(["-ice_public", "0"]), "hidden.mp3");
    }

    fn publish(&mut self, tool: Tool, mount: &str) {
        let (source, addr) = (self.source, self.addr);
        let url = format!("icecast://source:{source}@{addr}/{mount}");
        self.sources.push(tool.arg(url).start());
        let path = format!("source[/{mount}]/listeners");
        wait_until("a mount", || self.facts("/admin/stats").contains_key(&path));
    }

    /// Sets a title, and starts some listeners.
    fn settle(&mut self) {
        wait_until("a title to be taken", || {
            update(self.addr, self.source, "song=Me+-+Tune%26More") == 200
        });
        self.listeners = (0..LISTENERS).map(|_| self.listen()).collect();
        let count = "source[/radio.mp3]/listeners";
        wait_until("title, listeners and the other's tags", || {
            let facts = self.facts("/admin/stats");
            let has = |name: &str| facts.contains_key(name);
            has("source[/radio.mp3]/title")
                && has("source[/vorbis.ogg]/artist")
                && facts.get(count).is_some_and(|text| text == "3")
        });
    }

    fn listen(&self) -> Listener {
        let request = format!("GET /radio.mp3 HTTP/1.0\r\nUser-Agent: {AGENT}\r\n\r\n");
        let mut listener = Listener::send(self.addr, request.as_bytes());
        assert_eq!(listener.status(), 200);
        listener.read_bytes(1, DEADLINE);
        listener
    }

    /// Starts a client of `STATS`.
    fn watch(&self) -> Listener {
        let request = format!("STATS / HTTP/1.0\r\n{}\r\n", basic("admin", self.admin));
        let watcher = Listener::send(self.addr, request.as_bytes());
        assert_eq!(watcher.status(), 200);
        watcher
    }

    /// Requests a path as the operator.
    fn get(&self, path: &str) -> Response {
        self.get_as("admin", path)
    }

    fn get_as(&self, user: &str, path: &str) -> Response {
        let credential = basic(user, self.admin);
        let request = format!(
            "GET {path} HTTP/1.0\r\nHost: {}\r\n{credential}\r\n",
            self.addr
        );
        http::request(self.addr, request.as_bytes(), DEADLINE)
    }

    /// Returns the elements of an XML document, the last of each path.
    fn facts(&self, path: &str) -> BTreeMap<String, String> {
        self.lines(path).into_iter().collect()
    }

    fn lines(&self, path: &str) -> Vec<(String, String)> {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        lines(&answer.body)
    }

    fn status(&self) -> Value {
        let answer = http::get(self.addr, "/status-json.xsl", DEADLINE);
        serde_json::from_slice(&answer.body).expect("valid JSON")
    }
}

/// Returns the arguments of a source of MP3.
fn mp3() -> Tool {
    Tool::ffmpeg()
        .args(["-re", "-stream_loop", "-1", "-i"])
        .arg(Clip::Mp3.seconds(30))
        .args(["-map_metadata", "-1", "-c", "copy", "-f", "mp3"])
        .args(["-content_type", "audio/mpeg"])
}

fn lines(document: &[u8]) -> Vec<(String, String)> {
    let mut reader = Command::new("python3")
        .arg(script("xml_paths.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    reader.stdin.take().unwrap().write_all(document).unwrap();
    let output = reader.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(document)
    );
    let pairs = text.lines().map(|line| line.split_once('=').unwrap());
    pairs
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect()
}

fn administrated() -> Server {
    Server::builder()
        .with_admin_password()
        .set("http", "trusted_proxies", "[\"127.0.0.0/8\"]")
        .start()
}

/// Starts both servers, without sources.
fn idle() -> (Station, Station, (Icecast, Server)) {
    let icecast = Icecast::start(100);
    let server = administrated();
    let theirs = Station::new(icecast.addr(), Icecast::PASSWORD, Icecast::PASSWORD);
    let ours = Station::new(server.addr("http"), PUBLISH_KEY, ADMIN_PASSWORD);
    // Icecast replies before it knows all its facts, and then not in JSON.
    wait_until("Icecast to know itself", || {
        let answer = http::get(theirs.addr, "/status-json.xsl", DEADLINE);
        serde_json::from_slice::<Value>(&answer.body).is_ok_and(|status| {
            let facts = ["admin", "host", "location", "server_start_iso8601"];
            facts
                .iter()
                .all(|fact| status["icestats"][fact].is_string())
        })
    });
    (theirs, ours, (icecast, server))
}

fn both() -> (Station, Station, (Icecast, Server)) {
    let (mut theirs, mut ours, servers) = idle();
    for station in [&mut theirs, &mut ours] {
        station.publish_radio();
        station.publish_others();
        station.settle();
    }
    (theirs, ours, servers)
}

/// Asserts that our facts have each path of theirs, with the same value unless it is about time and place, and no others but
/// [`OWN`].
fn assert_tells(what: &str, theirs: &BTreeMap<String, String>, ours: &BTreeMap<String, String>) {
    assert!(!theirs.is_empty(), "{what}");
    for (path, expected) in theirs {
        let reported = ours.get(path);
        let reported =
            reported.unwrap_or_else(|| panic!("{what} lacks {path}, {expected:?}: {ours:#?}"));
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        assert_eq!(
            is_number(reported),
            is_number(expected),
            "{what}: {path}, {reported}"
        );
        if !is_among(VOLATILE, last(path)) {
            assert_eq!(reported, expected, "{what}: {path}");
        }
    }
    for path in ours.keys() {
        let is_known = theirs.contains_key(path) || is_among(OWN, last(path));
        assert!(is_known, "{what} has {path}, which Icecast has not");
    }
}

fn is_among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Asserts that the JSON documents agree: whether `source` is absent, an object or an array, and the types of all values.
fn assert_same_status(theirs: &Station, ours: &Station) -> usize {
    let (theirs, ours) = (theirs.status(), ours.status());
    let [server, our_server] = [&theirs, &ours].map(|all| all["icestats"].as_object().unwrap());
    let keys = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(our_server), keys(server));
    let kind = |all: &Map<String, Value>| all.get("source").map(std::mem::discriminant);
    assert_eq!(kind(our_server), kind(server));
    let (all, our_all) = (sources(server), sources(our_server));
    assert_eq!(
        all.keys().collect::<Vec<_>>(),
        our_all.keys().collect::<Vec<_>>()
    );
    for (name, theirs) in &all {
        let ours = &our_all[name];
        for (key, expected) in theirs {
            let reported = ours.get(key);
            let reported = reported.unwrap_or_else(|| panic!("{name} lacks {key}: {ours:#?}"));
            let kind = std::mem::discriminant;
            assert_eq!(kind(reported), kind(expected), "{name}: {key}");
            if !is_among(VOLATILE, key) {
                assert_eq!(reported, expected, "{name}: {key}");
            }
        }
        for key in ours.keys() {
            let is_known = theirs.contains_key(key) || is_among(OWN, key);
            assert!(is_known, "{name} has {key}, which Icecast has not");
        }
    }
    all.len()
}

/// Returns the sources of the document by their mounts.
fn sources(server: &Map<String, Value>) -> BTreeMap<String, Map<String, Value>> {
    let all = match server.get("source") {
        None => Vec::new(),
        Some(Value::Array(all)) => all.clone(),
        Some(one) => vec![one.clone()],
    };
    let named = all.iter().map(|source| {
        let url = source["listenurl"].as_str().unwrap();
        (last(url).to_owned(), source.as_object().unwrap().clone())
    });
    named.collect()
}

#[test]
fn monitors_read_the_same_figures() {
    let (mut theirs, mut ours, _servers) = idle();
    assert_eq!(assert_same_status(&theirs, &ours), 0);
    assert_tells(
        "an idle server",
        &theirs.facts("/admin/stats"),
        &ours.facts("/admin/stats"),
    );
    theirs.publish_radio();
    ours.publish_radio();
    assert_eq!(assert_same_status(&theirs, &ours), 1);
    for station in [&mut theirs, &mut ours] {
        station.publish_others();
        station.settle();
    }
    assert_eq!(assert_same_status(&theirs, &ours), 3);
    for path in [
        "/admin/stats",
        "/admin/stats?mount=/hidden.mp3",
        "/admin/stats?mount=/radio.mp3",
        "/admin/listmounts",
        "/admin/streamlist",
        "/admin/listclients?mount=/radio.mp3",
        "/admin/listclients?mount=/vorbis.ogg",
        "/radio.mp3.xspf",
    ] {
        let (mut theirs, mut ours) = (theirs.facts(path), ours.facts(path));
        if path.ends_with("xspf") {
            // Icecast leaves the playlist's own title empty; the location differs.
            theirs.retain(|path, _| !path.ends_with("title") && !path.ends_with("location"));
            theirs.remove("creator");
            ours.retain(|path, _| !path.ends_with("title") && !path.ends_with("location"));
        }
        assert_tells(path, &theirs, &ours);
    }
    // The reply has only the listeners of that mount, each with all its facts.
    let path = "/admin/listclients?mount=/radio.mp3";
    let names = |station: &Station| -> Vec<_> {
        let lines = station.lines(path).into_iter();
        lines.map(|(path, _)| path).collect()
    };
    assert_eq!(names(&ours), names(&theirs));
    let of_ours = ours.facts("/admin/stats?mount=/radio.mp3");
    assert!(
        of_ours.keys().all(|path| !path.contains("vorbis")),
        "{of_ours:#?}"
    );
    let sent = &of_ours["source[/radio.mp3]/total_bytes_sent"];
    assert!(sent.parse::<u64>().unwrap() > 0);

    // On Icecast this list is for relays.
    let names = |station: &Station| station.get_as("relay", "/admin/streamlist.txt").text();
    assert_eq!(names(&ours), "/hidden.mp3\r\n/radio.mp3\r\n/vorbis.ogg\r\n");
    let mut sorted: Vec<_> = names(&theirs).lines().map(str::to_owned).collect();
    sorted.sort();
    assert_eq!(sorted, ["/hidden.mp3", "/radio.mp3", "/vorbis.ogg"]);
    for station in [&theirs, &ours] {
        let playlist = station.get("/radio.mp3.m3u");
        assert_eq!(
            playlist.text(),
            format!("http://{}/radio.mp3\r\n", station.addr)
        );
        assert_eq!(playlist.header("content-type"), Some("audio/x-mpegurl"));
    }
}

/// Clients of `STATS` receive the same facts at first, and the same changes after that.
#[test]
fn watchers_receive_the_same_lines() {
    let (mut theirs, mut ours, _servers) = both();
    let [theirs, ours] = [&mut theirs, &mut ours].map(|station| {
        assert_eq!(
            Listener::send(station.addr, b"STATS / HTTP/1.0\r\n\r\n").status(),
            401
        );
        let mut watcher = station.watch();
        // This is the last fact of the last source.
        let first = says(&mut watcher, "EVENT /vorbis.ogg user_agent ");
        let _one_more = station.listen();
        says(&mut watcher, "EVENT /radio.mp3 listeners 4\n");
        assert_eq!(update(station.addr, station.source, "song=Next"), 200);
        says(&mut watcher, "EVENT /radio.mp3 title Next\n");
        // The source that was started last ends.
        station.sources.pop();
        says(&mut watcher, "EVENT /hidden.mp3 null null\n");
        first
    });
    assert_tells("the first lines", &theirs, &ours);
}

/// Reads until a watcher has received this line, and returns all that it received.
fn says(watcher: &mut Listener, expected: &str) -> BTreeMap<String, String> {
    let is_reported = watcher.read_until(DEADLINE, |body| {
        let text = String::from_utf8_lossy(body);
        text.rsplit_once(expected)
            .is_some_and(|(_, rest)| expected.ends_with('\n') || rest.contains('\n'))
    });
    let text = String::from_utf8_lossy(watcher.body()).into_owned();
    assert!(is_reported, "{expected:?} in {text}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("EVENT "));
    let facts = lines.filter_map(|line| {
        let (of, fact) = line.split_once(' ')?;
        let (name, value) = fact.split_once(' ')?;
        // The servers differ in whether the watcher counts itself at once.
        let is_own = name.starts_with("stats");
        (!is_own).then(|| (format!("{of}//{name}"), value.to_owned()))
    });
    facts.collect()
}

/// The requests are AzuraCast's, and so is the nginx in front of the server.
#[test]
fn azuracast_polls_and_proxies() {
    let (theirs, ours, _servers) = both();
    let proxied = "chunked_transfer_encoding off; proxy_redirect off; \
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; \
        proxy_set_header Host $host//listen/foo; set $args $args&_ic2=1;";
    let read = [&theirs, &ours].map(|station| {
        let proxy = Proxy::start(station.addr, "/listen/foo", proxied);
        let request = "GET /listen/foo/radio.mp3 HTTP/1.1\r\nHost: radio.example\r\n\
            User-Agent: Far/1.0\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n";
        let mut listener = Listener::send(proxy.addr(), request.as_bytes());
        assert_eq!(listener.status(), 200);
        listener.read_bytes(100_000, DEADLINE);
        let output = Command::new("python3")
            .arg(script("azuracast_poll.py"))
            .args([&format!("http://{}", station.addr), station.admin])
            .arg("/radio.mp3")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    });
    let [theirs, ours] = &read;
    for key in ["title", "server_type", "listeners", "json"] {
        assert_eq!(ours[key], theirs[key], "{key}: {ours:#}");
    }
    assert_eq!(theirs["bitrate"], Value::Null, "ffmpeg does not tell it");
    assert!(ours["bitrate"].is_number(), "{ours:#}");
    let clients = |of: &Value, key: &str| -> Vec<String> {
        let clients = of["clients"].as_array().unwrap().iter();
        let mut all: Vec<_> = clients.map(|client| client[key].to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(clients(ours, "agent"), clients(theirs, "agent"));
    // Icecast 2.4 takes the proxy for the listener.
    assert!(!clients(theirs, "ip").contains(&"\"203.0.113.7\"".to_owned()));
    assert!(
        clients(ours, "ip").contains(&"\"203.0.113.7\"".to_owned()),
        "{ours:#}"
    );
}

/// The replies to moves and fallbacks are Icecast's, word for word.
#[test]
fn panels_move_listeners_and_set_fallbacks() {
    let (theirs, ours, servers) = both();
    for path in [
        "moveclients?mount=/none&destination=/radio.mp3",
        "moveclients?mount=/radio.mp3&destination=/none",
        "moveclients?mount=/radio.mp3&destination=/radio.mp3",
        "fallbacks?mount=/none&fallback=/hidden.mp3",
        "fallbacks?mount=/radio.mp3",
        "fallbacks?mount=/radio.mp3&fallback=/hidden.mp3",
        "fallbacks?mount=/radio.mp3&fallback=",
        "moveclients?mount=/radio.mp3&destination=/hidden.mp3",
    ] {
        let reported = |station: &Station| {
            let answer = station.get(&format!("/admin/{path}"));
            let kind = answer.header("content-type").map(str::to_owned);
            let words: String = answer.text().split_whitespace().collect();
            // Icecast's replies leave the encoding to the reader.
            let words = words.replace("encoding=\"UTF-8\"", "");
            (answer.status, kind, words)
        };
        assert_eq!(reported(&ours), reported(&theirs), "{path}");
    }
    let path = "/admin/moveclients?mount=/radio.mp3";
    let (mut reported, mut expected) = (ours.facts(path), theirs.facts(path));
    // On Icecast that mount has no listeners any more; here the listeners stay its own, and receive another stream.
    for facts in [&mut reported, &mut expected] {
        facts.remove("source[/hidden.mp3]/listeners");
    }
    assert_tells(path, &expected, &reported);
    wait_until("the listeners to hear it", || {
        moved_and_playing(&servers.1.api("fallbacks"))
    });
    assert_eq!(ours.listeners.iter().filter(|one| one.ended()).count(), 0);
}

/// The pages of Icecast 2.5 offer the streams to which listeners may be moved, and show the result.
#[test]
fn people_move_listeners_by_a_page() {
    let server = administrated();
    let mut ours = Station::new(server.addr("http"), PUBLISH_KEY, ADMIN_PASSWORD);
    ours.publish_radio();
    ours.publish_others();
    ours.settle();
    let page = ours.get("/admin/moveclients.xsl?mount=/radio.mp3");
    assert_eq!(page.status, 200);
    let page = page.text();
    let leads_to = |to: &str| {
        let form = format!(
            "action=\"moveclients.xsl\" method=\"get\">\
             <input type=\"hidden\" name=\"mount\" value=\"/radio.mp3\">\
             <input type=\"hidden\" name=\"destination\" value=\"{to}\">"
        );
        page.contains(&form)
    };
    let leads = ["/hidden.mp3", "/vorbis.ogg", "/radio.mp3"].map(leads_to);
    assert_eq!(leads, [true, true, false], "{page}");
    for (query, words) in [
        ("", "Missing parameter"),
        ("mount=/none", "Source does not exist"),
        ("mount=/radio.mp3&destination=/none", "No such destination"),
        ("mount=/radio.mp3&destination=/vorbis.ogg", "another format"),
        ("mount=/radio.mp3&destination=/hidden.mp3&id=1", "together"),
    ] {
        let refused = ours.get(&format!("/admin/moveclients.xsl?{query}"));
        assert_eq!(refused.status, 400, "{query}");
        assert!(
            refused.text().contains(words),
            "{query}: {}",
            refused.text()
        );
    }
    let moved = ours.get("/admin/moveclients.xsl?mount=/radio.mp3&destination=/hidden.mp3&id=");
    let reported = "<p role=\"status\">Clients moved from /radio.mp3 to /hidden.mp3</p>";
    assert!(
        moved.status == 200 && moved.text().contains(reported),
        "{}",
        moved.text()
    );
    wait_until("the listeners to hear it", || {
        moved_and_playing(&server.api("fallbacks"))
    });
    let path = "/admin/moveclients.xsl?mount=/radio.mp3";
    assert_eq!(http::get(ours.addr, path, DEADLINE).status, 401);
}

/// Returns whether the listeners of the radio receive the stream to which they were moved.
fn moved_and_playing(facts: &Value) -> bool {
    let all = facts["fallbacks"].as_array().unwrap();
    all.iter().any(|one| {
        one["stream"] == "radio.mp3" && one["moved"] == true && one["state"] == "playing"
    })
}

#[test]
fn panels_remove_listeners_and_sources() {
    let (mut theirs, mut ours, _servers) = both();
    for path in [
        "/admin/stats?mount=/none",
        "/admin/listclients?mount=/none",
        "/admin/listclients",
        "/admin/killclient?mount=/radio.mp3",
        "/admin/killclient?mount=/none&id=1",
        "/admin/killsource?mount=/none",
        "/admin/killsource",
    ] {
        let status = |station: &Station| station.get(path).status;
        assert_eq!((status(&ours), status(&theirs)), (400, 400), "{path}");
    }
    for station in [&theirs, &ours] {
        for path in ["/admin/stats", "/admin/killsource?mount=/radio.mp3"] {
            assert_eq!(http::get(station.addr, path, DEADLINE).status, 401);
        }
    }
    let answers = [&mut theirs, &mut ours].map(|station| {
        let listed = station.facts("/admin/listclients?mount=/radio.mp3");
        let id = &listed["source[/radio.mp3]/listener/ID"];
        let kick = |mount: &str, id: &str| {
            let path = format!("/admin/killclient?mount=/{mount}&id={id}");
            station.lines(&path)
        };
        // The id of another mount's listener is unknown on this mount.
        let missed = [kick("vorbis.ogg", id), kick("radio.mp3", "999999")];
        let done = kick("radio.mp3", id);
        let words = done[0].1.replace(id.as_str(), "ID");
        let reported = missed.map(|lines| lines[1].clone());
        wait_until("the others to be left", || {
            let facts = station.facts("/admin/listclients?mount=/radio.mp3");
            facts["source[/radio.mp3]/Listeners"] == "2"
        });
        let ended = station.lines("/admin/killsource?mount=/radio.mp3");
        for listener in &mut station.listeners {
            listener.read_to_end(DEADLINE);
        }
        (words, done[1].clone(), reported, ended)
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1].0, "Client ID removed");
}
