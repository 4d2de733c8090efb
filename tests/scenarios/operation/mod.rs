//! Scenarios about the operator's view: limits, sessions, webhooks, imports, load.

mod configurations_are_imported;
mod demo_clip_loops_in_step;
mod every_protocol_is_in_the_books;
mod larger_icecasts_are_imported;
mod load_reports_what_it_sees;
mod new_listeners_are_turned_away;
mod probes_of_players_are_not_counted;
mod publisher_churn_leaves_memory_flat;
mod sessions_are_logged;
mod sessions_are_reported;
mod silence_is_reported;
mod stations_move_from_icecast;
mod streams_are_pushed_and_pulled;
mod webhooks_tell;
