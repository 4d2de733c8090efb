//! Every address and conversation this server answers, in one table.
//!
//! The routers are built from it and the doors choose from it, so there is nothing to reach that
//! has no row; a test walks the rows without credentials.

use axum::http::Method;

/// Which listening socket an endpoint is on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Surface {
    /// The RTMP and RTMPS ports.
    Rtmp,
    /// The public HTTP and HTTPS ports, read by the door itself: sources and live bodies.
    Live,
    /// The same ports, by hyper: pages.
    Page,
    /// The operator's port.
    Admin,
}

/// What an endpoint demands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    /// Nothing: it is for everybody.
    Nothing,
    /// The key of the stream.
    PublishKey,
    /// The key of the stream, or the operator's password.
    KeyOrPassword,
    /// The operator's password, unless the port is on loopback and none was configured.
    Password,
}

macro_rules! endpoints {
    ($($(#[$doc:meta])* $name:ident: $surface:ident $method:literal $path:literal, $demand:ident;)*) => {
        /// One thing that can be asked of this server.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Endpoint { $($(#[$doc])* $name,)* }

        impl Endpoint {
            /// Every row of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Where it is.
            pub const fn surface(self) -> Surface {
                match self { $(Self::$name => Surface::$surface,)* }
            }

            /// How it is asked.
            pub const fn method(self) -> &'static str {
                match self { $(Self::$name => $method,)* }
            }

            /// Under which path, in axum's notation; `{stream}` stands for a stream's name.
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

    /// Publish as an Icecast source of old.
    Source: Live "SOURCE" "/{stream}", PublishKey;
    /// Publish as an Icecast source.
    Put: Live "PUT" "/{stream}", PublishKey;
    /// Set the title.
    Metadata: Live "GET" "/admin/metadata", KeyOrPassword;
    /// The same by form.
    MetadataForm: Live "POST" "/admin/metadata", KeyOrPassword;
    /// Set the title as SHOUTcast does.
    ShoutcastMetadata: Live "GET" "/admin.cgi", KeyOrPassword;
    /// What the server can do.
    Options: Live "OPTIONS" "*", Nothing;
    /// Listen.
    Listen: Live "GET" "/{stream}", Nothing;
    /// What listening would give.
    ListenHead: Live "HEAD" "/{stream}", Nothing;
    /// May a page listen?
    ListenOptions: Live "OPTIONS" "/{stream}", Nothing;

    /// The list of public streams.
    List: Page "GET" "/", Nothing;
    /// The state of public streams as Icecast tells it.
    Status: Page "GET" "/status-json.xsl", Nothing;
    /// Browsers ask for it.
    Favicon: Page "GET" "/favicon.ico", Nothing;
    /// The same where pages say it is.
    Icon: Page "GET" "/_/icon.svg", Nothing;
    /// The list's script.
    ListScript: Page "GET" "/_/list.js", Nothing;
    /// The player page's script.
    Script: Page "GET" "/_/player.js", Nothing;
    /// Its part that knows what the stream is.
    InfoScript: Page "GET" "/_/info.js", Nothing;
    /// Its part that knows what browsers can play.
    WaysScript: Page "GET" "/_/ways.js", Nothing;
    /// The library it uses.
    Library: Page "GET" "/_/mpegts.js", Nothing;
    /// The pages' style.
    Style: Page "GET" "/_/style.css", Nothing;
    /// What the player page and the publish page have in common.
    RtcScript: Page "GET" "/_/rtc.js", Nothing;
    /// The publish page's script.
    PublishScript: Page "GET" "/_/publish.js", Nothing;
    /// The player page.
    Player: Page "GET" "/{stream}/", Nothing;
    /// What the player page has to know.
    Info: Page "GET" "/{stream}/info.json", Nothing;
    /// The publish page.
    Publish: Page "GET" "/{stream}/publish", Nothing;

    /// Open a session to listen (WHEP).
    Whep: Page "POST" "/{stream}/whep", Nothing;
    /// May a page do so?
    WhepOptions: Page "OPTIONS" "/{stream}/whep", Nothing;
    /// Is this an endpoint?
    WhepGet: Page "GET" "/{stream}/whep", Nothing;
    /// Change a listener's session.
    WhepChange: Page "PATCH" "/{stream}/whep/{id}", Nothing;
    /// End a listener's session.
    WhepEnd: Page "DELETE" "/{stream}/whep/{id}", Nothing;
    /// Open a session to publish (WHIP).
    Whip: Page "POST" "/{stream}/whip", PublishKey;
    /// May a page do so?
    WhipOptions: Page "OPTIONS" "/{stream}/whip", Nothing;
    /// Is this an endpoint?
    WhipGet: Page "GET" "/{stream}/whip", Nothing;
    /// Change a publisher's session.
    WhipChange: Page "PATCH" "/{stream}/whip/{id}", PublishKey;
    /// End a publisher's session.
    WhipEnd: Page "DELETE" "/{stream}/whip/{id}", PublishKey;

    /// Metrics for Prometheus.
    Metrics: Admin "GET" "/metrics", Password;
    /// Does it run?
    Livez: Admin "GET" "/livez", Nothing;
    /// Should it be given work?
    Readyz: Admin "GET" "/readyz", Nothing;
    /// All streams.
    Streams: Admin "GET" "/api/v1/streams", Password;
    /// End a stream.
    EndStream: Admin "DELETE" "/api/v1/streams/{*name}", Password;
    /// All listeners.
    Listeners: Admin "GET" "/api/v1/listeners", Password;
    /// What happens, as it happens.
    Events: Admin "GET" "/api/v1/events", Password;
    /// Where streams are pushed to, and how that goes.
    Pushes: Admin "GET" "/api/v1/push", Password;
    /// Where streams are pulled from, and how that goes.
    Pulls: Admin "GET" "/api/v1/pull", Password;
    /// Remove a listener.
    Kick: Admin "DELETE" "/api/v1/listeners/{id}", Password;
}

impl Endpoint {
    /// The rows of one surface.
    pub(crate) fn on(surface: Surface) -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(move |endpoint| endpoint.surface() == surface)
    }

    /// Its method, for routers.
    pub(crate) fn http_method(self) -> Method {
        match self.method() {
            "DELETE" => Method::DELETE,
            "POST" => Method::POST,
            _ => Method::GET,
        }
    }
}
