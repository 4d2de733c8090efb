//! The defaults: the one place that has them. `config/carillon.toml` is tested to say the same.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use fanout::{Class, Policy, Takeover};

use super::{
    AccessLog, Admin, Auth, Backend, Config, Fanout, Http, Ingest, Limits, Log, LogFormat,
    LogLevel, Rtmp, Transcode, Webrtc,
};

impl Default for Config {
    fn default() -> Self {
        let any = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        Self {
            drain_timeout: Duration::from_secs(10),
            rtmp: Rtmp {
                listen: vec![any(1935)],
                tls_listen: Vec::new(),
                play_wait: Duration::from_secs(10),
                challenge: false,
            },
            http: Http {
                listen: vec![any(8000)],
                tls_listen: Vec::new(),
                certificate: None,
                private_key: None,
                server_header: "Icecast 2.4.4 (Carillon)".to_owned(),
                head_timeout: Duration::from_secs(10),
                trusted_proxies: Vec::new(),
                base_url: None,
            },
            webrtc: Webrtc {
                listen: Some(any(8189)),
                public_ips: Vec::new(),
                tcp: true,
            },
            admin: Admin {
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9600)),
            },
            auth: Auth::default(),
            ingest: Ingest {
                linger: Duration::from_secs(15),
                source_timeout: Duration::from_secs(10),
                takeover: Takeover::SameCredential,
                takeover_back: Duration::from_secs(30),
            },
            fanout: Fanout {
                workers: 0,
                backend: Backend::Auto,
                target_utilisation: 0.02,
                log_mib: 1024,
                audio: Policy::default_for(Class::Audio),
                video: Policy::default_for(Class::Video),
            },
            transcode: Transcode {
                enabled: true,
                bitrate_kbps: 128,
                threads: 0,
                streams_max: 0,
                linger: Duration::from_secs(15),
            },
            limits: Limits::default(),
            log: Log {
                level: LogLevel::Info,
                format: LogFormat::Text,
                access: AccessLog::Off,
            },
            pushes: Vec::new(),
            pulls: Vec::new(),
            streams: Vec::new(),
        }
    }
}
