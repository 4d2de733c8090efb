//! Recordings, their uploads, playback of the past, and files on demand.

mod clocks_make_steps;
mod containers_go_back_in_time;
mod dvr_window_is_kept;
mod files_are_served;
mod files_play_over_rtmp;
mod recordings_are_managed;
mod recordings_are_replayed;
mod recordings_are_uploaded;
mod recordings_are_watched;
mod recordings_of_every_codec;
mod recordings_open_in_editors;
mod recordings_outlive_disks;
mod recordings_outlive_kills;
mod uploaded_recordings_are_watched;
mod uploads_begin_early;
mod uploads_outlast_outages;
mod uploads_outlive_their_journal;
