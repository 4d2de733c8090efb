//! HLS: its rules, and its players.

mod blocked_reloads_wait_quietly;
mod encrypted_hls_plays;
mod hls_keeps_its_rules;
mod hls_plays_everywhere;
mod hls_reloads_block_by_the_table;
mod hls_through_a_cdn;
mod variants_are_one_presentation;
mod viewers_share_places;
