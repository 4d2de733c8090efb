//! A station moves from icecast2: with its configuration imported, the server replies to requests with right, wrong and no
//! credentials as the icecast2 that runs with that configuration does.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;
use testkit::http::{self, Listener};
use testkit::{Clip, Icecast, Process, Server, Tool};

use crate::support::imported::{import, serve};
use crate::support::permission_hook::{Hook, KNOWN, UNKNOWN};
use crate::support::titles::basic;
use crate::support::{DEADLINE, publish_radio, wait_until};

const SOURCE: &str = "bells-at-noon-41";
const ADMIN: &str = "tower-warden-77";
const USER: &str = "ann:doorbell-17";

/// A header that is sent to the hook, and its value.
const HEADER: &str = "x-listener";
const VALUE: &str = "one";

/// Length of the clip in seconds: more than the scenario takes.
const SECONDS: u32 = 600;

/// One of the two servers, with its sources.
struct Station {
    addr: SocketAddr,
    /// Address for sources of SHOUTcast.
    shoutcast: SocketAddr,
    /// Address for their titles, without a mount.
    titles: SocketAddr,
    studio: Process,
    _others: Vec<Process>,
    encoder: Child,
}

impl Drop for Station {
    fn drop(&mut self) {
        self.encoder.kill().ok();
        self.encoder.wait().ok();
    }
}

impl Station {
    fn publish(addr: SocketAddr, shoutcast: SocketAddr, titles: SocketAddr) -> Self {
        let source = |mount: &str| {
            publish_radio(
                Clip::Mp3,
                &format!("icecast://source:{SOURCE}@{addr}/{mount}"),
            )
        };
        let (studio, others) = (source("free.mp3"), ["paid.mp3", "autodj.mp3"].map(source));
        let encoder = shoutcast_source(shoutcast);
        let station = Self {
            addr,
            shoutcast,
            titles,
            studio,
            _others: others.into(),
            encoder,
        };
        for mount in ["free.mp3", "paid.mp3", "autodj.mp3", "sc.mp3"] {
            let listed = format!("<source mount=\"/{mount}\">");
            wait_until(mount, || {
                let head = request("/admin/listmounts", &basic("admin", ADMIN));
                http::request(addr, &head, DEADLINE)
                    .text()
                    .contains(&listed)
            });
        }
        station
    }

    /// Sends the request of one row of the table; returns the status of the reply.
    fn answer(&self, row: &Row) -> u16 {
        let addr = match row.path.starts_with("/admin.cgi") {
            true => self.titles,
            false => self.addr,
        };
        let head = match row.is_source {
            false => request(&row.path, &row.fields),
            true => format!("SOURCE {} HTTP/1.0\r\n{}\r\n", row.path, row.fields).into_bytes(),
        };
        Listener::send(addr, &head).status()
    }
}

