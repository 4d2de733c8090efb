//! WHIP and WHEP with peers of other makes, over good networks and bad ones.

mod audio_shares_packets;
mod ffmpeg_publishes;
mod joiners_see_a_picture_soon;
mod players_of_other_makes_watch;
mod simulcast_is_several_streams;
mod web_players_watch;
mod webrtc_sessions_continue;
