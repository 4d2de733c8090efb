//! Keys of other servers' configurations, and their equivalents here. Suggesting a similar key of our own would mislead an
//! operator who looks for one of them. Whole files of theirs are recognised, too: `carillon import` reads them.

use import::Kind;

/// Returns the advice for a file that is not TOML, if it is a configuration of another server.
pub(super) fn import_instead(source: &str) -> Option<String> {
    let server = Kind::of(source)?.server();
    Some(format!(
        "this is a configuration of {server}; `carillon import FILE --output carillon.toml` makes one of it"
    ))
}

/// Returns the advice for a key that Icecast, nginx-rtmp, SRS or MediaMTX has, and this server does not have.
pub(super) fn instead(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let mut rows = INSTEAD.iter().filter_map(|row| row.split_once(": "));
    let (_, words) = rows.find(|(keys, _)| keys.split(' ').any(|known| known == key))?;
    Some(words)
}

/// Rows of keys, a colon, and the advice for them.
const INSTEAD: &[&str] = &[
    "fallback fallback_mount fallback_override fallback_when_full: \
     `fallback` of a [[stream]] is what is heard while a publisher is away; `carillon import` \
     reads whole files",
    "max_listeners max_listener_duration: \
     `listeners_max` and `listen_duration_max` of a [[stream]]; `limits.listeners` is for all \
     together",
    "clients max_clients max_connections: `limits.listeners` is what bounds them",
    "sources max_sources: `limits.publishers` is what bounds them",
    "source_password mount_password: \
     one key publishes on every protocol: `auth.publish_key`, `publish_key` of a [[stream]], or \
     [[auth.key]]",
    "relay_password master_server master_password: \
     streams are fetched by [[pull]], over RTMP or as FLV; `carillon import` reads whole files",
    "admin_user source_user username: any user name will do with the right key or password",
    "queue_size: \
     nothing is queued for a listener; `fanout.audio.skip_after` is how far it may fall behind",
    "burst_size burst_on_connect: \
     `fanout.audio.burst_bytes` is how much a new listener is given, and `burst` the same as a \
     time",
    "gop_cache wait_key wait_video: listeners always begin at a keyframe",
    "chunk_size out_chunk_size ack_window: the server chooses it",
    "application app vhost paths: \
     any name is published with the key and without a section; exceptions are [[stream]]s; \
     `carillon import` reads whole files",
    "on_publish on_play on_done on_connect http_hooks runonready: \
     `auth.hook` asks for permission, and a [[webhook]] receives events of streams; \
     `carillon import` reads whole files",
    "record record_path dvr dump_file: \
     [[record]] says what is recorded; `carillon import` reads whole files",
    "hls hls_path hls_fragment dash: every stream is at /{stream}/index.m3u8; [hls] has its times",
    "yp yp_url yp_directory: streams are listed in no directory",
    "shoutcast_mount shoutcast_compat: [shoutcast] has the port of such sources, and their stream",
    "intro: `intro` of a [[stream]] is the file",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_others_are_known_however_they_are_written() {
        for key in ["fallback-mount", "fallback_mount", "Fallback-Mount"] {
            assert!(instead(key).is_some_and(|words| words.contains("[[stream]]")));
        }
        assert_eq!(instead("linger"), None);
    }

    #[test]
    fn files_of_others_are_known() {
        let words = import_instead("<icecast>\n</icecast>").expect("it is known");
        assert!(words.contains("Icecast"), "{words}");
        assert!(words.contains("carillon import"), "{words}");
        assert_eq!(import_instead("[rtmp\n"), None);
    }
}
