//! The server's pages in Chromium and in Firefox.

mod browsers_play_every_way;
mod browsers_watch_and_publish;
mod operators_have_a_page_of_recordings;
mod pages_are_accessible;
mod pages_are_controlled;
mod pages_are_pictured;
mod pages_behind_proxies;
mod pages_fit_and_go_live;
mod pages_play_what_the_browser_can;
mod pages_show_what_is_on;
