//! Keys of other servers' configurations, and what there is here instead. Suggesting a similar key of our
//! own would mislead an operator who looks for one of them.

/// What to do without a key that Icecast, nginx-rtmp, SRS or MediaMTX has, and this server has not.
pub(super) fn instead(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let (_, words) = INSTEAD.iter().find(|(keys, _)| keys.contains(&&*key))?;
    Some(words)
}

const INSTEAD: &[(&[&str], &str)] = &[
    (
        &[
            "fallback",
            "fallback_mount",
            "fallback_override",
            "fallback_when_full",
        ],
        "Carillon has no fallback mounts; `ingest.linger` is how long listeners wait for a publisher",
    ),
    (
        &["max_listeners", "max_listener_duration"],
        "there is no limit of a single stream; `limits.listeners` is for all together",
    ),
    (
        &["clients", "max_clients", "max_connections"],
        "`limits.listeners` is what bounds them",
    ),
    (
        &["sources", "max_sources"],
        "`limits.publishers` is what bounds them",
    ),
    (
        &["source_password", "mount_password"],
        "one key publishes on every protocol: `auth.publish_key`, `publish_key` of a [[stream]], or [[auth.key]]",
    ),
    (
        &["relay_password", "master_server", "master_password"],
        "streams are fetched by [[pull]]",
    ),
    (
        &["admin_user", "source_user", "username"],
        "any user name will do with the right key or password",
    ),
    (
        &["queue_size"],
        "nothing is queued for a listener; `fanout.audio.skip_after` is how far it may fall behind",
    ),
    (
        &["burst_size", "burst_on_connect"],
        "`fanout.audio.burst` is how much a new listener is given, as a time",
    ),
    (
        &["gop_cache", "wait_key", "wait_video"],
        "listeners always begin at a keyframe",
    ),
    (
        &["chunk_size", "out_chunk_size", "ack_window"],
        "the server chooses it",
    ),
    (
        &["application", "app", "vhost", "paths"],
        "any name is published with the key and without a section; exceptions are [[stream]]s",
    ),
    (
        &[
            "on_publish",
            "on_play",
            "on_done",
            "on_connect",
            "http_hooks",
            "runonready",
        ],
        "there are no hooks yet",
    ),
    (
        &["record", "record_path", "dvr", "dump_file"],
        "streams are not recorded yet",
    ),
    (
        &["hls", "hls_path", "hls_fragment", "dash"],
        "there is no HLS or DASH yet",
    ),
    (
        &[
            "intro",
            "yp",
            "yp_url",
            "directory",
            "shoutcast_mount",
            "shoutcast_compat",
        ],
        "Carillon does not have that",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_others_are_known_however_they_are_written() {
        for key in ["fallback-mount", "fallback_mount", "Fallback-Mount"] {
            assert!(instead(key).is_some_and(|words| words.contains("no fallback mounts")));
        }
        assert_eq!(instead("linger"), None);
    }
}
