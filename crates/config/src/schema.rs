//! Which keys there are.

use std::net::IpAddr;
use std::time::Duration;

use fanout::Policy;

use super::read::Section;
use super::{
    Admin, Auth, Config, Fanout, Glob, Http, Ingest, KeyRule, Limits, Log, PolicyOverrides,
    PullRule, PushRule, Rtmp, StreamRule, Transcode, Webrtc,
};

/// Most worker threads: more than any machine has cores, few enough to start at once.
const WORKERS_MAX: usize = 1_024;

/// Largest subgroup. A visit should stay near 2 ms, which is some 500 sends.
const SUBGROUP_MAX: usize = 10_000;

/// Largest log budget, 1 TiB in MiB: beyond any memory this will run in.
const LOG_MIB_MAX: usize = 1 << 20;

/// Reads the root table.
pub(super) fn config(s: &mut Section<'_, '_>, config: &mut Config) {
    let Config {
        drain_timeout,
        rtmp,
        http,
        webrtc,
        admin,
        auth,
        ingest,
        fanout,
        transcode,
        limits,
        log,
        pushes,
        pulls,
        streams,
    } = config;
    s.set("drain_timeout", drain_timeout);
    s.section("rtmp", |s| self::rtmp(s, rtmp));
    s.section("http", |s| self::http(s, http));
    s.section("webrtc", |s| self::webrtc(s, webrtc));
    s.section("admin", |s| self::admin(s, admin));
    s.section("auth", |s| self::auth(s, auth));
    s.section("ingest", |s| self::ingest(s, ingest));
    s.section("fanout", |s| self::fanout(s, fanout));
    s.section("transcode", |s| self::transcode(s, transcode));
    s.section("limits", |s| self::limits(s, limits));
    s.section("log", |s| self::log(s, log));
    s.sections("push", |s| pushes.extend(push(s)));
    s.sections("pull", |s| pulls.extend(pull(s)));
    s.sections("stream", |s| streams.extend(stream(s)));
}

fn rtmp(s: &mut Section<'_, '_>, rtmp: &mut Rtmp) {
    s.set("listen", &mut rtmp.listen);
    s.set("tls_listen", &mut rtmp.tls_listen);
    s.set("play_wait", &mut rtmp.play_wait);
    s.set("challenge", &mut rtmp.challenge);
}

fn http(s: &mut Section<'_, '_>, http: &mut Http) {
    s.set("listen", &mut http.listen);
    s.set("tls_listen", &mut http.tls_listen);
    s.set("certificate", &mut http.certificate);
    s.set("private_key", &mut http.private_key);
    s.set("server_header", &mut http.server_header);
    s.set("head_timeout", &mut http.head_timeout);
    s.set("trusted_proxies", &mut http.trusted_proxies);
    s.set("base_url", &mut http.base_url);
    require_some_time(s, "head_timeout", http.head_timeout);
}

fn webrtc(s: &mut Section<'_, '_>, webrtc: &mut Webrtc) {
    s.set("listen", &mut webrtc.listen);
    s.set("public_ips", &mut webrtc.public_ips);
    s.set("tcp", &mut webrtc.tcp);
    let is_somewhere = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_multicast();
    s.require(
        "public_ips",
        webrtc.public_ips.iter().all(is_somewhere),
        "holds an address at which no host can be reached",
    );
}

fn admin(s: &mut Section<'_, '_>, admin: &mut Admin) {
    s.set("listen", &mut admin.listen);
}

fn auth(s: &mut Section<'_, '_>, auth: &mut Auth) {
    s.set("publish_key", &mut auth.publish_key);
    s.set("admin_password", &mut auth.admin_password);
    let same = auth.admin_password.is_some() && auth.admin_password == auth.publish_key;
    s.require(
        "admin_password",
        !same,
        "is the publish key, which every broadcaster knows",
    );
    s.sections("key", |s| auth.keys.extend(key(s)));
}

/// Reads one `[[auth.key]]`; `None` when it does not say what it is called, or what for.
fn key(s: &mut Section<'_, '_>) -> Option<KeyRule> {
    let mut name = None;
    let mut secret = None;
    let mut pattern = None::<Glob>;
    s.set_some("name", &mut name);
    s.set("key", &mut secret);
    s.set_some("match", &mut pattern);
    if name.is_none() {
        s.missing("name", "say what it is called, such as name = \"studio\"");
    }
    if pattern.is_none() {
        let help = "say which streams it is for, such as match = \"live/*\"";
        s.missing("match", help);
    }
    let key = s.path();
    Some(KeyRule {
        name: name?,
        secret,
        pattern: pattern?,
        key,
    })
}

fn ingest(s: &mut Section<'_, '_>, ingest: &mut Ingest) {
    s.set("linger", &mut ingest.linger);
    s.set("source_timeout", &mut ingest.source_timeout);
    s.set("takeover", &mut ingest.takeover);
    s.set("takeover_back", &mut ingest.takeover_back);
    require_some_time(s, "source_timeout", ingest.source_timeout);
}

