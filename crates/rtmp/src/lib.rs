//! rtmp
