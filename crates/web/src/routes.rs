//! Every address and RTMP command that this server answers, in one table.
//!
//! The routers are built from it and the doors choose from it, so nothing without a row can be reached; a test
//! requests all rows without credentials.

use axum::http::Method;

/// Which listening socket an endpoint is on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Surface {
    /// The RTMP and RTMPS ports.
    Rtmp,
    /// The public HTTP and HTTPS ports, read by the door itself: sources and live bodies.
    Live,
    /// The same ports: pages.
    Page,
    /// The operator's port.
    Admin,
}

/// The credential that an endpoint demands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    /// None: it is public.
    Nothing,
    /// The key of the stream.
    PublishKey,
    /// The key of the stream, or the operator's password.
    KeyOrPassword,
    /// The operator's password, unless it is the operator's port, on loopback, and none was configured.
    Password,
}

macro_rules! endpoints {
    ($($(#[$doc:meta])* $name:ident: $surface:ident $method:literal $path:literal, $demand:ident;)*) => {
        /// One kind of request that this server answers.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Endpoint { $($(#[$doc])* $name,)* }

        impl Endpoint {
            /// Every row of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The port it is on.
            pub const fn surface(self) -> Surface {
                match self { $(Self::$name => Surface::$surface,)* }
            }

            /// Its method.
            pub const fn method(self) -> &'static str {
                match self { $(Self::$name => $method,)* }
            }

            /// Its path, in axum's notation; `{stream}` stands for a stream's name, `{folder}` for a `path` of `[[files]]`.
            pub const fn path(self) -> &'static str {
                match self { $(Self::$name => $path,)* }
            }

            /// What it demands.
            pub const fn demand(self) -> Demand {
                match self { $(Self::$name => Demand::$demand,)* }
            }
        }
    };
}

