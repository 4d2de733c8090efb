//! Elements that need no setting here, or have none, with the reasons.

use crate::draft::Import;
use crate::source::Directive;

/// Elements within one (`""` is the root), whether they could not be carried over, and why.
const REASONS: &[(&str, &[&str], bool, &str)] = &[
    (
        "",
        &["hostname"],
        false,
        "addresses are made from what each request says; http.base_url sets another one",
    ),
    (
        "",
        &["server-id"],
        true,
        "http.server_header has its own default, which begins as Icecast's does",
    ),
    (
        "",
        &[
            "master-server",
            "master-server-port",
            "master-update-interval",
            "master-username",
            "master-password",
            "master-bind",
            "master-ssl-port",
            "master-relay-auth",
            "master-redirect",
            "master-redirect-port",
            "max-redirect-slaves",
            "master",
            "slave",
            "relays-on-demand",
        ],
        true,
        "a master is not asked which mounts it has: name them, or relay any of them on demand by a [[pull]] with stream = \"far/**\", \
         url = \"http://MASTER:8000/{rest}\" and on_demand = true",
    ),
    (
        "",
        &["security", "chroot", "changeowner"],
        true,
        "start it as the user that it is to run as, such as by systemd",
    ),
    ("", &["prng-seed"], false, "random numbers are the system's"),
    (
        "",
        &["event-bindings", "events", "event-stream"],
        true,
        "no programs are run; a [[webhook]] is told of streams",
    ),
    (
        "",
        &["http-headers"],
        true,
        "headers are not configurable; a proxy can add them",
    ),
    (
        "limits",
        &["queue-size", "min-queue-size"],
        true,
        "nothing is queued for a listener; fanout.audio.skip_after is how far it may fall behind",
    ),
    (
        "limits",
        &["client-timeout"],
        true,
        "connections that send no request end after http.head_timeout",
    ),
    (
        "limits",
        &["threadpool", "workers"],
        false,
        "there is a worker for each core; fanout.workers sets another number",
    ),
    (
        "limits",
        &["body-timeout", "body-size-limit"],
        false,
        "requests have bounds of their own",
    ),
    (
        "authentication",
        &["relay-password", "relay-user"],
        true,
        "no other server fetches streams by a password of its own",
    ),
    (
        "authentication",
        &["role"],
        true,
        "there are no roles; keys are auth.publish_key, [[auth.key]] and auth.admin_password",
    ),
    (
        "listen-socket",
        &["listen-backlog", "so-sndbuf", "so-mss", "size"],
        false,
        "the server chooses it",
    ),
    (
        "listen-socket",
        &["authentication", "http-headers", "event-bindings"],
        true,
        "what holds for one address alone cannot be said",
    ),
    (
        "paths",
        &["basedir", "adminroot", "reportxmldb", "nulldevice"],
        false,
        "the pages are built in",
    ),
    (
        "paths",
        &["webroot"],
        false,
        "it is used where files of it are named",
    ),
    (
        "paths",
        &["logdir"],
        false,
        "it is used where files of it are named",
    ),
    (
        "paths",
        &["pidfile"],
        true,
        "no file with the process number is written",
    ),
    ("paths", &["mime-types"], false, "media types are built in"),
    (
        "paths",
        &[
            "ssl-allowed-ciphers",
            "ssl-cipher-list",
            "tls-allowed-ciphers",
        ],
        false,
        "ciphers are those of TLS 1.2 and 1.3 that are safe",
    ),
    (
        "logging",
        &["errorlog"],
        true,
        "messages go to standard error",
    ),
    (
        "logging",
        &["playlistlog"],
        true,
        "titles are lines of log.sessions, which is JSON",
    ),
    (
        "logging",
        &[
            "logsize",
            "logarchive",
            "memorybacklog",
            "accesslog_lines",
            "errorlog_lines",
            "playlistlog_lines",
            "accesslog_ip",
            "playlistlog_level",
        ],
        true,
        "a program such as logrotate moves logs; SIGHUP opens log.access again",
    ),
    (
        "mount",
        &[
            "stream-name",
            "stream-description",
            "stream-url",
            "genre",
            "bitrate",
            "type",
            "subtype",
            "url",
            "avg-bitrate-duration",
        ],
        true,
        "sources say it themselves, in their headers",
    ),
    (
        "mount",
        &["mp3-metadata-interval", "icy-metadata-interval"],
        false,
        "the server chooses it",
    ),
    (
        "mount",
        &["username", "auth-username"],
        false,
        "any user name will do with the right key",
    ),
    (
        "mount",
        &["queue-size", "min-queue-size", "queue-block-size"],
        true,
        "nothing is queued for a listener; skip_after is how far it may fall behind",
    ),
    (
        "mount",
        &["source-timeout"],
        true,
        "ingest.source_timeout is one for all streams",
    ),
    (
        "mount",
        &["on-connect", "on-disconnect"],
        true,
        "no programs are run; a [[webhook]] is told of stream.published and stream.ended",
    ),
    (
        "mount",
        &["no-yp", "no-mount"],
        true,
        "a mount cannot be kept from listeners; `public = false` keeps it off the lists",
    ),
    (
        "mount",
        &["cluster-password"],
        true,
        "mounts are listed in no directory",
    ),
    (
        "mount",
        &["http-headers"],
        true,
        "headers are not configurable; a proxy can add them",
    ),
    (
        "mount",
        &[
            "limit-rate",
            "max-bandwidth",
            "max-stream-duration",
            "max-send-size",
            "ban-client",
            "listenurl",
            "redirect",
            "skip-accesslog",
            "allow-url-ogg-metadata",
            "filter-theora",
            "file-seekable",
            "ssl-certificate",
            "allow-chunked",
            "access-control-allow-origin",
            "max-history",
            "event-bindings",
        ],
        true,
        "Carillon has no such setting",
    ),
];

/// Accounts for an element that has no setting.
pub(super) fn explain(element: &Directive, around: &str, import: &mut Import) {
    let name = &*element.name;
    let found = REASONS
        .iter()
        .find(|(place, names, ..)| *place == around && names.contains(&name));
    let found = found.map(|(_, _, is_left, reason)| (*is_left, *reason));
    let of_master = (around.is_empty() && name.starts_with("master-"))
        .then_some((true, "an Icecast master cannot be followed"));
    import.ledger.explain(element, found.or(of_master));
}
