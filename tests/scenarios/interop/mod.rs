//! Encoders and players of other makes, over each protocol.

mod bodies_of_every_container;
mod enhanced_codecs_are_relayed;
mod everyone_hears_within_tls;
mod icecast_sources_are_heard_unchanged;
mod mixxx_is_heard;
mod pictures_before_their_decoding;
mod players_listen_by_websocket;
mod players_outlive_publishers;
mod renditions_of_one_publisher;
mod rtmp_players_join;
mod rtmps_and_credentials;
mod sessions_of_tls_are_resumed;
mod sources_continue_within_tls;
mod station_encoders_are_heard;
mod station_listeners_hear;
mod titles_change_as_on_icecast;
mod vlc_plays_what_it_is_given;
mod wireshark_agrees;
