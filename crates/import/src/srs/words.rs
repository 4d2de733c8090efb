//! Directives that need no setting here, or have none, with the reasons.

use crate::ledger::Words;

/// Directives, by outcome.
pub(crate) const WORDS: Words = Words {
    left: &[
        "include: the file is not read; import it as well",
        "http_api stats heartbeat exporter: \
         metrics, health and API are at [admin], with addresses of their own",
        "srt_server srt stream_caster rtsp_server rtsp: \
         publishers come over RTMP, Icecast and WHIP",
        "dash hds: there is no DASH and no HDS; HLS is at /APP/NAME/index.m3u8",
        "transcode exec ingest: no programs are run",
        "security refer: \
         write [[access]]: `allow` and `deny` are addresses, `allow_referers` are hosts of pages",
        "http_static: a [[files]] serves a folder below a path of its own",
    ],
    needless: &[
        "daemon pid work_dir asprocess whether_query_latest_version inotify_auto_reload \
         auto_reload_for_docker grace_start_wait grace_final_wait force_grace_quit \
         disable_daemon_for_docker srs_log_tank srs_log_file ff_log_dir ff_log_level utc_time \
         server_id: \
         the server runs in the foreground, and messages go to standard error",
        "chunk_size in_ack_size out_ack_size tcmalloc_release_rate threads circuit_breaker \
         tcp_nodelay min_latency mw_msgs mr mr_latency send_min_interval realtime \
         reduce_sequence_header atc atc_auto mix_correct time_jitter parse_sps try_annexb_first \
         firstpkt_timeout kickoff_for_idle debug_srs_upnode bandcheck query_latest_version \
         empty_ip_ok: \
         the server chooses it",
        "http_remux: every stream is at /APP/NAME.flv, .ts, .mp3 and .aac",
        "rtc: every stream is played and published over WebRTC, where its codecs allow",
    ],
};
