//! Listeners over RTMP: from a request to play to a socket in the fan-out.

mod packager;
