//! Media that listeners receive although no publisher sends it now: stations and fallbacks.
//!
//! * [`station`]: playlists of files as live streams, with a schedule, requests and live shows.
//! * [`fallback`]: another stream under the name of one whose publisher is away.
//!
//! Both publish through the registry as any source does. Callers: `server`, which starts them; `web`, `links` and `operator`, which show
//! and control them.

pub mod fallback;
pub mod station;