/// Connects a source of SHOUTcast that plays at its own speed.
fn shoutcast_source(addr: SocketAddr) -> Child {
    // Made before, where it is not there yet: the server does not wait for it.
    let clip = Clip::Mp3.seconds(SECONDS);
    let mut socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
        .write_all(format!("{SOURCE}\r\n").as_bytes())
        .unwrap();
    let mut answer = [0; 3];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"OK2", "{addr}");
    let head = b"icy-name:Old\r\nicy-br:128\r\nicy-pub:0\r\ncontent-type:audio/mpeg\r\n\r\n";
    socket.write_all(head).unwrap();
    let mut encoder = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-re", "-i"])
        .arg(clip)
        .args(["-c", "copy", "-f", "mp3", "-write_xing", "0"])
        .args(["-id3v2_version", "0", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ffmpeg is installed");
    let mut audio = encoder.stdout.take().expect("a pipe");
    thread::spawn(move || io::copy(&mut audio, &mut socket));
    encoder
}

fn request(path: &str, fields: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.0\r\nUser-Agent: Ear/1.0\r\n{fields}\r\n").into_bytes()
}

/// One request of the table.
#[derive(Debug)]
struct Row {
    path: String,
    fields: String,
    is_source: bool,
}

fn get(path: impl Into<String>, fields: impl Into<String>) -> Row {
    Row {
        path: path.into(),
        fields: fields.into(),
        is_source: false,
    }
}

/// Lists the requests that are sent to both servers.
fn table() -> Vec<Row> {
    let (user, password) = USER.split_once(':').expect("both");
    let mut rows = Vec::new();
    // The mounts: one with a hook, one with a file of users, three that are open, one behind an alias, and one that does not
    // exist.
    for mount in [
        "free.mp3",
        "paid.mp3",
        "autodj.mp3",
        "sc.mp3",
        "far/one.mp3",
        "listen.mp3",
        "none.mp3",
    ] {
        let path = format!("/{mount}");
        rows.push(get(&path, ""));
        for (name, word) in [
            (user, password),
            (user, "wrong"),
            ("bob", password),
            ("any", KNOWN),
        ] {
            rows.push(get(&path, basic(name, word)));
        }
        for token in [KNOWN, UNKNOWN] {
            rows.push(get(format!("{path}?token={token}"), ""));
        }
    }
    let known = basic("any", KNOWN);
    rows.push(get("/free.mp3", format!("{known}{HEADER}: {VALUE}\r\n")));
    let admin = [
        String::new(),
        basic("admin", ADMIN),
        basic("admin", "wrong"),
    ];
    for fields in &admin {
        rows.push(get("/admin/stats", fields));
        rows.push(get("/admin/listclients?mount=/paid.mp3", fields));
    }
    let source = basic("source", SOURCE);
    let title = "/admin/metadata?mode=updinfo&song=One";
    rows.push(get(format!("{title}&mount=/paid.mp3"), ""));
    rows.push(get(format!("{title}&mount=/paid.mp3"), &source));
    rows.push(get(
        format!("{title}&mount=/paid.mp3"),
        basic("source", "wrong"),
    ));
    rows.push(get(format!("{title}&mount=/none.mp3"), &source));
    rows.push(get(
        format!("/admin.cgi?mode=updinfo&pass={SOURCE}&song=Two"),
        "",
    ));
    rows.push(get("/admin.cgi?mode=updinfo&pass=wrong&song=Three", ""));
    for fields in [String::new(), basic("source", "wrong")] {
        rows.push(Row {
            is_source: true,
            ..get("/new.mp3", format!("{fields}Content-Type: audio/mpeg\r\n"))
        });
    }
    rows.extend(["/status-json.xsl", "/server_version.xsl"].map(|path| get(path, "")));
    rows
}

/// Finds a port whose successor is free as well: icecast2 takes it for sources of SHOUTcast.
fn two_ports() -> u16 {
    let given = || testkit::free_address().port();
    // Both ports are reserved, so that no other test is given the second.
    let mut pairs = (0..100).map(|_| (given(), given()));
    let found = pairs.find(|(first, second)| *second == first + 1);
    found.expect("two ports beside each other").0
}

/// Writes a file of users as icecast2 does, which only its owner may read.
fn users(folder: &Path) -> String {
    let (name, password) = USER.split_once(':').expect("both");
    let path = folder.join("users");
    std::fs::write(&path, password).unwrap();
    let digest = Tool::new("md5sum").arg(&path).run(DEADLINE);
    let digest = String::from_utf8(digest).unwrap();
    let digest = digest.split_whitespace().next().expect("a digest");
    std::fs::write(&path, format!("{name}:{digest}\n")).unwrap();
    let path = path.display().to_string();
    let _ = Tool::new("chown")
        .args(["nobody:nogroup", &path])
        .run(DEADLINE);
    let _ = Tool::new("chmod").args(["640", &path]).run(DEADLINE);
    path
}

/// Starts an icecast2 with the station's configuration.
fn icecast(hook: &str, master: SocketAddr, shoutcast: u16) -> Icecast {
    Icecast::run(|addr, home| {
        let (users, home) = (users(home), home.display());
        format!(
            "<icecast><location>Tower</location><admin>bells@example.com</admin><hostname>localhost</hostname>
             <limits><clients>200</clients><sources>8</sources><header-timeout>15</header-timeout>
             <source-timeout>10</source-timeout><burst-size>65535</burst-size></limits>
             <authentication><source-password>{SOURCE}</source-password>
             <relay-password>relay-of-towers</relay-password>
             <admin-user>admin</admin-user><admin-password>{ADMIN}</admin-password></authentication>
             <master-server>{}</master-server><master-server-port>{}</master-server-port>
             <master-update-interval>1</master-update-interval><master-username>relay</master-username>
             <master-password>{}</master-password><relays-on-demand>1</relays-on-demand>
             <listen-socket><port>{}</port><bind-address>{}</bind-address></listen-socket>
             <listen-socket><port>{shoutcast}</port><bind-address>127.0.0.1</bind-address>
             <shoutcast-mount>/sc.mp3</shoutcast-mount></listen-socket>
             <mount><mount-name>/free.mp3</mount-name><fallback-mount>/autodj.mp3</fallback-mount>
             <fallback-override>1</fallback-override><authentication type=\"url\">
             <option name=\"listener_add\" value=\"{hook}\"/>
             <option name=\"mount_add\" value=\"{hook}\"/><option name=\"mount_remove\" value=\"{hook}\"/>
             <option name=\"headers\" value=\"{HEADER}\"/><option name=\"header_prefix\" value=\"said.\"/>
             <option name=\"auth_header\" value=\"icecast-auth-user: 1\"/></authentication></mount>
             <mount><mount-name>/paid.mp3</mount-name><fallback-mount>/autodj.mp3</fallback-mount>
             <fallback-override>1</fallback-override><authentication type=\"htpasswd\">
             <option name=\"filename\" value=\"{users}\"/></authentication></mount>
             <mount><mount-name>/autodj.mp3</mount-name><hidden>1</hidden></mount>
             <fileserve>1</fileserve><paths><basedir>/usr/share/icecast2</basedir><logdir>{home}</logdir>
             <webroot>/usr/share/icecast2/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot>
             <alias source=\"/listen.mp3\" destination=\"/free.mp3\"/></paths>
             <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog>
             <loglevel>3</loglevel></logging>
             <security><chroot>0</chroot><changeowner><user>nobody</user><group>nogroup</group></changeowner></security>
             </icecast>",
            master.ip(),
            master.port(),
            Icecast::PASSWORD,
            addr.port(),
            addr.ip(),
        )
    })
}

/// Starts the server with the imported configuration, and with the pattern that the import advises instead of a master.
fn moved(config: &Path, folder: &TempDir, master: SocketAddr) -> Server {
    let (toml, reported) = import(config);
    assert!(
        reported.contains("relay any of them on demand"),
        "{reported}"
    );
    // icecast2 writes its own log there.
    let log = config.with_file_name("access.log").display().to_string();
    let toml = toml.replace(
        &log,
        &folder.path().join("access.log").display().to_string(),
    );
    serve(&format!(
        "{toml}\n[[pull]]\nstream = \"far/**\"\nurl = \"http://{master}/far/{{rest}}\"\non_demand = true\n"
    ))
}

#[test]
fn a_station_that_moves_from_icecast_answers_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let (hook, master) = (Hook::start(), Icecast::start(8));
    let _far = publish_radio(Clip::Mp3, &master.source_url("far/one.mp3"));
    let port = two_ports();
    let before = icecast(&hook.url("icecast"), master.addr(), port);
    let after = moved(&before.config(), &folder, master.addr());
    let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let mut theirs = Station::publish(before.addr(), local(port + 1), local(port));
    let mut ours = Station::publish(
        after.addr("http"),
        after.addr("shoutcast"),
        after.addr("http"),
    );
    assert_ne!(theirs.shoutcast, ours.shoutcast);
    wait_until("the relay", || {
        theirs.answer(&get("/far/one.mp3", "")) == 200
    });

    let rows = table();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let differ: Vec<_> = rows
        .iter()
        .map(|row| (row, theirs.answer(row), ours.answer(row)))
        .filter(|(_, theirs, ours)| theirs != ours)
        .collect();
    assert!(differ.is_empty(), "{differ:#?}");
    // Both servers send the hook the same forms, except that icecast2 encodes more characters.
    let reported = |form: &str| {
        let asked = hook.asked().into_iter();
        let asked = asked.map(|form| form.to_ascii_lowercase().replace("%2e", "."));
        asked.filter(|asked| asked.contains(form)).count()
    };
    let mount = |action: &str| {
        let port = before.addr().port();
        format!("action=mount_{action}&mount=%2ffree.mp3&server=localhost&port={port}")
    };
    assert_eq!(reported(&format!("&said.{HEADER}={VALUE}")), 2);
    wait_until("mount_add", || reported(&mount("add")) == 2);
    for station in [&theirs, &ours] {
        wait_until("the title by SHOUTcast's way", || {
            let document = http::get(station.addr, "/status-json.xsl?mount=/sc.mp3", DEADLINE);
            document.text().contains("Two")
        });
    }

    // A listener of the studio stays connected and continues with the robot.
    let path = format!("/free.mp3?token={KNOWN}");
    let mut listeners = [&theirs, &ours].map(|station| Listener::get(station.addr, &path));
    for station in [&mut theirs, &mut ours] {
        station.studio.kill();
    }
    for listener in &mut listeners {
        let seconds = 10 * 16_000;
        let had = listener.body().len();
        assert!(listener.read_bytes(had + 70_000 + seconds, DEADLINE).len() >= seconds);
        assert!(!listener.ended());
    }
    wait_until("mount_remove", || reported(&mount("remove")) == 2);
}
