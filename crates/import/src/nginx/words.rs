//! Directives that need no setting here, or have none, with the reasons.

use crate::ledger::Words;

/// Directives, by outcome.
pub(crate) const WORDS: Words = Words {
    left: &[
        "include: the file is not read; import it as well",
        "http stream mail: \
         what nginx serves over HTTP stays with nginx; HLS, FLV and pages are at [http], \
         statistics and control at [admin]",
        "user pid env lock_file: start it as the user that it is to run as, such as by systemd",
        "error_log log_format debug_connection: \
         messages go to standard error; log.level is how many",
        "timeout: players that take nothing are dropped after fanout.video.drop_after",
        "hls_playlist_length: \
         the playlist lists what a player needs; hls.dvr is how much more can be watched",
        "hls_base_url hls_key_url hls_key_path: \
         addresses in playlists are relative, and keys are behind the same gate",
        "hls_fragments_per_key: hls.key_period is how long a key is used",
        "hls_variant: [[variants]] makes one playlist of several streams, by their names",
        "dash dash_path dash_fragment dash_playlist_length dash_nested dash_cleanup \
         dash_clock_compensation: \
         there is no DASH; HLS is at /APP/NAME/index.m3u8",
        "exec exec_push exec_pull exec_play exec_play_done exec_publish exec_publish_done \
         exec_record_done exec_static exec_options: \
         no programs are run; a [[webhook]] receives stream.published, stream.ended and \
         recording.finalised",
        "on_done on_disconnect on_record_done on_record_started: \
         a hook is asked for permission and receives ends; a [[webhook]] receives events of \
         streams and recordings",
        "notify_method: hooks are asked by POST",
        "max_connections: \
         limits.listeners is one for all; `listeners_max` of a [[stream]] is for each stream",
        "record_suffix record_unique record_append record_lock record_max_size record_max_frames \
         record_notify: \
         files are named by stream and time, and end by `split`: docs/recordings.md",
        "rtmp_stat rtmp_control: statistics and control are at [admin]",
    ],
    needless: &[
        "worker_processes worker_cpu_affinity worker_rlimit_nofile worker_priority \
         worker_shutdown_timeout events load_module daemon master_process rtmp_auto_push \
         rtmp_auto_push_reconnect rtmp_socket_dir pcre_jit thread_pool: \
         there is one process, with a worker for each core",
        "chunk_size max_message out_queue out_cork ack_window buflen max_streams so_keepalive \
         ping ping_timeout sync interleave play_time_fix publish_time_fix busy relay_buffer \
         push_reconnect pull_reconnect session_relay netcall_buffer netcall_timeout \
         notify_relay_redirect respawn respawn_timeout exec_kill_signal hls_continuous hls_nested \
         hls_cleanup hls_sync hls_fragment_naming hls_fragment_naming_granularity \
         hls_fragment_slicing hls_max_audio_delay hls_audio_buffer_size hls_max_fragment hls_type \
         play_temp_path play_local_path: \
         the server chooses it",
        "wait_key wait_video: players always begin at a keyframe",
        "meta publish_notify play_restart: players receive it as they expect",
        "hls_path: HLS is made in memory, at /APP/NAME/index.m3u8",
    ],
};
