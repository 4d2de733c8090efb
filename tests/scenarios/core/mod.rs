//! Every protocol in, every format out, and every promise once: the scenarios that `cargo xtask test` runs.
//!
//! A scenario here needs ffmpeg, ffprobe, a current ffmpeg, curl, openssl, Chromium, aiortc and `standardwebhooks` at most, and
//! its media lasts 20 seconds at most: media that has to continue for longer is repeated
//! ([`repeat_rtmp`](crate::support::repeat_rtmp)).

mod addresses_answer_as_before;
mod all_listeners_hear_the_same;
mod bodies_of_every_container;
mod browsers_play_the_page;
mod browsers_watch_and_publish;
mod configurations_are_imported;
mod counters_are_exact;
mod encrypted_hls_plays;
mod enhanced_codecs_are_relayed;
mod events_reach_players;
mod files_are_served;
mod hls_reloads_block_by_the_table;
mod hostile_publishers_are_refused;
mod icecast_sources_are_heard_unchanged;
mod listeners_keep_their_mount;
mod listeners_over_tls;
mod names_are_kept;
mod new_listeners_are_turned_away;
mod permissions_are_kept;
mod players_listen_by_websocket;
mod publishers_reconnect;
mod publishers_take_turns;
mod recordings_are_watched;
mod rtmp_players_join;
mod rtmp_publish_plays_as_flv;
mod rtmps_and_credentials;
mod sessions_are_logged;
mod signals_cut_no_listener_off;
mod station_encoders_are_heard;
mod stations_play_files;
mod streams_are_pushed_and_pulled;
mod streams_are_recorded;
mod the_demo_plays;
mod the_log_never_stops_the_server;
mod the_server_leaves_in_order;
mod titles_are_date_ranges;
mod titles_travel_with_the_audio;
mod tokens_permit;
mod webhooks_tell;
mod webrtc_peers_play;
