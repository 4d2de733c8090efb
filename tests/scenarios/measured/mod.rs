//! Delays and counts: each scenario needs the machine to itself, so they run one after another (`cargo xtask measured`).

mod fallbacks_come_soon;
mod films_hurt_no_others;
mod first_pictures;
mod glass_to_glass;
mod hls_plays_without_stalls;
mod joiners_see_a_picture;
mod links_are_too_small;
mod losses_are_repaired;
mod new_clients_come_through;
mod pages_are_live;
mod pages_resume;
mod pages_start_at_once;
mod publishers_return;
mod radios_begin_at_once;
mod samples_are_combined;
mod slow_listeners_hurt_no_others;
mod small_audiences_wait_for_nothing;
mod stalled_players_hurt_no_others;
mod strangers_hold_little;
mod uplinks_are_kept_to;
mod usual_players_play_smoothly;
