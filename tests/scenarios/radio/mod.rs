//! Mounts and their fallbacks, titles, stations, and Icecast's administration.

mod icecast_is_administrated;
mod listeners_keep_their_mount;
mod opus_for_clients_that_take_nothing_else;
mod radios_are_relayed;
mod shoutcast_continues;
mod stations_are_in_directories;
mod stations_play_files;
mod stations_play_films;
mod titles_are_written_into_ogg;
mod titles_travel_with_the_audio;