endpoints! {
    /// Publish by RTMP.
    RtmpPublish: Rtmp "publish" "{stream}", PublishKey;
    /// Play by RTMP.
    RtmpPlay: Rtmp "play" "{stream}", Nothing;

    /// Publish as an old Icecast source.
    Source: Live "SOURCE" "/{stream}", PublishKey;
    /// Publish as an Icecast source.
    Put: Live "PUT" "/{stream}", PublishKey;
    /// Set the title.
    Metadata: Live "GET" "/admin/metadata", KeyOrPassword;
    /// The same, answered with a page.
    MetadataPage: Live "GET" "/admin/metadata.xsl", KeyOrPassword;
    /// Set the title by a form.
    MetadataForm: Live "POST" "/admin/metadata", KeyOrPassword;
    /// Set the title as SHOUTcast does; with `mode=viewxml`, its figures for the operator.
    ShoutcastMetadata: Live "GET" "/admin.cgi", KeyOrPassword;
    /// All figures, and each that changes, as Icecast tells them.
    IcecastEvents: Live "STATS" "/", Password;
    /// The server's capabilities.
    Options: Live "OPTIONS" "*", Nothing;
    /// Listen.
    Listen: Live "GET" "/{stream}", Nothing;
    /// What listening would give.
    ListenHead: Live "HEAD" "/{stream}", Nothing;
    /// CORS preflight for listening.
    ListenOptions: Live "OPTIONS" "/{stream}", Nothing;

    /// The list of public streams.
    List: Page "GET" "/", Nothing;
    /// The state of public streams in Icecast's format.
    Status: Page "GET" "/status-json.xsl", Nothing;
    /// The public streams, for programs of others.
    PublicStreams: Page "GET" "/api/v1/public/streams", Nothing;
    /// The element that puts a player into any page.
    Component: Page "GET" "/carillon.js", Nothing;
    /// The icon where browsers look for it.
    Favicon: Page "GET" "/favicon.ico", Nothing;
    /// The icon where pages link it.
    Icon: Page "GET" "/_/icon.svg", Nothing;
    /// The list's script.
    ListScript: Page "GET" "/_/list.js", Nothing;
    /// The player page's script.
    Script: Page "GET" "/_/player.js", Nothing;
    /// The library by which the player page plays FLV.
    FlvLibrary: Page "GET" "/_/mpegts.js", Nothing;
    /// The library by which the player page plays HLS.
    HlsLibrary: Page "GET" "/_/hls.js", Nothing;
    /// The pages' style.
    Style: Page "GET" "/_/style.css", Nothing;
    /// The publish page's script.
    PublishScript: Page "GET" "/_/publish.js", Nothing;
    /// The player page.
    Player: Page "GET" "/{stream}/", Nothing;
    /// The player alone, for frames.
    Embed: Page "GET" "/embed/{stream}", Nothing;
    /// The newest picture.
    Still: Page "GET" "/{stream}/still.mp4", Nothing;
    /// The state that the player page needs.
    Info: Page "GET" "/{stream}/info.json", Nothing;
    /// What is playing, as it changes: Server-Sent Events.
    Titles: Page "GET" "/{stream}/titles", Nothing;
    /// The publish page.
    Publish: Page "GET" "/{stream}/publish", Nothing;

    /// What a player program opens to listen.
    M3u: Page "GET" "/{stream}.m3u", Nothing;
    /// The same, and what the stream tells of itself.
    Xspf: Page "GET" "/{stream}.xspf", Nothing;

    /// The same, for old players that speak it.
    Pls: Page "GET" "/{stream}.pls", Nothing;
    /// The same, for programs that read lines of names.
    Vclt: Page "GET" "/{stream}.vclt", Nothing;

    /// The figures of a stream, in SHOUTcast's form.
    ShoutcastStats: Page "GET" "/stats", Nothing;
    /// Those of all streams.
    ShoutcastStatistics: Page "GET" "/statistics", Nothing;
    /// The title of a stream.
    ShoutcastSong: Page "GET" "/currentsong", Nothing;
    /// Its last titles.
    ShoutcastPlayed: Page "GET" "/played", Nothing;
    /// The same at its first address.
    ShoutcastPlayedPage: Page "GET" "/played.html", Nothing;
    /// The seven values of SHOUTcast 1.
    ShoutcastSeven: Page "GET" "/7.html", Nothing;

    /// The public streams, as Icecast's page has them.
    IcecastStatusPage: Page "GET" "/status.xsl", Nothing;
    /// What server this is.
    IcecastVersionPage: Page "GET" "/server_version.xsl", Nothing;
    /// Where Icecast's administration begins: its figures.
    IcecastHome: Page "GET" "/admin/", Password;
    /// The figures of the server and of its streams, as a page.
    IcecastStatsPage: Page "GET" "/admin/stats.xsl", Password;
    /// The streams, as a page.
    IcecastMountsPage: Page "GET" "/admin/listmounts.xsl", Password;
    /// The listeners of a stream, as a page.
    IcecastListenersPage: Page "GET" "/admin/listclients.xsl", Password;
    /// A stream whose title is to be set.
    IcecastTitle: Page "GET" "/admin/updatemetadata", Password;
    /// The form for that.
    IcecastTitlePage: Page "GET" "/admin/updatemetadata.xsl", Password;
    /// Remove a listener, from a page.
    IcecastKickPage: Page "GET" "/admin/killclient.xsl", Password;
    /// End a stream, from a page.
    IcecastEndPage: Page "GET" "/admin/killsource.xsl", Password;
    /// Have the listeners of a stream hear another, from a page.
    IcecastMovePage: Page "GET" "/admin/moveclients.xsl", Password;
    /// Have the listeners of a stream hear another.
    IcecastMove: Page "GET" "/admin/moveclients", Password;
    /// Set a stream's fallback.
    IcecastFallbacks: Page "GET" "/admin/fallbacks", Password;
    /// The figures of the server and of its streams, in Icecast's form.
    IcecastStats: Page "GET" "/admin/stats", Password;
    /// The streams, in Icecast's form.
    IcecastMounts: Page "GET" "/admin/listmounts", Password;
    /// The same.
    IcecastStreams: Page "GET" "/admin/streamlist", Password;
    /// Their names, for servers that relay them all.
    IcecastStreamNames: Page "GET" "/admin/streamlist.txt", Password;
    /// The listeners of a stream, in Icecast's form.
    IcecastListeners: Page "GET" "/admin/listclients", Password;
    /// Remove a listener.
    IcecastKick: Page "GET" "/admin/killclient", Password;
    /// End a stream.
    IcecastEnd: Page "GET" "/admin/killsource", Password;
    /// What a player program opens to listen with a user and a password.
    IcecastPlaylist: Page "GET" "/admin/buildm3u", Password;

    /// The multivariant playlist of HLS.
    Hls: Page "GET" "/{stream}/index.m3u8", Nothing;
    /// The media playlist of HLS; other packagings than fragmented MP4 have `ts/`, `aac/`, `mp3/` or `aes/` for `hls/`.
    HlsPlaylist: Page "GET" "/{stream}/hls/live.m3u8", Nothing;
    /// An initialization segment, a segment, a part or a key of HLS; likewise.
    HlsPiece: Page "GET" "/{stream}/hls/{piece}", Nothing;

    /// A file on demand, in a folder of `[[files]]`.
    File: Page "GET" "/{folder}/{file}", Nothing;

    /// A stream's recordings.
    StreamRecordings: Page "GET" "/{stream}/recordings.json", Nothing;
    /// One of them; of other containers with another suffix.
    RecordingFile: Page "GET" "/{stream}/recordings/{recording}.mp4", Nothing;
    /// Its playlist, initialization segment or some of its fragments over HLS.
    RecordingPiece: Page "GET" "/{stream}/recordings/{recording}/{fragments}", Nothing;
    /// What was recorded between two times.
    Clip: Page "GET" "/{stream}/clip.mp4", Nothing;

    /// Open a session to listen (WHEP).
    Whep: Page "POST" "/{stream}/whep", Nothing;
    /// CORS preflight for WHEP.
    WhepOptions: Page "OPTIONS" "/{stream}/whep", Nothing;
    /// Is this an endpoint?
    WhepGet: Page "GET" "/{stream}/whep", Nothing;
    /// Change a listener's session.
    WhepChange: Page "PATCH" "/{stream}/whep/{id}", Nothing;
    /// End a listener's session.
    WhepEnd: Page "DELETE" "/{stream}/whep/{id}", Nothing;
    /// Open a session to publish (WHIP).
    Whip: Page "POST" "/{stream}/whip", PublishKey;
    /// CORS preflight for WHIP.
    WhipOptions: Page "OPTIONS" "/{stream}/whip", Nothing;
    /// Is this an endpoint?
    WhipGet: Page "GET" "/{stream}/whip", Nothing;
    /// Change a publisher's session.
    WhipChange: Page "PATCH" "/{stream}/whip/{id}", PublishKey;
    /// End a publisher's session.
    WhipEnd: Page "DELETE" "/{stream}/whip/{id}", PublishKey;

    /// The operator's page of recordings.
    OperatorPage: Admin "GET" "/recordings", Password;
    /// Its script.
    OperatorScript: Admin "GET" "/_/operator.js", Password;
    /// Its style.
    OperatorStyle: Admin "GET" "/_/style.css", Password;
    /// Its icon.
    OperatorIcon: Admin "GET" "/_/icon.svg", Password;
    /// Metrics for Prometheus.
    Metrics: Admin "GET" "/metrics", Password;
    /// Liveness probe.
    Livez: Admin "GET" "/livez", Nothing;
    /// Readiness probe.
    Readyz: Admin "GET" "/readyz", Nothing;
    /// All streams.
    Streams: Admin "GET" "/api/v1/streams", Password;
    /// End a stream.
    EndStream: Admin "DELETE" "/api/v1/streams/{*name}", Password;
    /// The newest picture of a stream; behind the name stands `/snapshot`.
    Snapshot: Admin "GET" "/api/v1/streams/{*name}", Password;
    /// Announce an event, or begin, end or split a recording; behind the name stands `/events` or `/recording`.
    Announce: Admin "POST" "/api/v1/streams/{*name}", Password;
    /// The recordings.
    Recordings: Admin "GET" "/api/v1/recordings", Password;
    /// One of them.
    Recording: Admin "GET" "/api/v1/recordings/{id}", Password;
    /// Its file.
    RecordedFile: Admin "GET" "/api/v1/recordings/{id}/file", Password;
    /// An address at which its copy in object storage can be fetched for some time.
    RecordingLink: Admin "GET" "/api/v1/recordings/{id}/link", Password;
    /// Keep it whatever the rules say, or no longer.
    PinRecording: Admin "PATCH" "/api/v1/recordings/{id}", Password;
    /// Remove it.
    RemoveRecording: Admin "DELETE" "/api/v1/recordings/{id}", Password;
    /// All listeners.
    Listeners: Admin "GET" "/api/v1/listeners", Password;
    /// The event stream.
    Events: Admin "GET" "/api/v1/events", Password;
    /// Pushes to other servers and their states.
    Pushes: Admin "GET" "/api/v1/push", Password;
    /// Pulls from other servers and their states.
    Pulls: Admin "GET" "/api/v1/pull", Password;
    /// Streams with a fallback, and whether that is heard.
    Fallbacks: Admin "GET" "/api/v1/fallbacks", Password;
    /// Stations, and what they play.
    Stations: Admin "GET" "/api/v1/stations", Password;
    /// Tell a station what to do.
    CommandStation: Admin "POST" "/api/v1/stations/{*name}", Password;
    /// Remove a listener.
    Kick: Admin "DELETE" "/api/v1/listeners/{id}", Password;
}

impl Endpoint {
    /// The rows of one surface.
    pub fn on(surface: Surface) -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(move |endpoint| endpoint.surface() == surface)
    }

    /// Its method, for routers.
    pub fn http_method(self) -> Method {
        match self.method() {
            "DELETE" => Method::DELETE,
            "PATCH" => Method::PATCH,
            "POST" => Method::POST,
            _ => Method::GET,
        }
    }
}
