//! Every metric: its name, its type, its labels, its meaning.

use prometheus_client::metrics::MetricType;

/// A metric: its name without `_total`, its type, its labels, its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name, without `_total`.
    pub name: &'static str,
    /// Type: counter, gauge or histogram.
    pub kind: MetricType,
    /// Names of the labels; one at most.
    pub labels: &'static [&'static str],
    /// Meaning of the value.
    pub help: &'static str,
}

impl Metric {
    /// Returns the metric's row in `docs/metrics.md`.
    pub fn documentation(&self) -> String {
        let suffix = if self.kind.as_str() == "counter" {
            "_total"
        } else {
            ""
        };
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let (name, kind, labels) = (self.name, self.kind.as_str(), labels.join(", "));
        format!("| `{name}{suffix}` | {kind} | {labels} | {} |", self.help)
    }
}

macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(#[doc = $help]
        #[allow(
            rustdoc::broken_intra_doc_links,
            reason = "help texts name sections of the configuration in brackets"
        )]
        pub const $constant: Metric = Metric {
            name: $name,
            kind: MetricType::$kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        /// Every metric there is.
        pub const METRICS: &[Metric] = &[$($constant,)*];
    };
}

metrics! {
    BUILD_INFO Gauge "carillon_build_info" ["version"] "Always 1; its label tells the version";
    START_TIME Gauge "carillon_start_time_seconds" []
        "When the server started, in seconds since 1970";
    DRAINING Gauge "carillon_draining" [] "1 while draining";
    PANICS Counter "carillon_panics" ["part"]
        "Sessions and connections that a defect of the server ended";
    LOG_LINES_LOST Counter "carillon_log_lines_lost" ["log"]
        "Lines of a log that could not be written";
    CERTIFICATE_EXPIRES Gauge "carillon_certificate_expires_seconds" ["serial"]
        "Expiry of the TLS certificate, in seconds since 1970";
    STREAMS Gauge "carillon_streams" [] "Streams that are live or linger";
    PUBLISHERS Gauge "carillon_publishers" ["protocol"] "Publishers now";
    LISTENERS Gauge "carillon_listeners" ["protocol"] "Listeners now";
    EGRESS_BYTES Counter "carillon_egress_bytes" ["protocol"]
        "Bytes that listeners' sockets have taken";
    INGEST_BYTES Counter "carillon_ingest_bytes" ["protocol"] "Bytes received from publishers";
    INGEST_RECEIVES Counter "carillon_ingest_receives" ["protocol"]
        "Receives from publishers that brought bytes";
    INGEST_WAKEUPS Counter "carillon_ingest_wakeups" []
        "Times that the threads which read RTMP publishers woke";
    TAKEOVERS Counter "carillon_takeovers" [] "Times that a publisher replaced a present one";
    SENDS Counter "carillon_sends" [] "Sends to listeners; each carries one message";
    MESSAGE_SAMPLES Histogram "carillon_message_samples" [] "Samples combined into one message";
    TURN Histogram "carillon_turn_seconds" ["worker"]
        "CPU time of one full turn over all listeners of a worker";
    WINDOW Histogram "carillon_window_seconds" ["class"]
        "Time between two visits of a listener, as chosen";
    FORWARD_DELAY Histogram "carillon_forward_delay_seconds" []
        "From the arrival of a message's oldest sample to its send";
    LISTENER_LAG Histogram "carillon_listener_lag_seconds" []
        "How far behind the stream listeners are, sampled once a second";
    DEGRADED Gauge "carillon_degraded_listeners" []
        "Listeners that were moved forward within the last ten seconds";
    DEGRADED_RATIO Gauge "carillon_degraded_listeners_ratio" [] "Their share of all listeners";
    SKIPS Counter "carillon_skips" [] "Times a listener was moved to a newer join point";
    DROPS Counter "carillon_drops" ["reason"] "Listeners that the server disconnected";
    DEPARTURES Counter "carillon_departures" ["reason"] "Listeners gone, for every reason";
    JOIN Histogram "carillon_join_seconds" ["protocol"]
        "From a listener's request to the first byte of media";
    REJECTED Counter "carillon_rejected" ["reason"] "Connections and requests refused";
    TOKEN_SIGNATURES Counter "carillon_token_signatures" ["result"]
        "JSON Web Tokens that were presented";
    ACCEPT_FAILURES Counter "carillon_accept_failures" ["class"]
        "Connections that could not be accepted";
    CONNECTIONS Gauge "carillon_connections" ["door"]
        "Connections that a door or a publisher's driver serves now";
    ACCEPTED Counter "carillon_connections_accepted" ["door"] "Connections accepted";
    PENDING Gauge "carillon_pending_connections" []
        "Connections that are neither sources nor listeners yet";
    IDLE Gauge "carillon_idle_connections" [] "Kept-alive HTTP connections between two requests";
    PENDING_SESSIONS Gauge "carillon_pending_sessions" []
        "WebRTC sessions whose peers have not connected yet";
    BUSY Gauge "carillon_worker_busy_ratio" ["worker"]
        "Share of a core spent on visits during the last second";
    PRESSURE Gauge "carillon_pressure" ["kind"]
        "How close new listeners are to being refused; at 1 they are";
    BACKEND Gauge "carillon_worker_backend" ["backend"]
        "Always 1; its label names the driver of the sockets";
    HELD_BYTES Gauge "carillon_held_bytes" ["kind"]
        "Bytes held for clients until they are sent, and what is remembered of requests";
    LOG_BYTES Gauge "carillon_log_bytes" [] "Bytes that the logs of all lanes hold";
    STREAM_UP Gauge "carillon_stream_up" ["stream"]
        "1 while a publisher sends; for `_other` their number";
    STREAM_LISTENERS Gauge "carillon_stream_listeners" ["stream"] "Listeners of a stream now";
    STREAM_INGEST Counter "carillon_stream_ingest_bytes" ["stream"]
        "Media bytes received for a stream";
    STREAMS_FOLDED Gauge "carillon_streams_folded" []
        "Streams that are added up under `_other`, because there are more than 500";
    TRANSCODED Gauge "carillon_transcoded_streams" []
        "Streams whose audio is transcoded to Opus now";
    TRANSCODED_SECONDS Counter "carillon_transcoded_seconds" [] "Seconds of Opus made";
    TRANSCODE_CPU Counter "carillon_transcode_cpu_seconds" [] "Time that the transcoding threads worked";
    TRANSCODE_CONCEALED Counter "carillon_transcode_concealed_frames" []
        "Damaged frames of publishers that were concealed";
    TRANSCODE_DROPPED Counter "carillon_transcode_dropped_frames" []
        "Frames left out because transcoding fell behind";
    TRANSCODE_REFUSED Counter "carillon_transcode_refused" ["reason"]
        "Requests for Opus that could not be met";
    WEBRTC_SESSIONS Gauge "carillon_webrtc_sessions" []
        "WebRTC sessions whose peers have sent something";
    WEBRTC_HANDSHAKES Gauge "carillon_webrtc_handshakes" [] "DTLS handshakes under way";
    WEBRTC_CONNECTED Counter "carillon_webrtc_connected" []
        "Sessions whose peers proved their identity";
    WEBRTC_FAILURES Counter "carillon_webrtc_failures" ["stage"]
        "Sessions that failed, by how far they came";
    WEBRTC_REQUESTS_REFUSED Counter "carillon_webrtc_requests_refused" ["status"]
        "WHIP and WHEP requests that were refused";
    WEBRTC_REFUSED Counter "carillon_webrtc_refused" ["kind"]
        "Datagrams and TCP connections that were dropped unread";
    WEBRTC_DATAGRAMS Counter "carillon_webrtc_datagrams" ["direction"] "Datagrams over UDP";
    WEBRTC_SENDS Counter "carillon_webrtc_sends" []
        "Sends over UDP; each carries up to 64 datagrams";
    WEBRTC_BLOCKED Counter "carillon_webrtc_blocked_sends" []
        "Sends that found the socket full, and were tried again";
    WEBRTC_UNSENT Counter "carillon_webrtc_unsent_datagrams" [] "Datagrams that could not be sent";
    WEBRTC_FORWARDED Counter "carillon_webrtc_forwarded" []
        "Datagrams and connections passed on to their session's worker";
    WEBRTC_TCP Counter "carillon_webrtc_tcp_connections" [] "TCP connections of peers without UDP";
    WEBRTC_PACKETS Counter "carillon_webrtc_packets" ["way"] "RTP packets, repeated ones included";
    WEBRTC_LOST Counter "carillon_webrtc_lost_packets" ["way"] "RTP packets that were lost";
    WEBRTC_NACKS Counter "carillon_webrtc_nacks" ["way"] "Messages that requested lost packets";
    WEBRTC_NACKED Counter "carillon_webrtc_nacked_packets" ["way"]
        "Packets that those messages named";
    WEBRTC_REPEATED Counter "carillon_webrtc_repeated_packets" ["way"]
        "Packets that were sent again";
    WEBRTC_NOT_REPEATED Counter "carillon_webrtc_not_repeated_packets" []
        "Packets requested but not sent again";
    WEBRTC_HELD_PICTURES Counter "carillon_webrtc_held_pictures" []
        "Times that a listener's video was held because its link was too small";
    WEBRTC_KEYFRAMES_ASKED Counter "carillon_webrtc_keyframe_requests" ["way"]
        "Requests for a keyframe (PLI, FIR)";
    WEBRTC_ROUND_TRIP Counter "carillon_webrtc_round_trip_seconds" []
        "Round trips to listeners, added up";
    WEBRTC_ROUND_TRIPS Counter "carillon_webrtc_round_trips" [] "How many were added up";
    WEBRTC_JITTER Counter "carillon_webrtc_jitter_seconds" []
        "Jitter of publishers' tracks, each second of each, added up";
    WEBRTC_JITTERS Counter "carillon_webrtc_jitter_reports" [] "How many were added up";
    WEBRTC_LEFT_OUT Counter "carillon_webrtc_left_out_frames" ["reason"]
        "Frames left out or not sent whole";
    WEBRTC_REORDERED Counter "carillon_webrtc_reordered_frames" []
        "B-frames sent to WebRTC listeners";
    HLS_DVR_BYTES Gauge "carillon_hls_dvr_bytes" [] "Bytes that DVR windows hold on disk";
    HLS_DVR_SEGMENTS Counter "carillon_hls_dvr_segments" [] "Segments written to DVR windows";
    HLS_DVR_FAILURES Counter "carillon_hls_dvr_failures" []
        "Segments that are gaps in DVR windows because the disk did not take them";
    HLS_DVR_READS Counter "carillon_hls_dvr_reads" []
        "Segments and initialization segments read from DVR windows on disk";
    RECORDINGS Gauge "carillon_recordings" [] "Recordings that are listed, open ones included";
    RECORDED_STREAMS Gauge "carillon_recorded_streams" [] "Streams that are being recorded";
    RECORD_BYTES Counter "carillon_record_bytes" [] "Bytes written to recordings";
    RECORD_LAG Gauge "carillon_record_lag_seconds" []
        "Time since the recording was written that has waited longest";
    RECORD_GAPS Counter "carillon_record_gaps" ["reason"] "Gaps in recordings";
    UPLOADS Counter "carillon_uploads" ["result"] "Attempts to copy a recording to object storage";
    UPLOAD_BACKLOG Gauge "carillon_upload_backlog_bytes" []
        "Bytes of complete recordings that are not in object storage yet";
    JOURNAL_FAILING Gauge "carillon_journal_failing" ["journal"]
        "1 while the disk does not take what is to survive a restart";
    JOURNALS_DAMAGED Counter "carillon_journals_damaged" ["journal"]
        "Damaged journals that were set aside";
    FILE_BYTES Counter "carillon_file_bytes" [] "Bytes read from the files of `[[files]]`, and from recordings for viewers";
    FILE_REQUESTS Counter "carillon_file_requests" ["result"] "Requests for such files, and for viewers' recordings and their playlists and segments";
    LATE_READS Counter "carillon_late_reads" [] "Reads of files that took longer than a second";
    PUSHES Gauge "carillon_pushes" ["state"]
        "Pushes to other servers: one for each [[push]] and stream it relays";
    PUSH_UP Gauge "carillon_push_up" ["stream"]
        "1 while all pushes of a stream run; for `_other` their number";
    PUSH_BYTES Counter "carillon_push_bytes" [] "Bytes pushed to other servers";
    PUSH_ATTEMPTS Counter "carillon_push_attempts" [] "Connection attempts of pushes";
    PUSH_FAILURES Counter "carillon_push_failures" [] "Pushes that failed, at once or later";
    PULLS Gauge "carillon_pulls" ["state"] "Pulls from other servers, by state";
    PULL_UP Gauge "carillon_pull_up" ["stream"]
        "1 while the pull of a stream runs; for `_other` their number";
    PULL_BYTES Counter "carillon_pull_bytes" [] "Bytes pulled from other servers";
    PULL_ATTEMPTS Counter "carillon_pull_attempts" [] "Connection attempts of pulls";
    PULL_FAILURES Counter "carillon_pull_failures" [] "Pulls that failed, at once or later";
    FALLBACKS Counter "carillon_fallbacks" ["outcome"]
        "Fallbacks that were heard or could not be, and why they ended";
    AUDIO_CONDITIONS Counter "carillon_sound_conditions" ["condition"]
        "How often silence and clipping of watched streams have begun";
    STATION_TRACKS Counter "carillon_station_tracks" ["outcome"] "Tracks of stations that have ended";
    WEBHOOKS Counter "carillon_webhooks" ["result"] "Messages to receivers, and attempts that failed";
    WEBHOOK_QUEUE Gauge "carillon_webhook_queue" [] "Messages that are still to be delivered";
    DIRECTORIES Counter "carillon_directory_requests" ["outcome"]
        "Requests to public directories, by what came of them";
    CPU Counter "process_cpu_seconds" [] "CPU time of the process";
    RESIDENT Gauge "process_resident_memory_bytes" [] "Resident memory of the process";
    OPEN_FDS Gauge "process_open_fds" [] "Open file descriptors";
    MAX_FDS Gauge "process_max_fds" [] "File descriptors the process may have";
    PROCESS_START Gauge "process_start_time_seconds" []
        "When the process started, in seconds since 1970";
}