fn fanout(s: &mut Section<'_, '_>, fanout: &mut Fanout) {
    s.set("workers", &mut fanout.workers);
    s.require("workers", fanout.workers <= WORKERS_MAX, "is above 1024");
    s.set("backend", &mut fanout.backend);
    s.set("target_utilisation", &mut fanout.target_utilisation);
    let target = fanout.target_utilisation;
    s.require(
        "target_utilisation",
        (0.001..=0.9).contains(&target),
        "is not from 0.001 to 0.9",
    );
    s.set("log_mib", &mut fanout.log_mib);
    let log_mib = fanout.log_mib;
    s.require(
        "log_mib",
        (1..=LOG_MIB_MAX).contains(&log_mib),
        "is not from 1 to 1048576",
    );
    s.section("audio", |s| {
        policy(s, &mut fanout.audio);
        s.set("burst", &mut fanout.audio.burst);
    });
    // A picture starts at the newest keyframe, so a burst of the past has no key here.
    s.section("video", |s| policy(s, &mut fanout.video));
}

fn policy(s: &mut Section<'_, '_>, policy: &mut Policy) {
    s.set("subgroup", &mut policy.subgroup);
    s.require(
        "subgroup",
        (1..=SUBGROUP_MAX).contains(&policy.subgroup),
        "is not from 1 to 10000",
    );
    s.set("max_samples", &mut policy.max_samples);
    s.set("min_wait", &mut policy.min_wait);
    s.set("max_wait", &mut policy.max_wait);
    s.set("skip_after", &mut policy.skip_after);
    s.set("drop_after", &mut policy.drop_after);
}

fn transcode(s: &mut Section<'_, '_>, transcode: &mut Transcode) {
    s.set("enabled", &mut transcode.enabled);
    s.set("bitrate_kbps", &mut transcode.bitrate_kbps);
    let bitrate = transcode.options().check();
    s.require("bitrate_kbps", bitrate.is_ok(), "is not from 32 to 256");
    s.set("threads", &mut transcode.threads);
    s.require("threads", transcode.threads <= WORKERS_MAX, "is above 1024");
    s.set("streams_max", &mut transcode.streams_max);
    s.set("linger", &mut transcode.linger);
}

fn limits(s: &mut Section<'_, '_>, limits: &mut Limits) {
    s.set("listeners", &mut limits.listeners);
    s.set("publishers", &mut limits.publishers);
    s.set("joins_per_second", &mut limits.joins_per_second);
    s.set("per_ip", &mut limits.per_ip);
    s.set("egress_mbps", &mut limits.egress_mbps);
}

fn log(s: &mut Section<'_, '_>, log: &mut Log) {
    s.set("level", &mut log.level);
    s.set("format", &mut log.format);
    s.set("access", &mut log.access);
}

/// Reads one `[[push]]`; `None` when it does not say what to push where.
fn push(s: &mut Section<'_, '_>) -> Option<PushRule> {
    let mut pattern = None::<Glob>;
    let mut url = None;
    s.set_some("match", &mut pattern);
    s.set_some("url", &mut url);
    if pattern.is_none() {
        s.missing(
            "match",
            "say which streams are sent on, such as match = \"live/*\"",
        );
    }
    if url.is_none() {
        s.missing(
            "url",
            "say where to, such as url = \"rtmp://host/{stream}\"",
        );
    }
    let key = s.path();
    Some(PushRule {
        pattern: pattern?,
        url: url?,
        key,
    })
}

/// Reads one `[[pull]]`; `None` when it does not say what to pull from where.
fn pull(s: &mut Section<'_, '_>) -> Option<PullRule> {
    let mut stream = None;
    let mut url = None;
    let mut on_demand = false;
    s.set_some("stream", &mut stream);
    s.set_some("url", &mut url);
    s.set("on_demand", &mut on_demand);
    if stream.is_none() {
        s.missing(
            "stream",
            "say what it is called here, such as stream = \"live/show\"",
        );
    }
    if url.is_none() {
        s.missing(
            "url",
            "say where from, such as url = \"rtmp://host/live/show\"",
        );
    }
    let key = s.path();
    Some(PullRule {
        stream: stream?,
        url: url?,
        on_demand,
        key,
    })
}

/// Reads one `[[stream]]`; `None` when it does not say which streams it is for.
fn stream(s: &mut Section<'_, '_>) -> Option<StreamRule> {
    let mut pattern = None::<Glob>;
    let mut publish_key = None;
    let mut public = true;
    let mut linger = None;
    let mut takeover = None;
    let mut policy = PolicyOverrides::default();
    s.set_some("match", &mut pattern);
    s.set("publish_key", &mut publish_key);
    s.set("public", &mut public);
    s.set_some("linger", &mut linger);
    s.set_some("takeover", &mut takeover);
    s.set_some("max_samples", &mut policy.max_samples);
    s.set_some("min_wait", &mut policy.min_wait);
    s.set_some("max_wait", &mut policy.max_wait);
    s.set_some("burst", &mut policy.burst);
    s.set_some("skip_after", &mut policy.skip_after);
    s.set_some("drop_after", &mut policy.drop_after);
    if pattern.is_none() {
        s.missing(
            "match",
            "say which streams are meant, such as match = \"live/*\"",
        );
    }
    let key = s.path();
    Some(StreamRule {
        pattern: pattern?,
        publish_key,
        public,
        linger,
        takeover,
        policy,
        key,
    })
}

fn require_some_time(s: &mut Section<'_, '_>, name: &'static str, time: Duration) {
    s.require(
        name,
        !time.is_zero(),
        "is zero, so that nothing could ever be in time",
    );
}
