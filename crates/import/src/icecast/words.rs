//! Elements that need no setting here, or have none, with the reasons.

use crate::ledger::Words;

/// Elements, by their parents.
pub(crate) const WORDS: Words = Words {
    left: &[
        "icecast.server-id: http.server_header has its own default, which begins as Icecast's does",
        "icecast.master-server icecast.master-server-port icecast.master-update-interval \
         icecast.master-username icecast.master-password icecast.master-bind \
         icecast.master-ssl-port icecast.master-relay-auth icecast.master-redirect \
         icecast.master-redirect-port icecast.max-redirect-slaves icecast.master icecast.slave \
         icecast.relays-on-demand: \
         a master is not asked which mounts it has: name them, or relay any of them on demand by \
         a [[pull]] with stream = \"far/**\", url = \"http://MASTER:8000/{rest}\" and on_demand = \
         true",
        "icecast.security icecast.chroot icecast.changeowner: \
         start it as the user that it is to run as, such as by systemd",
        "icecast.event-bindings icecast.events icecast.event-stream: \
         no programs are run; a [[webhook]] receives events of streams",
        "limits.queue-size limits.min-queue-size: \
         nothing is queued for a listener; fanout.audio.skip_after is how far it may fall behind",
        "limits.client-timeout: connections that send no request end after http.head_timeout",
        "authentication.relay-password authentication.relay-user: \
         no other server fetches streams by a password of its own",
        "authentication.role: \
         there are no roles; keys are auth.publish_key, [[auth.key]] and auth.admin_password",
        "listen-socket.authentication listen-socket.http-headers listen-socket.event-bindings: \
         what holds for one address alone cannot be said",
        "paths.pidfile: no file with the process number is written",
        "logging.errorlog: messages go to standard error",
        "logging.playlistlog: titles are lines of log.sessions, which is JSON",
        "logging.logsize logging.logarchive logging.memorybacklog logging.accesslog_lines \
         logging.errorlog_lines logging.playlistlog_lines logging.accesslog_ip \
         logging.playlistlog_level: \
         a program such as logrotate moves logs; SIGHUP opens log.access again",
        "mount.stream-name mount.stream-description mount.stream-url mount.genre mount.bitrate \
         mount.type mount.subtype mount.url mount.avg-bitrate-duration: \
         sources say it themselves, in their headers",
        "mount.queue-size mount.min-queue-size mount.queue-block-size: \
         nothing is queued for a listener; skip_after is how far it may fall behind",
        "mount.source-timeout: ingest.source_timeout is one for all streams",
        "mount.on-connect mount.on-disconnect: \
         no programs are run; a [[webhook]] receives stream.published and stream.ended",
        "mount.no-yp mount.no-mount: \
         a mount cannot be kept from listeners; `public = false` keeps it off the lists",
        "mount.cluster-password: mounts are listed in no directory",
        "mount.http-headers: headers are not configurable; a proxy can add them",
        "mount.limit-rate mount.max-bandwidth mount.max-stream-duration mount.max-send-size \
         mount.ban-client mount.listenurl mount.redirect mount.skip-accesslog \
         mount.allow-url-ogg-metadata mount.filter-theora mount.file-seekable \
         mount.ssl-certificate mount.allow-chunked mount.access-control-allow-origin \
         mount.max-history mount.event-bindings: \
         Carillon has no such setting",
        "icecast.master-*: an Icecast master cannot be followed",
    ],
    needless: &[
        "icecast.hostname: \
         addresses are made from what each request says; http.base_url sets another one",
        "icecast.prng-seed: random numbers are the system's",
        "limits.threadpool limits.workers: \
         there is a worker for each core; fanout.workers sets another number",
        "limits.body-timeout limits.body-size-limit: requests have bounds of their own",
        "listen-socket.listen-backlog listen-socket.so-sndbuf listen-socket.so-mss \
         listen-socket.size: \
         the server chooses it",
        "paths.basedir paths.adminroot paths.reportxmldb paths.nulldevice: the pages are built in",
        "paths.webroot paths.logdir: it is used where files of it are named",
        "paths.mime-types: media types are built in",
        "paths.ssl-allowed-ciphers paths.ssl-cipher-list paths.tls-allowed-ciphers: \
         ciphers are those of TLS 1.2 and 1.3 that are safe",
        "mount.mp3-metadata-interval mount.icy-metadata-interval: the server chooses it",
        "mount.username mount.auth-username: any user name will do with the right key",
    ],
};
