//! Keys, links, tokens, hooks, and lists of addresses: who may publish and who may listen.

mod access_is_limited;
mod hooks_are_those_of_others;
mod hooks_decide;
mod hooks_decide_over_webrtc;
mod links_are_shared_by_few;
mod permissions_are_kept;
mod permissions_end_everywhere;
mod tokens_permit;
