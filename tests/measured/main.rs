//! Scenarios that look at delays and counts: each needs the machine to itself, so they run one
//! after another (`cargo xtask scenarios` passes `--test-threads=1`).
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "every function here is part of a test"
)]

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/support.rs"]
mod support;

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/browser.rs"]
mod browser;

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/session.rs"]
mod session;

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/firefox.rs"]
mod firefox;

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/player_page.rs"]
mod player_page;

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/page_server.rs"]
mod page_server;

#[allow(dead_code, reason = "shared with the other scenarios")]
#[path = "../scenarios/mount.rs"]
mod mount;

mod clock;
mod windows;

mod fallbacks_come_soon;
mod first_pictures;
mod glass_to_glass;
mod hls_plays_without_stalls;
mod joiners_see_a_picture;
mod losses_are_repaired;
mod new_clients_come_through;
mod pages_are_live;
mod pages_resume;
mod pages_start_at_once;
mod publishers_return;
mod samples_are_combined;
mod slow_listeners_hurt_no_others;
mod small_audiences_wait_for_nothing;
mod stalled_players_hurt_no_others;
