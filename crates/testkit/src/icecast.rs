//! Icecast: the peer for comparisons of audio over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Process, Tool, free_address, proc, temp_folder, wait_until, write_file};

/// Time limit from the start to the first response.
const READY_DEADLINE: Duration = crate::DEADLINE;
/// Time limit for one response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A running icecast2 from Debian.
#[derive(Debug)]
pub struct Icecast {
    process: Process,
    addr: SocketAddr,
    /// Holds the configuration file.
    folder: tempfile::TempDir,
}

impl Icecast {
    /// Password of the publishers.
    pub const PASSWORD: &str = "testkit-source-password";

    /// Starts icecast2 with Debian's limits, except for a few more sources, and `clients`: as many listeners and a few more.
    ///
    /// # Panics
    /// Panics if icecast2 is not installed or does not start.
    #[must_use]
    pub fn start(clients: usize) -> Self {
        Self::with(clients, "")
    }

    /// Starts one that relays all mounts of a server, which accepts this password for its list of mounts.
    ///
    /// # Panics
    /// Panics if icecast2 is not installed or does not start.
    #[must_use]
    pub fn slave_of(master: SocketAddr, password: &str) -> Self {
        let (ip, port) = (master.ip(), master.port());
        let elements = format!(
            "<master-server>{ip}</master-server><master-server-port>{port}</master-server-port>\
             <master-update-interval>1</master-update-interval>\
             <master-username>relay</master-username><master-password>{password}</master-password>"
        );
        Self::with(32, &elements)
    }

    /// Starts icecast2 with more elements in its configuration, such as mounts and directories.
    ///
    /// # Panics
    /// Panics if icecast2 is not installed or does not start.
    #[must_use]
    pub fn with(clients: usize, elements: &str) -> Self {
        Self::run(|addr, home| {
            let home = home.display();
            format!(
                "<icecast><limits><clients>{clients}</clients><sources>8</sources>\
             <queue-size>524288</queue-size><client-timeout>30</client-timeout>\
             <header-timeout>15</header-timeout><source-timeout>10</source-timeout>\
             <burst-on-connect>1</burst-on-connect><burst-size>65535</burst-size></limits>\
             <authentication><source-password>{password}</source-password>\
             <relay-password>{password}</relay-password>\
             <admin-user>admin</admin-user><admin-password>{password}</admin-password>\
             </authentication><hostname>localhost</hostname>{elements}\
             <listen-socket><port>{port}</port><bind-address>{ip}</bind-address></listen-socket>\
             <fileserve>1</fileserve><paths><basedir>/usr/share/icecast2</basedir>\
             <logdir>{home}</logdir><webroot>/usr/share/icecast2/web</webroot>\
             <adminroot>/usr/share/icecast2/admin</adminroot></paths>\
             <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog>\
             <loglevel>3</loglevel><logsize>10000</logsize></logging>\
             <security><chroot>0</chroot><changeowner><user>nobody</user>\
             <group>nogroup</group></changeowner></security></icecast>",
                password = Self::PASSWORD,
                port = addr.port(),
                ip = addr.ip(),
            )
        })
    }

    /// Starts icecast2 with a configuration that listens at an address and has its error log, `error.log` of level 3, in a
    /// folder.
    ///
    /// # Panics
    /// Panics if icecast2 is not installed or does not start.
    pub fn run(text: impl FnOnce(SocketAddr, &Path) -> String) -> Self {
        let folder = temp_folder();
        let addr = free_address();
        let text = text(addr, folder.path());
        let config = write_file(folder.path(), "icecast.xml", &text);
        // icecast2 refuses to run as root, and writes its logs as the user it becomes.
        open_to_all(folder.path());
        let mut process = Tool::new("icecast2").arg("-c").arg(&config).start();
        let log = folder.path().join("error.log");
        wait_until("icecast2 to be ready", READY_DEADLINE, || {
            let is_ready = has_started(process.pid(), &log) && answers(addr);
            assert!(is_ready || process.is_running(), "icecast2 ended");
            is_ready
        });
        Self {
            process,
            addr,
            folder,
        }
    }

    /// Returns the address at which to publish, in ffmpeg's notation.
    pub fn source_url(&self, mount: &str) -> String {
        format!("icecast://source:{}@{}/{mount}", Self::PASSWORD, self.addr)
    }

    /// Returns the address at which to listen.
    pub fn http_url(&self, mount: &str) -> String {
        format!("http://{}/{mount}", self.addr)
    }

    /// Returns the address of the server's socket.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the path of its configuration.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("icecast.xml")
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}

/// Number of threads of icecast2 that poll several times a second: the main one, and those of statistics and relays.
const LOOKING: usize = 3;
/// Number of sleeps of each of these threads that shows it is past its start.
const SLEEPS_MIN: u64 = 3;

/// Returns whether icecast2 has started. A thread sets the values from which its statistics count up; a request that is counted
/// before that ends the process. The log does not show the time: its last line may stay in a buffer.
fn has_started(pid: u32, log: &Path) -> bool {
    let has_logged =
        || std::fs::read_to_string(log).is_ok_and(|log| log.contains("YP update thread started"));
    let sleeps = proc::sleeps(pid).into_iter();
    sleeps.filter(|count| *count >= SLEEPS_MIN).count() >= LOOKING && has_logged()
}

/// Returns whether icecast2 answers a request. It listens, stops and listens again as it starts, so a connection alone proves
/// nothing.
fn answers(addr: SocketAddr) -> bool {
    let ask = || -> std::io::Result<usize> {
        let mut socket = TcpStream::connect(addr)?;
        socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        socket.write_all(b"GET /nothing HTTP/1.0\r\n\r\n")?;
        socket.read(&mut [0; 16])
    };
    matches!(ask(), Ok(1..))
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder, open)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}
