//! Scenarios: the server driven by the programs that people use, over the loopback.
//!
//! One file per behaviour, named after it. A scenario waits for conditions, never for time to
//! pass; a program it needs is demanded, never skipped (`testkit::require`).
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "every function here is part of a test"
)]

mod bodies_of_every_container;
#[allow(dead_code, reason = "shared with the measured scenarios")]
mod browser;
mod desktop;
mod film;
mod firefox;
mod flv;
mod haproxy;
mod mount;
mod page_server;
mod past;
mod permission_hook;
mod player_page;
mod relay;
mod relay_role;
mod session;
mod sessions_are_logged;
mod sessions_are_told;
mod storage;
mod support;
mod token_issuer;
mod tones;
mod vlc;
mod webhook_receiver;
mod wire;

mod access_is_limited;
mod all_listeners_hear_the_same;
mod blocked_reloads_wait_quietly;
mod browsers_play_every_way;
mod browsers_play_the_page;
mod browsers_watch_and_publish;
mod configurations_are_imported;
mod containers_go_back_in_time;
mod counters_are_exact;
mod demo_clip_loops_in_step;
mod dvr_window_is_kept;
mod encrypted_hls_plays;
mod enhanced_codecs_are_relayed;
mod events_reach_players;
mod every_protocol_is_in_the_books;
mod files_are_served;
mod files_play_over_rtmp;
mod hls_keeps_its_rules;
mod hls_plays_everywhere;
mod hls_reloads_block_by_the_table;
mod hls_through_a_cdn;
mod hooks_are_those_of_others;
mod hooks_decide;
mod hooks_decide_over_webrtc;
mod hostile_publishers_are_refused;
mod icecast_is_administrated;
mod icecast_sources_are_heard_unchanged;
mod joiners_see_a_picture_soon;
mod larger_icecasts_are_imported;
mod links_are_shared_by_few;
mod listeners_keep_their_mount;
mod listeners_over_tls;
mod load_reports_what_it_sees;
mod new_listeners_are_turned_away;
mod operators_have_a_page_of_recordings;
mod opus_for_clients_that_take_nothing_else;
mod pages_are_accessible;
mod pages_are_controlled;
mod pages_are_pictured;
mod pages_behind_proxies;
mod pages_fit_and_go_live;
mod pages_play_what_the_browser_can;
mod pages_show_what_is_on;
mod permissions_are_kept;
mod players_of_other_makes_watch;
mod players_outlive_publishers;
mod probes_of_players_are_not_counted;
mod publisher_churn_leaves_memory_flat;
mod publishers_reconnect;
mod publishers_take_turns;
mod radios_are_relayed;
mod recordings_are_managed;
mod recordings_are_replayed;
mod recordings_are_uploaded;
mod recordings_are_watched;
mod recordings_of_every_codec;
mod recordings_open_in_editors;
mod recordings_outlive_disks;
mod recordings_outlive_kills;
mod renditions_of_one_publisher;
mod rtmp_players_join;
mod rtmp_publish_plays_as_flv;
mod rtmps_and_credentials;
mod shoutcast_goes_on;
mod signals_cut_no_listener_off;
mod silence_is_told;
mod simulcast_is_several_streams;
mod sound_shares_packets;
mod station_encoders_are_heard;
mod station_listeners_hear;
mod stations_are_in_directories;
mod stations_play_files;
mod stations_play_films;
mod streams_are_pushed_and_pulled;
mod streams_are_recorded;
mod the_demo_plays;
mod the_log_never_stops_the_server;
mod the_server_leaves_in_order;
mod titles_are_date_ranges;
mod titles_are_written_into_ogg;
mod titles_change_as_on_icecast;
mod titles_travel_with_the_sound;
mod tokens_permit;
mod uploaded_recordings_are_watched;
mod uploads_begin_early;
mod uploads_outlast_outages;
mod variants_are_one_presentation;
mod webhooks_tell;
mod webrtc_peers_play;
mod webrtc_sessions_go_on;
mod wireshark_agrees;
